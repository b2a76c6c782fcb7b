"""Studies, instances and options whose values are known, made of the package's own classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from borgtrace.colocation import ColocationOptions, Study
from borgtrace.colocation.packing.grid import GridCell, PackingGrid, PackingOutcome
from borgtrace.colocation.packing.instances import Instance, Instances
from borgtrace.colocation.sums.sample_sums import SampleSums
from borgtrace.colocation.tasks.pool import TaskPool
from borgtrace.placement import Packing
from tests.colocation.test_pool import make


@dataclass(
    frozen=True,
    eq=False,
    kw_only=True,
)
class KnownInstances(Instances):
    """Instances whose tasks are given."""

    chosen: tuple[list[int], ...]

    def tasks(self, number: int) -> np.ndarray:
        return np.array(self.chosen[number], np.int64)


def instances_with(pool: TaskPool, *chosen: list[int], **more: Any) -> KnownInstances:
    """Return instances of a pool with these tasks."""
    return KnownInstances(
        pool,
        count=len(chosen),
        chosen=chosen,
        **more,
    )


def drawn(usage: Any, number: int = 0, fresh: Any = None, request: Any = None) -> Instance:
    """Return an instance with these realizations, and maybe others that judge."""
    values = np.asarray(usage, np.float32)

    def draw(column: str, salt: int = 0) -> np.ndarray:
        return values if fresh is None else np.asarray(fresh, np.float32)

    return Instance(number, np.arange(len(values)), values, draw, request)


def packing_of(bins: list[int], n_machines: int) -> Packing:
    """Return a packing onto machines of capacity 1."""
    return Packing(np.array(bins), np.ones((n_machines, 1)), np.arange(n_machines))


POOL = make([[0.5], [0.25]])


def study_with_sums(sums: list[SampleSums], options: ColocationOptions) -> Study:
    """Return a study that knows the sums of random samples."""
    study = Study(POOL)
    study.once(("sums", options), lambda: sums)
    return study


def study_with_grid(grid: PackingGrid, options: ColocationOptions) -> Study:
    """Return a study that knows the common grid."""
    study = Study(POOL)
    study.once(("grid", options), lambda: grid)
    return study


class KnownGrid(PackingGrid):
    """A grid whose outcomes are given; what is asked for is in `asked`."""

    def __init__(self, outcomes: list[PackingOutcome]) -> None:
        super().__init__(Instances(POOL))
        self.asked: list[Sequence[GridCell]] = []
        self._outcomes = outcomes

    def outcomes(self, cells: Sequence[GridCell]) -> list[PackingOutcome]:
        self.asked.append(cells)
        return self._outcomes
