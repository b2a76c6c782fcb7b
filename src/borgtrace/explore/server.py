"""Serves the application on this machine alone, until it is interrupted."""

import secrets
import socket
import webbrowser
from collections.abc import Callable

import uvicorn

from borgtrace.errors import UsageError
from borgtrace.explore.application import application
from borgtrace.explore.trace import Trace

HOST = "127.0.0.1"


def serve(
    trace: Trace, port: int, *, browser: bool, ready: Callable[[str], None], at: str = "/"
) -> None:
    """Serve until Ctrl-C.

    Parameters
    ----------
    trace
        What is explored.
    port
        Port on 127.0.0.1; a free one where 0.
    browser
        Whether to open one.
    ready
        Called with the address once connections are accepted.
    at
        Page to begin with, as the explorer's addresses name it: ``/machine/7?from=2h``.

    Raises
    ------
    UsageError
        Where the port is taken, or `at` is no address of a page.
    """
    if not at.startswith("/") or at.startswith("//"):
        raise UsageError(
            "--at",
            "not a page",
            expected="an address as the explorer shows it, /machine/7",
            got=repr(at),
        )
    token = secrets.token_urlsafe(32)
    listening = _listen(port)
    address = (
        f"http://{HOST}:{listening.getsockname()[1]}{at}{'&' if '?' in at else '?'}token={token}"
    )
    app = application(trace, token)
    # No log: it would hold the token, and what people look at.  No lifespan: a second Ctrl-C would break it off loudly.
    config = uvicorn.Config(
        app, log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=1
    )

    def announce() -> None:
        ready(address)
        if browser:
            webbrowser.open(address)

    server = _Server(config)
    server.announce = announce
    with listening:
        server.run([listening])


class _Server(uvicorn.Server):
    """Announces itself once it hears Ctrl-C: earlier, Ctrl-C would break off what had not begun, and warn of it."""

    announce: Callable[[], None]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.announce()


def _listen(port: int) -> socket.socket:
    """Open the port before it is announced: a browser may be quicker than the server, and then waits in its queue."""
    # Named, not 0: by it asyncio knows that small packets must not wait for one another, which takes 40 ms an answer.
    listening = socket.socket(proto=socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
    except OSError as error:
        listening.close()
        got, way_out = (
            f"{port}: {(error.strerror or '').lower()}",
            "choose another, or 0 for a free one",
        )
        raise UsageError("--port", "cannot be opened", got=got, way_out=way_out) from error
    listening.listen()
    return listening
