"""Requests to a Prometheus API: of Prometheus itself, Thanos, Mimir, Cortex, VictoriaMetrics or Amazon's service."""

import threading
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Any
from urllib.parse import quote, urlencode

import httpx

from borgtrace.errors import SourceError
from borgtrace.fetch.connections import AddressWords, Connections
from borgtrace.fetch.prometheus.address import OTHER_PREFIXES
from borgtrace.fetch.prometheus.answers import MOST_PLAIN_BYTES, NotAnAnswer, parse_answer
from borgtrace.fetch.prometheus.credentials import Credentials
from borgtrace.fetch.prometheus.refusals import Overloaded, ServerRefusal
from borgtrace.fetch.prometheus.verdicts import (
    MissingApi,
    QueryRefusedError,
    query_refused,
    tls_error,
    verdict,
)
from borgtrace.fetch.retry import Backoff, BrokenTransfer, Fault

WORDS = AddressWords(
    option="URL",
    after_redirect="if you trust it, name its address in place of URL",
    when_unreachable="check the address and the network; a tunnel to a cluster is made by kubectl port-forward",
)
WHOLE = {
    "partial_response": "false",
    "max_source_resolution": "0s",
    "deny_partial_response": "1",
    "nocache": "1",
}
"""Parameters by which Thanos and VictoriaMetrics give all of an answer or an error; others do not know them."""
WINDOW_QUERY = "last_over_time(up[1m])"
"""The kind of query that samples are asked for with."""
TIMEOUT = 150.0
"""Seconds: more than the two minutes that a server gives a query by default."""
_BLOCK = 1 << 16
_MOST_BYTES_OF_ONE_LIST = 16 << 20
_NEVER_ANSWERED_COST = 4
"""Of eight attempts."""


