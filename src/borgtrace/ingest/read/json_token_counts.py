"""Tokens of JSON text, counted twice: in the bytes, and as the parsed values imply them.

DuckDB's JSON reader forgives much: it skips blank lines, ignores unknown keys, and rounds 1.5 where
an integer is due.  A clean export has as many lines as rows, a colon for every value, and quotes
around every key, integer, code and string (and nowhere else), and as many ``true`` and ``false`` as
flags, which it would read as 1 and 0 where a number is due; no string of the trace contains any of
these.  Where the two counts differ, the file is read by the validating reader.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.ingest.read.strange_text import may_have

_NEWLINE = ord("\n")
_COLON = ord(":")
_QUOTE = ord('"')
PRESENT = "has "
"""Prefix of columns that say whether a nested record, or a field that fills no column, was there."""

Tokens = npt.NDArray[np.int64]
"""Numbers of lines, colons, quotes and flags, shape (4,)."""


def tokens_in(text: bytes) -> Tokens:
    r"""Count the tokens in a block of whole lines.

    Examples
    --------
    >>> tokens_in(b'{"a":"1","b":true}\n').tolist()
    [1, 2, 6, 1]
    """
    codes = np.frombuffer(text, np.uint8)
    n_lines = np.count_nonzero(codes == _NEWLINE)
    n_colons = np.count_nonzero(codes == _COLON)
    n_quotes = np.count_nonzero(codes == _QUOTE)
    n_flags = 0
    for word in (b"true", b"false"):
        # Usage has no flags, and no field of it has these pairs in its name.
        if may_have(text, word[2:4]):
            n_flags += text.count(word)
    return np.array(
        [
            n_lines,
            n_colons,
            n_quotes,
            n_flags,
        ],
        np.int64,
    )


def tokens_of(flat: pa.Table) -> Tokens:
    """Return the tokens that the text of flat records must have: a line each, their colons, quotes and flags."""
    n_keys = 0
    n_quoted = 0
    n_flags = 0
    for name in flat.column_names:
        column = flat.column(name)
        # A record's key and colon are there even if all its fields are NULL; they fill no column of their own.
        if name.startswith(PRESENT):
            n_keys += pc.sum(column).as_py() or 0
            continue
        n_keys += _count_values(column)
        if pa.types.is_boolean(column.type):
            n_flags += _count_values(column)
        if not pa.types.is_list(column.type):
            n_quoted += _count_quoted(column)
        elif pa.types.is_struct(column.type.value_type):
            items = pc.list_flatten(column)
            for part in column.type.value_type.names:
                values = pc.struct_field(items, part)
                n_keys += _count_values(values)
                n_quoted += _count_quoted(values)
        else:
            n_quoted += _count_quoted(pc.list_flatten(column))
    # Each key has two quotes, and each quoted value two more.
    n_quotes = 2 * (n_keys + n_quoted)
    return np.array(
        [
            len(flat),
            n_keys,
            n_quotes,
            n_flags,
        ],
        np.int64,
    )


def _count_values(values: pa.ChunkedArray) -> int:
    return len(values) - values.null_count


def _count_quoted(values: pa.ChunkedArray) -> int:
    """Count the values that BigQuery exports in quotes: integers, codes and strings."""
    is_quoted = pa.types.is_integer(values.type) or pa.types.is_string(values.type)
    return _count_values(values) if is_quoted else 0
