"""A real Spark cluster over a store in a bucket: nothing is shared with the workers but the bucket."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from borgtrace.question import Tables
from tests.bucket import Bucket, serving
from tests.question.test_cluster import agree_on, master  # noqa: F401 - the cluster, as a fixture

pytestmark = pytest.mark.scale

QUESTIONS = (
    "machine_shapes",  # one table of few rows
    "tasks_per_job",  # a derived table
    "data_quality",  # all tables
    "eligible_machines",  # rows that come back to the driver
    "machine_utilization",  # usage by machine
    "utilization",  # usage joined with tasks
    "resubmission_gaps",  # windows over events
    "queueing",  # not applicable to 2011
    "window_change",  # a kernel in the workers that makes rows
    "change_sketch",  # two of them
    "sampling_period",  # a kernel in the workers
    "reservation",  # another one, with several columns
)


@pytest.fixture(scope="module")
def bucket(cells: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bucket]:
    folder = tmp_path_factory.mktemp("bucket")
    with pytest.MonkeyPatch.context() as patch, serving(folder / "s3", "cells", patch) as made:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        shutil.copytree(cells["2011"] / "store", made.root / "store")
        yield made


def command(*words: str) -> str:
    run = [sys.executable, "-W", "ignore", "-m", "borgtrace", *words, "--memory", "900MB"]
    ended = subprocess.run(
        run,
        capture_output=True,
        text=True,
        timeout=1500,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    return ended.stdout


# The bucket first: workers get the environment in which they start.
def test_questions_agree(bucket: Bucket, master: str, duckdb_tables: dict[str, Tables]) -> None:  # noqa: F811
    agree_on(QUESTIONS, master, f"{bucket.url}/store", duckdb_tables["2011"])


def test_an_experiment_agrees(bucket: Bucket, master: str, cells: dict[str, Path]) -> None:  # noqa: F811
    asked = ["--experiment", "packing_base", "--tasks", "200", "--size", "20", "--instances", "2"]
    there, here = (
        command("colocate", *where, *asked, "--realizations", "200")
        for where in ([f"{bucket.url}/store", "--engine", master], [str(cells["2011"] / "store")])
    )
    assert there == here
    assert here.count("\n") > 1


def test_a_dataset_is_written_by_the_workers(
    bucket: Bucket,
    master: str,  # noqa: F811
    cells: dict[str, Path],
    tmp_path: Path,
) -> None:
    command("dataset", str(cells["2011"] / "store"), str(tmp_path / "set"))
    command("dataset", f"{bucket.url}/store", f"{bucket.url}/set", "--engine", master)
    here, there = (
        {
            path.relative_to(root).as_posix(): path.read_bytes()
            for path in root.rglob("*")
            if path.is_file()
        }
        for root in (tmp_path / "set", bucket.root / "set")
    )
    assert "meta.json" in here
    assert here == there


def test_what_a_task_is_refused_is_one_line(bucket: Bucket, cells: dict[str, Path]) -> None:
    # The driver has read the first footers when the account is shut out.
    script = (
        "import sys; from borgtrace.catalog import find; from borgtrace.question import EngineTables\n"
        "tables = EngineTables.of(sys.argv[1], 'local[2]', memory='900MB')\n"
        "print('opened', flush=True); input()\n"
        "from borgtrace.errors import BorgtraceError\n"
        "try: find('machine_shapes').run(tables)\n"
        "except BorgtraceError as error: print(error)\n"
    )
    asked = [sys.executable, "-W", "ignore", "-c", script, f"{bucket.url}/store"]
    with subprocess.Popen(
        asked,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "opened\n"
        key, bucket.key = bucket.key, "another"
        try:
            process.stdin.write("\n")
            process.stdin.close()
            said = process.stdout.read()
        finally:
            bucket.key = key
    assert said.startswith(
        "local[2]: a task could not read a bucket: got StoreError: s3://cells/store/machine_events/"
    )
    assert said.endswith(
        "; give the workers the credentials that the driver has in its environment\n"
    )
    assert said.count("\n") == 1
