"""Instantaneous usage and SLO-aware colocation, after Janus & Rzadca (SoCC'17)."""

from __future__ import annotations

from borgtrace.colocation.experiment import Experiment
from borgtrace.colocation.from_moments import fits, overflow_probability, pack
from borgtrace.colocation.grid import Cell, Grid
from borgtrace.colocation.instances import Instances
from borgtrace.colocation.pool import Pool
from borgtrace.colocation.pool_file import read_pool, write_pool
from borgtrace.colocation.preparation import prepare_pool
from borgtrace.colocation.study import Options, Study
from borgtrace.colocation.synthetic import synthetic_pool

__all__ = [
    "Cell",
    "Experiment",
    "Grid",
    "Instances",
    "Options",
    "Pool",
    "Study",
    "fits",
]
__all__ += [
    "overflow_probability",
    "pack",
    "prepare_pool",
    "read_pool",
    "synthetic_pool",
    "write_pool",
]


def __dir__() -> list[str]:
    return sorted(__all__)
