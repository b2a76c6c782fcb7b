"""One writer at a time: a lock file that the operating system frees when its holder dies."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from borgtrace.errors import StoreError
from borgtrace.storage.paths import as_local_path


@contextmanager
def locked(lock: Path, place: Path) -> Iterator[None]:
    """Hold the file `lock`, which stands for the right to write to `place`; it is removed at the end.

    Parameters
    ----------
    lock
        The lock file; its folder is made.
    place
        What is being written, for the message.

    Raises
    ------
    StoreError
        At once, when another process holds it.
    """
    as_local_path(lock).parent.mkdir(parents=True, exist_ok=True)
    descriptor = _open_locked(lock, place)
    try:
        # A killed holder leaves its process number behind, which may be longer than ours.
        os.ftruncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())
        yield
    finally:
        # Removed while still held: another process that opened it meanwhile sees in `_is_current` that it is gone.
        lock.unlink(missing_ok=True)
        os.close(descriptor)


def _open_locked(lock: Path, place: Path) -> int:
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            # `flock`, not the file's existence: the system frees it when the holder dies, however it dies.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(descriptor, 32).decode() or "unknown"
            os.close(descriptor)
            raise StoreError(
                str(place),
                "another process is writing here",
                expected="one writer",
                got=f"process {holder}",
                way_out="wait until it has finished",
            ) from error
        if _is_current(descriptor, lock):
            return descriptor
        os.close(descriptor)


def _is_current(descriptor: int, lock: Path) -> bool:
    """Whether the locked file is still the one of that name: its last holder may just have removed it."""
    try:
        return os.fstat(descriptor).st_ino == lock.stat().st_ino
    except FileNotFoundError:
        return False
