"""A proxy on this machine before an S3 server: it answers in its place, late, in part or not at all."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Lock, Thread
from typing import Any
from urllib.parse import urlsplit

import pytest

from borgtrace.storage import remote
from tests.forked import CLEAN

FAULTS = ("500", "503", "drop", "lose", "cut", "late")
"""``500`` and ``503`` answer so; ``drop`` ends the connection and asks nobody; ``lose`` asks the server and ends it
then; ``cut`` ends it in the middle of what the server answered; ``late`` passes that on a moment later."""
_SAID = {"500": (500, "InternalError"), "503": (503, "SlowDown")}


class _Listening(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """Say nothing of a client that went away."""


class Proxy:
    """What stands between.

    Attributes
    ----------
    server
        Host and port of the server.
    fault
        Says of a request what goes wrong, if anything, by its number from 0, method and path.
    done
        What went wrong, in the order of the requests.
    """

    def __init__(self, server: str) -> None:
        self.server = server
        self.done: list[str] = []
        self._one = Lock()
        self.fault: Callable[[int, str, str], str] = lambda *_: ""

    def every(self, nth: int, fault: str, method: str = "") -> None:
        """Let each `nth` request go wrong, from the first on; of a method, or of all."""
        asked = count()
        self.fault = lambda _, by, __: (
            fault if by.startswith(method) and next(asked) % nth == 0 else ""
        )

    def choose(self, method: str, path: str) -> str:
        """Say what goes wrong with the next request."""
        with self._one:
            self.done.append(self.fault(len(self.done), method, path.partition("?")[0]))
            return self.done[-1]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Else each answer waits 40 ms, until its headers are acknowledged.
    disable_nagle_algorithm = True
    proxy: Proxy

    def log_message(self, *_: Any) -> None:
        pass

    def _pass(self) -> None:
        from localbucket import read_chunked

        if "Transfer-Encoding" in self.headers:
            body = read_chunked(self.rfile)
            del self.headers["Transfer-Encoding"]
            self.headers["Content-Length"] = str(len(body))
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.proxy.choose(self.command, self.path)
        self.close_connection = bool(fault)
        if fault in _SAID:
            status, code = _SAID[fault]
            said = b"" if self.command == "HEAD" else f"<Error><Code>{code}</Code></Error>".encode()
            self._answer(
                status, {"Content-Type": "application/xml", "Content-Length": str(len(said))}, said
            )
        elif fault != "drop":
            try:
                status, headers, said = self._ask(body)
            # The server is dead, or died meanwhile.
            except (OSError, HTTPException):
                self.close_connection = True
                return
            time.sleep(0.03 * (fault == "late"))
            if fault != "lose":
                self._answer(status, headers, said[: len(said) // 2] if fault == "cut" else said)

    def _ask(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        connection = HTTPConnection(self.proxy.server)
        try:
            # The headers as they are: a signature covers the host.
            connection.putrequest(
                self.command, self.path, skip_host=True, skip_accept_encoding=True
            )
            for name, value in self.headers.items():
                if name != "Expect":
                    connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def _answer(self, status: int, headers: dict[str, str], said: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(said)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _pass  # noqa: N815 - as the library has it


@contextmanager
def behind_proxy(patch: pytest.MonkeyPatch, *, is_patient: bool = True) -> Iterator[Proxy]:
    """Put a proxy before the server that the environment names.

    Parameters
    ----------
    patch
        Gives the environment another address.
    is_patient
        Whether a request is tried again, as Arrow does for six seconds.
    """
    proxy = Proxy(urlsplit(os.environ["AWS_ENDPOINT_URL"]).netloc)
    listening = _Listening(("127.0.0.1", 0), type("Handler", (_Handler,), {"proxy": proxy}))
    Thread(target=listening.serve_forever, args=(0.02,), daemon=True).start()
    address = f"127.0.0.1:{listening.server_port}"
    patch.setenv("AWS_ENDPOINT_URL", f"http://{address}")
    remote.open_file_system.cache_clear()
    if not is_patient:
        from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem

        once = AwsStandardS3RetryStrategy(max_attempts=1)
        system = S3FileSystem(
            retry_strategy=once,
            endpoint_override=address,
            scheme="http",
            region="us-east-1",
        )
        patch.setattr(remote, "open_file_system", lambda url: (system, url.removeprefix("s3://")))
    try:
        yield proxy
    finally:
        listening.shutdown()
        listening.server_close()


class Mortal:
    """An S3 server in a process of its own, which can be killed and comes back with the same folder.

    Attributes
    ----------
    address
        Host and port, others after each start.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.start()

    def start(self) -> None:
        """Serve; returns when it listens."""
        here, there = CLEAN.Pipe()
        self.process = CLEAN.Process(
            target=_serve,
            args=(self.root, there),
            daemon=True,
        )
        self.process.start()
        self.address = f"127.0.0.1:{here.recv()}"

    def kill(self) -> None:
        """End it as kill −9 does."""
        self.process.kill()
        self.process.join()


def _serve(root: Path, told: Connection) -> None:
    import localbucket

    members = {"data_root": root, "log_message": lambda *_: None, "disable_nagle_algorithm": True}
    handler = type("Handler", (localbucket.S3Handler,), members)
    server = _Listening(("127.0.0.1", 0), handler)
    told.send(server.server_port)
    server.serve_forever()
