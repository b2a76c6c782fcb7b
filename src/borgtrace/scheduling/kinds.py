"""Kinds of tasks: those of one are alike to a scheduler."""

import numpy as np
import pyarrow as pa

from borgtrace.kernels.arrays import Index
from borgtrace.scheduling.machines import Demand


def kinds_of(demand: Demand) -> Index:
    """Return the kind of each task: those of one take the same, may be at the same places, and have one priority."""
    columns = list(demand.sizes.T)
    for amounts in (demand.variances, demand.extended):
        if len(amounts):
            columns += list(amounts.T)
    columns += [demand.sets, demand.groups]
    if len(demand.priority):
        columns.append(demand.priority)
    n = len(demand.sizes)
    kinds = np.zeros(n, np.int64)
    for column in columns:
        kinds = encode(kinds * n + encode(column))
    return kinds


def encode(values: Index) -> Index:
    """Number equal values alike, by a table of hashes: they are too many to be sorted."""
    return np.asarray(pa.array(values).dictionary_encode().indices, np.int64)


def count_alike(kinds: Index) -> Index:
    """Return how many neighbors from each on are of one kind.

    Examples
    --------
    >>> count_alike(np.array([4, 4, 2])).tolist()
    [2, 1, 1]
    """
    n = len(kinds)
    is_last = np.append(np.diff(kinds) != 0, True)[:n]
    ends = np.flatnonzero(is_last) + 1
    places = np.arange(n)
    return ends[np.searchsorted(ends, places, side="right")] - places
