"""A study: the tasks that experiments are about, and what several experiments share about them, each made once."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from borgtrace.colocation.grid import Grid
from borgtrace.colocation.instances import Instance, Instances, split
from borgtrace.colocation.inventory import PUBLISHED, capacity_table
from borgtrace.colocation.pool import Instantaneous, Pool
from borgtrace.colocation.preparation import prepare
from borgtrace.colocation.sample_sums import SampleSums, sample_sums
from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Numbers
from borgtrace.lifecycle import code_version
from borgtrace.recipe import EngineTables, Provenance, Tables
from borgtrace.store import Store

Made = TypeVar("Made")

LEAST = {"tasks": 1, "realizations": 100, "instances": 1, "size": 1, "samples": 1, "hours": 1}
"""Smallest sizes; with fewer than 100 realizations a target of 1 % is decided by less than one of them."""


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
    mix
        Kinds of machines, as :func:`borgtrace.colocation.inventory.parse_mix` reads them.
    instantaneous
        Where draws of instantaneous usage come from.
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
    mix: str = ""
    instantaneous: Instantaneous = "sampled"
    seed: int = 0

    def __post_init__(self) -> None:
        for name, lowest in LEAST.items():
            if getattr(self, name) < lowest:
                raise UsageError(f"--{name}", "too few", expected=f"at least {lowest}", got=str(getattr(self, name)))
        if not 0 < self.capacity < math.inf:
            raise UsageError(
                "--capacity", "not the capacity of a machine", expected="a number above 0", got=f"{self.capacity:g}"
            )
        if not 0 < self.target < 1:
            raise UsageError("target", "not a probability", expected="above 0 and below 1", got=f"{self.target:g}")


@dataclass(frozen=True, eq=False)
class StoredTasks:
    """The long tasks of a store, prepared when first asked for."""

    tables: Tables

    @property
    def name(self) -> str:
        """Path of the store."""
        return self.tables.name

    def pool(self, options: Options) -> Pool:
        """At most ``options.tasks`` tasks, drawn without replacement."""
        return prepare(self.tables, options.tasks, options.seed, options.instantaneous)

    def require(self, *names: str) -> None:
        """Raise NotApplicable where one of the tables has no rows."""
        self.tables.require(*names)

    def machines(self) -> Numbers:
        """Kinds of machines of the cell: float64 (k, 3), see :func:`~borgtrace.colocation.inventory.capacity_table`."""
        return capacity_table(self.tables)

    def provenance(self, parameters: Mapping[str, Any], seconds: float) -> Provenance:
        """Say what a result comes from."""
        return self.tables.provenance(parameters, seconds)


@dataclass(frozen=True, eq=False)
class GivenTasks:
    """A pool that came from a file or from the generator."""

    whole: Pool

    @property
    def name(self) -> str:
        """The pool's own description."""
        return self.whole.source

    def pool(self, options: Options) -> Pool:
        """At most ``options.tasks`` of its tasks, drawn without replacement."""
        # The order of the pool is kept, and nothing is copied.
        if options.tasks >= len(self.whole):
            return self.whole
        return self.whole.take(self.whole.sample(options.tasks, options.seed))

    def require(self, *names: str) -> None:
        """A pool has all that it needs."""

    def machines(self) -> Numbers:
        """Kinds of machines as published for 2011: float64 (k, 3)."""
        return np.array(PUBLISHED)

    def provenance(self, parameters: Mapping[str, Any], seconds: float) -> Provenance:
        """Say what a result comes from."""
        return Provenance(
            store=self.name,
            digest="",
            generation=self.whole.generation or "2011",
            cell="",
            is_synthetic=self.whole.is_synthetic,
            where="",
            engine="numba",
            code_version=code_version(),
            parameters=dict(parameters),
            seconds=seconds,
        )


