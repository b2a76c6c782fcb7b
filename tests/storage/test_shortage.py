"""What the machine was short of is told from what a library says, and named with the way out."""

from __future__ import annotations

import errno
import os
import sqlite3
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pyarrow as pa
import pytest

from borgtrace.errors import BorgtraceError, EngineError, StoreError
from borgtrace.storage import disk_full, refuse_shortage, replacing, shortage_behind, shortage_error


@pytest.mark.parametrize(
    ("error", "number"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), errno.ENOSPC),
        # As NumPy, DuckDB and SQLite say it, which give no number.
        (OSError("Not enough free space to write 800 bytes after offset 128"), errno.ENOSPC),
        (duckdb.IOException('Could not write file "x": No space left on device'), errno.ENOSPC),
        (
            duckdb.OutOfMemoryException("Out of Memory Error: failed to offload data block"),
            errno.ENOSPC,
        ),
        (sqlite3.OperationalError("database or disk is full"), errno.ENOSPC),
        (duckdb.OutOfMemoryException("Out of Memory Error: could not allocate"), errno.ENOMEM),
        (MemoryError(), errno.ENOMEM),
        (pa.ArrowMemoryError("malloc of size 8 failed"), errno.ENOMEM),
        (RuntimeError("can't start new thread"), errno.ENOMEM),
        (duckdb.IOException('Cannot open file "x": Too many open files'), errno.EMFILE),
        (PermissionError(errno.EACCES, "Permission denied"), errno.EACCES),
        (OSError(errno.EROFS, "Read-only file system"), errno.EROFS),
        (FileNotFoundError(errno.ENOENT, "No such file or directory"), None),
        (ValueError("no magic bytes"), None),
        # A message of ours may quote anything.
        (StoreError("store", "Too many open files"), None),
    ],
)
def test_a_shortage_is_told_from_what_a_library_says(error: Exception, number: int | None) -> None:
    assert shortage_behind(error) == number
    wrapped = ValueError("damaged")
    wrapped.__cause__ = error
    assert shortage_behind(wrapped) == number


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (
            MemoryError(),
            EngineError,
            "store: there is not enough memory; close other programs, take fewer workers or a smaller --memory, "
            "or allow more: ulimit -v",
        ),
        (
            duckdb.OutOfMemoryException(
                "Out of Memory Error: failed to allocate data of size 2.0 MiB (766.2 KiB/976.5 KiB used)"
            ),
            EngineError,
            "--memory: the budget is too small for this: got 766.2 KiB of 976.5 KiB in use; "
            "give more, or ask for less at once",
        ),
        (
            PermissionError(errno.EACCES, "Permission denied", "store/tasks"),
            StoreError,
            "store/tasks: permission denied; make it readable and writable for this user, or name another place",
        ),
    ],
)
def test_what_was_short_is_said_with_the_way_out(
    error: Exception, kind: type[BorgtraceError], message: str
) -> None:
    with pytest.raises(kind) as caught:
        refuse_shortage(error, Path("store"))
    assert str(caught.value) == message


def test_too_many_open_files_names_the_limit() -> None:
    error = shortage_error(OSError(errno.EMFILE, "Too many open files"), Path("store"))
    assert str(error).startswith("store: too many files are open at a time: got a limit of ")
    assert str(error).endswith("; allow more and run the same command again: ulimit -n 4096")


def test_another_error_is_left_alone() -> None:
    refuse_shortage(ValueError("no magic bytes"), Path("store"))
    assert shortage_error(ValueError("no magic bytes"), Path("store")) is None


def test_a_full_disk_says_what_is_needed_and_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1_500_000))
    monkeypatch.setattr(Path, "is_mount", lambda path: path == tmp_path)
    assert str(disk_full(tmp_path / "out" / "page.html", needed=2_340_000)) == (
        f"{tmp_path / 'out' / 'page.html'}: the disk is full: expected more than 2.3 MB, got 1.5 MB free; "
        f"free some disk in {tmp_path} and run the same command again, or name another place"
    )
    assert str(disk_full(tmp_path / "out", errno.EDQUOT, kept="staged files are kept")).startswith(
        f"{tmp_path / 'out'}: the disk quota is used up: got 1.5 MB free; "
    )


def test_a_file_that_does_not_fit_leaves_what_was_there(tmp_path: Path) -> None:
    """And says so as an `OSError`, too, for those who can do without the file."""
    page = tmp_path / "page.html"
    page.write_text("old")
    with pytest.raises(StoreError, match="the disk is full: expected more than") as caught:
        write_half(page)
    assert isinstance(caught.value, OSError)
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert page.read_text() == "old"


def write_half(page: Path) -> None:
    with replacing(page) as draft:
        draft.write_text("half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
