"""Marks of JSON text, counted twice: in the bytes, and as the parsed values imply them.

DuckDB's JSON reader forgives much: it skips blank lines, ignores unknown keys, and rounds 1.5 where
an integer is due.  A clean export has as many lines as rows, a colon for every value, and quotes
around every key, integer, code and string (and nowhere else); no string of the trace contains a
colon or a quote.  Where the two counts differ, the file is read with care.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.ingest.columns2019 import CONSTRAINT

_NEWLINE, _COLON, _QUOTE = b"\n"[0], b":"[0], b'"'[0]


@dataclass(frozen=True, slots=True)
class Marks:
    """Numbers of lines, colons and quotes."""

    lines: int = 0
    colons: int = 0
    quotes: int = 0

    def __add__(self, other: Marks) -> Marks:
        """Add up."""
        return Marks(self.lines + other.lines, self.colons + other.colons, self.quotes + other.quotes)


def marks_in(text: npt.NDArray[np.uint8]) -> Marks:
    r"""Count the marks in a block of bytes.

    Examples
    --------
    >>> marks_in(np.frombuffer(b'{"a":"1"}\n', np.uint8))
    Marks(lines=1, colons=1, quotes=4)
    """
    return Marks(*(int(np.count_nonzero(text == mark)) for mark in (_NEWLINE, _COLON, _QUOTE)))


def marks_of(flat: pa.Table) -> Marks:
    """Return the colons and quotes that the text of flat records must have (lines are not counted).

    Columns called ``has …`` say whether a nested record was there.
    """
    keys = quoted = 0
    for name in flat.column_names:
        column = flat.column(name)
        if name.startswith("has "):
            keys += pc.sum(column).as_py() or 0
            continue
        present = len(column) - column.null_count
        keys += present
        if name == CONSTRAINT:
            parts = _constraint_parts(column)
            keys, quoted = keys + parts, quoted + parts
        elif pa.types.is_list(column.type):
            quoted += len(pc.list_flatten(column)) if pa.types.is_integer(column.type.value_type) else 0
        elif pa.types.is_integer(column.type) or pa.types.is_string(column.type):
            quoted += present
    return Marks(0, keys, 2 * (keys + quoted))


def _constraint_parts(column: pa.ChunkedArray) -> int:
    inner = pc.list_flatten(column)
    parts = [pc.struct_field(inner, part) for part in ("name", "value", "relation")]
    return sum(len(part) - part.null_count for part in parts)
