"""A real HTTP server on the loopback that serves files as a bucket does, and misbehaves on demand."""

from __future__ import annotations

import base64
import gzip
import hashlib
import random
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import google_crc32c
import pytest

from borgtrace.fetch import Backoff, Session

Choice = Callable[[str, str], str | None]
"""(method, path) → name of the fault to commit, or None."""

FAULTS = (
    "cut",
    "reset",
    "short_length",
    "long_length",
    "not_found",
    "forbidden",
    "busy",
    "broken",
    "slow",
    "stall",
    "no_range",
    "html",
    "flip",
    "other_range",
)
WASTEFUL = (
    "reset",
    "short_length",
    "long_length",
    "stall",
    "no_range",
    "flip",
    "other_range",
    "changed",
)
"""Faults after which bytes may, or must, come again."""


@dataclass
class Bucket:
    """Files, and how they are described."""

    files: dict[str, bytes]
    hashes: tuple[str, ...] = ("crc32c", "md5")
    etags: bool = True
    ranges: bool = True
    heads: bool = True
    pause: float = 0.01
    choose: Choice = lambda method, path: None
    body_bytes: Counter[str] = field(default_factory=Counter)
    requests: list[tuple[str, str, int]] = field(default_factory=list)
    faults: list[tuple[str, str]] = field(default_factory=list)
    url: str = ""
    all_faults: tuple[str, ...] = FAULTS
    wasteful: tuple[str, ...] = WASTEFUL
    lock: threading.Lock = field(default_factory=threading.Lock)

    def etag(self, path: str) -> str:
        return '"' + hashlib.md5(self.files[path]).hexdigest() + '"'

    def described(self, path: str) -> list[tuple[str, str]]:
        body = self.files[path]
        crc = base64.b64encode(google_crc32c.Checksum(body).digest()).decode()
        md5 = base64.b64encode(hashlib.md5(body).digest()).decode()
        values = {"crc32c": f"crc32c={crc}", "md5": f"md5={md5}"}
        headers = [("x-goog-hash", values[name]) for name in self.hashes]
        return [*headers, ("ETag", self.etag(path))] if self.etags else headers

    def gets(self) -> int:
        return sum(method == "GET" and status < 400 for method, _, status in self.requests)


