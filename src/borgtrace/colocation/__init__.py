"""Instantaneous usage and SLO-aware colocation, after Janus & Rzadca (SoCC'17)."""

from __future__ import annotations

from borgtrace.colocation.experiment import Experiment
from borgtrace.colocation.options import ColocationOptions
from borgtrace.colocation.packing.from_moments import fits, overflow_probability, pack
from borgtrace.colocation.packing.grid import GridCell, PackingGrid
from borgtrace.colocation.packing.instances import Instances
from borgtrace.colocation.study import Study
from borgtrace.colocation.tasks.pool import TaskPool
from borgtrace.colocation.tasks.pool_file import read_pool, write_pool
from borgtrace.colocation.tasks.preparation import prepare_pool
from borgtrace.colocation.tasks.synthetic import synthetic_pool

__all__ = [
    "ColocationOptions",
    "Experiment",
    "GridCell",
    "Instances",
    "PackingGrid",
    "Study",
    "TaskPool",
    "fits",
    "overflow_probability",
    "pack",
    "prepare_pool",
    "read_pool",
    "synthetic_pool",
    "write_pool",
]


def __dir__() -> list[str]:
    return sorted(__all__)