class PrometheusServer(Connections):
    """A Prometheus API.

    Parameters
    ----------
    address
        From :func:`~borgtrace.fetch.prometheus.address.parse_address`.
    access
        Credentials and certificates.
    connections
        Queries at a time.
    rate
        Queries per second at most; None: no limit.
    backoff, timeout
        As of :class:`Connections`.

    Attributes
    ----------
    extra_parameters
        Parameters of each query; emptied for a server that refuses unknown ones.
    has_windows
        Whether it knows ``last_over_time``: Prometheus does since version 2.26.
    """

    def __init__(
        self,
        address: str,
        access: Credentials | None = None,
        *,
        connections: int = 2,
        rate: float | None = None,
        backoff: Backoff | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        self.address = address
        self.access = access or Credentials()
        super().__init__(
            connections,
            backoff=backoff,
            timeout=timeout,
            words=WORDS,
            client_options=self.access.client_options(),
        )
        self.client.headers.update(self.access.all_headers())
        self.extra_parameters = dict(WHOLE)
        self.has_windows = True
        self.interval = 1 / rate if rate else 0.0
        self.next_turn = 0.0
        self.turns = threading.Lock()

    def check(self) -> None:
        """Ask simple queries, to learn whether the server answers any, and what it does not know.

        Raises
        ------
        SourceError
            There is no such API, or it lets nobody in.
        """
        try:
            self._learn()
        except MissingApi as missing:
            raise self._no_api(missing) from missing
        except Overloaded as overload:
            raise self._useless(overload.reason) from overload

    def _learn(self) -> None:
        with suppress(QueryRefusedError):
            self.ask("query", {"query": WINDOW_QUERY})
            return
        # Google's service refuses parameters that it does not know.
        self.extra_parameters = {}
        with suppress(QueryRefusedError):
            self.ask("query", {"query": WINDOW_QUERY})
            return
        self.extra_parameters = dict(WHOLE)
        self.has_windows = False
        self.ask("query", {"query": "1"})

    def ask(self, function: str, parameters: Mapping[str, str] | Sequence[tuple[str, str]]) -> Any:
        """Return the data of a short answer.

        Parameters
        ----------
        function
            Its path below ``/api/v1``.
        parameters
            Of the query.

        Raises
        ------
        SourceError
            The server refuses the query, or cannot be reached.
        Overloaded
            The query is too much for it.
        MissingApi
            There is nothing at this address.
        """

        def attempt() -> Any:
            with self.query(function, parameters) as response:
                content = b""
                try:
                    for block in response.iter_bytes():
                        content += block
                        if len(content) > _MOST_BYTES_OF_ONE_LIST:
                            raise Overloaded("the answer is too long")
                except httpx.DecodingError as error:
                    raise Fault("the answer is packed wrongly") from error
            return self.parsed(content)["data"]

        return self.repeat(self.address, attempt)

    def parsed(self, content: bytes) -> dict[str, Any]:
        """Return an answer as Python objects; an error is judged as one with its own status."""
        try:
            return parse_answer(content)
        except NotAnAnswer as answer:
            raise self.refused(answer.refusal) from answer

    def refused(self, refusal: ServerRefusal) -> Exception:
        """Return what is raised for an error of the API."""
        if refusal.is_about_size:
            return Overloaded(self.access.hide(refusal.text))
        return query_refused(self.address, self.access.hide(refusal.text))

    @contextmanager
    def query(
        self, function: str, parameters: Mapping[str, str] | Sequence[tuple[str, str]]
    ) -> Iterator[httpx.Response]:
        """Open an answer for reading; whatever breaks until the block ends is a :class:`Fault`, or too much."""
        pairs = list(parameters.items()) if isinstance(parameters, Mapping) else list(parameters)
        # Blanks as %20: a signature is made of the address as it is sent.
        text = urlencode([*pairs, *self.extra_parameters.items()], quote_via=quote)
        self._wait_for_turn()
        with self.get(f"{self.address}/api/v1/{function}?{text}") as response:
            yield response

    def receive(self, function: str, parameters: Mapping[str, str], file: IO[bytes]) -> None:
        """Write an answer into a file, packed by gzip: as the server packed it, or by us."""
        with self.query(function, parameters) as response:
            encoding = response.headers.get("content-encoding", "identity").strip().lower()
            if encoding not in ("gzip", "x-gzip", "identity", ""):
                raise Fault(f"expected an answer packed by gzip, got {encoding[:20]!r}", cost=4)
            is_packed = "gzip" in encoding
            packer = zlib.compressobj(4, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
            n_bytes = 0
            for block in response.iter_raw(_BLOCK):
                n_bytes += len(block)
                if n_bytes > MOST_PLAIN_BYTES:
                    raise Overloaded(f"the answer has more than {MOST_PLAIN_BYTES >> 20} MiB")
                file.write(block if is_packed else packer.compress(block))
                self.wait()
            if not is_packed:
                file.write(packer.flush())

    def judge(self, response: httpx.Response) -> None:
        """Return if an answer is good.

        Raises
        ------
        Fault
            It may be good another time.
        Overloaded
            Half of the query may be good.
        MissingApi
            There is no such API.
        SourceError
            The server will never answer it.
        """
        self.has_answered = True
        problem = verdict(response, self.address, self.access, self.slow_down)
        if problem is not None:
            raise problem

    def _no_api(self, missing: MissingApi) -> SourceError:
        way_out = "name the address whose /api/v1/query answers; Mimir's ends in /prometheus"
        for prefix in OTHER_PREFIXES:
            if not self.address.endswith(prefix) and self._has_api(prefix):
                way_out = f"the API is at {self.address}{prefix}: name this address"
                break
        if missing.is_html:
            way_out += ", and let a login page see a token: --bearer-file FILE"
        return SourceError(
            f"{self.address}/api/v1/query",
            "no Prometheus API at this address",
            expected="an answer as JSON",
            got=missing.reason,
            way_out=way_out,
        )

    def _has_api(self, prefix: str) -> bool:
        base = self.address
        self.address = base + prefix
        try:
            with self.query("query", {"query": "1"}) as response:
                self.parsed(b"".join(response.iter_bytes()))
        # A tenant is missing there, too: the API is there all the same.
        except SourceError as error:
            return "tenant" in (error.way_out or "")
        except (Fault, Overloaded, MissingApi, httpx.DecodingError):
            return False
        finally:
            self.address = base
        return True

    def _useless(self, reason: str) -> SourceError:
        return SourceError(
            self.address, "the server answers no query at all", got=reason, way_out="try later"
        )

    def timed_out(self) -> Exception:
        """Return what is raised when the server has been silent for too long: the query is too much for it."""
        return Overloaded(f"no answer for {self.timeout.read:g} s")

    def broken(self, error: httpx.RequestError) -> Fault:
        """Return the fault of a connection that ended early; before any answer it may be of another protocol."""
        if self.has_answered:
            return super().broken(error)
        return BrokenTransfer(
            f"the connection failed ({error})",
            cost=_NEVER_ANSWERED_COST,
            way_out="check the address; where the server speaks TLS, it begins with https://",
        )

    def unreachable(self, error: httpx.TransportError) -> Exception:
        """Return the fault of a connection that was not made; a certificate stays wrong when asked again."""
        return tls_error(error, self.address) or super().unreachable(error)

    def _wait_for_turn(self) -> None:
        """Wait so that queries begin no faster than was asked for."""
        if not self.interval:
            return
        with self.turns:
            now = time.monotonic()
            turn = max(now, self.next_turn)
            self.next_turn = turn + self.interval
        self.wait(turn - now)
