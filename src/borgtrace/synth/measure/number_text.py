"""Numbers as the published files print them, written straight into a byte buffer.

Resources have ten significant bits and no bit below 2⁻²⁰: true of 1.7 million values of the real files
without exception.  So there are only 11,264 numbers below 1,024, and printing one is a look-up: 2011
prints four significant digits (``%.4g``), 2019 the exact decimal expansion.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.compiled import compiled

FLOOR_BIT = 20
"""Resources are multiples of 2⁻²⁰."""
_NUMBERS = 1024 + 20 * 512
_SMALLEST_EXPONENT = 1013 << 9
"""Biased exponent of 2⁻¹⁰, from which on the ten bits float, followed by nine bits of mantissa."""
_MINUS = ord("-")
_ZERO = ord("0")


class Texts(NamedTuple):
    """Pieces of text.

    Attributes
    ----------
    words
        The bytes, eight to a word (little-endian), shape (n, words).
    lengths
        Bytes of each, shape (n,); one byte each where a text may have at most 255, to stay in the cache.
    """

    words: NDArray[np.uint64]
    lengths: NDArray[np.integer]


class NumberTexts(NamedTuple):
    """Every ten-bit number as text, and what a reader gets back as float32, held as float64: shape (numbers,)."""

    texts: Texts
    values: NDArray[np.float64]


def ten_bit_number(code: int) -> float:
    """Return the ten-bit number of a code.

    Examples
    --------
    >>> [ten_bit_number(code) for code in (0, 512, 1024, 1536)]
    [0.0, 0.00048828125, 0.0009765625, 0.001953125]
    """
    if code < 1024:
        return float(math.ldexp(code, -FLOOR_BIT))
    exponent, mantissa = divmod(code - 1024, 512)
    return float(math.ldexp(512 + mantissa, exponent - 19))


@cache
def number_texts(is_short: bool) -> NumberTexts:
    r"""Return the texts of all ten-bit numbers: four significant digits, or the exact decimal expansion.

    Examples
    --------
    >>> code = number_code(0.49949)
    >>> [number_texts(is_short).texts.words[code].tobytes().rstrip(b"\0") for is_short in (True, False)]
    [b'0.4995', b'0.49951171875']
    """
    numbers = map(ten_bit_number, range(_NUMBERS))
    texts = [f"{number:.4g}" if is_short else _exact_text(number) for number in numbers]
    values = np.array(texts, dtype=np.float32).astype(np.float64)
    return NumberTexts(pack(texts), values)


def _exact_text(number: float) -> str:
    return f"{number:.20f}".rstrip("0").rstrip(".")


@cache
def short_numbers_after_commas() -> Texts:
    r"""Return the texts of all numbers of four significant digits after a comma; the last is a comma alone.

    Examples
    --------
    >>> [short_numbers_after_commas().words[code].tobytes().rstrip(b"\0") for code in (number_code(0.49949), -1)]
    [b',0.4995', b',']
    """
    numbers = map(ten_bit_number, range(_NUMBERS))
    texts = [f",{number:.4g}" for number in numbers]
    return pack([*texts, ","])


def pack(texts: Sequence[str]) -> Texts:
    """Return texts as words of eight bytes, all padded to the same number of words, and their lengths in bytes."""
    longest = max(map(len, texts))
    width = -(-longest // 8) * 8
    padded = b"".join(text.encode().ljust(width, b"\0") for text in texts)
    # A copy, which can be written to: to compiled functions a read-only array has another type.
    words = np.frombuffer(padded, dtype="<u8").copy()
    lengths = np.array([len(text) for text in texts], dtype=np.uint8)
    return Texts(words.reshape(len(texts), -1), lengths)


@compiled(inline=True)
def number_code(value: float) -> int:
    """Return the code of the ten-bit number that `value` rounds to, a row of :func:`number_texts`; branch-free."""
    # Below 2⁻¹⁰ the grid is fixed: steps of 2⁻²⁰.
    small = np.int64(value * 1048576.0 + 0.5)
    bits = np.float64(value).view(np.int64)
    # Rounds the mantissa of the float64 from 52 to 9 bits, half to even, by adding to its bits; a carry runs into the
    # exponent, which is just what it should do.  Computed also where it is not needed: that costs less than a branch
    # that cannot be predicted.
    half_to_even = ((1 << 42) - 1) + ((bits >> 43) & 1)
    large = ((bits + half_to_even) >> 43) - _SMALLEST_EXPONENT + 1024
    largest = min(int(large), _NUMBERS - 1)
    return int(small) if value < 0.0009765625 else int(largest)


@compiled(inline=True)
def _store(
    buffer: NDArray[np.uint8],
    at: int,
    word: np.uint64,
) -> None:
    """Store eight bytes; the compiler turns this loop into one instruction."""
    first = np.uint64(at)
    byte = np.uint64(255)
    for i in range(8):
        shifted = word >> np.uint64(8 * i)
        buffer[first + np.uint64(i)] = np.uint8(shifted & byte)


@compiled(inline=True)
def put_text(
    buffer: NDArray[np.uint8],
    at: int,
    texts: Texts,
    row: int,
) -> int:
    """Copy text `row` to position `at` (up to seven more bytes are overwritten); return where it ends.

    The whole table is passed: a view of one row would cost more than the copy.
    """
    length = texts.lengths[row]
    for i in range((length + 7) >> 3):
        _store(buffer, at + 8 * i, texts.words[row, i])
    return at + length


@compiled(inline=True)
def put_number(
    buffer: NDArray[np.uint8],
    at: int,
    texts: Texts,
    code: int,
) -> int:
    """Copy the text of a number to position `at`; return where it ends.

    All its words are copied, even empty ones: a loop of fixed length costs less than a branch on the length.
    """
    # At least two words.  These are copied without a loop, which would take longer than they do.
    _store(buffer, at, texts.words[code, 0])
    _store(buffer, at + 8, texts.words[code, 1])
    for i in range(2, texts.words.shape[1]):
        _store(buffer, at + 8 * i, texts.words[code, i])
    return at + texts.lengths[code]


@compiled(makes_arrays=False)
def put_integer(
    buffer: NDArray[np.uint8],
    at: int,
    value: int,
) -> int:
    """Write a decimal integer at `at`; return the position after it."""
    if value < 0:
        buffer[at] = _MINUS
        at += 1
        value = -value
    end = at + 1
    rest = value // 10
    while rest > 0:
        end += 1
        rest //= 10
    position = end
    while True:
        position -= 1
        buffer[position] = _ZERO + value % 10
        value //= 10
        if value == 0:
            return end


def ten_bits(value: float) -> float:
    """Round to ten significant bits, none below 2⁻²⁰.

    Examples
    --------
    >>> ten_bits(0.49949) == 1023 / 2048, ten_bits(1e-7)
    (True, 0.0)
    """
    return ten_bit_number(number_code(value))
