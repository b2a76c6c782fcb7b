"""One writer at a time; a dead writer's lock is free."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from borgtrace.errors import StoreError
from borgtrace.storage import lock as lock_module
from borgtrace.storage import locked

FILES = Path("/proc/self/fd")


def n_open_files() -> int:
    """Open files of this process; 0 where the system does not list them."""
    return len(list(FILES.iterdir())) if FILES.is_dir() else 0


def test_the_lock_holds_the_process_and_goes_at_the_end(tmp_path: Path) -> None:
    lock = tmp_path / "new" / "er" / ".lock"
    for _ in range(2):  # the second time its folder is there
        with locked(lock, tmp_path):
            assert lock.read_text() == str(os.getpid())
            assert not lock.stat().st_mode & 0o111  # data, not a program
        assert not lock.exists()


def test_a_lock_that_somebody_removed_is_no_error(tmp_path: Path) -> None:
    lock = tmp_path / ".lock"
    with locked(lock, tmp_path):
        lock.unlink()
    assert not lock.exists()


def test_the_lock_goes_after_an_error_too(tmp_path: Path) -> None:
    lock = tmp_path / ".lock"
    with pytest.raises(RuntimeError), locked(lock, tmp_path):
        raise RuntimeError
    with locked(lock, tmp_path):
        pass
    assert not lock.exists()


def test_a_second_writer_is_told_who_writes(tmp_path: Path) -> None:
    lock = tmp_path / ".lock"
    with (
        locked(lock, tmp_path / "store"),
        pytest.raises(StoreError) as refused,
        locked(lock, tmp_path / "store"),
    ):
        pass
    assert str(refused.value) == (
        f"{tmp_path}/store: another process is writing here: expected one writer, got process {os.getpid()}; "
        "wait until it has finished"
    )


def test_a_writer_that_has_not_said_its_number_is_unknown(tmp_path: Path) -> None:
    lock = tmp_path / ".lock"
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(StoreError, match="got process unknown;"), locked(lock, tmp_path):
            pass
    assert lock.exists()


def test_a_killed_holder_leaves_a_free_lock_with_a_longer_number(tmp_path: Path) -> None:
    lock = tmp_path / ".lock"
    script = (
        "import os, pathlib\n"
        "from borgtrace.storage import locked\n"
        f"with locked(pathlib.Path({str(lock)!r}), pathlib.Path('x')):\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    assert lock.read_text()
    lock.write_text(
        "9" * 20
    )  # longer than any process number: the rest of it must not stay behind ours
    with locked(lock, tmp_path):
        assert lock.read_text() == str(os.getpid())


@pytest.mark.parametrize("successor", [True, False])
def test_a_lock_whose_file_was_just_removed_is_taken_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, successor: bool
) -> None:
    lock = tmp_path / ".lock"
    flock, opened = fcntl.flock, []

    def removed_meanwhile(descriptor: int, operation: int) -> None:
        # The holder before us removes the file between our opening it and our locking it; a third may make it anew.
        if not opened:
            lock.unlink()
            if successor:
                lock.touch()
        opened.append(descriptor)
        flock(descriptor, operation)

    monkeypatch.setattr(lock_module.fcntl, "flock", removed_meanwhile)
    before = n_open_files()
    with locked(lock, tmp_path):
        assert lock.read_text() == str(os.getpid())
    assert len(opened) == 2
    assert n_open_files() == before  # the descriptor of the removed file is closed


def test_descriptors_are_closed(tmp_path: Path) -> None:
    before = n_open_files()
    with locked(tmp_path / ".lock", tmp_path):
        with pytest.raises(StoreError), locked(tmp_path / ".lock", tmp_path):
            pass
        assert n_open_files() == (before + 1 if before else 0)
    assert n_open_files() == before


def test_of_eight_writers_at_once_one_writes_at_a_time(tmp_path: Path) -> None:
    inside, most, done = [0], [0], [0]

    def write() -> None:
        while True:
            try:
                with locked(tmp_path / ".lock", tmp_path):
                    inside[0] += 1
                    most[0] = max(most[0], inside[0])
                    done[0] += 1
                    inside[0] -= 1
                return
            except StoreError:
                continue

    writers = [threading.Thread(target=write) for _ in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert (most[0], done[0]) == (1, 8)
