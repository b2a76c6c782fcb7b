"""Chunks of a 2011 table that has only numbers (task_usage, 19 of 20 bytes of the trace).

A kernel made for this shape costs half of a general CSV reader; where it meets anything else, or
the table has text, `fast_csv` and then `careful` take over.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.ingest._numbers_csv import DECIMAL, DOUBTFUL_LIMIT, INTEGER, STRANGE, parse_numbers
from borgtrace.ingest.columns2011 import RawColumn
from borgtrace.ingest.fast_csv import Reader

BLOCK_SIZE = 1 << 22
ROWS_PER_CHUNK = 1 << 19


class Strange(Exception):  # noqa: N818 - a signal to take the general reader
    """The text is not plain numbers."""


def suits(columns: tuple[RawColumn, ...]) -> bool:
    """Return whether all columns are numbers or flags."""
    return all(c.column.type in ("int64", "int32", "float32", "bool") for c in columns)


def _read_numbers(stream: BinaryIO, columns: tuple[RawColumn, ...]) -> Iterator[pa.Table]:
    """Yield tables of typed columns, named by position as `fast_csv` names them.

    Raises
    ------
    Strange
        At the first line that is not plain numbers.
    """
    target = _Target(columns)
    rest = b""
    while True:
        block = stream.read(BLOCK_SIZE)
        text = rest + block if block else (rest + b"\n" if rest else b"")
        offset = 0
        while offset < len(text):
            consumed = target.fill(np.frombuffer(text, np.uint8, offset=offset))
            offset += consumed
            if target.is_full:
                yield target.take()
            elif not consumed or block:
                break
        rest = text[offset:]
        if not block:
            break
    if rest.strip(b"\n") or (rest and not target.rows):
        raise Strange
    if target.rows:
        yield target.take()


NUMBERS = Reader(_read_numbers, is_unsigned=True)


class _Target:
    """The columns being filled."""

    def __init__(self, columns: tuple[RawColumn, ...]) -> None:
        self._columns = columns
        kinds = [DECIMAL if c.column.type == "float32" else INTEGER for c in columns]
        self._kinds = np.array(kinds, np.uint8)
        self._slots = np.array([kinds[:i].count(kind) for i, kind in enumerate(kinds)], np.uint8)
        self._doubtful = np.empty((DOUBTFUL_LIMIT, 4), np.int64)
        self._fresh()

    def _fresh(self) -> None:
        self.rows = 0
        decimals = int(self._kinds.sum())
        self._integers = np.empty((len(self._kinds) - decimals, ROWS_PER_CHUNK), np.int64)
        self._decimals = np.empty((decimals, ROWS_PER_CHUNK), np.float32)
        self._valid = np.full((len(self._kinds), ROWS_PER_CHUNK // 8), 0xFF, np.uint8)

    @property
    def is_full(self) -> bool:
        return self.rows == ROWS_PER_CHUNK

    def fill(self, text: np.ndarray) -> int:
        """Parse lines of `text` and return the bytes they take."""
        status, self.rows, consumed, doubts = parse_numbers(
            text,
            self._kinds,
            self._slots,
            self.rows,
            ROWS_PER_CHUNK,
            self._integers,
            self._decimals,
            self._valid,
            self._doubtful,
        )
        if status == STRANGE:
            raise Strange
        for field, row, start, end in self._doubtful[:doubts].tolist():
            exact = pc.cast(pa.array([text[start:end].tobytes().decode()]), pa.float32())
            self._decimals[self._slots[field], row] = exact[0].as_py()
        return consumed

    def take(self) -> pa.Table:
        """Return the rows parsed so far as Arrow columns, and begin anew."""
        arrays = [self._array(i, column.reader_type) for i, column in enumerate(self._columns)]
        table = pa.table(arrays, names=[str(i) for i in range(len(arrays))])
        self._fresh()
        return table

    def _array(self, field: int, kind: pa.DataType) -> pa.Array:
        rows = self.rows
        values = (self._decimals if self._kinds[field] == DECIMAL else self._integers)[self._slots[field], :rows]
        bitmap = self._valid[field, : (rows + 7) // 8]
        missing = rows - int(np.unpackbits(bitmap, count=rows, bitorder="little").sum())
        is_flag = kind == pa.bool_()
        data = _flags(values, bitmap, rows) if is_flag else pa.py_buffer(_sized(values, bitmap, rows, kind))
        return pa.Array.from_buffers(kind, rows, [pa.py_buffer(bitmap) if missing else None, data], missing)


def _known(values: np.ndarray, bitmap: np.ndarray, rows: int) -> np.ndarray:
    """Return the values that are there; what lies under a missing one is undefined."""
    return values[np.unpackbits(bitmap, count=rows, bitorder="little").astype(bool)]


def _sized(values: np.ndarray, bitmap: np.ndarray, rows: int, kind: pa.DataType) -> np.ndarray:
    if kind != pa.int32():
        return values
    known = _known(values, bitmap, rows)
    if len(known) and known.max() > np.iinfo(np.int32).max:
        raise Strange
    return values.astype(np.int32)


def _flags(values: np.ndarray, bitmap: np.ndarray, rows: int) -> pa.Buffer:
    known = _known(values, bitmap, rows)
    if len(known) and known.max() > 1:
        raise Strange
    return pa.py_buffer(np.packbits(values == 1, bitorder="little"))
