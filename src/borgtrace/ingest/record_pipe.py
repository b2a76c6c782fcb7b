"""Feeding DuckDB: a named pipe of decompressed JSON lines.

DuckDB's own gzip reader is slower than ISA-L's and does not verify checksums; what goes through
our pipe is decompressed and verified on the way, and its tokens are counted (`json_token_counts`).
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
import threading
from contextlib import suppress
from typing import BinaryIO

import numpy as np

from borgtrace.errors import SourceError
from borgtrace.ingest.json_token_counts import TokenCounts, tokens_in
from borgtrace.ingest.sources import Source
from borgtrace.ingest.streams import open_stream

BLOCK = 1 << 20
_QUOTED = re.compile(rb'"(?:start_)?time"\s*:\s*"')


class RecordPipe:
    """A named pipe that a thread fills with the decompressed bytes of a source."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._fault: SourceError | None = None
        self._folder = tempfile.mkdtemp(prefix="borgtrace-")
        self.path = f"{self._folder}/records.json"
        self.tokens = TokenCounts()

    def __enter__(self) -> RecordPipe:
        os.mkfifo(self.path)
        self.has_quoted_integers = self._head_is_quoted()
        self._thread = threading.Thread(target=self._feed, daemon=True)
        # Otherwise nobody will read the pipe, and the thread would wait for ever in `open`.
        if self.has_quoted_integers:
            self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._thread.is_alive():
            self._drain()
        shutil.rmtree(self._folder, ignore_errors=True)

    def finish(self) -> None:
        """Wait until the file has been read to its end; raise what went wrong on the way."""
        self._thread.join()
        self.raise_fault()

    def raise_fault(self) -> None:
        """Raise the reader's error, when it has one (it explains the parser's)."""
        # Not for ever: where the parser has given up, the thread still waits for somebody to read the pipe.
        self._thread.join(timeout=0.2)
        if self._fault is not None:
            raise self._fault

    def _head_is_quoted(self) -> bool:
        """Whether integers are written in quotes, as BigQuery does; the count of tokens relies on it."""
        with open_stream(self._source.path, is_gzip=self._source.is_gzip) as stream:
            return bool(_QUOTED.search(stream.read(1 << 14)))

    def _feed(self) -> None:
        try:
            with (
                open(self.path, "wb", buffering=0) as pipe,  # noqa: PTH123 - a pipe
                open_stream(self._source.path, is_gzip=self._source.is_gzip) as stream,
            ):
                # A pipe holds 64 kB unless told otherwise: with 1 MB the two sides take turns less often.
                # A user whose pipes hold much already is refused that (EPERM); a small pipe works as well.
                with suppress(OSError):
                    fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, BLOCK)
                self._copy(stream, pipe)
        except SourceError as error:
            self._fault = error
        except BrokenPipeError:
            # The parser has given up, and says why itself.
            pass
        except Exception as error:
            # To the parser any early end looks like the end of the file, and the rows after it would be lost.
            what = f"reading stopped before the end of the file ({error})"
            self._fault = SourceError(str(self._source.path), what, way_out="check the disk, and run the command again")

    def _copy(self, stream: BinaryIO, pipe: BinaryIO) -> None:
        last = b"\n"
        while block := stream.read(BLOCK):
            self.tokens += tokens_in(np.frombuffer(block, np.uint8))
            last = block[-1:]
            view = memoryview(block)
            # A raw pipe may take less than it is given.
            while view:
                view = view[pipe.write(view) :]
        # A last line without its newline is a line.
        self.tokens += TokenCounts(int(last != b"\n"))

    def _drain(self) -> None:
        """Empty the pipe after the parser has given up, so that the thread can end."""
        # Without blocking, since the thread may not have opened its side yet.
        descriptor = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            while self._thread.is_alive():
                with suppress(BlockingIOError):
                    os.read(descriptor, BLOCK)
                self._thread.join(timeout=0.001)
        finally:
            os.close(descriptor)
