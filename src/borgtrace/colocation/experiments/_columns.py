"""Columns that several experiments share."""

import numpy as np

from borgtrace.kernels.arrays import Numbers
from borgtrace.recipe.columns import count, flag, label, number, share, whole
from borgtrace.schema import Column

SERIES = label("series", "Either inst (one-second samples) or avg (window averages).")
SIZE = count("size", "Tasks per sample, N.")
ESTIMATOR = label("estimator", "Name of the estimator.")
PARAMETER = number("parameter", "1", "Its parameter.")
LABEL = label("estimator", "Estimator and parameter.")
PACKER = label("packer", "Name of the packer.")
IS_REBALANCED = flag("is_rebalanced", "Whether the last machine was filled up.")
INSTANCE = whole("instance", "id", "Number of the instance.")
N_TASKS = count("n_tasks", "Tasks of the instance.")
CAPACITY = share("capacity", "Capacity of every machine.")
TARGET = share("target", "Tolerated probability of overflow.")
M_ABS = count("m_abs", "Machines in use.")
M = number("m", "1", "Machines in use over the lower bound.")
Q = share("q", "Share of overflows.")
N_UNPLACEABLE = count("n_unplaceable", "Tasks that fit no machine alone.")
OVERFLOWS = count("overflows", "Pairs of machine and moment that overflow.")
TRIALS = count("trials", "Pairs of machine and moment.")


_SPREAD = {"p5": 5, "p25": 25, "median": 50, "p75": 75, "p95": 95}


def spread_columns(doc: str) -> tuple[Column, ...]:
    """Declare the percentiles that box plots show; `doc` says of what."""
    return tuple(number(name, "1", f"Percentile {level} {doc}") for name, level in _SPREAD.items())


def spread(values: Numbers) -> dict[str, float]:
    """Return those percentiles of some values, by column."""
    return dict(zip(_SPREAD, np.percentile(values, list(_SPREAD.values())).tolist(), strict=True))
