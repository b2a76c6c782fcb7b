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

_NEWLINE, _COLON, _QUOTE = b"\n"[0], b":"[0], b'"'[0]
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
    each = np.frombuffer(text, np.uint8)
    counts = [np.count_nonzero(each == token) for token in (_NEWLINE, _COLON, _QUOTE)]
    # Usage has no flags, and no field of it has these pairs in its name.
    flags = sum(text.count(word) for word in (b"true", b"false") if may_have(text, word[2:4]))
    return np.array([*counts, flags], np.int64)


def tokens_of(flat: pa.Table) -> Tokens:
    """Return the tokens that the text of flat records must have: a line each, their colons, quotes and flags."""
    keys = quoted = flags = 0
    for name in flat.column_names:
        column = flat.column(name)
        # A record's key and colon are there even if all its fields are NULL; they fill no column of their own.
        if name.startswith(PRESENT):
            keys += pc.sum(column).as_py() or 0
            continue
        keys += len(column) - column.null_count
        flags += (len(column) - column.null_count) * pa.types.is_boolean(column.type)
        if not pa.types.is_list(column.type):
            quoted += _quoted(column)
        elif pa.types.is_struct(column.type.value_type):
            items = pc.list_flatten(column)
            for part in column.type.value_type.names:
                values = pc.struct_field(items, part)
                keys += len(values) - values.null_count
                quoted += _quoted(values)
        else:
            quoted += _quoted(pc.list_flatten(column))
    # Each key has two quotes, and each quoted value two more.
    return np.array([len(flat), keys, 2 * (keys + quoted), flags], np.int64)


def _quoted(values: pa.ChunkedArray) -> int:
    """Count the values that BigQuery exports in quotes: integers, codes and strings."""
    is_quoted = pa.types.is_integer(values.type) or pa.types.is_string(values.type)
    return len(values) - values.null_count if is_quoted else 0
