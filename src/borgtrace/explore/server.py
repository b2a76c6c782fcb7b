"""Serve the application on this machine alone, until it is interrupted."""

import hashlib
import secrets
import socket
import webbrowser
from collections.abc import Callable
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from borgtrace.errors import UsageError
from borgtrace.explore import connections
from borgtrace.explore.application import application
from borgtrace.explore.explored_store import ExploredStore

HOST = "127.0.0.1"
FIRST_PORT = 20_000
N_PORTS = 10_000
"""Below those that systems hand out by themselves."""


def serve(
    explored: ExploredStore,
    port: int,
    *,
    browser: bool,
    ready: Callable[[str], None],
    at: str = "/",
) -> None:
    """Serve until Ctrl-C.

    Parameters
    ----------
    explored
        What is explored.
    port
        Port on 127.0.0.1; where 0, the store's own while it is free.
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
    listening = listen(port) if port else listen_as_before(explored.store.path)
    actual_port = listening.getsockname()[1]
    separator = "&" if "?" in at else "?"
    address = f"http://{HOST}:{actual_port}{at}{separator}token={token}"

    def announce() -> None:
        ready(address)
        if browser:
            webbrowser.open(address)

    server = AnnouncingServer(configuration(application(explored, token)), announce)
    with listening:
        server.run([listening])


def configuration(app: Starlette) -> uvicorn.Config:
    """Return how the server of an application treats its connections."""
    return uvicorn.Config(
        app,
        http=connections.Connection,
        timeout_keep_alive=connections.IDLE_SECONDS,
        # The pages use none.
        ws="none",
        # A log would hold the token, and what people look at.
        log_config=None,
        access_log=False,
        # A second Ctrl-C would break a lifespan off loudly.
        lifespan="off",
        timeout_graceful_shutdown=1,
    )


class AnnouncingServer(uvicorn.Server):
    """Announces itself only after its signal handlers are installed.

    Earlier, Ctrl-C would break off what had not begun, and warn of it.
    """

    def __init__(self, config: uvicorn.Config, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then announce it."""
        await super().startup(sockets=sockets)
        self._announce()


def listen_as_before(store: Path) -> socket.socket:
    """Open the port that belongs to a store, or a free one: links and saved queries of its explorer stay right.

    Parameters
    ----------
    store
        Its path.
    """
    try:
        return listen(port_of(store))
    except UsageError:
        return listen(0)


def port_of(store: Path) -> int:
    """Return the port that belongs to a store, by its path."""
    digest = hashlib.sha256(str(store.absolute()).encode()).digest()
    return FIRST_PORT + int.from_bytes(digest[:8]) % N_PORTS


def listen(port: int) -> socket.socket:
    """Open the port before it is announced: a browser may be quicker than the server, and then waits in its queue."""
    # Named, not 0: by it asyncio knows that small packets must not wait for one another, which takes 40 ms an answer.
    listening = socket.socket(proto=socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
    except OSError as error:
        listening.close()
        raise UsageError(
            "--port",
            "cannot be opened",
            got=f"{port}: {(error.strerror or '').lower()}",
            way_out="choose another, or 0 for a free one",
        ) from error
    listening.listen()
    return listening
