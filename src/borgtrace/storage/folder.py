"""One folder, built once: locked while it is built, renamed when it is whole, never reused half-built."""

from __future__ import annotations

import fcntl
import glob
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from borgtrace.errors import StoreError, UsageError

INCOMPLETE = ".incomplete"


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """Yield an empty folder beside `out` that is renamed to `out` when the block ends without an error.

    What a killed process left is removed first, and so is this folder if the block fails.  Its name holds
    the number of the process: workers that outlive a killed one then write where nobody looks.

    Raises
    ------
    StoreError
        Another process is writing to `out`.
    UsageError
        `out` holds something.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    with _locked(out):
        check_free(out)
        for left in out.parent.glob(f"{glob.escape(out.name)}.*{INCOMPLETE}"):
            shutil.rmtree(left, ignore_errors=True)
        incomplete = out.with_name(f"{out.name}.{os.getpid()}{INCOMPLETE}")
        incomplete.mkdir()
        try:
            yield incomplete
            if out.is_dir():
                out.rmdir()
            incomplete.rename(out)
        except BaseException:
            shutil.rmtree(incomplete, ignore_errors=True)
            raise


def check_free(out: Path) -> None:
    """Refuse a place that holds something.

    Raises
    ------
    UsageError
        `out` is a file, or a folder that is not empty.
    """
    if out.is_dir() and not any(out.iterdir()):
        return
    if out.exists():
        raise UsageError(
            str(out),
            "holds something else",
            expected="a new folder",
            got="a file" if out.is_file() else f"{sum(1 for _ in out.iterdir())} entries",
            way_out="name another folder, or remove this one",
        )


@contextmanager
def _locked(out: Path) -> Iterator[None]:
    """Hold the lock beside `out`; the system frees it when its holder dies."""
    path = out.with_name(f".{out.name}.lock")
    descriptor = _lock(path, out)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _lock(path: Path, out: Path) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(descriptor, 32).decode() or "unknown"
            os.close(descriptor)
            raise StoreError(
                str(out),
                "another process is writing here",
                expected="one writer",
                got=f"process {holder}",
                way_out="wait until it has finished",
            ) from error
        if _is_current(descriptor, path):
            os.ftruncate(descriptor, 0)
            os.write(descriptor, str(os.getpid()).encode())
            return descriptor
        os.close(descriptor)


def _is_current(descriptor: int, path: Path) -> bool:
    """Whether the locked file is still the one with that name: its last holder removes it."""
    try:
        return os.fstat(descriptor).st_ino == path.stat().st_ino
    except FileNotFoundError:
        return False
