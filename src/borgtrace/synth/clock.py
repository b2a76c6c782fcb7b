"""The clock of the simulation: what is to happen when."""

import heapq
from collections.abc import Callable


class Clock:
    """Simulated time and the actions ahead; actions of equal time keep the order in which they were asked for.

    Parameters
    ----------
    end
        End of the trace, µs; nothing is done from then on.

    Examples
    --------
    >>> clock, seen = Clock(10), []
    >>> for time in (7, 3, 12):
    ...     clock.at(time, seen.append, time)
    >>> clock.run_until(10)
    >>> seen, clock.now
    ([3, 7], 7)
    """

    def __init__(self, end: int) -> None:
        self.now = 0
        self.end = end
        self._heap: list[tuple[int, int, Callable[..., None], tuple[object, ...]]] = []
        self._count = 0

    def at(self, time: int, action: Callable[..., None], *arguments: object) -> None:
        """Do something at a time (µs), unless the trace is over by then."""
        if time < self.end:
            # The count decides among equal times: a heap would otherwise compare the actions, which have no order.
            self._count += 1
            heapq.heappush(self._heap, (time, self._count, action, arguments))

    def run_until(self, limit: int) -> None:
        """Do all that is to happen before `limit`, in order."""
        while self._heap and self._heap[0][0] < limit:
            self.now, _, action, arguments = heapq.heappop(self._heap)
            action(*arguments)
