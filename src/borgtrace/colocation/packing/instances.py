"""Problem instances: random samples of tasks with their realizations, made one at a time.

"50 instances × 1,000 tasks drawn from the sample" (Janus & Rzadca, SoCC'17, §5.1) would need 4 GB at 10,000
realizations of two columns; here only those being worked on exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from threading import Lock
from typing import Any, Literal, TypeVar

import numpy as np

from borgtrace.colocation.packing.shared_draws import (
    MOST_SHARED,
    LatestDraws,
    SharedDraws,
    draw_alone,
)
from borgtrace.colocation.tasks.pool import TaskPool, UsageColumn
from borgtrace.colocation.tasks.streams import DIVISION
from borgtrace.engine import SparkTasks
from borgtrace.kernels.arrays import Index, Numbers, Values
from borgtrace.placement import Observation
from borgtrace.placement.estimators.observation import PartOfObservation

KEPT = 2**30
"""Bytes of instances kept for the next experiment."""
_COPIES = 5
"""Averages, fresh draws, sorted values and histograms may follow, each as large as the realizations."""
_FRESH = 1 << 32
"""Instance k adds k + 1 times this to the seed for draws that only judge, so that no two instances share them."""

Output = TypeVar("Output")
Data = Literal["inst", "avg"]


@dataclass(frozen=True, eq=False)
class Instance:
    """Tasks to pack, in the order in which they were drawn.

    Attributes
    ----------
    number
        Which instance of the experiment it is, from 0.
    tasks
        int64 (n,): indices into the pool.
    drawn
        float32 (n, R): realizations of instantaneous usage; None where they are among the `shared` ones.
    draw
        ``draw(column, salt)`` makes realizations of another usage, or with a salt other ones.
    request
        float64 (n,) or None: CPU requests, NaN where unknown.
    shared
        Draws of all tasks of the pool, of which these are a part; None where instances share nothing.
    """

    number: int
    tasks: Index
    drawn: Values | None
    draw: Callable[..., Values]
    request: Numbers | None = None
    shared: SharedDraws | None = None

    @property
    def n_realizations(self) -> int:
        """R."""
        if self.drawn is not None:
            return self.drawn.shape[1]
        assert self.shared is not None
        return self.shared.realizations

    @property
    def size(self) -> int:
        """Bytes of realizations that it may hold."""
        # What is derived of shared draws is held once for all instances.
        copies = _COPIES if self.shared is None else 1
        return copies * len(self.tasks) * self.n_realizations * np.dtype(np.float32).itemsize

    @cached_property
    def inst(self) -> Values:
        """Realizations of instantaneous usage, float32 (n, R)."""
        if self.drawn is not None:
            return self.drawn
        assert self.shared is not None
        return self.shared.draws("inst")[self.tasks]

    @cached_property
    def avg(self) -> Values:
        """Realizations of the window averages, float32 (n, R)."""
        return self.draw("avg") if self.shared is None else self.shared.draws("avg")[self.tasks]

    @cached_property
    def fresh(self) -> Values:
        """Realizations of instantaneous usage that no estimator has seen, float32 (n, R)."""
        # Each instance has its own salt: with a common one, a task of two instances would be judged twice by one draw.
        salt = _FRESH * (1 + self.number)
        return self.draw("inst", salt)

    @cached_property
    def seen(self) -> Observation:
        """All instantaneous usage, as estimators see it."""
        return self._observation("inst", self.n_realizations)

    def observed(self, data: Data = "inst", first: int | None = None) -> Observation:
        """Return the first realizations of one kind, by default all, as estimators see them.

        Parameters
        ----------
        data
            Instantaneous usage or window averages.
        first
            Number of realizations.
        """
        if first is None:
            first = self.n_realizations
        if data == "inst" and first == self.n_realizations:
            return self.seen
        return self._observation(data, first)

    def usage(self, *, is_fresh: bool) -> tuple[Values, Index | None]:
        """Return realizations that judge, with the row of each task among them; None where rows are tasks.

        Parameters
        ----------
        is_fresh
            Whether no estimator has seen them.
        """
        if is_fresh:
            return self.fresh, None
        if self.shared is None:
            return self.inst, None
        return self.shared.draws("inst"), self.tasks

    def _observation(self, data: Data, first: int) -> Observation:
        if self.shared is not None:
            whole = self.shared.observed(data, first)
            return PartOfObservation(whole, self.tasks, request=self.request)
        realizations = self.inst if data == "inst" else self.avg
        return Observation(realizations[:, :first], request=self.request)


class Room:
    """Memory for instances that are kept, which all instances of a study share.

    Parameters
    ----------
    size
        Bytes that all of them may take.
    """

    def __init__(self, size: int = KEPT) -> None:
        self.size = size
        self.draws = LatestDraws()
        self._lock = Lock()
        self._kept: list[tuple[dict[int, Instance], int, int]] = []

    def __reduce__(self) -> tuple[type[Room], tuple[int]]:
        # On another machine there is as much room, and nothing in it.
        return Room, (self.size,)

    def keep(self, kept: dict[int, Instance], instance: Instance) -> None:
        """Keep an instance if there is room beside its own kind; those of other kinds make way, the oldest first.

        Parameters
        ----------
        kept
            Instances of one pool, size, R and seed.
        instance
            One more of these.
        """
        size = instance.size
        with self._lock:
            # What was cleared takes no room any more.
            self._kept = [entry for entry in self._kept if entry[1] in entry[0]]
            others = [entry for entry in self._kept if entry[0] is not kept]
            own_size = sum(entry[2] for entry in self._kept if entry[0] is kept)
            # Not one of its own kind for another: who comes back for all of them would find none.
            if own_size + size > self.size:
                return
            excess = sum(entry[2] for entry in self._kept) + size - self.size
            for entry in others:
                if excess <= 0:
                    break
                other_kept, number, other_size = entry
                self._kept.remove(entry)
                del other_kept[number]
                excess -= other_size
            kept[instance.number] = instance
            self._kept.append((kept, instance.number, size))


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
        Where draws that only judge come from, with the same tasks as `pool`; None: from `pool`.
    kept
        Instances made before; those of one pool, size, R and seed may share it.
    room
        How many of them are kept; with instances of other kinds where they share it.
    shared
        What is derived of the draws of each task; None where instances hold different tasks, or these take too much.

    Examples
    --------
    >>> from borgtrace.colocation.tasks.synthetic import synthetic_pool
    >>> instances = Instances(synthetic_pool(30, seed=1), size=5, realizations=100, count=2)
    >>> instances.make(1).inst.shape
    (5, 100)
    """

    pool: TaskPool
    size: int = 1_000
    realizations: int = 10_000
    count: int = 50
    seed: int = 0
    judging: TaskPool | None = None
    kept: dict[int, Instance] = field(default_factory=dict, repr=False)
    room: Room = field(default_factory=Room, repr=False)
    shared: SharedDraws | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        size = _COPIES * len(self.pool) * self.realizations * np.dtype(np.float32).itemsize
        if self.shared is None and len(self.pool) <= self.size and size <= MOST_SHARED:
            # Frozen: this is set once, like what the caller gives.
            shared = SharedDraws(self.pool, self.realizations, self.seed, self.room.draws)
            object.__setattr__(self, "shared", shared)

    def tasks(self, number: int) -> Index:
        """Return the indices of the tasks of one instance, in random order.

        Parameters
        ----------
        number
            Which instance, from 0.
        """
        # A generator per instance: the first instances of a longer run are those of the shorter one.
        rng = np.random.default_rng([self.seed, number])
        order = rng.permutation(len(self.pool))
        return order[: self.size].astype(np.int64)

    def make(self, number: int) -> Instance:
        """Draw one instance, or return the one kept.

        Parameters
        ----------
        number
            Which instance, from 0.
        """
        # Without a lock: `map` hands out each number once, so two threads never make the same instance. It may have to
        # make way for one of another kind between two looks.
        instance = self.kept.get(number)
        if instance is None:
            instance = self.draw_instance(number)
            self.room.keep(self.kept, instance)
        return instance

    def draw_instance(self, number: int) -> Instance:
        """Draw one instance without keeping it.

        Parameters
        ----------
        number
            Which instance, from 0.
        """
        tasks = self.tasks(number)
        request = None
        if self.pool.cpu_request is not None:
            request = self.pool.cpu_request[tasks].astype(np.float64)
        return Instance(
            number,
            tasks,
            drawn=None if self.shared is not None else self._draw(tasks, "inst"),
            # Other kinds only on demand: most cells see instantaneous usage only, and each kind is as large.
            draw=partial(self._draw, tasks),
            request=request,
            shared=self.shared,
        )

    def _draw(
        self,
        tasks: Index,
        column: UsageColumn,
        salt: int = 0,
    ) -> Values:
        pool = self.judging if salt and self.judging is not None else self.pool
        return draw_alone(pool, tasks, self.realizations, self.seed + salt, column)

    def map(
        self,
        work: Callable[[Instance], Output],
        threads: int | SparkTasks = 2,
    ) -> Iterator[Output]:
        """Do `work` on every instance; answers come in order, the same whatever `threads`.

        Parameters
        ----------
        work
            What to do with an instance.
        threads
            Instances worked on at a time, or the executors that make and work on them, each with a copy of the pool.
        """
        if isinstance(threads, SparkTasks):
            # Executors get a copy without the instances kept here.
            copy = replace(self, kept={}, room=Room(0), shared=None)
            yield from threads.map(
                lambda number: work(copy.draw_instance(number)),
                range(self.count),
            )
            return
        with ThreadPoolExecutor(max_workers=max(1, threads)) as workers:
            # Threads: kernels hold no GIL, and processes could not share what is kept for the next experiment.
            yield from workers.map(
                lambda number: work(self.make(number)),
                range(self.count),
            )

    def rows(self, rows: Callable[[Instance], list[dict[str, Any]]]) -> list[dict[str, Any]]:
        """Return the rows of all instances.

        Parameters
        ----------
        rows
            Makes the rows of one instance.
        """
        return list(chain.from_iterable(self.map(rows)))


def split(pool: TaskPool, size: int, seed: int) -> tuple[TaskPool, TaskPool]:
    """Divide a pool into two without a common task if each half fills an instance; else return the pool twice.

    Parameters
    ----------
    pool
        Tasks to divide at random.
    size
        Tasks per instance.
    seed
        Seed of the division.
    """
    # Smaller halves would change the question: fewer tasks per instance, other sums.
    if len(pool) < 2 * size:
        return pool, pool
    rng = np.random.default_rng([seed, DIVISION])
    order = rng.permutation(len(pool))
    middle = len(pool) // 2
    first_half = np.sort(order[:middle])
    second_half = np.sort(order[middle:])
    return pool.take(first_half), pool.take(second_half)
