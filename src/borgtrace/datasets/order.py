"""The order of traces: that of paths, as in 2017, and a shuffle that a seed fixes for good."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from borgtrace.errors import UsageError
from borgtrace.kernels.md5 import job_prefixes

Index = NDArray[np.int64]

_DIGITS = 19
"""Decimal digits of the largest int64."""


def path_order(collection_id: Index, instance_index: Index) -> Index:
    """Order tasks by the path ``hh/job.sqlite3`` as text, then by the number of the task.

    Examples
    --------
    >>> path_order(np.array([12, 9, 12]), np.array([10, 0, 2])).tolist()  # c2/12 comes after 45/9
    [1, 2, 0]
    """
    prefix = np.empty(len(collection_id), np.uint32)
    job_prefixes(np.ascontiguousarray(collection_id, np.int64), prefix)
    powers = 10 ** np.arange(_DIGITS, dtype=np.uint64)
    digits = np.maximum(np.searchsorted(powers, collection_id.astype(np.uint64), side="right"), 1)
    text = collection_id.astype(np.uint64) * powers[_DIGITS - digits]
    order: Index = np.lexsort((instance_index, digits, text, prefix >> np.uint32(24)))
    return order


def shuffled(index: Index, seed: int) -> Index:
    """Shuffle a copy of `index` with NumPy's legacy generator, whose stream is frozen for ever.

    Raises
    ------
    UsageError
        The seed is not from 0 to 2³²−1.

    Examples
    --------
    >>> shuffled(np.arange(5), 0).tolist()
    [2, 0, 1, 3, 4]
    """
    if not 0 <= seed < 2**32:
        raise UsageError("--seed", "not a seed", expected="0 to 4294967295", got=str(seed))
    copy = index.copy()
    np.random.RandomState(seed).shuffle(copy)
    return copy
