"""Temporary files: nobody else can guess, plant or read them, and none outlives the next run."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from borgtrace.engine.embedded import raw_connection
from borgtrace.storage import new_scratch, scratch_folder
from borgtrace.storage.scratch import LOCK, PREFIX, remove_leftovers

HOLD = """
import sys, time
from borgtrace.storage import scratch_folder
folder = scratch_folder()
(folder / "spilled").write_text("rows")
print(folder, flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files, in place of the machine's."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def hold(temporary: Path) -> tuple[subprocess.Popen[str], Path]:
    """Start a process that has temporary files, and return it with their folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    return process, Path(process.stdout.readline().strip())


def test_spilled_rows_are_nobody_elses(temporary: Path) -> None:
    connection = raw_connection("20MB", 1)
    (setting,) = connection.execute("select current_setting('temp_directory')").fetchone() or ()
    spill = Path(setting)
    assert spill.parent == scratch_folder()
    assert scratch_folder().parent == temporary
    assert stat.S_IMODE(scratch_folder().stat().st_mode) == 0o700
    # Not told from the number of the process.
    assert str(os.getpid()) not in scratch_folder().name.removeprefix(PREFIX)
    rows = "SELECT random() AS a, md5(i::VARCHAR) AS b FROM range(500_000) AS r(i)"
    connection.execute(f"CREATE TABLE t AS {rows} ORDER BY a")
    assert list(spill.iterdir())
    connection.close()


def test_names_are_used_once(temporary: Path) -> None:
    names = {new_scratch("spill") for _ in range(3)}
    assert len(names) == 3
    assert {name.parent for name in names} == {scratch_folder()}


def test_temporary_files_end_with_their_process_and_after_a_kill_with_the_next(
    temporary: Path,
) -> None:
    killed, left = hold(temporary)
    running, used = hold(temporary)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert (left / "spilled").exists()
    own = scratch_folder()
    assert not left.exists()
    # Of one that lives they stay.
    assert (used / "spilled").exists()
    running.communicate("\n")
    assert running.returncode == 0
    assert [path.name for path in temporary.iterdir()] == [own.name]


def test_only_what_is_ours_is_removed(temporary: Path) -> None:
    """A folder that somebody called so, a link, a file, and one that is just being made."""
    for name in ("young", "old"):
        (temporary / f"{PREFIX}{name}").mkdir()
    hour_ago = time.time() - 4000
    os.utime(temporary / f"{PREFIX}old", (hour_ago, hour_ago))
    (temporary / "borgtrace-demo").mkdir()
    (temporary / "borgtrace-demo" / LOCK).touch()
    (temporary / "elsewhere").mkdir()
    (temporary / "elsewhere" / LOCK).touch()
    (temporary / f"{PREFIX}link").symlink_to("elsewhere")
    (temporary / f"{PREFIX}file").touch()
    remove_leftovers(temporary)
    assert sorted(path.name for path in temporary.iterdir()) == [
        "borgtrace-demo",
        f"{PREFIX}file",
        f"{PREFIX}link",
        f"{PREFIX}young",
        "elsewhere",
    ]
    assert (temporary / "elsewhere" / LOCK).exists()
