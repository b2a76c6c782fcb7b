"""Commands on a standalone master with two workers: killed on the way, and equal to those of this machine."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

import borgtrace
from borgtrace.cli import main
from borgtrace.ingest import IngestOptions, ingest
from tests.ingest.raw import write_cell, write_part
from tests.question.test_cluster import master  # noqa: F401 - the cluster, as a fixture

pytestmark = pytest.mark.scale


def begin(*words: str) -> subprocess.Popen[str]:
    """Start a command on a cluster whose workers have little memory."""
    return subprocess.Popen(
        [
            sys.executable,
            "-W",
            "ignore",
            "-m",
            "borgtrace",
            *words,
            "--memory",
            "900MB",
        ],
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def executors(folder: Path) -> list[int]:
    """Return the executors that stand below a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        # One that has just ended has no files any more.
        with suppress(OSError):
            is_executor = b"CoarseGrainedExecutorBackend" in (process / "cmdline").read_bytes()
            if is_executor and (process / "cwd").readlink().is_relative_to(folder):
                found.append(int(process.name))
    return found


def staged(store: Path, process: subprocess.Popen[str]) -> None:
    """Wait until a file of a store is staged."""
    while not list(store.glob("staging/ledger/*.json")):
        assert process.poll() is None, process.communicate()[1][-2000:]
        time.sleep(0.02)


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``raw``, twelve parts of usage of long tasks, and the ``store`` that this machine makes of them."""
    folder = tmp_path_factory.mktemp("cell")
    write_cell(folder / "raw")
    generator = random.Random(3)
    for part in range(12):
        lines = []
        for row in range(2_800):
            window = 2 + 7 * part + row // 400
            start = window * 300_000_000
            end = start + 300_000_000
            job = row % 400 // 4
            average = generator.random() / 9
            sampled = generator.random() / 9
            lines.append(
                f"{start},{end},{job},{row % 4},5,{average:.4g},0.1,,,,0.2,,,1,,,,,0,{sampled:.4g}"
            )
        write_part(folder / "raw", "task_usage", lines, part)
    ingest([folder / "raw"], folder / "store", IngestOptions(jobs=1))
    return folder


@pytest.mark.parametrize("victim", ["executor", "driver"])
def test_what_is_killed_is_made_up_for(
    master: str,  # noqa: F811
    cell: Path,
    tmp_path: Path,
    victim: str,
) -> None:
    words = ("ingest", str(cell / "raw"), "--store", str(tmp_path / "store"), "--engine", master)
    process = begin(*words)
    staged(tmp_path / "store", process)
    if victim == "executor":
        one, *_ = executors(tmp_path.parent)
        os.kill(one, signal.SIGKILL)
    else:
        process.kill()
        process.communicate()
        process = begin(*words)
    _, said = process.communicate(timeout=900)
    assert process.returncode == 0, said[-3000:]
    assert borgtrace.open(tmp_path / "store").digest == borgtrace.open(cell / "store").digest


def test_experiments_and_datasets_are_those_of_this_machine(
    master: str,  # noqa: F811
    cell: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    store = str(cell / "store")
    words = [
        "colocate",
        store,
        "--experiment",
        "packing_base",
        "--tasks",
        "200",
        "--size",
        "50",
        "--instances",
        "2",
    ]
    asked = [[*words, "--realizations", "200"], ["dataset", store]]
    for where in (["--engine", master], []):
        out = str(tmp_path / f"set {len(where)}")
        for command in (asked[0], [*asked[1], out]):
            if where:
                process = begin(*command, *where)
                printed, said = process.communicate(timeout=900)
                assert process.returncode == 0, said[-3000:]
                (tmp_path / command[0]).write_text(printed)
                continue
            with suppress(SystemExit):
                main(command)
            here = capsys.readouterr().out
            assert here.replace(out, "") == (tmp_path / command[0]).read_text().replace(
                str(tmp_path / "set 2"),
                "",
            )
    for path in (tmp_path / "set 0").rglob("*.tfrecord"):
        assert (
            path.read_bytes()
            == (tmp_path / "set 2" / path.relative_to(tmp_path / "set 0")).read_bytes()
        )
