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
_RETURN = np.uint8(ord("\r"))
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
_FIRST_OF_NO_UTF8, _SECOND_OF_NO_UTF8 = (np.uint8(code) for code in _NO_UTF8[:2])
# Integers in a base of their own, 0x10 and 0b1_1, which Arrow and DuckDB read: of 64 bits at most, so that the name of
# a container, 64 hexadecimal digits, is none.
_NUMBER = re.compile(
    rb"(?:\A|(?<=[\"\s,]))0([xX][0_]*([0-9a-fA-F]_?){1,16}|[bB][01_]+)(?:[\"\s,]|\Z)"
)
_CHUNK = 4096
"""Bytes that are looked at without an early end: few enough that a mark in one makes little to look at again."""
_CHUNK_OF_NAMES = 512
"""The same where one in 256 names of hexadecimal digits begins like a number."""


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
    return _has_number(text)


def _has_number(text: bytes) -> bool:
    # What begins a text has no byte before it.
    if _NUMBER.match(text):
        return True
    codes = np.frombuffer(text, np.uint8)
    at = 0
    while True:
        # Ids in Base64 are full of such pairs: the byte before the zero is compared first.
        at = _next_mark(codes, at + 1)
        if at >= len(text):
            return False
        if _NUMBER.match(text, at):
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
            least = min(least, _unlike_number(before[i], zero[i], after[i]))
        for i in range(len(after)):
            if least == 0 and _unlike_number(before[i], zero[i], after[i]) == 0:
                return low + i
    return len(text)


@compiled(inline=True)
def _unlike_number(before: np.uint8, zero: np.uint8, after: np.uint8) -> np.uint8:
    """Return 0 where a field begins with a zero and the letter of a base."""
    letter = np.uint8(after | _CASE)
    unlike_base = min(np.uint8(letter ^ _X), np.uint8(letter ^ _B))
    is_inside_field = before > _QUOTE and before != _COMMA
    return np.uint8((zero ^ _ZERO) | unlike_base | np.uint8(is_inside_field))


def is_foreign(text: bytes, first: int = 0, end: int | None = None) -> bool:
    r"""Whether whole lines of delimited text are strange, or have quotes, empty lines or lone carriage returns.

    Arrow takes a carriage return alone for the end of a line, and of a block of nothing but empty lines it would make
    eight million rows.  All is looked for at once: one look after the other takes more than twice the time.

    Parameters
    ----------
    text
        A block of any length.
    first, end
        Where in it the lines are; all of it by default.

    Examples
    --------
    >>> is_foreign(b"1,2\n*3,4\r\n"), is_foreign(b"1,2\n\n3,4\n"), is_foreign(b"1\r2"), is_foreign(b'"1"')
    (False, True, True, True)
    """
    codes = np.frombuffer(text, np.uint8)[:end]
    at = _next_suspect(codes, first)
    while at < len(codes):
        if _begins_foreign_text(text, at, len(codes)):
            return True
        at = _next_suspect(codes, at + 1)
    return False


def _begins_foreign_text(text: bytes, at: int, end: int) -> bool:
    """Return whether what :func:`_next_suspect` has found is more than its first two bytes."""
    if text[at] == _ZERO:
        return _NUMBER.match(text, at, end) is not None
    if text[at] == _NO_UTF8[0]:
        return text.startswith(_NO_UTF8, at)
    return True


@compiled(makes_arrays=False)
def _next_suspect(text: npt.NDArray[np.uint8], at: int) -> int:
    """Return the next place at which such text may begin, else the length of the text."""
    last = len(text) - 1
    # A line begins before the first byte, and nothing follows the last.
    if at == 0 and last > 0 and _unlike_suspect(_LINE_END, text[0], text[1]) == 0:
        return 0
    for low in range(max(at, 1), last, _CHUNK_OF_NAMES):
        before = text[low - 1 :]
        here = text[low:]
        after = text[low + 1 : low + 1 + _CHUNK_OF_NAMES]
        least = np.uint8(255)
        for i in range(len(after)):
            least = min(least, _unlike_suspect(before[i], here[i], after[i]))
        for i in range(len(after)):
            if least == 0 and _unlike_suspect(before[i], here[i], after[i]) == 0:
                return low + i
    if at <= last and _unlike_suspect(_LINE_END, text[last], np.uint8(0)) == 0:
        return last
    return len(text)


@compiled(inline=True)
def _unlike_suspect(before: np.uint8, code: np.uint8, after: np.uint8) -> np.uint8:
    """Return 0 where foreign text may begin with a byte, by the bytes around it."""
    unlike_mark = min(code, np.uint8(code ^ _QUOTE))
    unlike_return = np.uint8((code ^ _RETURN) | np.uint8(after == _LINE_END))
    unlike_empty_line = np.uint8((code ^ _LINE_END) | (after ^ _LINE_END))
    unlike_no_utf8 = np.uint8((code ^ _FIRST_OF_NO_UTF8) | (after ^ _SECOND_OF_NO_UTF8))
    unlike_return_or_empty_line = min(unlike_return, unlike_empty_line)
    unlike_pair = min(unlike_return_or_empty_line, unlike_no_utf8)
    unlike_text = min(unlike_mark, unlike_pair)
    return min(_unlike_number(before, code, after), unlike_text)
