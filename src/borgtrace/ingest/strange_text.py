"""Text that the fast readers take otherwise than the validating reader, and that no trace has.

A row would be stored or refused by the file that it is in: so a file that has any of it is read by the validating one.
"""

import re

from borgtrace.ingest._byte_pairs import may_have

# A NUL, and the mark of what is no UTF-8.
_NUL, _NO_UTF8 = b"\0", "�".encode()
# Integers in a base of their own, 0x10 and 0b11, which Arrow and DuckDB read.
_MARKS = (b"0x", b"0X", b"0b", b"0B")
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
    # A search for two bytes is many times faster than one for the expression.
    for mark in _MARKS:
        at = text.find(mark)
        while at >= 0:
            if _NUMBER.match(text, at - 1):
                return True
            at = text.find(mark, at + 1)
    return False
