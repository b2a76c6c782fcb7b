"""What FGD's tables show of a run: allocation and fragmentation by how much had arrived, and who failed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.scheduling.gpus.replay import Placements

COLUMNS = 131
"""Loads from 0 to 130 % of the GPUs of the nodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadColumns:
    """Means over all events of a load: each has shape (`COLUMNS`,), in percent; NaN where nothing arrived near it.

    Attributes
    ----------
    allocation
        Of all GPUs, how much pods have.
    fragmentation
        Of all GPUs, how much is free and cannot be used by typical pods.
    fragmentation_ratio
        The same, of the GPUs that are free.
    """

    allocation: Numbers
    fragmentation: Numbers
    fragmentation_ratio: Numbers


def load_columns(placements: Placements, requested: Index, total: int) -> LoadColumns:
    """Return means by load, the GPUs that pods requested so far, failed ones too, in whole percent of all.

    Parameters
    ----------
    placements
        What became of the pods.
    requested
        Shape (pods,): thousandths of GPUs that each requests.
    total
        Thousandths of all GPUs.
    """
    arrived = np.cumsum(requested)
    column = np.rint(100 * arrived / total).astype(np.int64)
    used = placements.used
    allocation = np.round(100 * used / total, 2)
    idle = np.maximum(total - used, 1)
    ratio = np.round(100 * placements.fragmentation / idle, 2)
    return LoadColumns(
        allocation=np.round(means_by_column(column, allocation), 2),
        fragmentation=100 * means_by_column(column, placements.fragmentation) / total,
        fragmentation_ratio=means_by_column(column, ratio),
    )


def means_by_column(column: Index, values: Numbers) -> Numbers:
    """Return the mean of the values in each column; where it has none, of those one beside it."""
    kept = column < COLUMNS
    counts = np.bincount(column[kept], minlength=COLUMNS)
    sums = np.bincount(column[kept], weights=values[kept], minlength=COLUMNS)
    means = np.full(COLUMNS, np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    for empty in np.flatnonzero(counts == 0).tolist():
        near = values[np.abs(column - empty) <= 1]
        if len(near):
            means[empty] = near.mean()
    return means
