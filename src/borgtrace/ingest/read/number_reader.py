"""Chunks of delimited text that has only numbers (task_usage, 19 of 20 bytes of the 2011 trace).

A compiled parser made for this shape: with Arrow's CSV reader, staging a usage file takes 1.48 times the CPU (measured
on 528 thousand rows).  Where it meets anything else, the general reader and then the validating one take over.
"""

from collections.abc import Iterator, Mapping
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.ingest.read.number_parser import (
    DECIMAL,
    DOUBTFUL_LIMIT,
    FLAG,
    INTEGER,
    UNKNOWN,
    parse_numbers,
)
from borgtrace.kernels.arrays import Bytes

BLOCK_SIZE = 1 << 22
ROWS_PER_CHUNK = 5 << 19
"""As many as `borgtrace.ingest.build.staged` sorts together, so that the columns of one chunk are not copied."""
UNSIGNED = b"unsigned"
"""Metadata of chunks whose numbers are finite and not negative by their making: no check has to look for that."""
_KINDS = {
    pa.uint64(): INTEGER,
    pa.int64(): INTEGER,
    pa.int32(): INTEGER,
    pa.float32(): DECIMAL,
    pa.bool_(): FLAG,
}


class NotPlainNumbers(Exception):  # noqa: N818 - a signal to take the general reader
    """The text is not plain numbers."""


def read_numbers(stream: BinaryIO, types: Mapping[str, pa.DataType]) -> Iterator[pa.Table]:
    """Yield tables of typed columns.

    Parameters
    ----------
    stream
        Decompressed bytes.
    types
        Name and type of each field, in order.

    Raises
    ------
    NotPlainNumbers
        At the first line that is not plain numbers, or where a type is none.
    """
    if not set(types.values()) <= _KINDS.keys():
        raise NotPlainNumbers
    target = _Target(types)
    for text in _whole_lines(stream):
        offset = 0
        while offset < len(text):
            offset += target.fill(text[offset:])
            if target.rows == ROWS_PER_CHUNK:
                yield target.take()
    if target.rows:
        yield target.take()


def _whole_lines(stream: BinaryIO) -> Iterator[Bytes]:
    """Cut a stream into blocks that end where a line ends; a last line without its newline gets one."""
    rest = b""
    while block := stream.read(BLOCK_SIZE):
        text = rest + block
        end = text.rfind(b"\n") + 1
        # A view: to copy the lines once more takes as long as a third of inflating them.
        yield np.frombuffer(text, np.uint8)[:end]
        rest = text[end:]
    if rest:
        yield np.frombuffer(rest + b"\n", np.uint8)


class _Target:
    """The columns being filled."""

    def __init__(self, types: Mapping[str, pa.DataType]) -> None:
        self._types = types
        self._kinds = np.array([_KINDS[kind] for kind in types.values()], np.uint8)
        # Integers and decimals are held apart, each in one array: a column's slot is its number among its own kind.
        self._is_decimal = self._kinds == DECIMAL
        places = (
            np.where(self._is_decimal, self._is_decimal.cumsum(), (~self._is_decimal).cumsum()) - 1
        )
        self._slots = places.astype(np.uint8)
        self._doubtful = np.empty((DOUBTFUL_LIMIT, 4), np.int64)
        self._begin()

    def _begin(self) -> None:
        self.rows = 0
        decimals = int(self._is_decimal.sum())
        # New arrays for each chunk: the Arrow columns made of the old ones still look at their memory.
        self._integers = np.empty((len(self._kinds) - decimals, ROWS_PER_CHUNK), np.int64)
        self._decimals = np.empty((decimals, ROWS_PER_CHUNK), np.float32)
        self._valid = np.full((len(self._kinds), ROWS_PER_CHUNK // 8), 0xFF, np.uint8)

    def fill(self, text: Bytes) -> int:
        """Parse lines of `text` and return the bytes they take."""
        columns = (self._integers, self._decimals, self._valid)
        status, self.rows, consumed, doubts = parse_numbers(
            text, self._kinds, self._slots, self.rows, ROWS_PER_CHUNK, *columns, self._doubtful
        )
        if status == UNKNOWN:
            raise NotPlainNumbers
        # Arrow decides the few doubtful ones: it rounds the text to float32 in one step.
        for field, row, start, end in self._doubtful[:doubts].tolist():
            exact = pc.cast(pa.array([text[start:end].tobytes().decode()]), pa.float32())
            self._decimals[self._slots[field], row] = exact[0].as_py()
        return consumed

    def take(self) -> pa.Table:
        """Return the rows parsed so far as Arrow columns, and begin anew."""
        arrays = [self._array(i, kind) for i, kind in enumerate(self._types.values())]
        table = pa.table(arrays, names=list(self._types), metadata={UNSIGNED: b""})
        self._begin()
        return table

    def _array(self, field: int, kind: pa.DataType) -> pa.Array:
        values = (self._decimals if self._kinds[field] == DECIMAL else self._integers)[
            self._slots[field], : self.rows
        ]
        bitmap = self._valid[field, : (self.rows + 7) // 8]
        is_known = np.unpackbits(bitmap, count=self.rows, bitorder="little").astype(bool)
        # What lies under a missing value is undefined and must not be judged.
        if kind == pa.int32() and values[is_known].max(initial=0) > np.iinfo(np.int32).max:
            raise NotPlainNumbers
        if kind == pa.bool_():
            data = pa.py_buffer(np.packbits(values == 1, bitorder="little"))
        else:
            data = pa.py_buffer(values.astype(np.int32) if kind == pa.int32() else values)
        missing = self.rows - int(is_known.sum())
        return pa.Array.from_buffers(
            kind, self.rows, [pa.py_buffer(bitmap) if missing else None, data], missing
        )
