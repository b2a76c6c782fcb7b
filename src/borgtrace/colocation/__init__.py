"""Instantaneous usage and SLO-aware colocation, after Janus & Rzadca (SoCC'17)."""

from __future__ import annotations

from borgtrace.colocation.experiment import Experiment, find_experiments
from borgtrace.colocation.grid import Cell, Grid, Outcome
from borgtrace.colocation.heavy_tail import heavy_tail
from borgtrace.colocation.instances import Instance, Instances
from borgtrace.colocation.online import simulate
from borgtrace.colocation.pool import Pool
from borgtrace.colocation.pool_file import read_pool, write_pool
from borgtrace.colocation.preparation import prepare_pool
from borgtrace.colocation.study import Options, Study
from borgtrace.colocation.synthetic import synthetic_pool

__all__ = [
    "Cell",
    "Experiment",
    "Grid",
    "Instance",
    "Instances",
    "Options",
    "Outcome",
    "Pool",
    "Study",
    "find_experiments",
    "heavy_tail",
    "prepare_pool",
    "read_pool",
    "simulate",
    "synthetic_pool",
    "write_pool",
]
