"""Columns of staged rows as places in a record: codes of two bytes, or whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.kernels.arrays import Index
from borgtrace.kernels.coding import (
    MOST_CODES,
    TOO_MANY,
    Records,
    code_rows,
    counted_order,
    decode_rows,
    fill_slots,
)
from borgtrace.schema import Table
from borgtrace.schema.arrow import arrow_schema

_FIRST_SLOTS = 1 << 13
_CODED = ("start_time", "end_time", "instance_index")
"""Columns of whole numbers of which few differ; others are kept as they are."""
_ID_WIDTH = 3
_ROW_WIDTH = 2
"""Times two bytes: numbers below 2⁴⁸, and those of rows below 2³²; the largest stands for a missing one."""
_ROWS_AT_A_TIME = 1 << 13
"""Rows whose records stay in the second-level cache from one column to the next."""
_NO_BITMAP = np.frombuffer(b"", np.uint8)
_TYPES = (pa.int64(), pa.int32(), pa.float32(), pa.bool_())


class NotCodableError(Exception):
    """A column has more distinct values than there are codes, or a type that has none."""


class DamagedCodesError(Exception):
    """A code stands for no value."""


class RecordField(NamedTuple):
    """Where a column is in a record: its first two bytes, and how many of these it takes."""

    name: str
    first: int
    width: int

    @property
    def is_coded(self) -> bool:
        """Whether it is a code."""
        return self.width == 1

    @property
    def missing(self) -> int:
        """What stands for a missing value in a column that is kept as it is."""
        return (1 << 16 * self.width) - 1


def places_of(names: Sequence[str], table: Table) -> list[RecordField]:
    """Return the places of the columns of a record.

    Parameters
    ----------
    names
        The columns.
    table
        Declares their types.

    Raises
    ------
    NotCodableError
        One of them has a type that records cannot have.
    """
    schema = arrow_schema(table)
    places = []
    first = 0
    for name in names:
        column_type = schema.field(name).type
        if column_type not in _TYPES:
            raise NotCodableError
        width = 1
        if name == "source_row":
            width = _ROW_WIDTH
        elif pa.types.is_integer(column_type) and name not in _CODED:
            width = _ID_WIDTH
        places.append(RecordField(name, first, width))
        first += width
    return places


def record_width(places: Sequence[RecordField]) -> int:
    """Return how many times two bytes a record takes."""
    return sum(place.width for place in places)


class Bits(NamedTuple):
    """The bits of a column as unsigned numbers, and its validity bitmap, empty where nothing is missing."""

    bits: npt.NDArray[Any]
    valid: npt.NDArray[np.uint8]


def bits_type(place: RecordField, table: Table) -> np.dtype[Any]:
    """Return the type of the bits of the values of a coded column."""
    column_type = arrow_schema(table).field(place.name).type
    return np.dtype(f"u{_stored_type(column_type).bit_width // 8}")


def _stored_type(column_type: pa.DataType) -> pa.DataType:
    """Return the type as which a column is coded: flags take part as numbers."""
    return pa.int32() if column_type == pa.bool_() else column_type


@dataclass
class _Coder:
    """The distinct values of a column while it is coded."""

    distinct: npt.NDArray[Any]
    slots: npt.NDArray[np.uint16] = field(default_factory=lambda: np.zeros(_FIRST_SLOTS, np.uint16))
    n_distinct: int = 0

    def code(self, column: Bits, rows: tuple[int, int], codes: npt.NDArray[np.uint16]) -> None:
        """Code some rows of a column."""
        row, end = rows
        while row < end:
            row, self.n_distinct = code_rows(
                column.bits,
                column.valid,
                (row, end),
                self.slots,
                self.distinct,
                self.n_distinct,
                codes,
            )
            if row == TOO_MANY:
                raise NotCodableError
            if row < end:
                self.slots = np.zeros(4 * len(self.slots), np.uint16)
                fill_slots(self.distinct[: self.n_distinct], self.slots)


def coded_records(
    rows: pa.RecordBatch, places: Sequence[RecordField]
) -> tuple[Records, dict[str, Any]]:
    """Return rows as records, and the distinct values of each coded column.

    Parameters
    ----------
    rows
        The rows.
    places
        Where each column goes.

    Raises
    ------
    NotCodableError
        A column has too many distinct values.
    """
    records = np.empty((len(rows), record_width(places)), np.uint16)
    columns = {place.name: _bits_of(rows.column(place.name), place) for place in places}
    coders = {
        place.name: _Coder(np.empty(MOST_CODES, columns[place.name].bits.dtype))
        for place in places
        if place.is_coded
    }
    for first in range(0, len(rows), _ROWS_AT_A_TIME):
        end = min(first + _ROWS_AT_A_TIME, len(rows))
        for place in places:
            column = columns[place.name]
            if place.is_coded:
                coders[place.name].code(column, (first, end), records[:, place.first])
            else:
                halves = column.bits[first:end].view(np.uint16).reshape(end - first, 4)
                last = place.first + place.width
                records[first:end, place.first : last] = halves[:, : place.width]
    distinct = {name: coder.distinct[: coder.n_distinct] for name, coder in coders.items()}
    return records, distinct


def collection_order(collections: npt.NDArray[np.int64]) -> Index:
    """Return the order of rows by their collection, those of one in theirs."""
    coder = _Coder(np.empty(MOST_CODES, np.uint64))
    # A column of records, for which the coder is compiled.
    codes = np.empty((len(collections), 2), np.uint16)[:, 0]
    try:
        bits = Bits(_read_only(collections.view(np.uint64)), _NO_BITMAP)
        coder.code(bits, (0, len(collections)), codes)
    except NotCodableError:
        return np.argsort(collections, kind="stable")
    distinct = coder.distinct[: coder.n_distinct].view(np.int64)
    ranks = np.empty(len(distinct) + 1, np.uint16)
    ranks[1:][np.argsort(distinct)] = np.arange(len(distinct))
    return counted_order(ranks[codes], len(distinct))


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a view that nobody may write to, as Arrow's are: the coder is compiled once for both."""
    view = array[:]
    view.flags.writeable = False
    return view


