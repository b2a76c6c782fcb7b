"""What an HTTP status other than 200 means, and a connection that TLS refuses."""

import ssl
from collections.abc import Callable

import httpx

from borgtrace.errors import SourceError
from borgtrace.fetch.prometheus.credentials import TENANT, Credentials
from borgtrace.fetch.prometheus.refusals import Overloaded, ServerRefusal, read_refusal
from borgtrace.fetch.retry import Fault

_BUSY = {408, 425, 429}
_TOO_MUCH = {413, 422, 504}
_NO_API = {404, 405, 410}


class QueryRefusedError(SourceError):
    """The server will never answer the query."""


class MissingApi(Exception):  # noqa: N818 - a signal, not an error of the user's
    """There is no such path at the server.

    Parameters
    ----------
    reason
        What it answers.
    is_html
        Whether that is a page for people.
    """

    def __init__(self, reason: str, *, is_html: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_html = is_html


class BusyServer(Fault):
    """The server, or what stands before it, cannot answer now; or it cannot answer so large a query."""


def verdict(
    response: httpx.Response,
    address: str,
    access: Credentials,
    slow_down: Callable[[httpx.Response], float | None],
) -> Exception | None:
    """Return what is wrong with an answer by its status and type; None where it may be read.

    Parameters
    ----------
    response
        The answer, whose body is still to come.
    address, access
        Of the server.
    slow_down
        Reads how long the server asks to wait, and lets all queries wait.
    """
    code = response.status_code
    content_type = response.headers.get("content-type", "")
    is_page = content_type.partition(";")[0].strip().lower() == "text/html"
    if code == httpx.codes.OK:
        return MissingApi("200 and an HTML page", is_html=True) if is_page else None
    refusal = read_refusal(response)
    text = access.hide(refusal.text)
    status = f"{code} {response.reason_phrase}".strip()
    quoted = f"{status} ({text})" if text else status
    if code in (401, 403):
        return _denied(address, access, code, f"{status}: {text}" if text else status)
    # VictoriaMetrics has status 400 for a path that it does not know.
    if code in _NO_API or (code == 400 and "unsupported path" in text.lower()):
        return MissingApi(quoted, is_html=refusal.is_html)
    if code in _BUSY or code in _TOO_MUCH or code >= 500 or refusal.is_about_size:
        return _passing(code, refusal, f"the server answers {quoted}", slow_down(response))
    return query_refused(address, f"{status}: {text}" if text else status)


def _passing(
    code: int, refusal: ServerRefusal, reason: str, retry_after: float | None
) -> Exception:
    """Return what is raised for a query that may be answered later, or in halves."""
    if code in _BUSY:
        return Fault(reason, retry_after=retry_after)
    if code in _TOO_MUCH or code < 500:
        return Overloaded(reason, retry_after=retry_after)
    # Without a time to wait, it is the query that the API gave up.
    is_given_up = refusal.is_from_api and retry_after is None
    if is_given_up and (code == 503 or refusal.is_about_size):
        return Overloaded(reason)
    return BusyServer(reason, retry_after=retry_after)


def query_refused(address: str, text: str) -> QueryRefusedError:
    """Return the error of a query that the server will never answer."""
    way_out = "check --selector and the address"
    if "HTTPS server" in text:
        way_out = f"begin the address with https:{address.partition(':')[2]}"
    return QueryRefusedError(address, "the server refuses the query", got=text, way_out=way_out)


def _denied(address: str, access: Credentials, code: int, got: str) -> SourceError:
    way_out = "name a token or a password: --bearer-file FILE, or --user NAME --password-file FILE"
    if "org id" in got.lower():
        way_out = f"name the tenant: --header '{TENANT}: TENANT'"
    elif access.bearer or access.user or access.region:
        way_out = "check the token or the password, and what it may read"
    what = "the server lets us not in" if code == 401 else "the server forbids the query"
    return SourceError(address, what, got=got, way_out=way_out)


def tls_error(error: httpx.TransportError, address: str) -> SourceError | None:
    """Return the error of a connection that TLS does not make; None where it failed for another reason."""
    reason = str(error)
    _, _, cause = reason.partition("certificate verify failed: ")
    if cause:
        return SourceError(
            address,
            "the server's certificate is not trusted",
            got=cause.partition(" (_ssl")[0],
            way_out="name the file of its authority: --ca FILE, or take any certificate: --insecure",
        )
    if isinstance(error.__context__, ssl.SSLError) or "[SSL" in reason:
        return SourceError(
            address,
            "no TLS with this server",
            got=reason,
            way_out="try http:// in place of https://; a server that asks for a certificate wants --cert and --key",
        )
    return None
