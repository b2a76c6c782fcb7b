"""The encoding of a text: UTF-8, or one that is read as such."""

import codecs
import io
from typing import Any, BinaryIO, Literal

Encoding = Literal["utf-8", "utf-16", "cp1252"]
"""Encodings of text; cp1252 is Latin-1 as Windows writes it."""

_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_READ_SIZE = 1 << 18


def encoding_of(head: bytes) -> Encoding:
    """Return the encoding that the first bytes of a text are certain to have: that of its byte order mark.

    Examples
    --------
    >>> encoding_of("task;cpu".encode("utf-16")), encoding_of(b"task,cpu")
    ('utf-16', 'utf-8')
    """
    return "utf-16" if head.startswith(_MARKS) else "utf-8"


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
