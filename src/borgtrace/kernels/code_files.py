"""Files of machine code: what is read is whole, is what the name says, and was written by somebody to be trusted.

What is in them is unpickled and run, so that a file is as good as source.
"""

import contextlib
import hashlib
import os
import stat
import time
import uuid
import zlib
from pathlib import Path

SUFFIX = ".kernel"
"""Ends the name of each file."""
STALE_S = 30 * 24 * 3600
"""After how long the code of an earlier source is removed: until then, another version may use the same folder."""
_DIGEST_BYTES = hashlib.sha256().digest_size
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def read_code(path: Path, source: os.stat_result) -> bytes | None:
    """Return what a file of machine code holds, or None where it is missing, damaged, or not to be trusted.

    Parameters
    ----------
    path
        Of the file.
    source
        The state of the source file that it was compiled from.
    """
    try:
        # No link is followed, and none of a device or a pipe is waited for.
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(file, "rb") as opened:
            if not is_as_safe_as(os.fstat(file), source):
                return None
            content = opened.read()
    except OSError:
        return None
    digest, packed = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    # The name is part of the digest: a file that was renamed holds the code of another function.
    if digest != _digest(path.name, packed):
        return None
    return zlib.decompress(packed)


def is_as_safe_as(file: os.stat_result, source: os.stat_result) -> bool:
    """Whether all who can write a file could as well have written the source that we run anyway.

    Parameters
    ----------
    file, source
        The states of both.
    """
    is_ours = file.st_uid in {os.geteuid(), source.st_uid, 0}
    writers = file.st_mode & _OTHERS_WRITE
    is_shared_likewise = not writers or (
        not writers & ~source.st_mode and file.st_gid == source.st_gid
    )
    return stat.S_ISREG(file.st_mode) and is_ours and is_shared_likewise


def write_code(path: Path, content: bytes) -> None:
    """Write a file of machine code, whole or not at all, and remove those of the same function that are out of use.

    Parameters
    ----------
    path
        Of the file.
    content
        What :func:`read_code` returns.

    Raises
    ------
    OSError
        It cannot be written, or its disk is full.
    """
    packed = zlib.compress(content)
    unfinished = path.with_name(f"{path.name}.{uuid.uuid4().hex[:16]}")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        # Others read what was compiled beside a shared source, and none but us writes it.
        with os.fdopen(os.open(unfinished, flags, 0o644), "wb") as file:
            file.write(_digest(path.name, packed) + packed)
        unfinished.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        raise
    _remove_stale(path)


def _digest(name: str, packed: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\0" + packed).digest()


def _remove_stale(path: Path) -> None:
    """Remove old files for the same function, types and machine, from another source."""
    same_function = path.name.rpartition("-")[0]
    eldest = time.time() - STALE_S
    with contextlib.suppress(OSError):
        for other in path.parent.glob(f"{same_function}-*"):
            if other.lstat().st_mtime < eldest:
                other.unlink()
