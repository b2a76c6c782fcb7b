"""Which faults of a connection are temporary, and when to try again."""

import random
from collections.abc import Callable
from dataclasses import dataclass


class Fault(Exception):  # noqa: N818 - a signal between threads, not an error of the user's
    """Something that another attempt may fix: a broken connection, a busy server, a wrong length.

    Parameters
    ----------
    reason
        What went wrong.
    retry_after
        Seconds that the server asks to wait.
    cost
        How many failed attempts it counts as: downloading a whole file that turns out to be wrong is more expensive
        than a refused connection.
    way_out
        What the user can do when it is given up.
    """

    def __init__(
        self,
        reason: str,
        *,
        retry_after: float | None = None,
        cost: int = 1,
        way_out: str = "run the same command again later: what has arrived is kept",
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after = retry_after
        self.cost = cost
        self.way_out = way_out


class BrokenTransfer(Fault):
    """The connection ended before the answer did."""


class NotPublished(Exception):  # noqa: N818 - as above
    """The server says that there is no such file (404, 410, or 403: buckets hide what is missing)."""


class Stopped(Exception):  # noqa: N818 - as above
    """The session was stopped; what has been received is kept."""


@dataclass(frozen=True, slots=True)
class Listener:
    """Is told how a fetch goes, from any thread; by default it ignores everything.

    ``received(path, n_bytes)``: bytes of a file arrived, a negative number when they had to be discarded.
    ``retrying(path, reason, delay)``: a request failed and is repeated after ``delay`` seconds.
    """

    received: Callable[[str, int], None] = lambda path, n_bytes: None
    retrying: Callable[[str, str, float], None] = lambda path, reason, delay: None


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

    def delay(
        self,
        key: str,
        failures: int,
        retry_after: float | None = None,
    ) -> float:
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
        rng = random.Random(f"{self.seed}/{key}/{failures}")
        doubled = self.base * 2.0 ** (failures - 1)
        ceiling = min(self.cap, doubled)
        jittered = rng.uniform(ceiling / 2, ceiling)
        # Bounded: a server that says "tomorrow" must not look like a hang.
        requested = min(retry_after or 0.0, self.longest_retry_after)
        return max(jittered, requested)
