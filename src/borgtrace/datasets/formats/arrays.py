"""Traces as arrays: what a file of a set holds once it is in memory, whatever its format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from borgtrace.kernels.arrays import Bytes, Index, Values

IDENTITY = ("collection_id", "instance_index", "length", "first_time")
"""Whole numbers of each trace, in the order in which files keep them."""
COLLECTION_ID = IDENTITY.index("collection_id")
INSTANCE_INDEX = IDENTITY.index("instance_index")
FIRST_TIME = IDENTITY.index("first_time")


@dataclass(frozen=True, slots=True)
class FeatureNames:
    """Names of what each trace has.

    Attributes
    ----------
    series
        The series, in the order of the last axis of the values.
    numbers
        Static features that are float32 numbers.
    words
        Static features that are text, with all words that occur.
    """

    series: tuple[str, ...]
    numbers: tuple[str, ...] = ()
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class TraceArrays:
    """Some traces, side by side.

    Attributes
    ----------
    offsets
        CSR offsets in points, int64 (n + 1,).
    values
        Scaled series, float32 (points, features); NaN where nothing was measured.
    mask
        uint8 of the shape of `values`: 1 where a value was measured.
    identity
        int64 (n, 4), see :data:`IDENTITY`.
    numbers
        Static numbers, float32 (n, numbers); NaN where unknown.
    codes
        Static words as positions in :attr:`FeatureNames.words`, int64 (n, words); −1 where unknown.
    """

    offsets: Index
    values: Values
    mask: Bytes
    identity: Index
    numbers: Values
    codes: Index

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def columns(self, names: FeatureNames) -> dict[str, NDArray[Any]]:
        """Return the whole numbers and static numbers of each trace, each column by its name, shape (n,)."""
        columns: dict[str, NDArray[Any]] = dict(zip(IDENTITY, self.identity.T, strict=True))
        columns |= dict(zip(names.numbers, self.numbers.T, strict=True))
        return columns

    def take(self, index: Index) -> TraceArrays:
        """Return some of the traces, in the order given."""
        lengths = np.diff(self.offsets)[index]
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        # The rows of all chosen traces at once: a loop over traces would take a slice of each.
        shifts = self.offsets[index] - offsets[:-1]
        points = np.arange(offsets[-1]) + np.repeat(shifts, lengths)
        return TraceArrays(
            offsets=offsets,
            values=self.values[points],
            mask=self.mask[points],
            identity=self.identity[index],
            numbers=self.numbers[index],
            codes=self.codes[index],
        )

    def copy(self) -> TraceArrays:
        """Return the same with memory of its own."""
        return TraceArrays(*(getattr(self, item.name).copy() for item in fields(self)))


@dataclass(frozen=True, slots=True, eq=False)
class BufferedTraces:
    """Some traces whose series lie somewhere in a buffer, as they came from a file.

    Attributes
    ----------
    buffer
        uint8: bytes that hold float32 series (points × features, row by row).
    position
        Where each series begins, in bytes, int64 (n,).
    lengths
        Points of each, int64 (n,).
    identity, numbers, codes
        As in :class:`TraceArrays`.
    """

    buffer: Bytes
    position: Index
    lengths: Index
    identity: Index
    numbers: Values
    codes: Index

    def __len__(self) -> int:
        return len(self.lengths)


def buffered(traces: TraceArrays) -> BufferedTraces:
    """Return the series of some traces where they are."""
    width = traces.values.shape[1]
    return BufferedTraces(
        buffer=traces.values.reshape(-1).view(np.uint8),
        position=4 * width * traces.offsets[:-1],
        lengths=np.diff(traces.offsets),
        identity=traces.identity,
        numbers=traces.numbers,
        codes=traces.codes,
    )


def concatenated(parts: Sequence[TraceArrays], names: FeatureNames) -> TraceArrays:
    """Put traces one after the other; of nothing, no traces."""
    # The usual case, without a copy: the caller must not count on memory of its own.
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return empty(names)
    offsets = []
    n_points = 0
    for part in parts:
        offsets.append(part.offsets[:-1] + n_points)
        n_points += int(part.offsets[-1])
    offsets.append(np.array([n_points]))
    return TraceArrays(
        offsets=np.concatenate(offsets),
        values=np.concatenate([part.values for part in parts]),
        mask=np.concatenate([part.mask for part in parts]),
        identity=np.concatenate([part.identity for part in parts]),
        numbers=np.concatenate([part.numbers for part in parts]),
        codes=np.concatenate([part.codes for part in parts]),
    )


def side_by_side(
    columns: Sequence[NDArray[Any]],
    dtype: DTypeLike,
    rows: int = 0,
) -> NDArray[Any]:
    """Return columns of shape (rows,) as one array of shape (rows, columns), in C order.

    Parameters
    ----------
    columns
        The columns; there may be none.
    dtype
        Type of the array.
    rows
        Length of the columns, needed where there is none.
    """
    if not columns:
        return np.empty((rows, 0), dtype)
    if len(columns) == 1:
        return np.asarray(columns[0], dtype)[:, np.newaxis]
    # By hand: for the few thousand rows of a file, np.stack takes longer than the copies.
    table = np.empty((len(columns[0]), len(columns)), dtype)
    for k, column in enumerate(columns):
        table[:, k] = column
    return table


class TraceColumns(NamedTuple):
    """What each trace has once: identity, static numbers, codes of static words; see :class:`TraceArrays`."""

    identity: Index
    numbers: Values
    codes: Index


def trace_columns(
    columns: Mapping[str, NDArray[Any]],
    names: FeatureNames,
    rows: int,
) -> TraceColumns:
    """Return what each of `rows` traces has once, from columns by name."""
    return TraceColumns(
        identity=side_by_side([columns[name] for name in IDENTITY], np.int64),
        numbers=side_by_side([columns[name] for name in names.numbers], np.float32, rows),
        codes=side_by_side([columns[name] for name in names.words], np.int64, rows),
    )


def empty(names: FeatureNames) -> TraceArrays:
    """Return no traces."""
    values = np.empty((0, len(names.series)), np.float32)
    return TraceArrays(
        offsets=np.zeros(1, np.int64),
        values=values,
        mask=values.astype(np.uint8),
        identity=np.empty((0, len(IDENTITY)), np.int64),
        numbers=np.empty((0, len(names.numbers)), np.float32),
        codes=np.empty((0, len(names.words)), np.int64),
    )
