"""A study: the tasks of the experiments, and intermediate results that several experiments share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from borgtrace.colocation.options import ColocationOptions
from borgtrace.colocation.packing.grid import CORES, GridCell, PackingGrid
from borgtrace.colocation.packing.instances import KEPT, Instance, Instances, Room, split
from borgtrace.colocation.packing.machine_kinds import PUBLISHED, capacity_table
from borgtrace.colocation.sums.sample_sums import SampleSums, sample_sums
from borgtrace.colocation.tasks.pool import TaskPool
from borgtrace.colocation.tasks.preparation import prepare
from borgtrace.engine import SparkTasks
from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Numbers
from borgtrace.question import EngineTables, Provenance, Tables
from borgtrace.schema import dialect
from borgtrace.schema.ranges import parse_words
from borgtrace.store import Store
from borgtrace.store.coverage import StoreCoverage, whole_trace

Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class GivenPool:
    """A pool that came from a file or from the generator; it covers its trace unless it says otherwise."""

    whole: TaskPool

    @property
    def name(self) -> str:
        """The pool's own description."""
        return self.whole.source

    @property
    def coverage(self) -> StoreCoverage:
        """How much of the whole trace the pool was made from."""
        if self.whole.part is not None:
            return self.whole.part
        return whole_trace(dialect(self.whole.generation or "2011"), len(self.whole))

    def require(self, *names: str) -> None:
        """A pool has all that it needs."""

    def provenance(self, parameters: Mapping[str, Any], seconds: float) -> Provenance:
        """Say what a result comes from.

        Parameters
        ----------
        parameters
            What the question was asked with.
        seconds
            How long the answer took.
        """
        return Provenance(
            self.name,
            generation=self.whole.generation or "2011",
            is_synthetic=self.whole.is_synthetic,
            engine="numba",
            parameters=dict(parameters),
            seconds=seconds,
        )


