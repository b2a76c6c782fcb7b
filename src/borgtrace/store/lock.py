"""One writer at a time: a lock file that the operating system frees when its holder dies."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from borgtrace.errors import StoreError
from borgtrace.store.layout import Layout


@contextmanager
def writing(layout: Layout) -> Iterator[None]:
    """Hold the store's writing lock.

    Raises
    ------
    StoreError
        At once, when another process is writing to the store.
    """
    layout.root.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(layout.lock, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(descriptor, 32).decode() or "unknown"
            raise StoreError(
                str(layout.root),
                "another process is writing to this store",
                expected="one writer",
                got=f"process {holder}",
                way_out="wait until it has finished",
            ) from error
        os.ftruncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())
        yield
    finally:
        os.close(descriptor)
