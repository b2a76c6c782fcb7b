"""Giving the disk of a part of a file back, while the file keeps its length and all its other bytes."""

import ctypes
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

_KEEP_SIZE, _PUNCH_HOLE = 1, 2
_BLOCK = 4096
"""Bytes that are given back together; where a file system has larger blocks, it leaves halves of them."""


def can_free_blocks(folder: Path) -> bool:
    """Whether a file system gives the disk of a part of a file back, and can flush a folder: ext4, XFS, Btrfs do.

    Parameters
    ----------
    folder
        An existing folder. It gets a file without a name for the time of the trial.
    """
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(3 * _BLOCK))
            file.flush()
            flush(folder)
            return _free(file.fileno(), _BLOCK, 2 * _BLOCK)
    except OSError:
        # Nothing may be written here, or there is no room.
        return False


def free_blocks(path: Path, ranges: Iterable[tuple[int, int]]) -> None:
    """Give the disk of ranges of bytes back, which are zeros from then on; bytes outside stay as they are.

    Parameters
    ----------
    path
        The file.
    ranges
        First byte of each, and the one behind it. Halves of blocks stay, and so does all where the file system refuses.
    """
    with path.open("r+b") as file:
        for start, end in ranges:
            first_block = -(-start // _BLOCK)
            end_block = end // _BLOCK
            if first_block < end_block:
                _free(file.fileno(), first_block * _BLOCK, end_block * _BLOCK)


def _free(descriptor: int, start: int, end: int) -> bool:
    """Give whole blocks back; return whether the system does that."""
    # Python has no name for this call, and other systems than Linux have no such call.
    system_call = getattr(ctypes.CDLL(None), "fallocate", None)
    if system_call is None or ctypes.sizeof(ctypes.c_long) < ctypes.sizeof(ctypes.c_int64):
        return False
    size, offset = ctypes.c_long(end - start), ctypes.c_long(start)
    mode = _KEEP_SIZE | _PUNCH_HOLE
    return bool(system_call(ctypes.c_int(descriptor), ctypes.c_int(mode), offset, size) == 0)


def flush(*places: Path) -> None:
    """Wait until files, and the names in folders, are on the disk: a power cut does not take them back."""
    for place in places:
        descriptor = os.open(place, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
