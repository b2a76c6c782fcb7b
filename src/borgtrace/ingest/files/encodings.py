"""The encoding of a text file: UTF-8, or one that is converted to it."""

import codecs
import io
import re
from typing import Any, BinaryIO, Literal, NamedTuple

import numpy as np

Encoding = Literal["utf-8", "utf-16", "cp1252"]
"""Encodings of text; cp1252 is Latin-1 as Windows writes it."""

_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_READ_SIZE = 1 << 18
_BEGINNING = 256
_LINE_END = ord("\n")
_MOSTLY = 0.9
"""Share of the characters of a header that are ASCII."""
_CP1252 = bytes(byte for byte in range(256) if byte not in (0x81, 0x8D, 0x8F, 0x90, 0x9D))
_CHARACTER = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
"""A character of UTF-8 beyond ASCII."""
_CUT_CHARACTER = re.compile(rb"([\xc2-\xf4]|[\xe0-\xf4][\x80-\xbf]|[\xf0-\xf4][\x80-\xbf]{2})\Z")
"""The beginning of one at the end of a block."""


def encoding_of(head: bytes) -> Encoding:
    """Return the encoding that the first bytes of a text are certain to have: that of its byte order mark.

    Examples
    --------
    >>> encoding_of("task;cpu".encode("utf-16")), encoding_of(b"task,cpu")
    ('utf-16', 'utf-8')
    """
    return "utf-16" if head.startswith(_MARKS) else "utf-8"


def unmarked_utf16(head: bytes) -> str:
    """Return the kind of UTF-16 that the first bytes of a file are without a byte order mark; empty where they are not.

    Examples
    --------
    >>> unmarked_utf16("task,cpu".encode("utf-16-le")), unmarked_utf16(b"task,cpu")
    ('UTF-16LE', '')
    """
    beginning = head[:_BEGINNING]
    even, odd = beginning[::2], beginning[1::2]
    if _are_halves(even, odd):
        return "UTF-16LE"
    return "UTF-16BE" if _are_halves(odd, even) else ""


def _are_halves(texts: bytes, zeros: bytes) -> bool:
    """Return whether bytes are the lower and the higher halves of the characters of a text."""
    is_text = bool(texts) and 0 not in texts
    return is_text and zeros.count(0) > _MOSTLY * len(zeros)


class ForeignByte(NamedTuple):
    """A byte that is no UTF-8, and its line from 1."""

    byte: int
    line: int


class ForeignByteSearch:
    r"""Looks through a text for the byte that tells its encoding is cp1252.

    A text that has characters of UTF-8 beyond ASCII as well is UTF-8 that was damaged.

    Examples
    --------
    >>> search = ForeignByteSearch()
    >>> search.look("task,cpu\nKöln,1\n".encode("cp1252"))
    >>> search.result()
    ForeignByte(byte=246, line=2)
    """

    def __init__(self) -> None:
        self.is_over = False
        self._foreign: ForeignByte | None = None
        self._n_lines = 0
        self._cut = b""

    def look(self, block: bytes) -> None:
        """Look at the next bytes."""
        text = self._cut + block
        self._cut = b""
        if not text.isascii():
            self._look_beyond_ascii(text)
        # Four times as fast as `bytes.count`, which stops at each of them.
        bytes_of_lines = np.frombuffer(text, np.uint8)[: len(text) - len(self._cut)]
        self._n_lines += int(np.count_nonzero(bytes_of_lines == _LINE_END))

    def result(self) -> ForeignByte | None:
        """Return the byte, when all was looked at."""
        if self._cut and not self.is_over:
            self._note(self._cut, 0)
        return None if self.is_over else self._foreign

    def _look_beyond_ascii(self, text: bytes) -> None:
        cut = _CUT_CHARACTER.search(text)
        if cut:
            self._cut = cut[0]
            text = text[: cut.start()]
        if _CHARACTER.search(text) or not _is_cp1252(text):
            self.is_over = True
        elif not text.isascii():
            self._note(text, next(place for place, byte in enumerate(text) if byte > 127))

    def _note(self, text: bytes, place: int) -> None:
        if self._foreign is None:
            line = self._n_lines + text.count(b"\n", 0, place) + 1
            self._foreign = ForeignByte(text[place], line)


def _is_cp1252(text: bytes) -> bool:
    return not text.translate(None, delete=_CP1252) if text else True


class Transcoded(io.RawIOBase):
    """The bytes of a text in UTF-8, decoded from another encoding as they are read.

    What is no text in that encoding becomes U+FFFD, which no field accepts.
    """

    def __init__(self, stream: BinaryIO, encoding: Encoding) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._rest = b""
        self._has_ended = False

    def readable(self) -> bool:
        """Return True: it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with the next bytes, and return their number."""
        while not self._rest and not self._has_ended:
            block = self._stream.read(_READ_SIZE)
            self._has_ended = not block
            self._rest = self._decoder.decode(block, final=self._has_ended).encode()
        filled = self._rest[: len(buffer)]
        buffer[: len(filled)] = filled
        self._rest = self._rest[len(filled) :]
        return len(filled)
