"""Draws of all tasks of a pool, which instances share that hold each of these tasks.

A task has the same draws in every instance.  Where the pool has at most as many tasks as an instance, instances differ
in the order of their tasks alone: what estimators derive from draws (sorted values, moments, histograms), which takes
a third of the time of an experiment, is derived once for all of them.
"""

from __future__ import annotations

from threading import Lock
from typing import Literal

import numpy as np

from borgtrace.colocation.tasks.pool import TaskPool, UsageColumn
from borgtrace.kernels.arrays import Index, Values
from borgtrace.placement import Observation

MOST_SHARED = 2**28
"""Bytes that shared draws and what is derived of them may take: as much as 1,000 tasks and 10,000 realizations do."""

DRAWING = Lock()
"""Held while drawing: draws use all threads, so only one runs at a time."""

SeenColumn = Literal["inst", "avg"]


def draw_alone(
    pool: TaskPool, tasks: Index, realizations: int, seed: int, column: UsageColumn
) -> Values:
    """Return what :meth:`~borgtrace.colocation.tasks.pool.TaskPool.draw` does, while no other thread draws.

    Parameters
    ----------
    pool, tasks
        Where to draw from.
    realizations, seed, column
        As there.
    """
    with DRAWING:
        return pool.draw(tasks, realizations, seed, column)


class LatestDraws:
    """Lets shared draws of one kind be held at a time: those of an experiment before are forgotten."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._latest: SharedDraws | None = None

    def take_turn(self, draws: SharedDraws) -> None:
        """Forget other draws than these.

        Parameters
        ----------
        draws
            What is asked for now.
        """
        with self._lock:
            before = self._latest
            self._latest = draws
        if before is not None and before is not draws:
            before.clear()


class SharedDraws:
    """Draws of all tasks of a pool in its order, each made when it is first asked for.

    Parameters
    ----------
    pool
        The tasks.
    realizations, seed
        Number of draws of each task, and their seed.
    latest
        What else is forgotten when these are asked for.

    Examples
    --------
    >>> from borgtrace.colocation.tasks.synthetic import synthetic_pool
    >>> shared = SharedDraws(synthetic_pool(30, seed=1), realizations=100, seed=0)
    >>> shared.draws("inst").shape, shared.observed("inst", 10) is shared.observed("inst", 10)
    ((30, 100), True)
    """

    def __init__(
        self, pool: TaskPool, realizations: int, seed: int, latest: LatestDraws | None = None
    ) -> None:
        self.pool = pool
        self.realizations = realizations
        self.seed = seed
        self._latest = latest or LatestDraws()
        self._lock = Lock()
        self._draws: dict[SeenColumn, Values] = {}
        self._observed: dict[tuple[SeenColumn, int], Observation] = {}

    def __reduce__(self) -> tuple[type[SharedDraws], tuple[TaskPool, int, int]]:
        # On another machine they are drawn anew.
        return SharedDraws, (self.pool, self.realizations, self.seed)

    def draws(self, column: SeenColumn) -> Values:
        """Return the draws of all tasks, float32 (n, R).

        Parameters
        ----------
        column
            Instantaneous usage or window averages.
        """
        self._latest.take_turn(self)
        with self._lock:
            if column not in self._draws:
                tasks = np.arange(len(self.pool))
                self._draws[column] = draw_alone(
                    self.pool, tasks, self.realizations, self.seed, column
                )
            return self._draws[column]

    def observed(self, column: SeenColumn, first: int) -> Observation:
        """Return the first draws of all tasks as estimators see them.

        Parameters
        ----------
        column
            Instantaneous usage or window averages.
        first
            Number of draws.
        """
        draws = self.draws(column)
        with self._lock:
            if (column, first) not in self._observed:
                self._observed[column, first] = Observation(draws[:, :first])
            return self._observed[column, first]

    def clear(self) -> None:
        """Forget all draws; whoever asks for them again waits for them again."""
        with self._lock:
            self._draws.clear()
            self._observed.clear()