def _bits_of(column: pa.Array, place: RecordField) -> Bits:
    column = column.cast(_stored_type(column.type))
    if not place.is_coded:
        bounds = pc.min_max(column).as_py()
        if (bounds["min"] or 0) < 0 or (bounds["max"] or 0) >= place.missing:
            raise NotCodableError
        numbers = column.cast(pa.int64()).fill_null(place.missing)
        return Bits(np.ascontiguousarray(numbers.to_numpy()), _NO_BITMAP)
    if column.offset:
        column = pa.concat_arrays([column, column.slice(0, 0)])
    validity, values = column.buffers()
    dtype = np.dtype(f"u{column.type.bit_width // 8}")
    bits = np.frombuffer(values, dtype)[column.offset : column.offset + len(column)]
    is_whole = column.null_count == 0
    valid = _NO_BITMAP if is_whole else np.frombuffer(validity, np.uint8)
    return Bits(_read_only(bits), _read_only(valid))


@dataclass(frozen=True)
class DecodedColumn:
    """A column of records of several runs, and how its codes are turned back into values.

    Parameters
    ----------
    place
        Where it is in a record.
    column_type
        Its type.
    distinct, starts
        Values of all runs, and where those of each begin, with their number as the last entry.
    """

    place: RecordField
    column_type: pa.DataType
    distinct: npt.NDArray[Any]
    starts: Index

    def empty(self, n_rows: int) -> Bits:
        """Return a column that is yet to be filled."""
        dtype = self.distinct.dtype if self.place.is_coded else np.dtype(np.uint64)
        return Bits(np.empty(n_rows, dtype), np.full((n_rows + 7) // 8, 0xFF, np.uint8))

    def fill(self, column: Bits, records: Records, run: npt.NDArray[np.int32], first: int) -> None:
        """Write the values of some records, beginning at a row of a column."""
        place = self.place
        if place.is_coded:
            codes = records[:, place.first]
            if not decode_rows(
                codes, run, self.starts, self.distinct, column.bits, column.valid, first
            ):
                raise DamagedCodesError
            return
        halves = np.zeros((len(records), 4), np.uint16)
        halves[:, : place.width] = records[:, place.first : place.first + place.width]
        column.bits[first : first + len(records)] = halves.view(np.uint64)[:, 0]

    def array(self, column: Bits) -> pa.Array:
        """Return a column that is filled."""
        n_rows = len(column.bits)
        if not self.place.is_coded:
            numbers = column.bits.view(np.int64)
            is_missing = numbers == self.place.missing
            values = pa.array(numbers, mask=is_missing if is_missing.any() else None)
            return values.cast(self.column_type)
        stored_type = _stored_type(self.column_type)
        buffers = [pa.py_buffer(column.valid), pa.py_buffer(column.bits)]
        values = pa.Array.from_buffers(stored_type, n_rows, buffers)
        if not values.null_count:
            values = pa.Array.from_buffers(stored_type, n_rows, [None, buffers[1]], 0)
        return values if stored_type == self.column_type else values.cast(self.column_type)


def decoded(
    columns: Sequence[DecodedColumn],
    records: Records,
    run: npt.NDArray[np.int32],
    order: Index,
) -> list[pa.Array]:
    """Return columns of records in an order.

    Parameters
    ----------
    columns
        Those that are wanted.
    records, run
        The records, and the run of each.
    order
        Places of the records.
    """
    filled = [column.empty(len(order)) for column in columns]
    for first in range(0, len(order), _ROWS_AT_A_TIME):
        places = order[first : first + _ROWS_AT_A_TIME]
        # A row at a time from all over memory, then column by column from the cache.
        records_here = records[places]
        run_here = run[places]
        for column, bits in zip(columns, filled, strict=True):
            column.fill(bits, records_here, run_here, first)
    return [column.array(bits) for column, bits in zip(columns, filled, strict=True)]
