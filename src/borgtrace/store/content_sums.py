"""The sums behind a content digest: what each value of a column adds, by its row."""

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.arrays import Bytes, ShortIndex, Words
from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.hashing import GOLDEN, MIX_2, finalized

AnyNumbers = NDArray[np.generic]
_NAN = np.uint64(0x7FF8000000000000)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_SHIFT = np.uint64(32)
_LOW_HALF = np.uint64(0xFFFFFFFF)


@compiled(inline=True)
def _is_set(bits: Bytes, at: int) -> bool:
    """Whether a value is not NULL; an empty bitmap means that none is."""
    # Arrow numbers the bits of a byte from the lowest.
    return bits.size == 0 or bool((bits[at >> 3] >> (at & 7)) & 1)


@compiled(inline=True)
def _word(value: np.generic, bits: np.generic) -> np.uint64:
    """Return the 64 bits of a value, where −0 is 0 and all NaN are one."""
    # Equal values must give equal digests, and −0.0 == 0.0 though their bits differ.
    if value == 0:
        return _ZERO
    return np.uint64(bits) if value == value else _NAN  # noqa: PLR0124 (only NaN differs from itself)


@compiled(inline=True)
def _place(row: int) -> np.uint64:
    """Return a number for a row, far from those of other rows."""
    # The row plus one, so that row 0 is no zero factor.
    return (np.uint64(row) + _ONE) * GOLDEN


@compiled(inline=True)
def _product_of_halves(word: np.uint64) -> np.uint64:
    """Return what a hash adds to the second sum."""
    # Not a multiple of what it adds to the first: both sums together are 128 bits.
    return (word >> _SHIFT) * (word & _LOW_HALF)


@compiled(makes_arrays=False)
def add_values(
    values: AnyNumbers,
    bits: AnyNumbers,
    valid: Bytes,
    offset: int,
    row: int,
    sums: Words,
) -> None:
    """Add a flat column's values to its `sums`.

    Parameters
    ----------
    values
        Shape (n,): int64, float32 or float64.
    bits
        The same memory as unsigned integers (of the same size) where `values` are floats.
    valid
        Arrow's validity bitmap, empty where nothing is NULL.
    offset
        Position of the first value in `valid`.
    row
        Row of the first value in the whole table.
    sums
        Shape (2,), modulo 2⁶⁴; changed.

    Notes
    -----
    A value adds a hash of itself and its row, and a product of that hash's halves. Additions commute, so blocks of
    rows may be summed in any order, by anyone; NULL adds nothing.
    """
    # In local variables, which stay in registers: a write to the array in each round would go to memory.
    first = sums[0]
    second = sums[1]
    for i in range(values.size):
        if _is_set(valid, offset + i):
            # The place and the value are mixed as one word.
            word = finalized(_place(row + i) ^ _word(values[i], bits[i]))
            first += word
            second += _product_of_halves(word)
    sums[0] = first
    sums[1] = second


@compiled(makes_arrays=False)
def add_lists(
    starts: ShortIndex,
    valid: Bytes,
    offset: int,
    values: AnyNumbers,
    bits: AnyNumbers,
    valid_items: Bytes,
    offset_items: int,
    row: int,
    sums: Words,
) -> None:
    """Add the lists of a column to its `sums`: each element by its row and position, and each length.

    Parameters
    ----------
    starts
        Shape (n + 1,): list i holds ``values[starts[i]:starts[i + 1]]``.
    valid, valid_items
        Validity of the lists and of the elements, as for :func:`add_values`.
    offset, offset_items
        Positions of the first list and of the first element in them.
    values, bits, row, sums
        As for :func:`add_values`.
    """
    first = sums[0]
    second = sums[1]
    for i in range(starts.size - 1):
        if _is_set(valid, offset + i):
            place = _place(row + i)
            # The length counts as a value: NULL, an empty list and where one list ends and the next begins all differ.
            word = finalized(place ^ np.uint64(starts[i + 1] - starts[i]))
            first += word
            second += _product_of_halves(word)
            for k in range(starts[i], starts[i + 1]):
                # Another place for each position, far from those of other rows: [1, 2] is not [2, 1].
                place += MIX_2
                if _is_set(valid_items, offset_items + k):
                    word = finalized(place ^ _word(values[k], bits[k]))
                    first += word
                    second += _product_of_halves(word)
    sums[0] = first
    sums[1] = second


@compiled(makes_arrays=False)
def hash_texts(starts: ShortIndex, text: Bytes, words: Words) -> None:
    """Fill `words` with a hash of each text: of its length and its bytes, in order.

    Parameters
    ----------
    starts
        Shape (n + 1,): text i is ``text[starts[i]:starts[i + 1]]``, UTF-8.
    text
        All bytes.
    words
        Shape (n,), filled.
    """
    for i in range(words.size):
        word = np.uint64(starts[i + 1] - starts[i])
        for k in range(starts[i], starts[i + 1]):
            word = (word ^ np.uint64(text[k])) * GOLDEN
            # A multiplication carries upwards only: this brings the high bits down again.
            word ^= word >> _SHIFT
        words[i] = finalized(word)
