"""An experiment that is killed at any moment, and started again: the same bytes as one that nobody stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.experiments.test_laboratory import assert_same

GRID = """
horizon = "10m"
resources = ["cpu"]
machines = 3
seeds = [0, 1]
stores = ["a", "b", "c"]

[policies.borg]
phi = [0.5, 0.9]

[policies.nsigma]
n = [2, 5]
history = "30m"
warmup = "10m"
"""


def start(folder: Path, out: Path, jobs: int) -> subprocess.Popen[bytes]:
    words = ["experiment", str(folder / "grid.toml"), "--out", str(out), "--jobs", str(jobs)]
    return subprocess.Popen(
        [sys.executable, "-m", "borgtrace", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def n_finished(out: Path) -> int:
    return len(list((out / "cells").glob("*.parquet")))


def kill_after(process: subprocess.Popen[bytes], out: Path, n_cells: int) -> None:
    """Kill a process and its workers once some cells are finished."""
    deadline = time.monotonic() + 240
    while n_finished(out) < n_cells and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.mark.wide
def test_killed_twice_and_resumed_it_writes_the_same_bytes(stores: Path, tmp_path: Path) -> None:
    (stores / "grid.toml").write_text(GRID, encoding="utf-8")
    undisturbed = tmp_path / "undisturbed"
    assert start(stores, undisturbed, 1).wait() == 0
    killed = tmp_path / "killed"
    for n_cells in (3, 11):
        process = start(stores, killed, 2)
        kill_after(process, killed, n_cells)
        assert process.returncode == -signal.SIGKILL
        assert n_cells <= n_finished(killed) < 24
        assert not (killed / "comparisons.parquet").exists()
    assert start(stores, killed, 2).wait() == 0
    assert n_finished(killed) == 24
    assert_same(undisturbed, killed)