Serve = Callable[..., Bucket]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Else each answer waits 40 ms, until its headers are acknowledged.
    disable_nagle_algorithm = True
    bucket: Bucket

    def do_HEAD(self) -> None:
        self._answer("HEAD")

    def do_GET(self) -> None:
        self._answer("GET")

    def log_message(self, *_: object) -> None:
        pass

    def _answer(self, method: str) -> None:
        path = self.path.lstrip("/")
        plain = {
            "not_found": 404,
            "forbidden": 403,
            "broken": 500,
            "busy": 429,
        }
        fault = self._fault(method, path)
        if method == "HEAD" and not self.bucket.heads:
            self._plain(path, 501)
        elif path not in self.bucket.files:
            self._plain(path, 404)
        elif fault in plain:
            self._plain(path, plain[fault])
        elif fault == "html":
            self._html(path)
        elif fault == "moved":
            self._moved()
        else:
            self._file(method, path, fault)

    def _fault(self, method: str, path: str) -> str | None:
        with self.bucket.lock:
            fault = self.bucket.choose(method, path) if path in self.bucket.files else None
            if fault:
                self.bucket.faults.append((fault, path))
            return fault

    def _plain(self, path: str, status: int) -> None:
        self.bucket.requests.append((self.command, path, status))
        self.send_response(status)
        if status == 429:
            self.send_header("Retry-After", "0")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _moved(self) -> None:
        self.send_response(302)
        self.send_header("Location", "/new")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _html(self, path: str) -> None:
        page = b"<!DOCTYPE html><html><body>Please log in</body></html>"
        self.bucket.requests.append((self.command, path, 200))
        self.send_response(200)
        # Some middle boxes keep the type of the file that was asked for.
        self.send_header(
            "Content-Type", "application/gzip" if len(self.bucket.faults) % 2 else "text/html"
        )
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(page)

    def _file(
        self,
        method: str,
        path: str,
        fault: str | None,
    ) -> None:
        whole = self.bucket.files[path]
        start = self._start(path, fault)
        if start is not None and start >= len(whole):
            self._past_the_end(path, len(whole))
            return
        body = whole[start or 0 :]
        status = 200 if start is None else 206
        if fault == "other_range" and start:
            body = whole[start - 1 :]
        self.bucket.requests.append((method, path, status))
        self.send_response(status)
        if start is not None:
            first = len(whole) - len(body)
            self.send_header("Content-Range", f"bytes {first}-{len(whole) - 1}/{len(whole)}")
        for header in self.bucket.described(path):
            self.send_header(*header)
        if fault == "too_long":  # no length is announced: the body lasts until the server hangs up
            self.send_header("Connection", "close")
            self.close_connection = True
        else:
            lie = {"short_length": -7, "long_length": 9}.get(fault or "", 0)
            self.send_header("Content-Length", str(len(body) + lie))
        self.end_headers()
        if method == "GET":
            self._send(path, body, fault)

    def _start(
        self,
        path: str,
        fault: str | None,
    ) -> int | None:
        wanted = self.headers.get("Range")
        condition = self.headers.get("If-Range")
        if not wanted or fault == "no_range" or not self.bucket.ranges:
            return None
        if condition and condition != self.bucket.etag(path):
            return None
        return int(wanted.removeprefix("bytes=").rstrip("-"))

    def _past_the_end(self, path: str, size: int) -> None:
        self.bucket.requests.append((self.command, path, 416))
        self.send_response(416)
        self.send_header("Content-Range", f"bytes */{size}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _send(
        self,
        path: str,
        body: bytes,
        fault: str | None,
    ) -> None:
        if fault == "flip":
            body = body[:-20] + bytes([body[-20] ^ 1]) + body[-19:] if len(body) > 20 else body
        half = body[: len(body) // 2]
        try:
            if fault == "slow":
                for at in range(0, len(body), max(1, len(body) // 5)):
                    self._write(path, body[at : at + max(1, len(body) // 5)])
                    time.sleep(self.bucket.pause)
            elif fault in ("cut", "reset", "stall"):
                self._write(path, half)
                self._hang_up(fault)
            elif fault == "short_length":
                self._write(path, body[:-7])
                self.close_connection = True
            elif fault == "too_long":
                self._write(path, body + gzip.compress(b"more"))
            elif fault == "long_length":
                self._write(path, body)
                self._hang_up("cut")
            else:
                self._write(path, body)
        except OSError:
            self.close_connection = True

    def _write(self, path: str, data: bytes) -> None:
        # Before they are sent: a client may be done, and the test look, as soon as they are.
        with self.bucket.lock:
            self.bucket.body_bytes[path] += len(data)
        self.wfile.write(data)

    def _hang_up(self, fault: str) -> None:
        self.close_connection = True
        if fault == "stall":
            time.sleep(0.6)
        if fault == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, *_: object) -> None:
        """A client that goes away is what these tests are about."""


@contextmanager
def serving(bucket: Bucket) -> Iterator[Bucket]:
    """Serve a bucket on a free port of the loopback."""
    handler = type("Handler", (_Handler,), {"bucket": bucket})
    server = _Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(
        target=server.serve_forever,
        kwargs={"poll_interval": 0.02},
        daemon=True,
    )
    thread.start()
    bucket.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield bucket
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Return a function that serves files until the test ends."""
    with ExitStack() as stack:
        yield lambda files, **options: stack.enter_context(serving(Bucket(files, **options)))


@pytest.fixture
def archives() -> Callable[..., dict[str, bytes]]:
    """Return a function that makes gzip files of pseudo-random content for the given paths."""

    def make(
        paths: list[str],
        size: int = 50_000,
        seed: int = 0,
    ) -> dict[str, bytes]:
        return {
            path: gzip.compress(random.Random(f"{seed}{path}").randbytes(size), 1, mtime=0)
            for path in paths
        }

    return make


@pytest.fixture
def session() -> Iterator[Session]:
    """Return an impatient session."""
    with Session(
        4,
        backoff=Backoff(
            seed=7,
            base=0.001,
            cap=0.01,
        ),
        timeout=0.4,
    ) as session:
        yield session
