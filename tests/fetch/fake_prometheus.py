"""A Prometheus API on the loopback that answers from a list of series, and misbehaves on demand."""

from __future__ import annotations

import gzip
import json
import re
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.metric_servers import Series

_MATCHER = re.compile(r'(\w+)(=|!=)"([^"]*)"')
_QUERY = re.compile(
    r"((?P<function>count|last_over_time)\()?(?P<name>\w+)(\{(?P<matchers>[^}]*)\})?(\[(?P<ms>\d+)ms\])?\)?"
)


@dataclass(frozen=True)
class Request:
    """What was asked.

    Attributes
    ----------
    function
        Path below ``/api/v1``.
    parameters
        Of the query; of several of one name the last.
    headers
        With names in lower case.
    target
        The path and the query as they were sent.
    """

    function: str
    parameters: Mapping[str, str]
    headers: Mapping[str, str]
    target: str = ""

    @property
    def is_of_samples(self) -> bool:
        is_count = self.parameters.get("query", "").startswith("count(")
        return self.function == "query_range" and not is_count

    @property
    def metric(self) -> str:
        match = _QUERY.match(self.parameters.get("query", ""))
        return match["name"] if match else ""

    @property
    def n_points(self) -> int:
        names = ("start", "end", "step")
        start, end, step = (int(self.parameters[name]) for name in names)
        return (end - start) // step + 1


@dataclass(frozen=True)
class Reply:
    """An answer in the place of the right one.

    Attributes
    ----------
    status, body, kind
        Of the answer.
    headers
        More of them.
    """

    status: int
    body: bytes | str = b""
    kind: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


def api_error(status: int, kind: str, text: str, **headers: str) -> Reply:
    body = json.dumps({"status": "error", "errorType": kind, "error": text})
    return Reply(status, body, headers=headers)


Choice = Callable[[Request], "Reply | str | None"]


@dataclass
class FakePrometheus:
    """A server.

    Attributes
    ----------
    series
        What it knows.
    prefix
        Path of its API before ``/api/v1``.
    choose
        What to answer in the place of the right answer: a reply, or ``cut``, ``reset``, ``stall`` or ``plain``.
    extra
        Added to each right answer: warnings.
    requests
        What was asked.
    url
        Its address, without the prefix.
    """

    series: list[Series]
    prefix: str = ""
    choose: Choice = lambda request: None
    extra: Mapping[str, Any] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    url: str = ""
    stall: float = 1.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def data(self, request: Request, all_parameters: Mapping[str, list[str]]) -> Any:
        """Return the data of the right answer."""
        if request.function == "query":
            return {"resultType": "scalar", "result": [0, "1"]}
        if request.function.startswith("label/"):
            label = request.function.split("/")[1]
            chosen: list[Series] = []
            for selector in all_parameters.get("match[]", []):
                name, _, matchers = selector.partition("{")
                chosen += self.matching(name, matchers)
            return sorted({one.labels.get(label, "") for one in chosen} - {""})
        query = _QUERY.fullmatch(request.parameters["query"])
        assert query, request.parameters["query"]
        chosen = self.matching(query["name"], query["matchers"] or "")
        times = range(*(int(request.parameters[name]) for name in ("start", "end", "step")))
        times = range(times.start, times.stop + 1, times.step)
        if query["function"] == "count":
            counts = []
            for at in times:
                alive = sum(bool(one.values_between(at - 299, at)) for one in chosen)
                counts += [[at, str(alive)]] if alive else []
            return {"resultType": "matrix", "result": [{"metric": {}, "values": counts}]}
        window = int(query["ms"]) / 1000 if query["ms"] else 299
        result = []
        for one in chosen:
            values = []
            for at in times:
                inside = one.values_between(at - window, at)
                values += [[at, inside[-1]]] if inside else []
            if values:
                result.append({"metric": dict(one.labels), "values": values})
        return {"resultType": "matrix", "result": result}

    def matching(self, name: str, matchers: str) -> list[Series]:
        conditions = _MATCHER.findall(matchers)
        chosen = []
        for one in self.series:
            is_match = one.metric == name
            for label, operator, text in conditions:
                is_equal = one.labels.get(label, "") == text
                is_match &= is_equal if operator == "=" else not is_equal
            if is_match:
                chosen.append(one)
        return chosen


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Else each answer waits 40 ms, until its headers are acknowledged.
    disable_nagle_algorithm = True
    fake: FakePrometheus

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        start = f"{self.fake.prefix}/api/v1/"
        parameters = parse_qs(parts.query, keep_blank_values=True)
        request = Request(
            parts.path.removeprefix(start),
            {name: values[-1] for name, values in parameters.items()},
            {name.lower(): value for name, value in self.headers.items()},
            self.path,
        )
        with self.fake.lock:
            self.fake.requests.append(request)
            reply = self.fake.choose(request)
        if isinstance(reply, Reply):
            self._send(reply)
        elif not parts.path.startswith(start):
            self._send(Reply(404, "404 page not found", "text/plain"))
        else:
            self._answer(request, parameters, reply)

    def _answer(
        self, request: Request, parameters: dict[str, list[str]], fault: str | None
    ) -> None:
        content = {"status": "success", "data": self.fake.data(request, parameters)}
        body = json.dumps({**content, **self.fake.extra}).encode()
        headers = {}
        if fault != "plain":
            body = gzip.compress(body, 1, mtime=0)
            headers = {"Content-Encoding": "gzip"}
        if fault == "stall":
            time.sleep(self.fake.stall)
        self._send(Reply(200, body, headers=headers), fault)

    def _send(self, reply: Reply, fault: str | None = None) -> None:
        body = reply.body.encode() if isinstance(reply.body, str) else reply.body
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.kind)
        for name, value in reply.headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            if fault in ("cut", "reset"):
                self.wfile.write(body[: len(body) // 2])
                self.close_connection = True
            else:
                self.wfile.write(body)
            if fault == "reset":
                self.wfile.flush()
                linger = struct.pack("ii", 1, 0)
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        except OSError:
            self.close_connection = True


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, *_: object) -> None:
        """A client that goes away is what these tests are about."""


@contextmanager
def serving(fake: FakePrometheus, tls: ssl.SSLContext | None = None) -> Iterator[FakePrometheus]:
    """Serve on a free port of the loopback."""
    handler = type("Handler", (_Handler,), {"fake": fake})
    server = _Server(("127.0.0.1", 0), handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
    )
    thread.start()
    scheme = "https" if tls else "http"
    fake.url = f"{scheme}://127.0.0.1:{server.server_address[1]}"
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
