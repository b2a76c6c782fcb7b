"""Text that the fast readers take otherwise than the validating reader, and that no trace has.

A row would be stored or refused by the file that it is in: so a file that has any of it is read by the validating one.
"""

import re

import numpy as np
import numpy.typing as npt

from borgtrace.kernels.compiled import compiled

_CASE = np.uint8(0x20)


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
    return not _least_difference(np.frombuffer(text, np.uint8), np.uint8(pair[0]), np.uint8(pair[1]))


@compiled(makes_arrays=False)
def _least_difference(text: npt.NDArray[np.uint8], first: np.uint8, second: np.uint8) -> np.uint8:
    # The least of bytes, of a slice and without an early end: the compiler makes vector instructions of it, which take
    # a twentieth of the time of counting where the pair is (a count is wider than a byte).
    after = text[1:]
    least = np.uint8(255)
    for i in range(len(after)):
        least = min(least, np.uint8((text[i] ^ first) | ((after[i] | _CASE) ^ second)))
    return least


# A NUL, and the mark of what is no UTF-8.
_NUL, _NO_UTF8 = b"\0", "�".encode()
# Integers in a base of their own, 0x10 and 0b11, which Arrow and DuckDB read.
_NUMBER = re.compile(rb"[\"\s,]0[xXbB][0-9a-fA-F]+[\"\s,]")


def is_strange(text: bytes) -> bool:
    r"""Whether a block of whole lines, of delimited text or of JSON, has such text.

    Examples
    --------
    >>> is_strange(b"1,0x10,2"), is_strange(b'{"a":"0b11"}'), is_strange(b"a\0b"), is_strange(b"0bAz0x1=,5")
    (True, True, True, False)
    """
    if _NUL in text or (may_have(text, _NO_UTF8[:2]) and _NO_UTF8 in text):
        return True
    if not (may_have(text, b"0x") or may_have(text, b"0b")):
        return False
    # So that the first and the last field are between two marks, too.
    text = b"\n" + text + b"\n"
    codes, at = np.frombuffer(text, np.uint8), 0
    # Ids in Base64 are full of such pairs: what stands before the zero is looked at first.
    while (at := _next_mark(codes, at + 1)) < len(text):
        if _NUMBER.match(text, at - 1):
            return True
    return False


@compiled(makes_arrays=False)
def _next_mark(text: npt.NDArray[np.uint8], at: int) -> int:
    """Return where the next zero stands that begins a field and is followed by the letter of a base."""
    for i in range(at, len(text) - 1):
        if text[i] == 48 and (text[i - 1] <= 34 or text[i - 1] == 44) and (text[i + 1] | _CASE) in (98, 120):
            return i
    return len(text)
