"""Limits for foreign files: how far a small file may expand, and how many files may lie beside it."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any, BinaryIO

from borgtrace.errors import SourceError
from borgtrace.storage import RemotePath, open_regular
from borgtrace.storage.remote import translate_bucket_errors

MOST_EXPANSION = 200
"""Bytes per compressed byte; the published traces have up to 25, and a gzip file at most 1,032."""
FREE_EXPANSION = 1 << 26
"""Bytes that any file may expand to: as much as is read anyway before anything is known about it."""
LARGEST_SIDE_FILE = 1 << 24
"""Bytes of a file that is read whole: a declaration, a ``schema.csv``, an account of a synthetic trace."""


def require_plausible_size(path: Path, n_bytes: int, n_expanded: int) -> None:
    """Refuse a file that expands beyond all reason.

    Parameters
    ----------
    path
        The file, for the message.
    n_bytes
        Its size as it is.
    n_expanded
        What it has expanded to so far, or says that it will.

    Raises
    ------
    SourceError
        It is more than `MOST_EXPANSION` times its size, and more than `FREE_EXPANSION`.
    """
    if n_expanded > max(FREE_EXPANSION, MOST_EXPANSION * n_bytes):
        raise SourceError(
            str(path),
            "expands beyond all reason",
            expected=f"at most {MOST_EXPANSION} times its {n_bytes:,} bytes",
            got=f"{n_expanded:,} or more",
            way_out="if that is right, unpack it yourself and name the plain file",
        )


class ExpandedStream:
    """A decompressed stream that is refused where it expands beyond all reason."""

    def __init__(self, stream: BinaryIO, path: Path, n_bytes: int) -> None:
        self._stream = stream
        self._path = path
        self._n_bytes = n_bytes
        self._n_expanded = 0

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        return self._counted(self._stream.read(size))

    def readline(self, size: int = -1) -> bytes:
        """Return the next bytes, up to the end of their line."""
        return self._counted(self._stream.readline(size))

    def __getattr__(self, name: str) -> Any:
        # What reads nothing, such as `peek` and `close`.
        return getattr(self._stream, name)

    def _counted(self, block: bytes) -> bytes:
        self._n_expanded += len(block)
        require_plausible_size(self._path, self._n_bytes, self._n_expanded)
        return block


def read_side_file(path: Path) -> bytes:
    """Return the content of a small file that describes others.

    Raises
    ------
    SourceError
        It is larger than `LARGEST_SIDE_FILE`.
    OSError
        It cannot be read.
    """
    is_remote = isinstance(path, RemotePath)
    with translate_bucket_errors(path) if is_remote else nullcontext(), open_regular(path) as file:
        content = file.read(LARGEST_SIDE_FILE + 1)
    if len(content) > LARGEST_SIDE_FILE:
        raise SourceError(
            str(path),
            "too large for what it is",
            expected=f"at most {LARGEST_SIDE_FILE >> 10:,} KiB",
            way_out="correct it, or leave it out",
        )
    return content
