"""Rows in the order of their key: key columns packed into 64-bit words, which NumPy sorts without comparing columns."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.kernels.arrays import Index, Words

_WORD = 64


def sort_rows(rows: pa.Table, key: Sequence[str]) -> pa.Table:
    """Return rows in the order of their key; NULL comes last.

    Parameters
    ----------
    rows
        Rows in any order.
    key
        Names of columns of integers or text, the first first.

    Examples
    --------
    >>> rows = pa.table({"a": [2, 1, 2], "b": ["x", "z", "w"]})
    >>> sort_rows(rows, ("a", "b")).to_pydict()
    {'a': [1, 2, 2], 'b': ['z', 'w', 'x']}
    """
    order = pa.array(_order(list(_words([rows.column(name) for name in key]))))
    return pa.table({name: _take(rows.column(name), order) for name in rows.column_names})


def _take(column: pa.ChunkedArray, order: pa.Array) -> pa.ChunkedArray:
    # What a format does not publish is NULL in any order.
    if column.null_count == len(column):
        return pa.chunked_array([pa.nulls(len(column), column.type)])
    # In one piece: looking up the chunk of every value takes longer than joining the chunks.
    return pa.chunked_array([pc.take(column.combine_chunks(), order, boundscheck=False)])


def _order(words: Sequence[Words]) -> Index:
    order = np.argsort(words[0])
    first = words[0][order]
    is_equal = first[1:] == first[:-1]
    # Few rows of usage are equal in the first word: collection, instance and milliseconds.  Only these are compared on.
    tied = np.flatnonzero(np.append(is_equal, False) | np.insert(is_equal, 0, False))
    members, groups = order[tied], np.cumsum(np.insert(~is_equal, 0, False))[tied]
    order[tied] = members[_order_of_ties(groups, [word[members] for word in words[1:]])]
    return order


def _order_of_ties(groups: Index, words: Sequence[Words]) -> Index:
    """Return the order of rows within their groups, which are in order."""
    if len(words) == 1 and len(groups):
        width = int(words[0].max()).bit_length()
        if int(groups[-1]).bit_length() + width <= _WORD:
            # One word again takes a third of the time that comparing two does.
            return np.argsort(groups.astype(np.uint64) << np.uint64(width) | words[0])
    return np.lexsort([*reversed(words), groups])


def _words(columns: Sequence[pa.ChunkedArray]) -> Iterator[Words]:
    """Yield the bits of all columns, those of the first in the highest places, in as few words as hold them."""
    word, room = np.zeros(len(columns[0]), np.uint64), _WORD
    for values, width in map(_places, columns):
        taken = min(width, room)
        # NumPy makes 0 of an (empty) word that is shifted by all of its bits.
        word = word << np.uint64(taken) | values >> np.uint64(width - taken)
        room -= taken
        if width > taken:
            yield word
            room = _WORD - (width - taken)
            word = values & np.uint64((1 << (width - taken)) - 1)
    yield word


def _places(column: pa.ChunkedArray) -> tuple[Words, int]:
    """Return non-negative integers in the order of the values, and how many bits they take."""
    if not len(column):
        return np.empty(0, np.uint64), 0
    if column.null_count or not pa.types.is_integer(column.type):
        column = pc.rank(column, sort_keys="ascending", tiebreaker="dense")
    bounds = pc.min_max(column).as_py()
    values = np.asarray(column).astype(np.uint64) - np.uint64(bounds["min"] % 2**_WORD)
    return values, int(bounds["max"] - bounds["min"]).bit_length()
