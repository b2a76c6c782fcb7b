"""How the process of a query answers: an Arrow IPC stream cut into frames, so that an error can end it at any point.

Frames carry rows and text, never pickled objects: what a stranger's query returns is data for its reader, even if the
query got hold of the process that ran it.
"""

import io
import json
import os
import select
import struct
from collections.abc import Callable
from typing import Any, Final

from borgtrace import errors
from borgtrace.errors import BorgtraceError, EngineError

READY: Final = b"R"
"""The process can take queries."""
ROWS: Final = b"B"
"""A piece of an Arrow IPC stream."""
LAST_ROWS: Final = b"L"
"""The last piece of one."""
ERROR: Final = b"E"
"""Why there is no further piece."""
_HEADER = struct.Struct("<cQ")
_PARTS = ("where", "what", "expected", "got", "way_out")


def write_frame(descriptor: int, kind: bytes, payload: bytes | memoryview = b"") -> None:
    """Write one frame, whole.

    Parameters
    ----------
    descriptor
        Where to write.
    kind
        One of the kinds above.
    payload
        What is inside.
    """
    for piece in (_HEADER.pack(kind, len(payload)), payload):
        rest = memoryview(piece)
        while rest:
            rest = rest[os.write(descriptor, rest) :]


def write_error(descriptor: int, error: BorgtraceError) -> None:
    """Write a frame that holds an error of ours, by its parts, and the text of the engine's error behind it."""
    content = {
        "class": type(error).__name__,
        "parts": {name: getattr(error, name) for name in _PARTS},
        "cause": None if error.__cause__ is None else str(error.__cause__),
    }
    write_frame(descriptor, ERROR, json.dumps(content).encode())


def read_error(payload: bytes) -> BorgtraceError:
    """Return the error that a frame holds; one of our own classes, whatever the frame says."""
    content = json.loads(payload)
    error_class = getattr(errors, content["class"], EngineError)
    is_ours = isinstance(error_class, type) and issubclass(error_class, BorgtraceError)
    parts: dict[str, Any] = content["parts"]
    where, what = parts.pop("where"), parts.pop("what")
    error: BorgtraceError = (error_class if is_ours else EngineError)(where, what, **parts)
    cause = content.get("cause")
    if cause is not None:
        # It tells a wrong query from a damaged file.
        error.__cause__ = OSError(cause)
    return error


class FrameReader(io.RawIOBase):
    """A file from which Arrow reads the stream that a process writes.

    Parameters
    ----------
    descriptor
        Where the frames come from.
    failure
        Makes the error for a process that ended in the middle.
    ended
        Called once: with whether the process can take another query.
    """

    def __init__(
        self,
        descriptor: int,
        failure: Callable[[], BorgtraceError],
        ended: Callable[[bool], None],
    ) -> None:
        self._descriptor = descriptor
        self._failure = failure
        self._ended = ended
        self._has_ended = False
        self._left_in_frame = 0
        self._is_last = False

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some bytes of the stream.

        Raises
        ------
        BorgtraceError
            The query was refused, or its process was ended.
        """
        if not self._left_in_frame:
            if self._is_last:
                return 0
            self._begin_frame()
        view = memoryview(buffer).cast("B")[: self._left_in_frame]
        n_read = self._read_some(view)
        self._left_in_frame -= n_read
        if self._is_last and not self._left_in_frame:
            self._end(is_free=True)
        return n_read

    def read(self, size: int = -1) -> bytes:
        """Read `size` bytes, fewer only at the end of the stream."""
        if size < 0:
            return self.readall() or b""
        content = bytearray(size)
        n_read = 0
        while n_read < size:
            n_more = self.readinto(memoryview(content)[n_read:])
            if not n_more:
                break
            n_read += n_more
        return bytes(content[:n_read]) if n_read < size else bytes(content)

    def close(self) -> None:
        """Give up what was not read."""
        self._end(is_free=False)
        super().close()

    def _begin_frame(self) -> None:
        header = bytearray(_HEADER.size)
        self._fill(memoryview(header))
        kind, length = _HEADER.unpack(header)
        if kind == ERROR:
            payload = bytearray(length)
            self._fill(memoryview(payload))
            self._end(is_free=True)
            raise read_error(bytes(payload))
        self._left_in_frame = length
        self._is_last = kind == LAST_ROWS

    def _fill(self, view: memoryview) -> None:
        while view:
            view = view[self._read_some(view) :]

    def _read_some(self, view: memoryview) -> int:
        try:
            n_read = os.readv(self._descriptor, [view])
        # Ctrl-C: nobody will read the rest.
        except BaseException:
            self._end(is_free=False)
            raise
        if not n_read:
            failure = self._failure()
            self._end(is_free=False)
            raise failure
        return n_read

    def _end(self, *, is_free: bool) -> None:
        if not self._has_ended:
            self._has_ended = True
            self._ended(is_free)


def wait_until_ready(descriptor: int, seconds: float) -> bool:
    """Wait for the frame that a process sends when it has started; return whether it came in time."""
    if not select.select([descriptor], [], [], seconds)[0]:
        return False
    return os.read(descriptor, _HEADER.size)[:1] == READY
