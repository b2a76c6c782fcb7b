"""What can go wrong on the wire, and how often it is tried again."""

from __future__ import annotations

from typing import Protocol

from borgtrace.errors import SourceError
from borgtrace.fetch.backoff import Backoff


class Fault(Exception):  # noqa: N818 - a signal between threads, not an error of the user's
    """Something that another try may mend: a cut connection, a busy server, a wrong length.

    ``cost`` is how many vain tries it counts for: a whole file that turns out wrong is dearer than a
    refused connection.
    """

    def __init__(self, reason: str, *, retry_after: float | None = None, cost: int = 1) -> None:
        super().__init__(reason)
        self.reason, self.retry_after, self.cost = reason, retry_after, cost


class Absent(Exception):  # noqa: N818 - as above
    """The server says that there is no such file (404, 410, or 403: buckets hide what is missing)."""


class Stopped(Exception):  # noqa: N818 - as above
    """Work was asked to end; what has been received is kept."""


class Listener(Protocol):
    """Who wants to hear how a fetch goes, from whatever thread."""

    def received(self, path: str, n_bytes: int) -> None:
        """Bytes of a file arrived; negative when they had to be thrown away."""
        ...

    def retrying(self, path: str, reason: str, delay: float) -> None:
        """A request failed and is repeated after ``delay`` seconds."""
        ...


class Silence:
    """A listener that does nothing."""

    def received(self, path: str, n_bytes: int) -> None:
        """Ignore received bytes."""

    def retrying(self, path: str, reason: str, delay: float) -> None:
        """Ignore repetitions."""


class Tries:
    """Counts the vain tries for one file, and says how long to wait before the next."""

    def __init__(self, name: str, backoff: Backoff, listener: Listener) -> None:
        self._name, self._backoff, self._listener = name, backoff, listener
        self._vain = self._repetition = 0

    def failed(self, fault: Fault, *, progressed: bool = False) -> float:
        """Return the seconds to wait before the next try.

        Raises
        ------
        SourceError
            There were too many vain tries in a row.
        """
        self._vain = fault.cost if progressed else self._vain + fault.cost
        self._repetition = 1 if progressed else self._repetition + 1
        if self._vain >= self._backoff.attempts:
            raise SourceError(
                self._name,
                f"given up after {self._repetition} tries: {fault.reason}",
                way_out="run the same command again later: what has arrived is kept",
            ) from fault
        delay = self._backoff.delay(self._name, self._repetition, fault.retry_after)
        self._listener.retrying(self._name, fault.reason, delay)
        return delay
