"""Stretches of time on a grid: which are wanted, which are here, and how much to ask for at once."""

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field

MOST_POINTS = 10_000
"""Times in one query: servers refuse more than 11,000 for a series."""
GOOD_BEFORE_LONGER = 8
"""Answers in a row before a length is tried again that the server has refused."""
SAMPLES_PER_QUERY = 250_000
"""Samples in one answer: some 7 MB of JSON."""


@dataclass(frozen=True, slots=True, order=True)
class Stretch:
    """The times from `first` to `last`, both included, on the grid of a step.

    Attributes
    ----------
    first, last
        Seconds since 1970.
    """

    first: int
    last: int

    def points(self, step: int) -> int:
        """Return how many times of the grid it holds."""
        return (self.last - self.first) // step + 1


def subtract(wanted: Stretch, present: Iterable[Stretch], step: int) -> list[Stretch]:
    """Return the parts of an interval that others do not cover.

    Examples
    --------
    >>> subtract(Stretch(0, 600), [Stretch(120, 240), Stretch(0, 60)], 60)
    [Stretch(first=300, last=600)]
    """
    rest = []
    first = wanted.first
    for interval in sorted(present):
        if interval.last < first or interval.first > wanted.last:
            continue
        if interval.first > first:
            rest.append(Stretch(first, interval.first - step))
        first = interval.last + step
    if first <= wanted.last:
        rest.append(Stretch(first, wanted.last))
    return rest


@dataclass
class RemainingTime:
    """What is still to ask of one metric; threads take pieces of it, and learn from one another how long one may be.

    Attributes
    ----------
    intervals
        What is left, the earliest first.
    step
        Of the grid, s.
    window
        Pieces are whole multiples of so many points, but for the last; 1 where any length is good.
    longest
        Points of a piece at most.
    ceiling
        What `longest` may grow to, for the server refused more.
    """

    intervals: list[Stretch]
    step: int
    window: int = 1
    longest: int = MOST_POINTS
    ceiling: int = 0
    n_good: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        self.ceiling = MOST_POINTS * self.window
        self.longest = max(self.window, min(self.longest, self.ceiling))

    def take(self) -> Stretch | None:
        """Return the next piece to ask for; None when nothing is left."""
        with self.lock:
            if not self.intervals:
                return None
            interval = self.intervals.pop(0)
            points = interval.points(self.step)
            n_taken = min(points, max(self.longest, 1))
            if points > self.window:
                # What is less than a window stays for the last piece.
                n_taken = max(n_taken, self.window) // self.window * self.window
            last = interval.first + (n_taken - 1) * self.step
            if last < interval.last:
                self.intervals.insert(0, Stretch(last + self.step, interval.last))
            return Stretch(interval.first, last)

    def halve(self, piece: Stretch) -> bool:
        """Give a piece back that was too much at once; return whether it can be asked for in smaller pieces."""
        points = piece.points(self.step)
        with self.lock:
            self.intervals.insert(0, piece)
            self.n_good = 0
            if points <= self.window:
                return False
            self.ceiling = max(self.window, min(self.ceiling, points // 2))
            self.longest = min(self.longest, self.ceiling)
            return True

    def learn(self, piece: Stretch, n_samples: int) -> None:
        """Choose the length of the next pieces by what came for one."""
        points = piece.points(self.step)
        with self.lock:
            self.n_good += 1
            # Refused once, a length may be good later: the server was busy, or pods are fewer.
            if self.n_good % GOOD_BEFORE_LONGER == 0:
                self.ceiling = min(2 * self.ceiling, MOST_POINTS * self.window)
            if n_samples > SAMPLES_PER_QUERY:
                self.longest = max(self.window, min(self.longest, points // 2))
            elif points >= self.longest and 2 * n_samples <= SAMPLES_PER_QUERY:
                self.longest = min(2 * self.longest, self.ceiling)
