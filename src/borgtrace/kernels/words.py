"""Read eight bytes of text at a time: unaligned loads, the digits that a word begins with, and where texts end."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from borgtrace.kernels.arrays import Bytes
from borgtrace.kernels.compiled import compiled

_WORD = 8
"""Bytes of a word."""
_ZEROS = np.uint64(0x3030303030303030)
"""The digit 0, eight times."""
_CARRY_UNLESS_DIGIT = np.uint64(0x7676767676767676)
_TOP_BITS = np.uint64(0x8080808080808080)
_ONES = np.uint64(0x0101010101010101)
_BLANKS = np.uint64(0x2020202020202020)
_QUOTES = np.uint64(0x2222222222222222)
_BACKSLASHES = np.uint64(0x5C5C5C5C5C5C5C5C)
_BYTES_0_AND_4 = np.uint64(0x000000FF000000FF)
_100_AND_MILLION = np.uint64(0x000F424000000064)
_1_AND_10_000 = np.uint64(0x0000271000000001)
# As uint64: Numba makes uint64 with int64 a float64, which loses the low bits.
_8 = np.uint64(8)
_10 = np.uint64(10)
_16 = np.uint64(16)
_32 = np.uint64(32)
_64 = np.uint64(64)


def _pointer_to_word(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Return a pointer to the eight bytes of a text (the first argument) from a place (the second) on."""
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    place = builder.gep(array.data, [arguments[1]])
    return builder.bitcast(place, ir.IntType(64).as_pointer())


@intrinsic
def load_word(_typing: Any, text: Any, at: Any) -> Any:
    """Load ``text[at : at + 8]`` as one little-endian number; the caller knows that they are there."""

    def generate(
        context: Any,
        builder: Any,
        signature: Any,
        arguments: Any,
    ) -> Any:
        word = _pointer_to_word(context, builder, signature, arguments)
        # align=1: a field begins anywhere, and the default would promise LLVM an address divisible by eight.
        return builder.load(word, align=1)

    return types.uint64(text, at), generate


@intrinsic
def store_word(_typing: Any, text: Any, at: Any, word: Any) -> Any:
    """Write a word as ``text[at : at + 8]``; the caller knows that there is room."""

    def generate(
        context: Any,
        builder: Any,
        signature: Any,
        arguments: Any,
    ) -> Any:
        word = _pointer_to_word(context, builder, signature, arguments)
        builder.store(arguments[2], word, align=1)
        return context.get_dummy_value()

    return types.void(text, at, types.uint64), generate


@intrinsic
def _trailing_zeros(_typing: Any, _word: Any) -> Any:
    def generate(
        _context: Any,
        builder: Any,
        _signature: Any,
        arguments: Any,
    ) -> Any:
        # False: a word without any bit set is defined too and gives 64, hence eight digits in `count_digits`.
        is_zero_undefined = ir.Constant(ir.IntType(1), 0)
        return builder.cttz(arguments[0], is_zero_undefined)

    return types.uint64(types.uint64), generate


@compiled(inline=True)
def count_digits(word: np.uint64) -> int:
    """Count the decimal digits a word of text begins with, 0 to 8."""
    # Digits become 0 to 9.
    values = word ^ _ZEROS
    # Adding 0x76 carries any larger value into its byte's top bit; `| values` keeps those that had it before (not
    # ASCII). What spills into the next byte does no harm: only the first byte found counts.
    not_digits = ((values + _CARRY_UNLESS_DIGIT) | values) & _TOP_BITS
    return np.int64(_trailing_zeros(not_digits) // _8)  # type: ignore[return-value]


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
    shift = _64 - np.uint64(digits) * _8
    values = (word ^ _ZEROS) << shift
    pairs = values * _10 + (values >> _8)
    high = (pairs & _BYTES_0_AND_4) * _100_AND_MILLION
    low = ((pairs >> _16) & _BYTES_0_AND_4) * _1_AND_10_000
    return (high + low) >> _32


@compiled(inline=True)
def count_plain(word: np.uint64) -> int:
    """Count the bytes that a word begins with that are no quotes, backslashes or control characters, 0 to 8."""
    # Subtracting borrows from the bytes above the first that is found, and from none below.
    is_control = (word - _BLANKS) & ~word
    quotes = word ^ _QUOTES
    is_quote = (quotes - _ONES) & ~quotes
    backslashes = word ^ _BACKSLASHES
    is_backslash = (backslashes - _ONES) & ~backslashes
    not_plain = (is_control | is_quote | is_backslash) & _TOP_BITS
    return np.int64(_trailing_zeros(not_plain) // _8)  # type: ignore[return-value]


@compiled(inline=True)
def are_same_bytes(text: Bytes, first: int, second: int, size: int) -> bool:
    """Whether two pieces of a text are equal; the caller knows that eight more bytes are behind each."""
    place = 0
    while size - place >= _WORD:
        if load_word(text, first + place) != load_word(text, second + place):
            return False
        place += _WORD
    # What is behind the pieces is shifted out, and nothing is left of no bytes at all.
    difference = load_word(text, first + place) ^ load_word(text, second + place)
    behind = np.uint64(_WORD - (size - place)) * _8
    return size == place or difference << behind == 0
