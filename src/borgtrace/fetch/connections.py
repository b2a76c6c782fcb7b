"""Connections to one server: bounded, repeated when they break, stoppable at any moment, and never led to another."""

import email.utils
import socket
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit
from weakref import WeakSet

import httpx

from borgtrace.errors import SourceError, StoreError, UsageError
from borgtrace.fetch.host_lookup import lookup_problem
from borgtrace.fetch.retry import Backoff, BrokenTransfer, Fault, Listener, Stopped

T = TypeVar("T")

_UNREACHABLE_COST = 4
"""Of eight attempts, for a server that has never answered: without a network, waiting a minute changes nothing."""
_TIMEOUT_COST = 8
"""All of them: within these seconds the system itself has knocked several times."""
_CONNECT_TIMEOUT_S = 4.0
"""Offline, a command should say so within five seconds."""
_QUICK_S = 1.0
"""A failure that takes longer is none that a second attempt mends."""


@dataclass(frozen=True, slots=True)
class AddressWords:
    """How messages speak of the address of a server.

    Attributes
    ----------
    option
        What a user calls it.
    after_redirect
        What to do about a redirect to another server.
    when_unreachable
        What to do about a server that cannot be reached.
    """

    option: str
    after_redirect: str
    when_unreachable: str


MIRROR = AddressWords(
    option="--base-url",
    after_redirect="if you trust it, name the address that holds the files: --base-url URL",
    when_unreachable="check the network, or name a mirror that can be reached: --base-url URL",
)


