"""Text that the fast readers read otherwise than the validating reader, and that no trace has.

The result for a row must not depend on the file that it is in: a file with any such text is read by the validating one.
"""

import re

import numpy as np
import numpy.typing as npt

from borgtrace.kernels.compiled import compiled

_CASE = np.uint8(0x20)
_ZERO = np.uint8(ord("0"))
_X = np.uint8(ord("x"))
_B = np.uint8(ord("b"))
_QUOTE = np.uint8(ord('"'))
_COMMA = np.uint8(ord(","))
_LINE_END = np.uint8(ord("\n"))


def may_have(text: bytes, pair: bytes) -> bool:
    r"""Return whether two bytes occur side by side in a text, the second in either case.

    `bytes.find` takes ten times as long for numbers, which are full of zeros: it says where, and is for the few
    blocks that have such a pair.

    Parameters
    ----------
    text
        A block of any length.
    pair
        The two bytes; the second has the bit that lower-case letters have.

    Examples
    --------
    >>> may_have(b"1,0Xff", b"0x"), may_have(b"10,xb", b"0x")
    (True, False)
    """
    codes = np.frombuffer(text, np.uint8)
    return not _least_difference(codes, np.uint8(pair[0]), np.uint8(pair[1]), _CASE)


def has_empty_line(text: bytes) -> bool:
    r"""Return whether a line end follows another.

    Examples
    --------
    >>> has_empty_line(b"1,2\n\n3,4\n"), has_empty_line(b"1,2\n*3,4\n")
    (True, False)
    """
    codes = np.frombuffer(text, np.uint8)
    return not _least_difference(codes, _LINE_END, _LINE_END, np.uint8(0))


@compiled(makes_arrays=False)
def _least_difference(
    text: npt.NDArray[np.uint8], first: np.uint8, second: np.uint8, case: np.uint8
) -> np.uint8:
    # The least of bytes, of a slice and without an early end: the compiler makes vector instructions of it, which take
    # a twentieth of the time of counting where the pair is (a count is wider than a byte).
    after = text[1:]
    least = np.uint8(255)
    for i in range(len(after)):
        difference = (text[i] ^ first) | ((after[i] | case) ^ second)
        least = min(least, np.uint8(difference))
    return least


_NUL = b"\0"
_NO_UTF8 = "�".encode()
"""Mark of bytes that are no UTF-8."""
# Integers in a base of their own, 0x10 and 0b1_1, which Arrow and DuckDB read: of 64 bits at most, so that the name of
# a container, 64 hexadecimal digits, is none.
_NUMBER = re.compile(rb"[\"\s,]0([xX][0_]*([0-9a-fA-F]_?){1,16}|[bB][01_]+)[\"\s,]")
_CHUNK = 4096
"""Bytes that are looked at without an early end: few enough that a mark in one makes little to look at again."""


def is_strange(text: bytes) -> bool:
    r"""Whether a block of whole lines, of delimited text or of JSON, has such text.

    Examples
    --------
    >>> is_strange(b"1,0x10,2"), is_strange(b'{"a":"0b11"}'), is_strange(b"a\0b"), is_strange(b"0bAz0x1=,5")
    (True, True, True, False)
    """
    if _NUL in text:
        return True
    if may_have(text, _NO_UTF8[:2]) and _NO_UTF8 in text:
        return True
    # The first and the last field are between two marks, too; copying the whole block would cost as much as the search.
    first_fields = b"\n" + text[:_CHUNK] + b"\n"
    last_fields = text[-_CHUNK:] + b"\n"
    return _has_number(first_fields) or _has_number(text) or _has_number(last_fields)


def _has_number(text: bytes) -> bool:
    codes = np.frombuffer(text, np.uint8)
    at = 0
    while True:
        # Ids in Base64 are full of such pairs: the byte before the zero is compared first.
        at = _next_mark(codes, at + 1)
        if at >= len(text):
            return False
        if _NUMBER.match(text, at - 1):
            return True


@compiled(makes_arrays=False)
def _next_mark(text: npt.NDArray[np.uint8], at: int) -> int:
    """Return the place of the next zero that begins a field and is followed by the letter of a base."""
    for low in range(at, len(text) - 1, _CHUNK):
        before = text[low - 1 :]
        zero = text[low:]
        after = text[low + 1 : low + 1 + _CHUNK]
        least = np.uint8(255)
        for i in range(len(after)):
            least = min(least, _unlike(before[i], zero[i], after[i]))
        for i in range(len(after)):
            if least == 0 and _unlike(before[i], zero[i], after[i]) == 0:
                return low + i
    return len(text)


@compiled(inline=True)
def _unlike(before: np.uint8, zero: np.uint8, after: np.uint8) -> np.uint8:
    """Return 0 where a field begins with a zero and the letter of a base."""
    letter = np.uint8(after | _CASE)
    unlike_base = min(np.uint8(letter ^ _X), np.uint8(letter ^ _B))
    is_inside_field = before > _QUOTE and before != _COMMA
    return np.uint8((zero ^ _ZERO) | unlike_base | np.uint8(is_inside_field))
