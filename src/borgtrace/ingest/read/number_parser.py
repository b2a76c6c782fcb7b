"""Lines of plain numbers with commas between, parsed into columns: the hot path of ingest.

Nearly all fields are short: their digits are read eight at a time; what is longer, or has an exponent,
byte by byte.  Only the shape of Google's usage files is understood (digits, one point, an exponent; no sign but in
the exponent, no quotes, no blanks); anything else stops the kernel, and the caller reads the file
with a general parser.  Values are exact: a decimal is formed as one correctly rounded double, and
the few whose double lies next to the middle of two float32 are handed back to be decided exactly.
"""

import numpy as np

from borgtrace.kernels.arrays import Bytes, Index, Values
from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.words import count_digits, load_word, read_digits

# Kinds of fields.
INTEGER = 0
DECIMAL = 1
FLAG = 2
# How parsing ended.
PARSED = 0
UNKNOWN = 1
DOUBTFUL_LIMIT = 4096
# Up to 10²² powers of ten are exact as doubles, so one multiplication or division rounds once.
_POWERS = 10.0 ** np.arange(23)
_TENS = np.array([10**k for k in range(9)], np.uint64)
_COMMA = ord(",")
_NEWLINE = ord("\n")
_POINT = ord(".")
_ZERO = ord("0")
_LOWER_E = ord("e")
_UPPER_E = ord("E")
_MINUS = ord("-")
_PLUS = ord("+")
# Integers below are exact as doubles too: the other half of the same condition.
_EXACT = 1 << 53
# Just above the smallest normal float32: smaller ones have fewer bits, and `_is_between` would look at the wrong place.
_SMALLEST = 1.2e-38
_LAST_TIME = 2**63 - 1
_WORD = 8
"""Bytes of a word."""
_AHEAD = 24
"""How far the quick way looks ahead."""
_ZERO_POINT = np.uint64(0x2E30)
_TWO_BYTES = np.uint64(0xFFFF)


@compiled(inline=True)
def _read_integer(text: Bytes, at: int) -> tuple[np.uint64, int, int]:
    """Return a number of up to 15 digits, how many those are, and where it ends."""
    word = load_word(text, at)
    digits = count_digits(word)
    # An empty field: a missing value, which the caller marks as such.
    if digits == 0:
        return np.uint64(0), 0, at
    number = read_digits(word, digits)
    if digits == _WORD:
        word = load_word(text, at + _WORD)
        more = count_digits(word)
        if more:
            number = number * _TENS[more] + read_digits(word, more)
            digits += more
    return number, digits, at + digits


@compiled(inline=True)
def _read_decimal(text: Bytes, at: int) -> tuple[np.uint64, int, int, int]:
    """Return the digits of a decimal as a number, how many, how many after the point, and where it ends."""
    word = load_word(text, at)
    # Most values of usage begin with "0." (fractions of the largest machine): one load then has all their digits.
    if word & _TWO_BYTES == _ZERO_POINT:
        word = load_word(text, at + 2)
        places = count_digits(word)
        if places == 0:
            return np.uint64(0), 1, 0, at + 2
        return read_digits(word, places), 1 + places, places, at + 2 + places
    digits = count_digits(word)
    if digits == 0:
        return np.uint64(0), 0, 0, at
    number = read_digits(word, digits)
    at += digits
    # Eight digits before the point are left to the slow way, as are more than eight after it: the caller finds that no
    # comma follows.
    if digits == _WORD or text[at] != _POINT:
        return number, digits, 0, at
    word = load_word(text, at + 1)
    places = count_digits(word)
    if places:
        number = number * _TENS[places] + read_digits(word, places)
    return number, digits + places, places, at + 1 + places


@compiled(inline=True)
def _is_between(value: float) -> bool:
    """Whether a double lies next to the middle of two float32, so that rounding it twice may err."""
    # A double has 29 bits more than a float32; in the middle between two of these, they are 1 and 28 zeros.
    beside = (np.float64(value).view(np.int64) & 0x1FFFFFFF) - 0x10000000
    return bool(beside >= -1 and beside <= 1)


@compiled(makes_arrays=False)
def _read_slowly(text: Bytes, at: int, is_decimal: bool) -> tuple[np.uint64, int, int, int, int]:
    """Read any number, byte by byte.

    Returns
    -------
    number, digits, places, exponent, end
        `digits` is −1 where the text ends early, −2 where it is not a number.
    """
    number = np.uint64(0)
    digits = 0
    places = 0
    exponent = 0
    start = at
    size = len(text)
    seen_point = False
    while at < size:
        letter = text[at]
        if letter >= _ZERO and letter <= _ZERO + 9:
            number = number * np.uint64(10) + np.uint64(letter - _ZERO)
            digits += 1
            places += seen_point
        elif letter == _POINT and is_decimal and not seen_point:
            seen_point = True
        else:
            break
        at += 1
    has_exponent = at < size and (text[at] == _LOWER_E or text[at] == _UPPER_E)
    if digits and is_decimal and has_exponent:
        at += 1
        is_negative = at < size and text[at] == _MINUS
        has_sign = at < size and (text[at] == _MINUS or text[at] == _PLUS)
        at += has_sign
        before = at
        while at < size and text[at] >= _ZERO and text[at] <= _ZERO + 9:
            # A limit, so that a long row of digits cannot overflow; the caller refuses far smaller exponents.
            exponent = min(exponent * 10 + (text[at] - _ZERO), 999)
            at += 1
        if at == before and at < size:
            return number, -2, places, exponent, at
        if is_negative:
            exponent = -exponent
    # Without the mark that ends it, a number may go on in the next block.
    if at >= size:
        return number, -1, places, exponent, at
    # A point alone.
    if digits == 0 and at > start:
        return number, -2, places, exponent, at
    return number, digits, places, exponent, at