class Study:
    """A pool of tasks, with the instances, grids and sums that experiments on it share.

    Preparing a pool takes a minute on a whole trace, and the realizations of one instance 200 MB; so what one
    experiment has made, the next one finds here.

    Parameters
    ----------
    tasks
        The tasks, or the tables of the store they are in.
    spark
        Where the cells of grids are judged; on this machine where None.

    Examples
    --------
    >>> from borgtrace.colocation.tasks.synthetic import synthetic_pool
    >>> study = Study(synthetic_pool(30, seed=1))
    >>> options = ColocationOptions(tasks=20, realizations=100, size=5)
    >>> len(study.pool(options)), study.instances(options).make(0).inst.shape
    (20, (5, 100))
    >>> study.grid(options) is study.grid(options)
    True
    """

    def __init__(self, tasks: TaskPool | Tables, spark: SparkTasks | None = None) -> None:
        self.workers = spark or CORES
        self.source: GivenPool | Tables
        self.source = GivenPool(tasks) if isinstance(tasks, TaskPool) else tasks
        # Of the budget of a store a 32nd: more is in work, and the engine has its own.
        memory = KEPT if isinstance(tasks, TaskPool) else min(KEPT, tasks.memory // 32)
        self.room = Room(memory)
        self._made: dict[Hashable, Any] = {}
        self._planned: dict[ColocationOptions, Sequence[GridCell]] = {}

    @classmethod
    def of_store(cls, store: Tables | Store | str | Path, engine: str | None = None) -> Study:
        """Study the long tasks of a store (open, a path, or its tables on an engine), prepared when first asked for.

        Parameters
        ----------
        store
            An open store, its path, or its tables.
        engine
            Where relational work runs; only for a store or a path.
        """
        return cls(store if isinstance(store, Tables) else EngineTables.of(store, engine))

    def pool(self, options: ColocationOptions) -> TaskPool:
        """Return the tasks of the study, at most as many as asked for.

        Raises
        ------
        NotApplicable
            The store has no task that can be modeled; says why, with counts.
        """
        # Not by all options: experiments share the pool, whatever their other options.
        key = ("pool", options.tasks, options.seed, options.instantaneous, options.include)
        return self.once(key, lambda: self._pool(options))

    def coverage(self, options: ColocationOptions) -> StoreCoverage:
        """Return how much of the whole trace the pool was made from, with the number of its own tasks."""
        return replace(self.source.coverage, n_tasks=len(self.pool(options)))

    def machines(self) -> Numbers:
        """Return the kinds of machines of the cell: float64 (k, 3) of CPU, memory and number.

        A pool has none of its own: those are the published ones of 2011.
        """
        if isinstance(self.source, GivenPool):
            return np.array(PUBLISHED)
        return capacity_table(self.source)

    def instances(self, options: ColocationOptions) -> Instances:
        """Return the random instances; those made before are kept, whatever their number."""
        # The number of instances is not part of the key: 50 instances begin with the 10 of the experiment before.
        key = (
            "instances",
            options.tasks,
            options.realizations,
            options.size,
            options.seed,
            options.instantaneous,
            options.include,
        )
        made = self.once(key, lambda: instances_of(self.pool(options), options, room=self.room))
        return replace(made, count=options.instances)

    def grid(self, options: ColocationOptions) -> PackingGrid:
        """Return the grid that packs every instance and judges it as the paper does: on all realizations.

        Parameters
        ----------
        options
            Of the instances.
        """

        def make_grid() -> PackingGrid:
            planned = self._planned.get(options, ())
            return PackingGrid(self.instances(options), threads=self.workers, planned=planned)

        return self.once(("grid", options), make_grid)

    def plan(self, options: ColocationOptions, cells: Sequence[GridCell]) -> None:
        """Take note of ways of packing that will be asked of :meth:`grid`: they run with the first that is asked.

        Parameters
        ----------
        options
            Of the instances.
        cells
            Ways of packing.
        """
        self._planned[options] = tuple(cells)

    def halves(self, options: ColocationOptions) -> tuple[PackingGrid, PackingGrid]:
        """Return :func:`halves` of the pool, with the outcomes of earlier experiments.

        Parameters
        ----------
        options
            Of the instances.
        """

        def make_halves() -> tuple[PackingGrid, PackingGrid]:
            return halves(self.pool(options), options, self.workers, self.room)

        return self.once(("halves", options), make_halves)

    def sums(self, options: ColocationOptions) -> list[SampleSums]:
        """Return the judged sums of random samples of tasks, for every size of the paper's Table 1.

        Raises
        ------
        NotApplicable
            The pool has fewer tasks than the smallest size.
        """

        def make_sums() -> list[SampleSums]:
            pool = self.pool(options)
            return sample_sums(pool, options.realizations, options.samples, options.seed)

        return self.once(("sums", options), make_sums)

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return what was made under `key`, making it at the first call.

        Parameters
        ----------
        key
            Names what is made and all that it depends on.
        make
            Makes it.
        """
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def _pool(self, options: ColocationOptions) -> TaskPool:
        if not isinstance(self.source, GivenPool):
            words = parse_words(options.include)
            return prepare(self.source, options.tasks, options.seed, options.instantaneous, words)
        if options.include:
            raise UsageError(
                "--include",
                "the tasks are prepared already",
                expected="a store",
                got=self.source.name,
            )
        whole = self.source.whole
        # The order of the pool is kept, and nothing is copied.
        if options.tasks >= len(whole):
            return whole
        return whole.take(whole.sample(options.tasks, options.seed))


def instances_of(
    pool: TaskPool,
    options: ColocationOptions,
    kept: dict[int, Instance] | None = None,
    room: Room | None = None,
) -> Instances:
    """Return the random instances of a pool.

    Parameters
    ----------
    pool
        Where tasks are drawn from.
    options
        Size, realizations, number of instances and seed.
    kept
        Instances made before with the same options, whatever their number.
    room
        For those that are kept, shared with others; their own where None.
    """
    return Instances(
        pool,
        size=options.size,
        realizations=options.realizations,
        count=options.instances,
        seed=options.seed,
        kept={} if kept is None else kept,
        room=room or Room(),
    )


def halves(
    pool: TaskPool,
    options: ColocationOptions,
    workers: int | SparkTasks = CORES,
    room: Room | None = None,
) -> tuple[PackingGrid, PackingGrid]:
    """Return a grid to judge on and a grid to learn on: other tasks (where the pool has enough), other draws.

    Both judge by draws that no estimator has seen.

    Parameters
    ----------
    pool
        Where tasks are drawn from.
    options
        Size, realizations, number of instances and seed; the second grid takes the next seed.
    workers
        As for :class:`~borgtrace.colocation.packing.grid.PackingGrid`.
    room
        For instances that are kept, shared with others; their own where None.
    """
    judging_tasks, learning_tasks = split(pool, options.size, options.seed)
    other = replace(options, seed=(options.seed + 1) % 2**32)
    judging_instances = instances_of(judging_tasks, options, room=room)
    learning_instances = instances_of(learning_tasks, other, room=room)
    judging = PackingGrid(judging_instances, on_fresh=True, threads=workers)
    learning = PackingGrid(learning_instances, on_fresh=True, threads=workers)
    return judging, learning
