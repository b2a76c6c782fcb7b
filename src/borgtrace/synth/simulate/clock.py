"""The clock of the simulation: which actions are due at which time."""

import heapq
from collections.abc import Callable
from typing import NamedTuple


class PlannedAction(NamedTuple):
    """An action that is due at a time (µs); `number` tells the order of planning."""

    time: int
    number: int
    action: Callable[..., None]
    arguments: tuple[object, ...]


class Clock:
    """Simulated time and the actions ahead; actions of equal time keep the order in which they were planned.

    Parameters
    ----------
    end
        End of the trace, µs; nothing is done from then on.

    Attributes
    ----------
    now
        The time, µs.

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
        self._heap: list[PlannedAction] = []
        self._count = 0

    @property
    def planned(self) -> list[PlannedAction]:
        """All actions ahead, in their order."""
        return sorted(self._heap)

    def at(
        self,
        time: int,
        action: Callable[..., None],
        *arguments: object,
    ) -> None:
        """Plan an action at a time (µs), unless the trace is over by then."""
        if time < self.end:
            # The number decides among equal times: a heap would otherwise compare the actions, which have no order.
            self._count += 1
            heapq.heappush(self._heap, PlannedAction(time, self._count, action, arguments))

    def run_until(self, limit: int) -> None:
        """Do everything that is due before `limit`, in order."""
        while self._heap and self._heap[0].time < limit:
            due = heapq.heappop(self._heap)
            self.now = due.time
            due.action(*due.arguments)