@compiled(inline=True)
def _is_integer(kind: int, number: np.uint64, digits: int) -> bool:
    """Whether digits are an integer of 63 bits, and of a flag 0 or 1."""
    # 2⁶⁴−1, "after the trace", is none: the general reader has unsigned times.
    if digits > 19 or number > np.uint64(_LAST_TIME):
        return False
    # 01 is a number, and no flag.
    return not (kind == FLAG and (digits > 1 or number > np.uint64(1)))


@compiled(inline=True)
def _is_exact(number: np.uint64, digits: int, power: int) -> bool:
    """Whether a number times a power of ten is rounded once."""
    # Longer rows of digits overflow `number` unseen.
    return digits <= 18 and bool(number < np.uint64(_EXACT)) and power >= -22 and power <= 22


@compiled(inline=True)
def _scale(number: np.uint64, power: int) -> float:
    """Return a number times a power of ten."""
    value = np.float64(number)
    # Divided rather than multiplied by a negative power: 0.1 is not exact, 10 is.
    return value / _POWERS[-power] if power < 0 else value * _POWERS[power]


@compiled(makes_arrays=False)
def parse_numbers(  # noqa: PLR0911, PLR0912 - one loop over bytes, for speed
    text: Bytes,
    kinds: Bytes,
    slots: Bytes,
    row: int,
    rows: int,
    integers: Index,
    decimals: Values,
    valid: Bytes,
    doubtful: Index,
) -> tuple[int, int, int, int]:
    """Parse whole lines from `text` into columns, beginning at `row`, until `rows` are filled.

    Parameters
    ----------
    text
        Bytes, shape (n,); a last line without its newline is left alone.
    kinds, slots
        For each field INTEGER, DECIMAL or FLAG, and which line of `integers` (flags too) or `decimals` it fills.
    row, rows
        First row to fill, and one past the last that fits.
    integers, decimals
        Shapes (i, rows) and (d, rows).
    valid
        Arrow validity bitmaps, shape (fields, rows / 8), all ones before.
    doubtful
        Shape (k, 4): field, row, start and end in `text` of values to be decided exactly.

    Returns
    -------
    status, row, consumed, doubts
        PARSED or UNKNOWN; the next row; bytes of whole lines; rows used of `doubtful`.
    """
    last_field = len(kinds) - 1
    # A field read the quick way reaches at most 17 bytes from its start: two words and the mark after them.
    last_quick = len(text) - _AHEAD
    position = 0
    line = 0
    doubts = 0
    while row < rows:
        for field in range(len(kinds)):
            start = position
            is_decimal = kinds[field] == DECIMAL
            end_mark = _NEWLINE if field == last_field else _COMMA
            number = np.uint64(0)
            digits = -1
            places = 0
            exponent = 0
            if position <= last_quick:
                if is_decimal:
                    number, digits, places, position = _read_decimal(text, position)
                else:
                    number, digits, position = _read_integer(text, position)
            if digits < 0 or text[position] != end_mark:
                number, digits, places, exponent, position = _read_slowly(text, start, is_decimal)
                # `line` is where the last whole line ended; the rest comes again with the next block.
                if digits == -1:
                    return PARSED, row, line, doubts
                if digits < 0 or text[position] != end_mark:
                    return UNKNOWN, row, line, doubts
            position += 1
            if digits == 0:
                # The value itself is left undefined, as Arrow allows.
                valid[field, row >> 3] &= ~np.uint8(1 << (row & 7))
            elif not is_decimal:
                if not _is_integer(kinds[field], number, digits):
                    return UNKNOWN, row, line, doubts
                integers[slots[field], row] = np.int64(number)
            else:
                power = exponent - places
                if not _is_exact(number, digits, power):
                    return UNKNOWN, row, line, doubts
                value = _scale(number, power)
                if value != 0.0 and (value < _SMALLEST or value > 1e30):
                    return UNKNOWN, row, line, doubts
                if _is_between(value):
                    if doubts == len(doubtful):
                        return UNKNOWN, row, line, doubts
                    doubtful[doubts, 0] = field
                    doubtful[doubts, 1] = row
                    doubtful[doubts, 2] = start
                    doubtful[doubts, 3] = position - 1
                    doubts += 1
                decimals[slots[field], row] = np.float32(value)
        line = position
        row += 1
    return PARSED, row, line, doubts
