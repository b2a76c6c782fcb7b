"""Requests to one server: bounded connections, faults told from answers, stoppable at any moment."""

import email.utils
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Self, TypeVar

import httpx

from borgtrace.errors import SourceError, StoreError, UsageError
from borgtrace.fetch.digests import parse_sums
from borgtrace.fetch.retry import Backoff, Fault, Listener, NotPublished, Stopped
from borgtrace.fetch.version import Version, version_of

T = TypeVar("T")

_NOT_PUBLISHED = {401, 403, 404, 410}
_NO_HEAD = {405, 501}
_TEMPORARY = {408, 425, 429}
# 416 is an answer, too: it tells the length of the file.
_GOOD = {200, 206, 416}
_LATER = "run the same command again later: what has arrived is kept"


class Session:
    """Connections to a server, shared by the threads of one fetch.

    Parameters
    ----------
    connections
        Most connections open at a time.
    backoff
        How repetitions wait.
    timeout
        Seconds without a single byte after which a connection counts as dead.

    Attributes
    ----------
    listener
        Hears of progress and repetitions.
    """

    def __init__(
        self, connections: int = 4, *, backoff: Backoff | None = None, timeout: float = 30.0
    ) -> None:
        self.backoff = backoff or Backoff()
        self.listener = Listener()
        self._stop = threading.Event()
        # One server, one pace: when it asks one thread to wait, all of them do.
        self._quiet_until = 0.0
        self._open: set[socket.socket] = set()
        # gzip must be "accepted": to a client that does not, the bucket unpacks a file on the way
        # and then ignores Range.  Bodies are read raw, so that nothing is ever unpacked here.
        self._client = httpx.Client(
            limits=httpx.Limits(max_connections=connections),
            # No time-out for a free connection: more threads than connections is no fault of the server's.
            timeout=httpx.Timeout(timeout, connect=min(timeout, 10.0), pool=None),
            headers={"accept-encoding": "gzip", "user-agent": "borgtrace"},
            follow_redirects=True,
            # Called for each answer, those that lead elsewhere included, before the next request is sent.
            event_hooks={"response": [_stay]},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._client.close()

    def stop(self) -> None:
        """End all waiting and receiving now; every thread gets :class:`Stopped`."""
        self._stop.set()
        # A copy, since the threads that wake up take their sockets out.
        for open_socket in list(self._open):
            with suppress(OSError):
                open_socket.shutdown(socket.SHUT_RDWR)

    def wait(self, seconds: float = 0.0) -> None:
        """Sleep, but not beyond a stop.

        Raises
        ------
        Stopped
            The session was stopped, before or meanwhile.
        """
        if self._stop.wait(max(0.0, seconds)):
            raise Stopped

    @contextmanager
    def threads(self, jobs: int) -> Iterator[ThreadPoolExecutor]:
        """Open a pool whose work ends at once when the block is left by Ctrl-C, a closed iterator or a bucket."""
        with ThreadPoolExecutor(max(1, jobs)) as pool:
            try:
                yield pool
            # Without it the pool would wait for transfers of hundreds of megabytes before Ctrl-C is felt, or before
            # it is told that they cannot be copied on.
            except (KeyboardInterrupt, GeneratorExit, StoreError):
                self.stop()
                pool.shutdown(cancel_futures=True)
                raise

    def repeat(
        self, name: str, attempt: Callable[[], T], progress: Callable[[], int] = lambda: 0
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
        fruitless = failures = 0
        while True:
            mark = progress()
            try:
                return attempt()
            except Fault as fault:
                # A connection that breaks every minute but brings new bytes each time gets there in the end.
                if progress() > mark:
                    fruitless = failures = 0
                fruitless, failures = fruitless + fault.cost, failures + 1
                if fruitless >= self.backoff.attempts:
                    what, way_out = f"gave up after {failures} attempts: {fault.reason}", _LATER
                    raise SourceError(name, what, way_out=way_out) from fault
                delay = self.backoff.delay(name, failures, fault.retry_after)
                self.listener.retrying(name, fault.reason, delay)
            self.wait(delay)

    def head(self, url: str) -> Version | None:
        """Return what the server says about a file, None when it says there is none."""
        return self._published(url, self._head)

    def sums(self, url: str) -> dict[str, str]:
        """Return the checksums that a file lists, by path; empty when there is no such file."""
        return self._published(url, self._sums) or {}

    def _published(self, url: str, ask: Callable[[str], T]) -> T | None:
        with suppress(NotPublished):
            return self.repeat(url, lambda: ask(url))
        return None

    @contextmanager
    def get(self, url: str, headers: Mapping[str, str] | None = None) -> Iterator[httpx.Response]:
        """Open a file for reading; whatever breaks until the block ends is a :class:`Fault`."""
        self.wait(self._quiet_until - time.monotonic())
        with self._translated(), self._client.stream("GET", url, headers=headers) as response:
            self._judge(response)
            # A blocked read ends only when its socket is shut down; httpx has no other way to interrupt one.
            raw = response.extensions["network_stream"].get_extra_info("socket")
            self._open.add(raw)
            try:
                self.wait()
                yield response
            finally:
                self._open.discard(raw)

    def _head(self, url: str) -> Version:
        self.wait(self._quiet_until - time.monotonic())
        with self._translated():
            response = self._client.head(url)
        # Some mirrors do not know HEAD; the headers of a GET say the same, and its body is not read.
        if response.status_code in _NO_HEAD:
            with self.get(url) as response:
                return version_of(response)
        self._judge(response)
        return version_of(response)

    def _sums(self, url: str) -> dict[str, str]:
        with self.get(url) as response:
            response.read()
            sums = parse_sums(response.text)
        # An error page with status 200: taken for a list, it would make every file one without a checksum.
        if response.text and not sums:
            raise Fault(f"{url.rpartition('/')[2]} holds no checksums")
        return sums

    def _judge(self, response: httpx.Response) -> None:
        code = response.status_code
        said = f"{code} {response.reason_phrase}".strip()
        if code in _NOT_PUBLISHED:
            raise NotPublished(said)
        if code in _TEMPORARY or code >= 500:
            raise Fault(f"the server answers {said}", retry_after=self._quiet(response))
        if code not in _GOOD:
            # Twice is enough for what repeating hardly ever mends (attempts are eight).
            raise Fault(f"the server answers {said}", cost=4)
        if response.headers.get("content-type", "").startswith("text/html"):
            raise Fault("an HTML page came instead of the file (a proxy, or a login page?)")

    def _quiet(self, response: httpx.Response) -> float | None:
        """Return how long the server asks to wait, which holds for all threads."""
        after = _seconds(response.headers.get("retry-after"))
        if after is not None:
            after = min(after, self.backoff.longest_retry_after)
            self._quiet_until = max(self._quiet_until, time.monotonic() + after)
        return after

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except httpx.InvalidURL as error:
            raise UsageError(
                "--base-url", f"not an address ({error})", expected="https://…"
            ) from error
        except httpx.TimeoutException as error:
            raise Fault(f"no data for {self._client.timeout.read:g} s") from error
        # Our own stop looks like a broken connection: asked first, so that it is not tried again.
        except httpx.RequestError as error:
            self.wait()
            raise Fault(f"the connection failed ({error})") from error


def _stay(response: httpx.Response) -> None:
    """Refuse to be sent to another server: whoever answers for the address need not be who publishes the trace."""
    if not response.has_redirect_location:
        return
    here, there = response.url, response.url.join(response.headers["location"])
    # The same server over TLS is no other one; the way back, from https to http, is.
    is_upgrade = (here.scheme, there.scheme, here.port, there.port) == ("http", "https", None, None)
    if here.host != there.host or (
        (here.scheme, here.port) != (there.scheme, there.port) and not is_upgrade
    ):
        what, expected, got = "the server sends us to another one", _server(here), _server(there)
        way_out = "if you trust it, name the address that holds the files: --base-url URL"
        raise SourceError(str(here), what, expected=expected, got=got, way_out=way_out)


def _server(url: httpx.URL) -> str:
    return f"{url.scheme}://{url.netloc.decode()}"


def _seconds(text: str | None) -> float | None:
    """Read ``Retry-After``: seconds or a date."""
    if text is None:
        return None
    if text.strip().isdigit():
        return float(text)
    with suppress(ValueError):
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    return None
