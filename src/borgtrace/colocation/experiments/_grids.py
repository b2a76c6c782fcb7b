"""The instances and grids of a store: made once for all its experiments."""

from __future__ import annotations

from dataclasses import dataclass, replace

from borgtrace.colocation.grid import Grid
from borgtrace.colocation.instances import Instance, Instances, split
from borgtrace.colocation.pool import Pool
from borgtrace.colocation.source import pool_of, shared
from borgtrace.recipe import Tables


@dataclass(frozen=True)
class Scale:
    """How large an experiment is: sample of the pool, R, number of instances, tasks per instance, seed."""

    tasks: int
    realizations: int
    instances: int
    size: int
    seed: int


def instances_of(tables: Tables, scale: Scale) -> Instances:
    """The instances of a store at a scale; experiments share those that are kept, whatever their number."""
    pool = pool_of(tables, tasks=scale.tasks, seed=scale.seed)
    return _instances(tables, pool, "whole", scale)


def _instances(tables: Tables, pool: Pool, part: str, scale: Scale) -> Instances:
    kept: dict[int, Instance] = shared(tables, ("kept", part, replace(scale, instances=0)), dict)
    return Instances(pool, scale.size, scale.realizations, scale.instances, scale.seed, kept)


def grid_of(tables: Tables, scale: Scale) -> Grid:
    """The grid of a store at a scale, made once and shared by its experiments."""
    return shared(tables, ("grid", scale), lambda: Grid(instances_of(tables, scale)))


def halves_of(tables: Tables, scale: Scale) -> tuple[Grid, Grid]:
    """A grid to judge on and a grid to learn on: other tasks (where the pool has enough), other draws.

    Both judge by draws that no estimator has seen.
    """

    def make() -> tuple[Grid, Grid]:
        pool = pool_of(tables, tasks=scale.tasks, seed=scale.seed)
        judged, held_out = split(pool, scale.size, scale.seed)
        if judged is pool:
            other = replace(scale, seed=scale.seed + 1)
            held_out_instances = _instances(tables, pool, "held out", other)
            return Grid(instances_of(tables, scale), on_fresh=True), Grid(held_out_instances, on_fresh=True)
        return grids_of(judged, held_out, scale)

    return shared(tables, ("halves", scale), make)


def grids_of(judged: Pool, held_out: Pool, scale: Scale) -> tuple[Grid, Grid]:
    """Grids over two pools, with draws of their own; both judge by draws that no estimator has seen."""
    first, second = (
        Instances(pool, scale.size, scale.realizations, scale.instances, seed)
        for pool, seed in ((judged, scale.seed), (held_out, scale.seed + 1))
    )
    return Grid(first, on_fresh=True), Grid(second, on_fresh=True)
