"""Connections that ask for nothing, or take no answer: they end, and others are served meanwhile."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from borgtrace.explore import connections
from borgtrace.explore.server import configuration, listen

PATIENCE = 20.0
"""Seconds that a busy machine may need."""
LARGE = 30_000_000


def answer(request: Request) -> Response:
    return PlainTextResponse("x" * int(request.query_params.get("size", "2")))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[uvicorn.Server]:
    """A server of a page, with shorter limits."""
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.3)
    monkeypatch.setattr(connections, "IDLE_SECONDS", 0.3)
    monkeypatch.setattr(connections, "TAKE_SECONDS", 1.0)
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 20)
    app = Starlette(routes=[Route("/", answer, methods=["GET", "POST"])])
    served = uvicorn.Server(configuration(app))
    with listen(0) as listening:
        served.config.port = listening.getsockname()[1]
        thread = threading.Thread(target=served.run, args=([listening],))
        thread.start()
        wait_for(lambda: served.started)
        yield served
        served.should_exit = True
        thread.join()


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def connect(server: uvicorn.Server, sent: bytes) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", server.config.port), timeout=PATIENCE)
    client.sendall(sent)
    return client


def n_open(server: uvicorn.Server) -> int:
    opened = [*server.server_state.connections]
    return sum(not connection.transport.is_closing() for connection in opened)


REQUEST = b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
UNFINISHED = {
    "nothing": b"",
    "half a line": b"GET / HT",
    "half a head": b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx-a: ",
    "half a second request": REQUEST + b"GET / HT",
    "half a body": b"POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 1000\r\n\r\nx",
    "half a body in chunks": b"POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n\r\n5\r\nx",
}


@pytest.mark.parametrize("sent", UNFINISHED.values(), ids=UNFINISHED)
def test_a_request_that_is_not_finished_is_not_waited_for(
    server: uvicorn.Server, sent: bytes
) -> None:
    with connect(server, sent):
        wait_for(lambda: n_open(server) == 1)
        wait_for(lambda: n_open(server) == 0)


def test_a_byte_now_and_then_does_not_help(server: uvicorn.Server) -> None:
    with connect(server, b"GET / HTTP/1.1\r\n") as client:
        wait_for(lambda: n_open(server) == 1)

        def is_closed() -> bool:
            with suppress(OSError):
                client.sendall(b"a: b\r\n")
            return n_open(server) == 0

        wait_for(is_closed)


def test_of_many_connections_the_oldest_make_room(server: uvicorn.Server) -> None:
    most = 0
    clients = []
    for _ in range(300):
        clients.append(connect(server, b"GET / HT"))
        most = max(most, n_open(server))
    with connect(server, REQUEST) as client:
        assert client.recv(1000).startswith(b"HTTP/1.1 200 OK\r\n")
    assert most <= 20 + 1
    wait_for(lambda: n_open(server) == 0)
    for client in clients:
        client.close()


def test_an_answer_that_nobody_takes_is_not_kept(server: uvicorn.Server) -> None:
    with connect(server, b"GET /?size=%d HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n" % LARGE):
        wait_for(lambda: n_open(server) == 1)
        wait_for(lambda: n_open(server) == 0)


def test_who_takes_an_answer_slowly_gets_it(server: uvicorn.Server) -> None:
    """Each part within its time, all of them in more."""
    n_received = 0
    request = b"GET /?size=%d HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n" % LARGE
    with connect(server, request) as client:
        while piece := client.recv(3_000_000):
            n_received += len(piece)
            time.sleep(0.02)
    assert n_received > LARGE
