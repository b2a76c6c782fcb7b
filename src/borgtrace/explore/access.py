"""Who may ask: the browser that opened the address with the token, on this machine, from the explorer's own pages.

The data may be confidential, and every program and web page on this machine can reach a local port.  So a request needs
the cookie that was given for the token, a Host that is this machine (a name that an attacker's DNS points here is
not), and no sign of another page behind it.  Nothing can be changed: only GET and HEAD are answered.
"""

import hmac
import secrets
import tomllib
from collections.abc import Callable, Mapping
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})
"""Names of this machine, on any port: ``ssh -L`` may give the port another number."""
HEADERS: Mapping[str, str] = tomllib.loads(
    Path(__file__).with_name("headers.toml").read_text("utf-8")
)
"""Headers of every answer."""
_OWN_PAGES = ("same-origin", "none")
"""What a browser says of a request from our own page, or of an address that a person typed."""
Refuse = Callable[[int, str, str], Response]
"""Makes the page for a status, what is wrong, and the way out."""


class Access:
    """Middleware that lets in who has the cookie, and gives it once for the token.

    Parameters
    ----------
    app
        The application behind it.
    token
        What the address must hold once.
    refuse
        Makes the page for everybody else.
    """

    def __init__(self, app: ASGIApp, token: str, refuse: Refuse) -> None:
        self._app, self._token, self._refuse = app, token, refuse
        self._is_spent = False
        # Cookies of all ports of a host share one jar: two explorers must not take each other's.
        self._name, self._secret = f"borgtrace-{secrets.token_hex(4)}", secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                for name, value in HEADERS.items():
                    MutableHeaders(scope=message).setdefault(name, value)
            await send(message)

        answer = self._refusal(scope) or self._exchange(scope)
        await (answer or self._app)(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if host.rpartition(":")[0] not in HOSTS and host not in HOSTS:
            return self._refuse(
                403, "This address is not this machine's.", "Open it as 127.0.0.1 or localhost."
            )
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        if origin not in (None, f"http://{host}") or site not in _OWN_PAGES:
            return self._refuse(
                403,
                "Another page asked for this.",
                "Type or paste the address into the address bar instead.",
            )
        if scope["method"] not in ("GET", "HEAD"):
            return self._refuse(405, "The explorer only reads.", "Nothing can be sent to it.")
        return None

    def _exchange(self, scope: Scope) -> Response | None:
        """Give the cookie for the token; None where the cookie is there already."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = next((value for name, value in query if name == "token"), None)
        cookies: SimpleCookie = SimpleCookie(Headers(scope=scope).get("cookie", ""))
        is_known = self._name in cookies and _same(cookies[self._name].value, self._secret)
        if given is None:
            return None if is_known else self._locked("This page needs the token.")
        rest = [(name, value) for name, value in query if name != "token"]
        # One slash: two would lead to another machine.
        clean = RedirectResponse(
            "/" + scope["path"].lstrip("/") + (f"?{urlencode(rest)}" if rest else ""), 303
        )
        if is_known:  # the address again, in the same browser
            return clean
        if self._is_spent or not _same(given, self._token):
            return self._locked(
                "This token was used already." if self._is_spent else "This is not the token."
            )
        self._is_spent = True
        clean.set_cookie(self._name, self._secret, httponly=True, samesite="strict")
        return clean

    def _locked(self, what: str) -> Response:
        way_out = "Open the address that borgtrace explore printed. It opens one browser; for another, start it again."
        return self._refuse(403, what, way_out)


def _same(given: str, right: str) -> bool:
    """Compare in a time that tells nothing of where two texts differ."""
    return hmac.compare_digest(given.encode(), right.encode())
