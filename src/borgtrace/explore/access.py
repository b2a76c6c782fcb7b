"""Who may send requests: the browser that opened the address with the token, on this machine.

The data may be confidential, and every program and web page on this machine can reach a local port.  So a request needs
the cookie that was given for the token, a Host that is this machine (a name that an attacker's DNS points here is
not), and no sign of another page behind it.  Nothing can be changed: only GET and HEAD are answered.
"""

import hmac
import secrets
from collections.abc import Callable
from http.cookies import SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})
"""Names of this machine, on any port: ``ssh -L`` may give the port another number."""
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; "
    "script-src 'self'; "
    "style-src 'self'; "
    "img-src 'self' data:; "
    "connect-src 'self'; "
    "form-action 'self'; "
    "base-uri 'none'; "
    "frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; "
    "trusted-types 'none'"
)
"""Files of this server only: no inline script or style, no eval, nobody's frame; and no text that becomes HTML."""
HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""Headers of every answer."""
OWN_SITES = ("same-origin", "none")
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
        self._app = app
        self._token = token
        self._refuse = refuse
        self._is_spent = False
        # Cookies of all ports of a host share one jar: two explorers must not take each other's.
        self._cookie = f"borgtrace-{secrets.token_hex(4)}"
        self._secret = secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        # The pages open no sockets, so whoever does is a stranger.
        if scope["type"] == "websocket":
            await send({"type": "websocket.close"})
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = self._refusal(scope) or self._exchange_token(scope)
        await (answer or self._app)(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        """Return what is answered to a stranger; None for a request that may be one of our own pages."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if host.rpartition(":")[0] not in HOSTS and host not in HOSTS:
            return self._refuse(
                403, "This address is not this machine's.", "Open it as 127.0.0.1 or localhost."
            )
        origin = headers.get("origin")
        site = headers.get("sec-fetch-site", "none")
        if origin not in (None, f"http://{host}") or site not in OWN_SITES:
            return self._refuse(
                403,
                "Another page asked for this.",
                "Type or paste the address into the address bar instead.",
            )
        if scope["method"] not in ("GET", "HEAD"):
            return self._refuse(405, "The explorer only reads.", "Nothing can be sent to it.")
        return None

    def _exchange_token(self, scope: Scope) -> Response | None:
        """Give the cookie for the token; None where the cookie is there already."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        tokens = [value for name, value in query if name == "token"]
        has_cookie = self._has_cookie(scope)
        if not tokens:
            return None if has_cookie else self._locked("This page needs the token.")
        rest = [(name, value) for name, value in query if name != "token"]
        # One slash: two would lead to another machine.
        path = "/" + scope["path"].lstrip("/")
        without_token = RedirectResponse(f"{path}?{urlencode(rest)}" if rest else path, 303)
        # The address again, in the same browser.
        if has_cookie:
            return without_token
        if self._is_spent:
            return self._locked("This token was used already.")
        if not is_same(tokens[0], self._token):
            return self._locked("This is not the token.")
        self._is_spent = True
        without_token.set_cookie(self._cookie, self._secret, httponly=True, samesite="strict")
        return without_token

    def _has_cookie(self, scope: Scope) -> bool:
        cookies: SimpleCookie = SimpleCookie(Headers(scope=scope).get("cookie", ""))
        return self._cookie in cookies and is_same(cookies[self._cookie].value, self._secret)

    def _locked(self, what: str) -> Response:
        hint = "Open the address that borgtrace explore printed. It opens one browser; for another, start it again."
        return self._refuse(403, what, hint)


def is_same(text: str, secret: str) -> bool:
    """Compare in a time that does not depend on where two texts differ."""
    return hmac.compare_digest(text.encode(), secret.encode())
