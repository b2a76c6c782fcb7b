"""Numbers as the published files print them, written straight into a byte buffer.

Resources have ten significant bits, no bit below 2⁻²⁰, and four significant digits (``%.4g``): true of
1.7 million values of the real files without exception.  2019 prints the exact decimal expansion.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

_POWERS: Final = 10.0 ** np.arange(23)
FLOOR_BIT: Final = 20
"""Resources are multiples of 2⁻²⁰."""


@njit(cache=True, nogil=True, inline="always")
def ten_bits(value: float) -> float:
    """Round to ten significant bits, none below 2⁻²⁰ (half to even).

    Examples
    --------
    >>> ten_bits(0.49949) == 1023 / 2048, ten_bits(1e-7)
    (True, 0.0)
    """
    if value <= 0.0:
        return 0.0
    _, exponent = math.frexp(value)
    bits = min(10 - exponent, FLOOR_BIT)
    scale = 2.0**bits
    return np.rint(value * scale) / scale


@njit(cache=True, nogil=True)
def put_integer(buffer: NDArray[np.uint8], at: int, value: int) -> int:
    """Write a decimal integer at `at`; return the position after it."""
    if value < 0:
        buffer[at] = 45
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
        buffer[position] = 48 + value % 10
        value //= 10
        if value == 0:
            return end


@njit(cache=True, nogil=True)
def put_float(buffer: NDArray[np.uint8], at: int, value: float) -> int:
    """Write a ten-bit number as C's ``%.4g`` would; return the position after it.

    Exact: a ten-bit number times a power of ten below 10²² has no rounding error in double precision.
    """
    if value <= 0.0:
        buffer[at] = 48
        return at + 1
    exponent = int(math.floor(math.log10(value)))
    digits = int(_scaled(value, 3 - exponent))
    if digits < 1000:
        exponent -= 1
        digits = int(_scaled(value, 3 - exponent))
    if digits >= 10000:
        exponent += 1
        digits = int(_scaled(value, 3 - exponent))
        if digits < 1000:
            digits = 1000
    length = 4
    while digits % 10 == 0:
        digits //= 10
        length -= 1
    if exponent < -4:
        return _put_scientific(buffer, at, digits, length, exponent)
    return _put_fixed(buffer, at, digits, length, exponent)


@njit(cache=True, nogil=True)
def printed_value(value: float) -> float:
    """Return the number that a reader of ``%.4g`` gets back, rounded to float32 as in a store."""
    if value <= 0.0:
        return 0.0
    power = 3 - int(math.floor(math.log10(value)))
    if _scaled(value, power) < 1000.0:
        power += 1
    elif _scaled(value, power) >= 10000.0:
        power -= 1
    scaled = _scaled(value, power)
    exact = scaled / _POWERS[power] if power >= 0 else scaled * _POWERS[-power]
    return float(np.float32(exact))


@njit(cache=True, nogil=True, inline="always")
def _scaled(value: float, power: int) -> float:
    return np.rint(value * _POWERS[power]) if power >= 0 else np.rint(value / _POWERS[-power])


@njit(cache=True, nogil=True)
def _put_fixed(buffer: NDArray[np.uint8], at: int, digits: int, length: int, exponent: int) -> int:
    if exponent >= 0:
        whole = exponent + 1
        if length <= whole:
            return put_integer(buffer, at, digits * int(_POWERS[whole - length]))
        split = int(_POWERS[length - whole])
        at = put_integer(buffer, at, digits // split)
        buffer[at] = 46
        return _put_padded(buffer, at + 1, digits % split, length - whole)
    buffer[at] = 48
    buffer[at + 1] = 46
    return _put_padded(buffer, at + 2, digits, length - exponent - 1)


@njit(cache=True, nogil=True)
def _put_padded(buffer: NDArray[np.uint8], at: int, digits: int, width: int) -> int:
    for position in range(at + width - 1, at - 1, -1):
        buffer[position] = 48 + digits % 10
        digits //= 10
    return at + width


@njit(cache=True, nogil=True)
def _put_scientific(buffer: NDArray[np.uint8], at: int, digits: int, length: int, exponent: int) -> int:
    split = int(_POWERS[length - 1])
    at = put_integer(buffer, at, digits // split)
    if length > 1:
        buffer[at] = 46
        at = _put_padded(buffer, at + 1, digits % split, length - 1)
    buffer[at] = 101
    buffer[at + 1] = 45
    return _put_padded(buffer, at + 2, -exponent, 2)


@njit(cache=True, nogil=True)
def put_exact(buffer: NDArray[np.uint8], at: int, value: float) -> int:
    """Write the exact decimal expansion of a ten-bit number below 512."""
    whole = int(value)
    at = put_integer(buffer, at, whole)
    fraction = value - whole
    if fraction == 0.0:
        return at
    numerator, width = np.int64(fraction * 2.0**FLOOR_BIT), FLOOR_BIT
    while numerator & 1 == 0:
        numerator >>= 1
        width -= 1
    for _ in range(width):
        numerator *= 5
    buffer[at] = 46
    return _put_padded(buffer, at + 1, numerator, width)


def printed(value: float) -> str:
    """Round one number to ten bits and print it with four digits.

    Examples
    --------
    >>> printed(0.5), printed(0.4995), printed(2.9e-06), printed(1 / 64), printed(0.0)
    ('0.5', '0.4995', '2.861e-06', '0.01562', '0')
    """
    return f"{ten_bits(value):.4g}"
