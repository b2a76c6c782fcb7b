"""What FGD's tables show of a run: allocation and fragmentation by how much had arrived; and who failed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.scheduling.gpus.cell import NO_NODE
from borgtrace.scheduling.gpus.replay import Placements

LOADS = 131
"""Loads from 0 to 130 %."""


class LoadColumns(NamedTuple):
    """Means over all events of a load, in percent: each has shape (`LOADS`,); NaN before the first and after the last.

    A load is what pods have requested so far, those that failed too, in whole percent of all GPUs.  Each pod is an
    event, those that failed and those that request no GPU too.

    Attributes
    ----------
    allocation
        Of all GPUs, how much pods have.
    fragmentation
        Of all GPUs, how much is free and cannot be used by typical pods.
    fragmentation_ratio
        The same, of the GPUs that are free.
    failed, failed_several
        Of the pods that have arrived, how many failed; the same of those that request several GPUs.
    """

    allocation: Numbers
    fragmentation: Numbers
    fragmentation_ratio: Numbers
    failed: Numbers
    failed_several: Numbers


def load_columns(
    placements: Placements, requested: Index, is_several: Flags, total: int
) -> LoadColumns:
    """Return means by load.

    Parameters
    ----------
    placements
        What became of the pods.
    requested
        Shape (pods,): thousandths of GPUs that each requests.
    is_several
        Shape (pods,): whether it requests several GPUs.
    total
        Thousandths of all GPUs.
    """
    load = np.rint(100 * np.cumsum(requested) / total).astype(np.int64)
    used = placements.used
    # Each event is rounded as the logs that were published, and so are the means of them.
    allocation = rounded(100 * used / total)
    ratio = rounded(100 * placements.fragmentation / np.maximum(total - used, 1))
    has_failed = placements.node == NO_NODE
    n_failed = np.cumsum(has_failed)
    n_several = np.cumsum(is_several)
    n_failed_several = np.cumsum(has_failed & is_several)
    n_arrived = np.arange(1, len(load) + 1)
    return LoadColumns(
        allocation=rounded(means_by_load(load, allocation)),
        fragmentation=100 * means_by_load(load, placements.fragmentation) / total,
        fragmentation_ratio=means_by_load(load, ratio),
        failed=means_by_load(load, 100 * n_failed / n_arrived),
        failed_several=means_by_load(load, 100 * n_failed_several / np.maximum(n_several, 1)),
    )


def rounded(values: Numbers) -> Numbers:
    """Return values of two digits as Python rounds them, and not as NumPy does: a half depends on the last bit."""
    return np.array([round(value, 2) for value in values.tolist()])


def means_by_load(load: Index, values: Numbers) -> Numbers:
    """Return the mean of the values of each load; where it has none, of the loads beside it, else the last value.

    Parameters
    ----------
    load
        Shape (events,): ascending.
    values
        Shape (events,).

    Examples
    --------
    >>> means_by_load(np.array([0, 1, 1, 3, 6]), np.array([4.0, 1.0, 2.0, 7.0, 9.0]))[:7].tolist()
    [4.0, 1.5, 3.3333333333333335, 7.0, 7.0, 9.0, 9.0]
    """
    # Loads ascend: each has a slice.  NumPy's own mean, whose last bit decides how a half is rounded.
    bounds = np.searchsorted(load, np.arange(-1, LOADS + 2))
    means = np.full(LOADS, np.nan)
    for place in range(LOADS):
        before, first, after, end = bounds[place : place + 4].tolist()
        here = values[first:after] if after > first else values[before:end]
        if len(here):
            means[place] = here.mean()
        elif 0 < after < len(load):
            # Pods of a small cluster are large steps: nothing has changed since the last one.
            means[place] = values[after - 1]
    return means
