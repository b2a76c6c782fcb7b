"""Chunks of delimited text that has only numbers (task_usage, 19 of 20 bytes of the 2011 trace).

A compiled parser made for this shape: with Arrow's CSV reader, staging a usage file takes 1.48 times the CPU (measured
on 528 thousand rows).  Where it meets anything else, the general reader and then the validating one take over.
"""

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
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
    columns = _NumberColumns(types)
    for text in _whole_lines(stream):
        offset = 0
        while offset < len(text):
            offset += columns.fill(text[offset:])
            if columns.rows == ROWS_PER_CHUNK:
                yield columns.take()
    if columns.rows:
        yield columns.take()


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


class _NumberColumns:
    """The columns being filled."""

    def __init__(self, types: Mapping[str, pa.DataType]) -> None:
        self._types = types
        self._kinds = np.array([_KINDS[column_type] for column_type in types.values()], np.uint8)
        # Integers and decimals are kept in an array each: a column's slot is its number among its own kind.
        self._is_decimal = self._kinds == DECIMAL
        decimals_so_far = self._is_decimal.cumsum()
        integers_so_far = (~self._is_decimal).cumsum()
        slots = np.where(self._is_decimal, decimals_so_far, integers_so_far) - 1
        self._slots = slots.astype(np.uint8)
        self._doubtful = np.empty((DOUBTFUL_LIMIT, 4), np.int64)
        self._begin()

    def _begin(self) -> None:
        self.rows = 0
        n_columns = len(self._kinds)
        n_decimals = int(self._is_decimal.sum())
        # New arrays for each chunk: the Arrow columns made of the old ones still use their memory.
        self._integers = np.empty((n_columns - n_decimals, ROWS_PER_CHUNK), np.int64)
        self._decimals = np.empty((n_decimals, ROWS_PER_CHUNK), np.float32)
        self._valid = np.full((n_columns, ROWS_PER_CHUNK // 8), 0xFF, np.uint8)

    def fill(self, text: Bytes) -> int:
        """Parse lines of `text` and return the bytes they take."""
        status, self.rows, n_bytes, n_doubtful = parse_numbers(
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
        if status == UNKNOWN:
            raise NotPlainNumbers
        # Arrow decides the few doubtful ones: it rounds the text to float32 in one step.
        for field, row, start, end in self._doubtful[:n_doubtful].tolist():
            digits = text[start:end].tobytes().decode()
            exact = pc.cast(pa.array([digits]), pa.float32())
            self._decimals[self._slots[field], row] = exact[0].as_py()
        return n_bytes

    def take(self) -> pa.Table:
        """Return the rows parsed so far as Arrow columns, and start over."""
        arrays = []
        for field, column_type in enumerate(self._types.values()):
            arrays.append(self._array(field, column_type))
        table = pa.table(arrays, names=list(self._types), metadata={UNSIGNED: b""})
        self._begin()
        return table

    def _array(self, field: int, column_type: pa.DataType) -> pa.Array:
        columns = self._decimals if self._kinds[field] == DECIMAL else self._integers
        values = columns[self._slots[field], : self.rows]
        bitmap = self._valid[field, : (self.rows + 7) // 8]
        is_known = np.unpackbits(bitmap, count=self.rows, bitorder="little").astype(bool)
        data: npt.NDArray[Any] = values
        if column_type == pa.int32():
            # What lies under a missing value is undefined and must not be judged.
            largest = values[is_known].max(initial=0)
            if largest > np.iinfo(np.int32).max:
                raise NotPlainNumbers
            data = values.astype(np.int32)
        elif column_type == pa.bool_():
            data = np.packbits(values == 1, bitorder="little")
        n_missing = self.rows - int(is_known.sum())
        validity = pa.py_buffer(bitmap) if n_missing else None
        buffers = [validity, pa.py_buffer(data)]
        return pa.Array.from_buffers(column_type, self.rows, buffers, n_missing)
