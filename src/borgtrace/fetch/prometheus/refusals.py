"""Why a server refuses a query: too much at once, busy now, or never."""

import json
from contextlib import suppress
from typing import NamedTuple

import httpx

from borgtrace.fetch.whole import describe

_MOST_BYTES = 64 << 10
_MOST_SHOWN = 300
TOO_MUCH = (
    "too many",
    "exceed",
    "maximum resolution",
    "query length",
    "time range",
    "out of memory",
    "timeout",
    "timed out",
    "deadline",
    "took too long",
    "limit",
)
"""Words of Prometheus, Thanos, Mimir and VictoriaMetrics about queries that a shorter one would not be refused for."""


class Overloaded(Exception):  # noqa: N818 - a signal between threads, not an error of the user's
    """The query was too much for the server; half of it may not be.

    Parameters
    ----------
    reason
        What the server said.
    retry_after
        Seconds that it asks to wait.
    """

    def __init__(self, reason: str, *, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after = retry_after


class ServerRefusal(NamedTuple):
    """The body of an answer that is none.

    Attributes
    ----------
    text
        What it says, in one short line.
    kind
        The API's word for the error; empty where the API did not write it.
    is_html
        Whether it is a page for people: what a proxy sends, or a login.
    """

    text: str
    kind: str
    is_html: bool

    @property
    def is_from_api(self) -> bool:
        """Whether the API itself wrote it."""
        return bool(self.kind)

    @property
    def is_about_size(self) -> bool:
        """Whether it complains of how much was asked for."""
        return is_about_size(self.text)


def is_about_size(text: str) -> bool:
    """Return whether a server complains of how much was asked for.

    Examples
    --------
    >>> is_about_size("query processing would load too many samples"), is_about_size("no such host")
    (True, False)
    """
    lower = text.lower()
    return any(words in lower for words in TOO_MUCH)


def read_refusal(response: httpx.Response) -> ServerRefusal:
    """Read the beginning of an answer that is an error."""
    body = b""
    # A body that breaks off, or is packed wrongly, says less; the status is the error.
    with suppress(httpx.HTTPError):
        for block in response.iter_bytes():
            body += block
            if len(body) > _MOST_BYTES:
                break
    return parse_refusal(body[:_MOST_BYTES])


def parse_refusal(body: bytes) -> ServerRefusal:
    r"""Return what the body of an error says.

    Examples
    --------
    >>> parse_refusal(b'{"status":"error","errorType":"execution","error":"query processing\\nfailed"}')
    ServerRefusal(text='query processing failed', kind='execution', is_html=False)
    >>> parse_refusal(b"<html><body>Log in</body></html>").text
    'an HTML page'
    >>> parse_refusal(b"no org id").text
    'no org id'
    """
    with suppress(ValueError, RecursionError):
        content = json.loads(body)
        if isinstance(content, dict) and "error" in content:
            kind = str(content.get("errorType") or "error")
            return ServerRefusal(_one_line(str(content["error"])), kind, is_html=False)
    description = describe(body)
    if not body.strip():
        return ServerRefusal("", "", is_html=False)
    if description in ("an HTML page", "an XML page"):
        return ServerRefusal(description, "", is_html="HTML" in description)
    return ServerRefusal(_one_line(body.decode("utf-8", "replace")), "", is_html=False)


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MOST_SHOWN else f"{line[:_MOST_SHOWN]} …"