class Study:
    """A pool of tasks, with the instances, grids and sums that experiments on it share.

    Preparing a pool takes a minute on a whole trace, and the realizations of one instance 200 MB; so what one
    experiment has made, the next one finds here.

    Parameters
    ----------
    pool
        The tasks.  Studies of a store are made by :meth:`of_store`.

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

    def __init__(self, pool: Pool | StoredTasks) -> None:
        self.source: StoredTasks | GivenTasks = GivenTasks(pool) if isinstance(pool, Pool) else pool
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
        return cls(StoredTasks(store if isinstance(store, Tables) else EngineTables.of(store, engine)))

    def pool(self, options: Options) -> Pool:
        """Return the tasks of the study, at most as many as asked for.

        Raises
        ------
        NotApplicable
            The store has no task that can be modeled; says why, with counts.
        """
        key = ("pool", options.tasks, options.seed, options.instantaneous)
        return self.once(key, lambda: self.source.pool(options))

    def instances(self, options: Options) -> Instances:
        """Return the random instances; those made before are kept, whatever their number."""
        return self._instances(self.pool(options), "whole", options)

    def grid(self, options: Options) -> Grid:
        """Return the grid that packs every instance and judges it as the paper does: on all realizations."""
        # With the number of instances, because a grid keeps outcomes over all of them.
        key = ("grid", *_scale(options), options.instances)
        return self.once(key, lambda: Grid(self.instances(options)))

    def halves(self, options: Options) -> tuple[Grid, Grid]:
        """Return a grid to judge on and a grid to learn on: other tasks (where the pool has enough), other draws.

        Both judge by draws that no estimator has seen.
        """
        return self.once(("halves", *_scale(options), options.instances), lambda: self._halves(options))

    def sums(self, options: Options) -> list[SampleSums]:
        """Return the judged sums of random samples of tasks, for every size of the paper's Table 1.

        Raises
        ------
        NotApplicable
            The pool has fewer tasks than the smallest size.
        """
        key = ("sums", options.tasks, options.realizations, options.samples, options.seed, options.instantaneous)
        return self.once(
            key, lambda: sample_sums(self.pool(options), options.realizations, options.samples, options.seed)
        )

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return what was made under `key`, making it at the first call.

        Parameters
        ----------
        key
            Names what is made with all that it depends on.
        make
            Makes it.
        """
        if key not in self._made:
            self._made[key] = make()
        made: Made = self._made[key]
        return made

    def _halves(self, options: Options) -> tuple[Grid, Grid]:
        pool = self.pool(options)
        judged, held_out = split(pool, options.size, options.seed)
        if judged is not pool:  # enough tasks for two pools without a common one
            return grids_of(judged, held_out, options)
        # The same tasks then, but in other instances and with other draws.
        other = self._instances(pool, "held out", replace(options, seed=options.seed + 1))
        return Grid(self.instances(options), on_fresh=True), Grid(other, on_fresh=True)

    # The number of instances is not part of the key: 50 instances begin with the 10 of the experiment before.
    def _instances(self, pool: Pool, part: str, options: Options) -> Instances:
        kept: dict[int, Instance] = self.once(("kept", part, *_scale(options)), dict)
        return Instances(pool, options.size, options.realizations, options.instances, options.seed, kept)


def _scale(options: Options) -> tuple[Hashable, ...]:
    return options.tasks, options.realizations, options.size, options.seed


def grids_of(judged: Pool, held_out: Pool, options: Options) -> tuple[Grid, Grid]:
    """Return grids over two pools, with draws of their own; both judge by draws that no estimator has seen.

    Parameters
    ----------
    judged, held_out
        Pool of the first grid and of the second, whose seed is one higher.
    options
        Size, realizations, number of instances and seed.
    """
    first, second = (
        Instances(pool, options.size, options.realizations, options.instances, seed)
        for pool, seed in ((judged, options.seed), (held_out, options.seed + 1))
    )
    return Grid(first, on_fresh=True), Grid(second, on_fresh=True)
