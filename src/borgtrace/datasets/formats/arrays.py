"""Traces as arrays: what a file of a set holds once it is in memory, whatever its format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from borgtrace.kernels.arrays import Bytes, Index, Values

IDENTITY = ("collection_id", "instance_index", "length", "first_time")
"""Whole numbers of each trace, in the order in which files keep them."""


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


@dataclass(
    frozen=True,
    slots=True,
    eq=False,
)
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
        """Return what a trace has once and is a number, each by its name, shape (n,)."""
        return dict(
            zip((*IDENTITY, *names.numbers), (*self.identity.T, *self.numbers.T), strict=True)
        )

    def take(self, index: Index) -> TraceArrays:
        """Return some of the traces, in the order given."""
        lengths = np.diff(self.offsets)[index]
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        # The rows of all chosen traces at once: a loop over traces would take a slice of each.
        points = np.arange(offsets[-1]) + np.repeat(self.offsets[index] - offsets[:-1], lengths)
        values = self.values[points]
        mask = self.mask[points]
        return TraceArrays(
            offsets,
            values,
            mask,
            self.identity[index],
            self.numbers[index],
            self.codes[index],
        )

    def copy(self) -> TraceArrays:
        """Return the same with memory of its own."""
        return TraceArrays(*(getattr(self, item.name).copy() for item in fields(self)))


@dataclass(
    frozen=True,
    slots=True,
    eq=False,
)
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


def buffered(part: TraceArrays) -> BufferedTraces:
    """Return the series of some traces where they are."""
    width = part.values.shape[1]
    buffer = part.values.reshape(-1).view(np.uint8)
    position = 4 * width * part.offsets[:-1]
    return BufferedTraces(
        buffer,
        position,
        np.diff(part.offsets),
        part.identity,
        part.numbers,
        part.codes,
    )


def concatenated(parts: Sequence[TraceArrays], names: FeatureNames) -> TraceArrays:
    """Put traces one after the other; nothing gives no traces."""
    # The usual case, without a copy: the caller must not count on memory of its own.
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return empty(names)
    shifts = np.cumsum([0, *(int(part.offsets[-1]) for part in parts)])
    offsets = [part.offsets[:-1] + shift for part, shift in zip(parts, shifts[:-1], strict=True)]
    # All fields but the offsets stand one after the other as they are.
    others = (
        np.concatenate([getattr(part, item.name) for part in parts])
        for item in fields(TraceArrays)[1:]
    )
    return TraceArrays(np.concatenate([*offsets, shifts[-1:]]), *others)


def side_by_side(columns: Sequence[NDArray[Any]], dtype: DTypeLike, rows: int = 0) -> NDArray[Any]:
    """Return columns of shape (rows,) as one array of shape (rows, columns), in C order; `rows` tells of no columns."""
    if len(columns) == 1:
        return np.asarray(columns[0], dtype)[:, np.newaxis]
    return np.stack(columns, axis=1, dtype=dtype) if columns else np.empty((rows, 0), dtype)


def had_once(
    columns: Mapping[str, NDArray[Any]], names: FeatureNames, rows: int
) -> tuple[Index, Values, Index]:
    """Return what each of `rows` traces has once, from columns by name: identity, static numbers, codes of words."""
    identity = side_by_side([columns[name] for name in IDENTITY], np.int64)
    numbers = side_by_side([columns[name] for name in names.numbers], np.float32, rows)
    return identity, numbers, side_by_side([columns[name] for name in names.words], np.int64, rows)


def empty(names: FeatureNames) -> TraceArrays:
    """Return no traces."""
    values = np.empty((0, len(names.series)), np.float32)
    # Of a type that each of the others can hold.
    columns = dict.fromkeys((*IDENTITY, *names.numbers, *names.words), np.empty(0, np.int8))
    return TraceArrays(
        np.zeros(1, np.int64), values, values.astype(np.uint8), *had_once(columns, names, 0)
    )
