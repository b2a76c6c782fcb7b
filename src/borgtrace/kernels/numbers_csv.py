"""Lines of plain numbers with commas between, parsed into columns: the hot path of ingest.

Only the shape of Google's usage files is understood (digits, one point, an exponent; no sign but in
the exponent, no quotes, no blanks); anything else stops the kernel, and the caller reads the file
with a general parser.  Values are exact: a decimal is formed as one correctly rounded double, and
the few whose double lies next to the middle of two float32 are handed back to be decided exactly.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from borgtrace.kernels.compiled import compiled

Bytes = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.int64]

INTEGER, DECIMAL = 0, 1
PARSED, STRANGE = 0, 1
DOUBTFUL_LIMIT = 4096
_POWERS = 10.0 ** np.arange(23)
_COMMA, _NEWLINE, _POINT, _ZERO, _LOWER_E, _UPPER_E, _MINUS, _PLUS = 44, 10, 46, 48, 101, 69, 45, 43
_EXACT = 1 << 53
_SMALLEST = 1.2e-38
_LAST_TIME = 2**63 - 1


@compiled()
def parse_numbers(  # noqa: PLR0911, PLR0912, PLR0915 - one loop over bytes, for speed
    text: Bytes,
    kinds: Bytes,
    slots: Bytes,
    row: int,
    rows: int,
    integers: Longs,
    decimals: npt.NDArray[np.float32],
    valid: Bytes,
    doubtful: Longs,
) -> tuple[int, int, int, int]:
    """Parse whole lines from `text` into columns, beginning at `row`, until `rows` are filled.

    Parameters
    ----------
    text
        Bytes, shape (n,); a last line without its newline is left alone.
    kinds, slots
        For each field INTEGER or DECIMAL, and which line of `integers` or `decimals` it fills.
    row, rows
        First row to fill, and one past the last that fits.
    integers, decimals
        Shapes (i, rows) and (d, rows).
    valid
        Arrow validity bitmaps, shape (fields, rows / 8), zero where nothing was parsed yet.
    doubtful
        Shape (k, 4): field, row, start and end in `text` of values to be decided exactly.

    Returns
    -------
    status, row, consumed, doubts
        PARSED or STRANGE; the next row; bytes of whole lines; rows used of `doubtful`.
    """
    bits = np.empty(1, np.float64)
    pattern = bits.view(np.int64)
    fields = len(kinds)
    size = len(text)
    position = line = 0
    doubts = 0
    while row < rows:
        for field in range(fields):
            start = position
            number = np.uint64(0)
            digits = point = exponent = 0
            is_decimal = kinds[field] == DECIMAL
            seen_point = False
            while position < size:
                letter = text[position]
                if letter >= _ZERO and letter <= _ZERO + 9:
                    number = number * np.uint64(10) + np.uint64(letter - _ZERO)
                    digits += 1
                    point += seen_point
                elif letter == _POINT and is_decimal and not seen_point:
                    seen_point = True
                else:
                    break
                position += 1
            if position >= size:
                return PARSED, row, line, doubts
            letter = text[position]
            if (letter == _LOWER_E or letter == _UPPER_E) and is_decimal and digits:
                position += 1
                sign = 1
                if position < size and (text[position] == _MINUS or text[position] == _PLUS):
                    sign = -1 if text[position] == _MINUS else 1
                    position += 1
                before = position
                while position < size and text[position] >= _ZERO and text[position] <= _ZERO + 9:
                    exponent = min(exponent * 10 + (text[position] - _ZERO), 999)
                    position += 1
                if position >= size:
                    return PARSED, row, line, doubts
                if position == before:
                    return STRANGE, row, line, doubts
                exponent *= sign
                letter = text[position]
            if letter != (_NEWLINE if field == fields - 1 else _COMMA):
                return STRANGE, row, line, doubts
            if digits == 0 and position > start:
                return STRANGE, row, line, doubts
            if digits:
                if not is_decimal:
                    if digits > 19 or number > np.uint64(_LAST_TIME):
                        return STRANGE, row, line, doubts
                    integers[slots[field], row] = np.int64(number)
                else:
                    if digits > 18 or number >= np.uint64(_EXACT):
                        return STRANGE, row, line, doubts
                    power = exponent - point
                    value = np.float64(number)
                    if power < -22 or power > 22:
                        return STRANGE, row, line, doubts
                    value = value / _POWERS[-power] if power < 0 else value * _POWERS[power]
                    if value != 0.0 and (value < _SMALLEST or value > 1e30):
                        return STRANGE, row, line, doubts
                    bits[0] = value
                    beside = (pattern[0] & 0x1FFFFFFF) - 0x10000000
                    if beside >= -1 and beside <= 1:
                        if doubts == len(doubtful):
                            return STRANGE, row, line, doubts
                        doubtful[doubts, 0] = field
                        doubtful[doubts, 1] = row
                        doubtful[doubts, 2] = start
                        doubtful[doubts, 3] = position
                        doubts += 1
                    decimals[slots[field], row] = np.float32(value)
                valid[field, row >> 3] |= np.uint8(1 << (row & 7))
            position += 1
        line = position
        row += 1
    return PARSED, row, line, doubts
