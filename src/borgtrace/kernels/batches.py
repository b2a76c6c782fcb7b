"""Rows of batches: traces by length, and where each row begins."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.compiled import compiled

Index = NDArray[np.int64]


@compiled()
def arrange(
    lengths: Index, identity: Index, order: Index, size: int, features: int, rows: Index, first: Index,
    width: Index, row_lengths: Index, row_identity: Index,
) -> int:  # fmt: skip
    """Sort traces by length, stably, and cut them into batches whose rows are as wide as the longest.

    Parameters
    ----------
    lengths
        Points of each trace, shape (n,).
    identity
        Whole numbers of each trace, shape (n, k).
    order
        Which trace comes first, shape (n,): traces of like length keep this order.
    size
        Rows of a batch; the last has what is left.
    features
        Values of a point.
    rows
        Output, shape (n,): which trace each row takes.
    first, width
        Output, shape (n,): where each row begins, in values, and how many values it has room for.
    row_lengths, row_identity
        Output, shapes (n,) and (n, k): those of each row.

    Returns
    -------
    int
        Values of all batches, padding included.
    """
    _sort(lengths, order, rows)
    at = 0
    for low in range(0, rows.size, size):
        high = min(low + size, rows.size)
        room = lengths[rows[high - 1]] * features
        for j in range(np.uint64(low), np.uint64(high)):
            i = np.uint64(rows[j])
            first[j], width[j], row_lengths[j] = at, room, lengths[i]
            for k in range(np.uint64(identity.shape[1])):
                row_identity[j, k] = identity[i, k]
            at += room
    return at


@compiled()
def _sort(lengths: Index, order: Index, rows: Index) -> None:
    """Fill `rows` with `order`, sorted by length: by counting, as lengths are small numbers."""
    following = np.zeros(lengths.max() + 2, np.int64)
    for i in range(lengths.size):
        following[np.uint64(lengths[i] + 1)] += 1
    for length in range(1, following.size):
        following[length] += following[length - 1]
    for j in range(order.size):
        i = order[j]
        place = np.uint64(lengths[np.uint64(i)])
        rows[np.uint64(following[place])] = i
        following[place] += 1
