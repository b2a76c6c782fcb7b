"""Problem instances: random thousands of tasks, with their realizations, made one at a time.

"50 instances × 1,000 tasks drawn from the sample" (Janus & Rzadca, SoCC'17, §5.1) need 4 GB at 10,000 realizations of
two columns; here only those being worked on exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from threading import Lock
from typing import Any, Literal, TypeVar

import numpy as np

from borgtrace.colocation.pool import Pool, UsageColumn
from borgtrace.engine import SparkTasks
from borgtrace.kernels.arrays import Index, Numbers, Values
from borgtrace.placement import Observation

KEPT = 2**30
"""Bytes of instances kept for the next experiment; an instance takes five times its realizations, at most."""
_FRESH = 1 << 32
"""What instance k adds k + 1 times to the seed for draws that only judge: no two instances share them."""

Answer = TypeVar("Answer")
Data = Literal["inst", "avg"]

_DRAWING = Lock()  # draws use all threads: one at a time


@dataclass(frozen=True, eq=False)
class Instance:
    """Tasks to pack, in the order in which they were drawn.

    Attributes
    ----------
    number
        Which instance of the experiment it is, from 0.
    tasks
        int64 (n,): indices into the pool.
    inst
        float32 (n, R): realizations of instantaneous usage.
    draw
        ``draw(column, salt)`` makes those of another usage, or with a salt other ones.
    request
        float64 (n,) or None: CPU requests, NaN where unknown.
    """

    number: int
    tasks: Index
    inst: Values
    draw: Callable[..., Values]
    request: Numbers | None = None

    @cached_property
    def avg(self) -> Values:
        """Realizations of the window averages, float32 (n, R)."""
        return self.draw("avg")

    @cached_property
    def fresh(self) -> Values:
        """Realizations of instantaneous usage that no estimator has seen, float32 (n, R)."""
        # A salt per instance: with a common one, a task of two instances would be judged twice by the same draws.
        return self.draw("inst", _FRESH * (1 + self.number))

    @cached_property
    def seen(self) -> Observation:
        """All instantaneous usage, as estimators see it."""
        return Observation(self.inst, request=self.request)

    def observed(self, data: Data = "inst", first: int | None = None) -> Observation:
        """The first realizations, all by default, of one kind.

        Parameters
        ----------
        data
            Instantaneous usage or window averages.
        first
            Number of realizations.
        """
        if data == "inst" and (first is None or first == self.inst.shape[1]):
            return self.seen
        values = self.inst if data == "inst" else self.avg
        return Observation(values[:, :first], request=self.request)


@dataclass(frozen=True, eq=False)
class Instances:
    """Independent random instances of a pool.

    Parameters
    ----------
    pool
        Where tasks are drawn from, without replacement within an instance.
    size
        Tasks per instance; all tasks of the pool where it has fewer.
    realizations
        R.
    count
        Number of instances.
    seed
        Instance k depends on (seed, k) only: the first instances of a longer run are the shorter run.
    judging
        Where draws that only judge come from, task by task those of `pool`; None: from `pool`.
    kept
        Instances made before, up to `KEPT` bytes; those of one pool, size, R and seed may share it.

    Examples
    --------
    >>> from borgtrace.colocation.synthetic import synthetic_pool
    >>> instances = Instances(synthetic_pool(30, seed=1), size=5, realizations=100, count=2)
    >>> instances.make(1).inst.shape
    (5, 100)
    """

    pool: Pool
    size: int = 1_000
    realizations: int = 10_000
    count: int = 50
    seed: int = 0
    judging: Pool | None = None
    kept: dict[int, Instance] = field(default_factory=dict, repr=False)

    def tasks(self, number: int) -> Index:
        """Indices of the tasks of one instance, in random order."""
        # A generator per instance: the first instances of a longer run are those of the shorter one.
        rng = np.random.default_rng([self.seed, number])
        return rng.permutation(len(self.pool))[: self.size].astype(np.int64)

    def make(self, number: int) -> Instance:
        """Draw one instance, or return the one kept."""
        # Without a lock: `map` hands out each number once, so two threads never make the same instance.
        if number not in self.kept:
            made = self._made(number)
            # Averages, fresh draws, sorted values and histograms may follow, each as large as the realizations.
            if 5 * made.inst.nbytes * (len(self.kept) + 1) > KEPT:
                return made
            self.kept[number] = made
        return self.kept[number]

    def _made(self, number: int) -> Instance:
        tasks = self.tasks(number)
        request = self.pool.cpu_request
        asked = None if request is None else request[tasks].astype(np.float64)
        inst = self._draw(tasks, "inst")
        # The others when asked for: most cells see instantaneous usage only, and each kind is as large as the first.
        return Instance(number, tasks, inst, partial(self._draw, tasks), asked)

    def _draw(
        self,
        tasks: Index,
        column: UsageColumn,
        salt: int = 0,
    ) -> Values:
        pool = self.judging if salt and self.judging is not None else self.pool
        with _DRAWING:
            return pool.draw(tasks, self.realizations, self.seed + salt, column)

    def map(
        self, work: Callable[[Instance], Answer], threads: int | SparkTasks = 2
    ) -> Iterator[Answer]:
        """Do `work` on every instance, `threads` at a time; answers come in order, the same whatever `threads`.

        Parameters
        ----------
        work
            What to do with an instance.
        threads
            Instances worked on at a time, or the executors that make and work on them, each with a copy of the pool.
        """
        if isinstance(threads, SparkTasks):
            alone = replace(self, kept={})
            yield from threads.map(lambda number: work(alone._made(number)), range(self.count))
            return
        with ThreadPoolExecutor(max_workers=max(1, threads)) as workers:
            # Threads: kernels hold no GIL, and what is kept for the next experiment could not be shared by processes.
            yield from workers.map(lambda number: work(self.make(number)), range(self.count))

    def rows(self, rows: Callable[[Instance], list[dict[str, Any]]]) -> list[dict[str, Any]]:
        """Make some rows of every instance."""
        return [row for some in self.map(rows) for row in some]


def split(pool: Pool, size: int, seed: int) -> tuple[Pool, Pool]:
    """Two pools without a common task where each half fills an instance, else the pool twice.

    Parameters
    ----------
    pool
        Tasks to divide at random.
    size
        Tasks per instance.
    seed
        Seed of the division.
    """
    # Smaller halves would change what is asked: fewer tasks per instance, other sums.
    if len(pool) < 2 * size:
        return pool, pool
    # The stream is that of instance 2, but no instance of the whole pool is ever compared with one of a half.
    order = np.random.default_rng([seed, 2]).permutation(len(pool))
    return pool.take(np.sort(order[: len(pool) // 2])), pool.take(np.sort(order[len(pool) // 2 :]))
