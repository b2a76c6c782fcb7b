"""Commands on a standalone master with two workers: killed on the way, and equal to those of this machine."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import borgtrace
from borgtrace.catalog import find
from borgtrace.cli import main
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.question import EngineTables
from borgtrace.synth import generate
from tests.ingest.raw import write_cell, write_part
from tests.question.test_cluster import master, worker_command  # noqa: F401 - the cluster, as a fixture
from tests.question.test_contract import alike

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


QUESTIONS = (
    "machine_shapes",
    "job_usage",
    "utilization",
    "job_delay",
    "run_times",
    "task_totals",
)
_ASK = """
import json, sys
from borgtrace.catalog import find
from borgtrace.question import EngineTables
url, store, *names = sys.argv[1:]
tables = EngineTables.of(store, url, memory="900MB")
for name in names:
    print(json.dumps(find(name).run(tables).table.to_pylist()), flush=True)
"""


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a synthetic cell whose replay takes several tasks."""
    folder = tmp_path_factory.mktemp("synthetic")
    generate(folder / "raw", "2011", 24, 6.0, 1)
    ingest([folder / "raw"], folder / "store", IngestOptions(jobs=1))
    return folder / "store"


def parent_of(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def busy_executor(folder: Path, process: subprocess.Popen[str]) -> int:
    """Wait until an executor has begun the Python in which it runs tasks, and return it."""
    while True:
        assert process.poll() is None, process.communicate()[1][-2000:]
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                is_python = b"pyspark.daemon" in (entry / "cmdline").read_bytes()
                if is_python and parent_of(int(entry.name)) in executors(folder):
                    return parent_of(int(entry.name))
        time.sleep(0.02)


@pytest.fixture(scope="module")
def replacements() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Workers that were started in place of lost ones."""
    workers: list[subprocess.Popen[bytes]] = []
    yield workers
    for worker in workers:
        worker.kill()
        worker.wait(30)


def lose_worker(
    url: str,
    executor: int,
    replacements: list[subprocess.Popen[bytes]],
) -> None:
    """Kill the worker of an executor and the executor, as if their machine were lost, and start another."""
    worker = parent_of(executor)
    environment = {}
    for entry in Path(f"/proc/{worker}/environ").read_text().split("\0"):
        name, _, value = entry.partition("=")
        environment[name] = value
    environment.pop("", None)
    for process in (worker, executor):
        os.kill(process, signal.SIGKILL)
    command = worker_command(url)
    replacements.append(
        subprocess.Popen(
            command,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    )


def test_a_worker_that_is_lost_during_questions(
    master: str,  # noqa: F811
    replacements: list[subprocess.Popen[bytes]],
    synthetic: Path,
    tmp_path: Path,
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", _ASK, master, str(synthetic), *QUESTIONS],
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    first = process.stdout.readline()
    one, *_ = executors(tmp_path.parent)
    lose_worker(master, one, replacements)
    others, said = process.communicate(timeout=900)
    assert process.returncode == 0, said[-3000:]
    answers = [json.loads(line) for line in (first, *others.splitlines())]
    tables = EngineTables.of(synthetic)
    for name, rows in zip(QUESTIONS, answers, strict=True):
        here = json.loads(json.dumps(find(name).run(tables).table.to_pylist()))
        assert len(rows) == len(here) > 0, name
        for row, row_here in zip(rows, here, strict=True):
            assert all(alike(value, row[column]) for column, value in row_here.items()), name


def test_a_worker_that_is_lost_during_a_replay(
    master: str,  # noqa: F811
    replacements: list[subprocess.Popen[bytes]],
    synthetic: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["overcommit", str(synthetic), "--horizon", "1h", "--json"]
    process = begin(*words, "--engine", master)
    lose_worker(master, busy_executor(tmp_path.parent, process), replacements)
    printed, said = process.communicate(timeout=900)
    assert process.returncode == 0, said[-3000:]
    with suppress(SystemExit):
        main(words)
    here = json.loads(capsys.readouterr().out)
    there = json.loads(printed)
    # They say where they were computed, and how long it took.
    assert here.pop("provenance")["engine"] == "duckdb"
    assert there.pop("provenance")["engine"] == master
    assert here["rows"]
    assert there == here