class Connections(ABC):
    """Connections to a server, shared by the threads of one fetch.

    Parameters
    ----------
    connections
        Most connections open at a time.
    backoff
        How repetitions wait.
    timeout
        Seconds without a single byte after which a connection counts as dead.
    words
        How messages speak of the server's address.
    client_options
        More that :class:`httpx.Client` is made with: certificates, credentials.

    Attributes
    ----------
    listener
        Is told of progress and repetitions.
    timeout, client
        Time-outs of the connections, and what makes them.
    stopped
        Set when everything is to end.
    open_sockets
        Sockets that files are being read from.
    quiet_until
        When requests may be sent again (on the monotonic clock), if the server has asked to wait.
    has_answered
        Whether the server was ever reached: from then on a lost connection is taken for a passing one.
    """

    def __init__(
        self,
        connections: int = 4,
        *,
        backoff: Backoff | None = None,
        timeout: float = 30.0,
        words: AddressWords = MIRROR,
        client_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.backoff = backoff or Backoff()
        self.listener = Listener()
        self.words = words
        # No time-out for a free connection: more threads than connections is no fault of the server's.
        connect = min(timeout, _CONNECT_TIMEOUT_S)
        self.timeout = httpx.Timeout(timeout, connect=connect, pool=None)
        # One server, one pace: when it asks one thread to wait, all of them do.
        self.quiet_until = 0.0
        self.has_answered = False
        self.stopped = threading.Event()
        self.open_sockets: set[socket.socket] = set()
        self._made_sockets: WeakSet[socket.socket] = WeakSet()
        self.client = httpx.Client(
            limits=httpx.Limits(max_connections=connections),
            timeout=self.timeout,
            # gzip must be "accepted": for a client that does not accept it, the bucket unpacks a file on the way and
            # then ignores Range.  Bodies are read raw, so that nothing is ever unpacked here.
            headers={"accept-encoding": "gzip", "user-agent": "borgtrace"},
            follow_redirects=True,
            # Called for each answer, redirects included, before the next request is sent.
            event_hooks={"response": [partial(refuse_other_servers, way_out=words.after_redirect)]},
            **(client_options or {}),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.client.close()

    def stop(self) -> None:
        """End all waiting and receiving now; every thread gets :class:`Stopped`."""
        self.stopped.set()
        # A copy, since the threads that wake up take their sockets out.
        for open_socket in [*self.open_sockets, *self._made_sockets]:
            with suppress(OSError):
                open_socket.shutdown(socket.SHUT_RDWR)

    def _remember_socket(self, event: str, details: Mapping[str, Any]) -> None:
        """Keep the socket of a new connection: an answer may be long in coming, and a stop ends that wait, too."""
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            raw_socket = details["return_value"].get_extra_info("socket")
            if raw_socket is not None:
                self._made_sockets.add(raw_socket)

    def wait(self, seconds: float = 0.0) -> None:
        """Sleep, but not beyond a stop.

        Raises
        ------
        Stopped
            The session was stopped, before or meanwhile.
        """
        if self.stopped.wait(max(0.0, seconds)):
            raise Stopped

    @contextmanager
    def threads(self, jobs: int) -> Iterator[ThreadPoolExecutor]:
        """Open a pool whose work ends at once when the block is left by Ctrl-C, a closed iterator or a bucket."""
        with ThreadPoolExecutor(max(1, jobs)) as pool:
            try:
                yield pool
            # Otherwise the pool would wait for transfers of hundreds of megabytes before Ctrl-C takes effect, or before
            # the user learns that they cannot be copied on.
            except (KeyboardInterrupt, GeneratorExit, StoreError):
                self.stop()
                pool.shutdown(cancel_futures=True)
                raise

    def repeat(
        self,
        name: str,
        attempt: Callable[[], T],
        progress: Callable[[], int] = lambda: 0,
    ) -> T:
        """Call `attempt` until it raises no :class:`Fault`, and return what it returned.

        httpx can repeat a connection that fails, but knows neither ``Retry-After`` nor that a broken
        transfer of gigabytes has moved on; so this loop is ours.

        Parameters
        ----------
        name
            What is fetched: for messages, and as the seed of the jitter.
        attempt
            What may fail.
        progress
            A number that grows when an attempt, failed or not, brought something.

        Raises
        ------
        SourceError
            There were too many fruitless attempts in a row.
        """
        # `cost` counts failures by how expensive they were.
        cost = 0
        failures = 0
        while True:
            before = progress()
            try:
                return attempt()
            except Fault as fault:
                # A connection that breaks every minute but brings new bytes each time gets there in the end.
                if progress() > before:
                    cost = 0
                    failures = 0
                cost += fault.cost
                failures += 1
                if cost >= self.backoff.attempts:
                    attempts = "1 attempt" if failures == 1 else f"{failures} attempts"
                    raise SourceError(
                        name,
                        f"gave up after {attempts}: {fault.reason}",
                        way_out=fault.way_out,
                    ) from fault
                delay = self.backoff.delay(name, failures, fault.retry_after)
                self.listener.retrying(name, fault.reason, delay)
            self.wait(delay)

    @abstractmethod
    def judge(self, response: httpx.Response) -> None:
        """Return if an answer is good; what is good depends on the server."""

    def timed_out(self) -> Exception:
        """Return what is raised when a connection has been silent for too long."""
        return Fault(f"no data for {self.timeout.read:g} s")

    @contextmanager
    def get(
        self,
        url: str,
        headers: Mapping[str, str] | None = None,
    ) -> Iterator[httpx.Response]:
        """Open a file for reading; whatever breaks until the block ends is a :class:`Fault`."""
        self.wait_until_allowed()
        self.check_reachable(url)
        with (
            self.errors_as_faults(),
            self.client.stream(
                "GET", url, headers=headers, extensions={"trace": self._remember_socket}
            ) as response,
        ):
            self.judge(response)
            # A blocked read ends only when its socket is shut down; httpx has no other way to interrupt one.
            raw_socket = response.extensions["network_stream"].get_extra_info("socket")
            self.open_sockets.add(raw_socket)
            try:
                self.wait()
                yield response
            finally:
                self.open_sockets.discard(raw_socket)

    def check_reachable(self, url: str) -> None:
        """Look up the server's name before the first request.

        Raises
        ------
        Fault
            It has no address, or none could be had in time.
        """
        host = urlsplit(url).hostname
        if self.has_answered or not host:
            return
        before = time.monotonic()
        problem = lookup_problem(host)
        self.wait()
        if problem is not None:
            is_slow = time.monotonic() - before > _QUICK_S
            raise Fault(
                f"{host} cannot be reached ({problem})",
                cost=_TIMEOUT_COST if is_slow else _UNREACHABLE_COST,
                way_out=self.words.when_unreachable,
            )

    def slow_down(self, response: httpx.Response) -> float | None:
        """Return how long the server asks to wait, which holds for all threads."""
        seconds = seconds_to_wait(response.headers.get("retry-after"))
        if seconds is None:
            return None
        seconds = min(seconds, self.backoff.longest_retry_after)
        until = time.monotonic() + seconds
        self.quiet_until = max(self.quiet_until, until)
        return seconds

    def wait_until_allowed(self) -> None:
        """Sleep while the server has asked for quiet."""
        self.wait(self.quiet_until - time.monotonic())

    @contextmanager
    def errors_as_faults(self) -> Iterator[None]:
        """Raise errors of connections as faults, those of addresses as errors of the user's."""
        try:
            yield
        except httpx.InvalidURL as error:
            what = f"not an address ({error})"
            raise UsageError(self.words.option, what, expected="https://…") from error
        # Before the time-outs, of which one is a connection that is never made.
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
            # Our own stop looks like a broken connection: check for it first, so that it is not tried again.
            self.wait()
            raise self.unreachable(error) from error
        except httpx.TimeoutException as error:
            raise self.timed_out() from error
        except httpx.RequestError as error:
            self.wait()
            raise self.broken(error) from error

    def broken(self, error: httpx.RequestError) -> Fault:
        """Return the fault of a connection that ended before the answer did."""
        return BrokenTransfer(f"the connection failed ({error})")

    def unreachable(self, error: httpx.TransportError) -> Exception:
        """Return the fault of a connection that was not made, or that a proxy refuses."""
        is_timeout = isinstance(error, httpx.ConnectTimeout)
        reason = f"no connection within {self.timeout.connect:g} s" if is_timeout else str(error)
        if self.has_answered:
            return Fault(f"the connection failed ({reason})")
        return Fault(
            f"{error.request.url.host} cannot be reached ({reason})",
            cost=_TIMEOUT_COST if is_timeout else _UNREACHABLE_COST,
            way_out=self.words.when_unreachable,
        )


def refuse_other_servers(response: httpx.Response, way_out: str = MIRROR.after_redirect) -> None:
    """Refuse redirects to another server: whoever answers for the address need not be who publishes the trace.

    Parameters
    ----------
    response
        An answer, to be judged before its redirect is followed.
    way_out
        What to do about such a redirect.

    Raises
    ------
    SourceError
        It leads to another server.
    """
    if not response.has_redirect_location:
        return
    here = response.url
    there = response.url.join(response.headers["location"])
    if here.host == there.host and (_has_same_port(here, there) or _is_upgrade(here, there)):
        return
    raise SourceError(
        str(here),
        "the server sends us to another one",
        expected=_server(here),
        got=_server(there),
        way_out=way_out,
    )


def _has_same_port(here: httpx.URL, there: httpx.URL) -> bool:
    return here.scheme == there.scheme and here.port == there.port


def _is_upgrade(here: httpx.URL, there: httpx.URL) -> bool:
    """Return whether a redirect leads to the same server over TLS; the way back is no upgrade."""
    has_default_ports = here.port is None and there.port is None
    return here.scheme == "http" and there.scheme == "https" and has_default_ports


def _server(url: httpx.URL) -> str:
    return f"{url.scheme}://{url.netloc.decode()}"


def seconds_to_wait(retry_after: str | None) -> float | None:
    """Read a ``Retry-After`` header: seconds or a date; None where there is none, or it says neither.

    Examples
    --------
    >>> seconds_to_wait("7"), seconds_to_wait("soon")
    (7.0, None)
    """
    if retry_after is None:
        return None
    if retry_after.strip().isdigit():
        return float(retry_after)
    with suppress(ValueError):
        date = email.utils.parsedate_to_datetime(retry_after)
        return max(0.0, date.timestamp() - time.time())
    return None
