"""What can go wrong on the wire, and when it is tried again."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from borgtrace.errors import SourceError

T = TypeVar("T")


class Fault(Exception):  # noqa: N818 - a signal between threads, not an error of the user's
    """Something that another attempt may fix: a broken connection, a busy server, a wrong length.

    ``cost`` is how many failed attempts it counts as: downloading a whole file that turns out to be wrong
    is more expensive than a refused connection.
    """

    def __init__(self, reason: str, *, retry_after: float | None = None, cost: int = 1) -> None:
        super().__init__(reason)
        self.reason, self.retry_after, self.cost = reason, retry_after, cost


class NotPublished(Exception):  # noqa: N818 - as above
    """The server says that there is no such file (404, 410, or 403: buckets hide what is missing)."""


class Stopped(Exception):  # noqa: N818 - as above
    """The session was stopped; what has been received is kept."""


class Listener:
    """Hears how a fetch goes, from any thread; this one ignores it all."""

    def received(self, path: str, n_bytes: int) -> None:
        """Bytes of a file arrived; negative when they had to be discarded."""

    def retrying(self, path: str, reason: str, delay: float) -> None:
        """A request failed and is repeated after ``delay`` seconds."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential back-off with jitter, the same for the same seed.

    Before the n-th repetition of a request the wait is drawn evenly from the upper half of
    ``min(cap, base * 2**(n-1))`` seconds; the server's own ``Retry-After`` is a lower bound.  An attempt
    that brought new bytes starts the count again: only ``attempts`` fruitless ones in a row give up.

    Examples
    --------
    >>> waits = [Backoff(seed=1).delay("part-00000", n) for n in (1, 2, 3)]
    >>> waits == [Backoff(seed=1).delay("part-00000", n) for n in (1, 2, 3)]
    True
    >>> 0.25 <= waits[0] <= 0.5 <= waits[1] <= 1.0 <= waits[2] <= 2.0
    True
    """

    seed: int = 0
    base: float = 0.5
    cap: float = 60.0
    attempts: int = 8
    longest_retry_after: float = 600.0

    def delay(self, key: str, failures: int, retry_after: float | None = None) -> float:
        """Return the seconds to wait after the given number of failures in a row (≥ 1).

        Parameters
        ----------
        key
            Name of what is fetched: another name, other jitter.
        failures
            Failures in a row, at least 1.
        retry_after
            What the server asked for, s.
        """
        # Drawn by name and number, not from a shared generator: threads do not change one another's waits.
        ceiling = min(self.cap, self.base * 2.0 ** (failures - 1))
        jitter = random.Random(f"{self.seed}/{key}/{failures}").uniform(ceiling / 2, ceiling)
        # Bounded: a server that says "tomorrow" must not look like a hang.
        return max(jitter, min(retry_after or 0.0, self.longest_retry_after))

    def repeat(
        self,
        name: str,
        attempt: Callable[[], T],
        wait: Callable[[float], None],
        *,
        listener: Listener,
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
        wait
            Sleeps, or raises when the session is stopped.
        listener
            Hears of every repetition.
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
                if fruitless >= self.attempts:
                    raise SourceError(
                        name,
                        f"gave up after {failures} attempts: {fault.reason}",
                        way_out="run the same command again later: what has arrived is kept",
                    ) from fault
                delay = self.delay(name, failures, fault.retry_after)
                listener.retrying(name, fault.reason, delay)
            wait(delay)
