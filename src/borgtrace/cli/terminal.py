"""Foreign text on the terminal: no escape sequence of a file gets through.

Stores, traces and servers hold names that others chose.  A terminal obeys control characters among them: they move the
cursor, hide text, change the title, or turn the order of the letters around.  Everything that a command prints passes
one of three places here, where they become visible: the streams that `print` writes to, the consoles of Rich (which
writes control characters of its own), and the bytes of a machine format where a terminal is to show them.
"""

from __future__ import annotations

import codecs
import io
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, BinaryIO, TextIO, cast

from borgtrace.errors import harmless


class HarmlessStream:
    """A stream of text whose control characters are made visible; all else is that of the stream behind it.

    Parameters
    ----------
    stream
        What is written to.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write text, made harmless."""
        self._stream.write(harmless(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write lines, made harmless."""
        for line in lines:
            self.write(line)

    @property
    def rich_proxied_file(self) -> Any:
        """The stream behind, to which consoles of Rich write control characters of their own."""
        stream: Any = self._stream
        # Rich follows one such attribute, and a progress bar puts a stream with another in front.
        while hasattr(stream, "rich_proxied_file"):
            stream = stream.rich_proxied_file
        return stream

    def __getattr__(self, name: str) -> Any:
        """Return what the stream behind has."""
        return getattr(self._stream, name)


@contextmanager
def harmless_streams() -> Iterator[None]:
    """Make visible the control characters of all that is printed while the block runs."""
    streams = sys.stdout, sys.stderr
    sys.stdout = cast(TextIO, HarmlessStream(sys.stdout))
    sys.stderr = cast(TextIO, HarmlessStream(sys.stderr))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


def print_traceback(
    kind: type[BaseException],
    error: BaseException,
    where: TracebackType | None,
) -> None:
    """Print an error that nobody caught, as Python does, but made harmless: its text may quote a file."""
    for part in traceback.format_exception(kind, error, where):
        sys.stderr.write(harmless(part))


class _TextOfBytes(io.RawIOBase):
    """Bytes of UTF-8 for a stream that takes text alone."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._stream.write(self._decoder.decode(bytes(data)))
        return len(data)

    def flush(self) -> None:
        self._stream.flush()


def data_stream() -> BinaryIO:
    """Return where a machine format is written on stdout: as it is, but harmless where a terminal shows it."""
    # What Python's text layer still holds comes first.
    sys.stdout.flush()
    if sys.stdout.isatty():
        return cast(BinaryIO, _TextOfBytes(sys.stdout))
    try:
        return sys.stdout.buffer
    except AttributeError:
        # Who calls a command from Python may gather what it prints as text.
        stream = sys.stdout
        behind = stream.rich_proxied_file if isinstance(stream, HarmlessStream) else stream
        return cast(BinaryIO, _TextOfBytes(behind))
