"""Rows in the order of their key: key columns packed into 64-bit words, which NumPy sorts without comparing columns."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.kernels.arrays import Flags, Index, Words

_WORD = 64
"""Bits of a word."""
_WIDE = 48
"""Bits of which no column needs more but ids that are hashes of names; few are distinct."""
_SOURCE = ("source_part", "source_row")
"""The last columns of a key: where a row is from."""
_PIECE = 1 << 16
"""Rows that are looked at together."""


class _Ranks(NamedTuple):
    """Non-negative integers in the order of the values of a column, and how many bits they take."""

    values: Words
    width: int


def sorted_batches(rows: pa.Table, key: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
    """Yield rows in the order of their key; NULL comes last, and by one column, rows of equal keys stay in their order.

    Parameters
    ----------
    rows
        Rows in any order.
    key
        Names of columns of integers or text, the first first.
    size
        Most rows of a batch: all rows need not be in memory twice.

    Examples
    --------
    >>> rows = pa.table({"a": [2, 1, 2], "b": ["x", "z", "w"]})
    >>> [batch.to_pydict() for batch in sorted_batches(rows, ("a", "b"), 2)]
    [{'a': [1, 2], 'b': ['z', 'w']}, {'a': [2], 'b': ['x']}]
    """
    yield from taken_batches(rows, row_order(rows, key), size)


def taken_batches(rows: pa.Table, order: Index, size: int) -> Iterator[pa.RecordBatch]:
    """Yield some of the rows in a given order.

    Parameters
    ----------
    rows
        Rows in any order.
    order
        Places of those that are taken.
    size
        Most rows of a batch.
    """
    if not len(order):
        return
    # In one piece: looking up the chunk of every value takes longer than joining the chunks.
    (whole,) = rows.combine_chunks().to_batches()
    are_alike = [_is_alike(column) for column in whole.columns]
    for first in range(0, len(order), size):
        places = pa.array(order[first : first + size])
        columns = []
        for column, is_alike in zip(whole.columns, are_alike, strict=True):
            # Any order does.
            taken = column.slice(0, len(places)) if is_alike else _take(column, places)
            columns.append(taken)
        yield pa.record_batch(columns, whole.schema)


def row_order(rows: pa.Table, key: Sequence[str]) -> Index:
    """Return the places of rows in the order of their key; see `sorted_batches`.

    Parameters
    ----------
    rows, key
        As for `sorted_batches`.
    """
    if tuple(key[-2:]) == _SOURCE:
        words = _words_of_columns(rows, key[:-2])
        # In one word, rows of equal keys stay in their order, and there is room for the place of each.
        if len(words) == 1 and _has_room_for_places(words[0]):
            return _order_of_word_and_source(words[0], rows)
        if len(words) == 1 and _are_in_order_of_source(rows):
            return _order_of_word(words[0])
    return _order_of_words(_words_of_columns(rows, key))


def _order_of_word_and_source(word: Words, rows: pa.Table) -> Index:
    """Return the order of words; equal ones are in the order of their source."""
    placed = _sorted_with_places(word)
    place_width = len(word).bit_length()
    sorted_word = placed >> np.uint64(place_width)
    is_same = sorted_word[1:] == sorted_word[:-1]
    order = _places(placed, place_width)
    # Of several threads of DuckDB rows come in no order, but hardly two of them have one key.
    if np.any(is_same) and not _are_in_order_of_source(rows):
        _sort_ties(order, is_same, _words_of_columns(rows, _SOURCE))
    return order


def _words_of_columns(rows: pa.Table, names: Sequence[str]) -> list[Words]:
    return list(_packed_words([rows.column(name) for name in names]))


def _are_in_order_of_source(rows: pa.Table) -> bool:
    parts, places = (np.asarray(rows.column(name)) for name in _SOURCE)
    # Piece by piece: rows in another order mostly show it in the first one.
    for first in range(0, len(rows), _PIECE):
        part = parts[first : first + _PIECE + 1]
        place = places[first : first + _PIECE + 1]
        is_later = (part[1:] > part[:-1]) | ((part[1:] == part[:-1]) & (place[1:] >= place[:-1]))
        if not np.all(is_later):
            return False
    return True


def _is_alike(column: pa.Array) -> bool:
    """Return whether a column is all NULL, as one that the format does not publish, or has one value throughout."""
    if column.null_count:
        return bool(column.null_count == len(column))
    values = column.indices if pa.types.is_dictionary(column.type) else column
    if not (pa.types.is_integer(values.type) or pa.types.is_boolean(values.type)):
        return False
    bounds = pc.min_max(values)
    return bool(bounds["min"] == bounds["max"])


def _take(column: pa.Array, places: pa.Array) -> pa.Array:
    if not (column.null_count and pa.types.is_primitive(column.type)):
        return pc.take(column, places, boundscheck=False)
    # Values and their bits apart: Arrow takes five times as long for both together.
    bits, values = column.buffers()
    is_known = _take_buffer(pa.bool_(), bits, column, places)
    taken = _take_buffer(column.type, values, column, places)
    buffers = [is_known.buffers()[1], taken.buffers()[1]]
    return pa.Array.from_buffers(column.type, len(places), buffers)


def _take_buffer(
    data_type: pa.DataType,
    buffer: pa.Buffer,
    column: pa.Array,
    places: pa.Array,
) -> pa.Array:
    """Take values from one buffer of a column, as if none were missing."""
    size = len(column)
    whole = pa.Array.from_buffers(data_type, size, [None, buffer], 0, column.offset)
    return pc.take(whole, places, boundscheck=False)


def _order_of_words(words: Sequence[Words]) -> Index:
    if len(words) == 1:
        return _order_of_word(words[0])
    order = np.argsort(words[0])
    first_words = words[0][order]
    is_same = first_words[1:] == first_words[:-1]
    _sort_ties(order, is_same, words[1:])
    return order


def _sort_ties(order: Index, is_same: Flags, words: Sequence[Words]) -> None:
    """Put rows that are equal so far into the order of further words.

    Few rows of usage are equal in the first word: collection, instance and milliseconds.  Only these are compared on.

    Parameters
    ----------
    order
        Places of all rows in order, shape (n,), which is changed.
    is_same
        Whether the next row in that order is equal, shape (n − 1,).
    words
        Further words of all rows.
    """
    tied = np.flatnonzero(_either_neighbor(is_same))
    members = order[tied]
    begins_group = np.insert(~is_same, 0, False)
    groups = np.cumsum(begins_group, dtype=np.int64)[tied]
    later_words = [word[members] for word in words]
    order[tied] = members[_order_of_ties(groups, later_words)]


def _either_neighbor(is_same: Flags) -> Flags:
    """Return which rows are equal to the one before or the one after."""
    return np.append(is_same, False) | np.insert(is_same, 0, False)


def _order_of_ties(groups: Index, words: Sequence[Words]) -> Index:
    """Return the order of rows within their groups, which are in order."""
    if len(words) == 1 and len(groups):
        width = int(words[0].max()).bit_length()
        group_width = int(groups[-1]).bit_length()
        if group_width + width <= _WORD:
            # One word again takes a third of the time that comparing two does.
            shifted_groups = groups.astype(np.uint64) << np.uint64(width)
            return _order_of_word(shifted_groups | words[0])
    return np.lexsort([*reversed(words), groups])


def _order_of_word(word: Words) -> Index:
    """Return the order of words; equal ones stay in their order."""
    if not _has_room_for_places(word):
        return np.argsort(word, kind="stable")
    return _places(_sorted_with_places(word), len(word).bit_length())


def _has_room_for_places(word: Words) -> bool:
    """Return whether each word can be put into one with its place."""
    value_width = int(word.max(initial=0)).bit_length()
    return value_width + len(word).bit_length() <= _WORD


def _sorted_with_places(word: Words) -> Words:
    """Sort words, each with its place in the low bits: that takes a tenth of the time of an indirect sort."""
    places = np.arange(len(word), dtype=np.uint64)
    placed = word << np.uint64(len(word).bit_length()) | places
    placed.sort()
    return placed


def _places(placed: Words, width: int) -> Index:
    """Return the low bits of words."""
    return (placed & _low_bits(width)).view(np.int64)


def _low_bits(width: int) -> np.uint64:
    return np.uint64((1 << width) - 1)


def _packed_words(columns: Sequence[pa.ChunkedArray]) -> Iterator[Words]:
    """Yield the bits of all columns, those of the first in the highest places, in as few words as hold them."""
    word = np.zeros(len(columns[0]), np.uint64)
    room = _WORD
    for column in columns:
        values, width = _rank(column)
        n_taken = min(width, room)
        n_left = width - n_taken
        # In place, as memory that was not in use before costs more than sorting.  NumPy makes 0 of an (empty) word that
        # is shifted by all of its bits.
        word <<= np.uint64(n_taken)
        word |= values >> np.uint64(n_left) if n_left else values
        room -= n_taken
        if n_left:
            yield word
            word = values & _low_bits(n_left)
            room = _WORD - n_left
    yield word


def _rank(column: pa.ChunkedArray) -> _Ranks:
    if not len(column):
        return _Ranks(np.empty(0, np.uint64), 0)
    if column.null_count or not pa.types.is_integer(column.type):
        column = pc.rank(column, sort_keys="ascending", tiebreaker="dense")
    bounds = pc.min_max(column).as_py()
    width = int(bounds["max"] - bounds["min"]).bit_length()
    if not width:
        return _Ranks(np.zeros(1, np.uint64), 0)
    if width > _WIDE:
        return _rank_distinct(column)
    values = np.asarray(column).astype(np.uint64)
    values -= np.uint64(bounds["min"] % 2**_WORD)
    # Times are whole seconds or more: their lowest places are all 0.
    used_bits = int(np.bitwise_or.reduce(values))
    n_unused = (used_bits & -used_bits).bit_length() - 1
    values >>= np.uint64(n_unused)
    return _Ranks(values, width - n_unused)


def _rank_distinct(column: pa.ChunkedArray) -> _Ranks:
    """Rank the few distinct values of a wide column."""
    coded = column.combine_chunks().dictionary_encode()
    distinct = np.asarray(coded.dictionary)
    ranks = np.argsort(np.argsort(distinct)).astype(np.uint64)
    width = (len(ranks) - 1).bit_length()
    return _Ranks(ranks[np.asarray(coded.indices)], width)
