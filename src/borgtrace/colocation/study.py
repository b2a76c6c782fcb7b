"""A study: the tasks that experiments are about, and what several experiments on them share, each made once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from borgtrace.colocation.grid import CORES, Grid
from borgtrace.colocation.instances import Instance, Instances, split
from borgtrace.colocation.inventory import PUBLISHED, capacity_table
from borgtrace.colocation.pool import Instantaneous, Pool
from borgtrace.colocation.preparation import INCLUDED, prepare
from borgtrace.colocation.sample_sums import SampleSums, sample_sums
from borgtrace.engine import SparkTasks
from borgtrace.errors import UsageError, check_names
from borgtrace.kernels.arrays import Numbers
from borgtrace.placement import require_capacity
from borgtrace.question import EngineTables, Provenance, Tables
from borgtrace.schema import dialect
from borgtrace.schema.ranges import parse_words
from borgtrace.store import Store
from borgtrace.store.coverage import StoreCoverage, whole_trace

Made = TypeVar("Made")

PAPER_SCALE = {
    "tasks": 100_000,
    "realizations": 10_000,
    "instances": 50,
    "size": 1_000,
    "samples": 10_000,
}
"""Sizes of the experiments of Janus & Rzadca (§3.1, §3.6, §5.1)."""
LEAST = {
    "tasks": 1,
    "realizations": 100,
    "instances": 1,
    "size": 1,
    "samples": 1,
    "hours": 1,
}
"""Smallest sizes; with fewer than 100 realizations, less than one of them would decide a target of 1 %."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a user may set; each experiment takes some of it.

    Parameters
    ----------
    tasks
        Size of the sample of the pool.
    realizations
        R, draws per task.
    instances
        Random instances.
    size
        Tasks per instance.
    samples
        Random samples of each number of tasks.
    hours
        Length of a replay, at most.
    capacity
        Of a machine.
    target
        Tolerated probability of overflow.
    promises
        What each tier is promised, as :func:`borgtrace.colocation.classes.parse_promises` reads it.
    mix
        Kinds of machines, as :func:`borgtrace.colocation.inventory.parse_mix` reads them.
    instantaneous
        Where draws of instantaneous usage come from.
    include
        Tasks that stay though the paper drops them, of :data:`borgtrace.colocation.preparation.INCLUDED`.
    seed
        Seed of samples and draws.

    Raises
    ------
    UsageError
        Names the option, its value and what is allowed.

    Examples
    --------
    >>> Options(instances=3).size
    1000
    """

    tasks: int = 100_000
    realizations: int = 10_000
    instances: int = 5
    size: int = 1_000
    samples: int = 1_000
    hours: int = 24
    capacity: float = 1.0
    target: float = 0.001
    promises: str = "production=0.999,free=0.95"
    mix: str = ""
    instantaneous: Instantaneous = "sampled"
    include: str = ""
    seed: int = 0

    def __post_init__(self) -> None:
        check_names("--include", parse_words(self.include), INCLUDED)
        for name, lowest in LEAST.items():
            value = getattr(self, name)
            if value < lowest:
                raise UsageError(
                    f"--{name}",
                    "too few",
                    expected=f"at least {lowest}",
                    got=str(value),
                )
        require_capacity("--capacity", self.capacity)
        if not 0 < self.target < 1:
            raise UsageError(
                "target",
                "not a probability",
                expected="above 0 and below 1",
                got=f"{self.target:g}",
            )


@dataclass(frozen=True, eq=False)
class GivenTasks:
    """A pool that came from a file or from the generator; it covers its trace unless it says otherwise."""

    whole: Pool

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
    >>> from borgtrace.colocation.synthetic import synthetic_pool
    >>> study = Study(synthetic_pool(30, seed=1))
    >>> options = Options(tasks=20, realizations=100, size=5)
    >>> len(study.pool(options)), study.instances(options).make(0).inst.shape
    (20, (5, 100))
    >>> study.grid(options) is study.grid(options)
    True
    """

    def __init__(self, tasks: Pool | Tables, spark: SparkTasks | None = None) -> None:
        self.workers = spark or CORES
        self.source: GivenTasks | Tables
        self.source = GivenTasks(tasks) if isinstance(tasks, Pool) else tasks
        self._made: dict[Hashable, Any] = {}

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

    def pool(self, options: Options) -> Pool:
        """Return the tasks of the study, at most as many as asked for.

        Raises
        ------
        NotApplicable
            The store has no task that can be modeled; says why, with counts.
        """
        # Not by all options: experiments share the pool, whatever their other options.
        key = ("pool", options.tasks, options.seed, options.instantaneous, options.include)
        return self.once(key, lambda: self._pool(options))

    def coverage(self, options: Options) -> StoreCoverage:
        """Return how much of the whole trace the pool was made from, with the number of its own tasks."""
        return replace(self.source.coverage, n_tasks=len(self.pool(options)))

    def machines(self) -> Numbers:
        """Return the kinds of machines of the cell, as :func:`~borgtrace.colocation.inventory.capacity_table` does.

        Those of a pool, which has none of its own, are the published ones of 2011.
        """
        if isinstance(self.source, GivenTasks):
            return np.array(PUBLISHED)
        return capacity_table(self.source)

    def instances(self, options: Options) -> Instances:
        """Return the random instances; those made before are kept, whatever their number."""
        # The number of instances is not part of the key: 50 instances begin with the 10 of the experiment before.
        key = (
            "kept",
            options.tasks,
            options.realizations,
            options.size,
            options.seed,
            options.instantaneous,
        )
        kept: dict[int, Instance] = self.once(key, dict)
        return instances_of(self.pool(options), options, kept)

    def grid(self, options: Options) -> Grid:
        """Return the grid that packs every instance and judges it as the paper does: on all realizations.

        Parameters
        ----------
        options
            Of the instances.
        """

        def make_grid() -> Grid:
            return Grid(self.instances(options), threads=self.workers)

        return self.once(("grid", options), make_grid)

    def halves(self, options: Options) -> tuple[Grid, Grid]:
        """Return :func:`halves` of the pool, with the outcomes of earlier experiments.

        Parameters
        ----------
        options
            Of the instances.
        """

        def make_halves() -> tuple[Grid, Grid]:
            return halves(self.pool(options), options, self.workers)

        return self.once(("halves", options), make_halves)

    def sums(self, options: Options) -> list[SampleSums]:
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

    def _pool(self, options: Options) -> Pool:
        if not isinstance(self.source, GivenTasks):
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
    pool: Pool, options: Options, kept: dict[int, Instance] | None = None
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
    """
    return Instances(
        pool,
        size=options.size,
        realizations=options.realizations,
        count=options.instances,
        seed=options.seed,
        kept={} if kept is None else kept,
    )


def halves(pool: Pool, options: Options, workers: int | SparkTasks = CORES) -> tuple[Grid, Grid]:
    """Return a grid to judge on and a grid to learn on: other tasks (where the pool has enough), other draws.

    Both judge by draws that no estimator has seen.

    Parameters
    ----------
    pool
        Where tasks are drawn from.
    options
        Size, realizations, number of instances and seed; the second grid takes the next seed.
    workers
        As for :class:`~borgtrace.colocation.grid.Grid`.
    """
    judging_tasks, learning_tasks = split(pool, options.size, options.seed)
    other = replace(options, seed=options.seed + 1)
    judging = Grid(instances_of(judging_tasks, options), on_fresh=True, threads=workers)
    learning = Grid(instances_of(learning_tasks, other), on_fresh=True, threads=workers)
    return judging, learning
