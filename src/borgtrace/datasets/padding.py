"""Pad traces into batches: rows sorted by length, as wide as the longest of their batch.

One call does all the work for a file: threads that work on files side by side then seldom meet at Python's lock, and
waiting for it takes longer than copying a thousand rows.
"""

from typing import NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Bytes, Flags, Index, Values
from borgtrace.kernels.blocks import FLOATS, move_float, move_floats
from borgtrace.kernels.compiled import compiled

Series = Values
Mask = Flags

_MISSING = np.full(FLOATS, np.nan, np.float32).view(np.uint8)
"""A block without a value."""


class PaddedRows(NamedTuple):
    """All batches of a file, one row after the other.

    Attributes
    ----------
    values, mask
        Series of all rows; `mask` is True where a value was measured.
    rows
        Which trace each row holds, shape (n,).
    first
        Where each row begins in `values`, and after the last where it ends, shape (n + 1,).
    lengths, identity
        Those of each row, shapes (n,) and (n, k).
    """

    values: Series
    mask: Mask
    rows: Index
    first: Index
    lengths: Index
    identity: Index


def pad(
    source: Bytes,
    position: Index,
    lengths: Index,
    identity: Index,
    order: Index,
    size: int,
    features: int,
    fill: float,
) -> PaddedRows:
    """Sort traces by length, stably, cut them into batches and copy their series into the rows of these.

    Parameters
    ----------
    source
        Bytes that hold float32 series (points × features, row by row).
    position, lengths
        Where each series begins, in bytes, and how many points it has, shape (n,).
    identity
        Whole numbers of each trace, shape (n, k).
    order
        Which trace comes first, shape (n,): traces of like length keep this order.
    size
        Rows of a batch; the last has what is left.
    features
        Values of a point.
    fill
        Value for padding and for NaN.
    """
    # Made here: each array that compiled code makes takes Python's lock for as long as a syscall.
    rows = np.empty(order.size, np.int64)
    first = np.empty(order.size + 1, np.int64)
    row_lengths = np.empty(order.size, np.int64)
    row_identity = np.empty(identity.shape, np.int64)
    values, mask = _pad(
        source,
        position,
        lengths,
        identity,
        order,
        size,
        features,
        fill,
        rows,
        first,
        row_lengths,
        row_identity,
    )
    return PaddedRows(values, mask, rows, first, row_lengths, row_identity)


@compiled()
def _pad(
    source: Bytes,
    position: Index,
    lengths: Index,
    identity: Index,
    order: Index,
    size: int,
    features: int,
    fill: float,
    rows: Index,
    first: Index,
    row_lengths: Index,
    row_identity: Index,
) -> tuple[Series, Mask]:
    """Fill what rows hold, see :class:`PaddedRows`, and return their series and masks."""
    # Two more than the longest: counts stand one further, so that summing them gives where each length begins.
    _sort(lengths, order, np.zeros(lengths.max() + 2, np.int64), rows)
    _fill_rows(
        lengths,
        identity,
        rows,
        size,
        features,
        first,
        row_lengths,
        row_identity,
    )
    # All batches of a file at once: memory is asked for once, and batches are views of it.
    n_values = first[order.size]
    values = np.empty(n_values + FLOATS, np.float32)
    mask = np.empty(n_values + FLOATS, np.bool_)
    _copy_rows(
        source,
        position,
        row_lengths,
        rows,
        first,
        features,
        np.float32(fill),
        values,
        mask,
    )
    return values[:n_values], mask[:n_values]


@compiled(makes_arrays=False)
def _sort(
    lengths: Index,
    order: Index,
    following: Index,
    rows: Index,
) -> None:
    """Fill `rows` with `order`, sorted by length: by counting (in `following`), as lengths are small numbers."""
    for i in range(lengths.size):
        following[np.uint64(lengths[i] + 1)] += 1
    for length in range(1, following.size):
        following[length] += following[length - 1]
    for j in range(order.size):
        i = order[j]
        place = np.uint64(lengths[np.uint64(i)])
        rows[np.uint64(following[place])] = i
        following[place] += 1


@compiled(makes_arrays=False)
def _fill_rows(
    lengths: Index,
    identity: Index,
    rows: Index,
    size: int,
    features: int,
    first: Index,
    row_lengths: Index,
    row_identity: Index,
) -> None:
    """Fill in where each row begins, and which trace it holds."""
    first[0] = 0
    for low in range(0, rows.size, size):
        high = min(low + size, rows.size)
        # Rows are sorted, so the last of a batch is its longest.
        width = lengths[rows[high - 1]] * features
        for j in range(np.uint64(low), np.uint64(high)):
            i = np.uint64(rows[j])
            first[j + np.uint64(1)] = first[j] + width
            row_lengths[j] = lengths[i]
            for k in range(np.uint64(identity.shape[1])):
                row_identity[j, k] = identity[i, k]


@compiled(makes_arrays=False)
def _copy_rows(
    source: Bytes,
    position: Index,
    row_lengths: Index,
    rows: Index,
    first: Index,
    features: int,
    fill: np.float32,
    values: Series,
    mask: Mask,
) -> None:
    """Copy the series of each row, and fill what is missing and what is beyond.

    Each row is written in whole blocks, whose last reaches into the next row, which is written after it.
    """
    block = np.uint64(FLOATS)
    block_bytes = np.uint64(4 * FLOATS)
    # Unsigned: indices that do not count from the end.
    for j in range(np.uint64(rows.size)):
        at = np.uint64(position[np.uint64(rows[j])])
        place = np.uint64(first[j])
        end = place + np.uint64(row_lengths[j] * features)
        while place < end and at + block_bytes <= np.uint64(source.size):
            move_floats(source, at, values, mask, place, fill)
            at += block_bytes
            place += block
        # Behind the last value of the last record there may be less than a block.
        while place < end:
            move_float(source, at, values, mask, place, fill)
            at += np.uint64(4)
            place += np.uint64(1)
        place = end
        next_row = np.uint64(first[j + np.uint64(1)])
        while place < next_row:
            move_floats(_MISSING, np.uint64(0), values, mask, place, fill)
            place += block
