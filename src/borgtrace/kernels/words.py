"""Eight bytes at a time: unaligned loads, and the digits that a word begins with."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from borgtrace.kernels.compiled import compiled

_ZEROS = np.uint64(0x3030303030303030)
_NOT_DIGIT, _TOP_BITS = np.uint64(0x7676767676767676), np.uint64(0x8080808080808080)
_BYTES_0_AND_4 = np.uint64(0x000000FF000000FF)
_100_AND_MILLION, _1_AND_10_000 = np.uint64(0x000F424000000064), np.uint64(0x0000271000000001)
_8, _10, _16, _32, _64 = np.uint64(8), np.uint64(10), np.uint64(16), np.uint64(32), np.uint64(64)


@intrinsic
def load_word(_typing: Any, text: Any, at: Any) -> Any:
    """Load ``text[at : at + 8]`` as one little-endian number; the caller knows that they are there."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.gep(array.data, [arguments[1]])
        # align=1: a field begins anywhere, and the default would promise LLVM an address divisible by eight.
        return builder.load(builder.bitcast(place, ir.IntType(64).as_pointer()), align=1)

    return types.uint64(text, at), generate


@intrinsic
def _trailing_zeros(_typing: Any, _word: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        # 0: a word without any bit set is defined too and gives 64, hence eight digits in `count_digits`.
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


@compiled(inline=True)
def count_digits(word: np.uint64) -> int:
    """Count the decimal digits a word of text begins with, 0 to 8."""
    # A digit is now 0 to 9.  Adding 0x76 carries any larger value into its byte's top bit; `| values` keeps those that
    # had it before (not ASCII).  What spills into the next byte does no harm: only the first byte found counts.
    values = word ^ _ZEROS
    others = ((values + _NOT_DIGIT) | values) & _TOP_BITS
    return np.int64(_trailing_zeros(others) // _8)  # type: ignore[return-value]


@compiled(inline=True)
def read_digits(word: np.uint64, digits: int) -> np.uint64:
    """Return the number that the first 1 to 8 digits of a word are.

    Pairs, then fours, then all eight are combined by one multiplication each (Lemire, "Quickly parsing
    eight digits", 2018).

    Parameters
    ----------
    word
        Eight bytes of text, the first one lowest; those after the digits are ignored.
    digits
        How many there are, 1 to 8; 0 is undefined.
    """
    # The first letter is the lowest byte: shifting up puts zeros where the missing leading digits would be.
    # A shift by 64 is undefined, hence at least one digit.
    values = (word ^ _ZEROS) << (_64 - np.uint64(digits) * _8)
    pairs = values * _10 + (values >> _8)
    high = (pairs & _BYTES_0_AND_4) * _100_AND_MILLION
    low = ((pairs >> _16) & _BYTES_0_AND_4) * _1_AND_10_000
    return (high + low) >> _32
