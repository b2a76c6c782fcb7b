"""Files of hundreds of megabytes: how much memory an ingest takes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace.ingest import IngestOptions, ingest
from tests.own_process import own_process, peak_memory

MOST_MEMORY = 700e6
"""Bytes."""
N_TASKS, N_STEPS = 1600, 2000
MIDNIGHT = 1_793_491_200


@pytest.fixture
def ended() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that end with the test."""
    processes: list[subprocess.Popen[bytes]] = []
    yield processes
    for process in processes:
        if process.poll() is None:
            process.kill()
            process.wait()


def _write_parquet(folder: Path) -> Path:
    steps = np.repeat(np.arange(N_STEPS), N_TASKS)
    tasks = np.tile(np.arange(N_TASKS), N_STEPS)
    names = pa.array([f"web-{task}" for task in range(N_TASKS)])
    table = pa.table(
        {
            "pod": names.take(pa.array(tasks)),
            "time": MIDNIGHT + 300 * steps,
            "cpu": ((tasks * 37 + steps * 13) % 100) * 0.01 + 0.001 * (steps % 7),
            "memory_bytes": 1048576.0 * ((tasks * 7 + steps) % 900 + 1),
        }
    )
    pq.write_table(table, folder / "usage.parquet")
    return folder / "usage.parquet"


def _write_json(folder: Path) -> Path:
    """Write one list of records, 270 MB."""
    path = folder / "usage.json"
    with path.open("w") as file:
        separator = "["
        for step in range(N_STEPS):
            for task in range(N_TASKS):
                row = {
                    "pod": f"web-{task}",
                    "time": MIDNIGHT + 300 * step,
                    "cpu": (task * 37 + step * 13) % 100 / 100,
                    "memory_bytes": 1048576 * ((task * 7 + step) % 900 + 1),
                }
                file.write(separator + json.dumps(row))
                separator = ",\n"
        file.write("]")
    return path


@pytest.mark.scale
@pytest.mark.parametrize("write", [_write_parquet, _write_json])
def test_three_million_rows_are_ingested_in_little_memory(
    tmp_path: Path, write: Callable[[Path], Path], ended: list[subprocess.Popen[bytes]]
) -> None:
    options = ["--capacity", "16cores,64GiB", "--jobs", "1", "--yes"]
    process = own_process("ingest", write(tmp_path), "--store", tmp_path / "store", *options)
    assert peak_memory(process, ended) <= MOST_MEMORY
    assert borgtrace.open(tmp_path / "store").manifest.tables["instance_usage"] == N_TASKS * N_STEPS


def _write_jobs(path: Path, n_jobs: int) -> None:
    """Write what ``sacct --parsable2`` prints of jobs, one a minute."""
    begun = np.datetime64("2026-01-01T00:00:00") + 60 * np.arange(n_jobs)
    with path.open("w") as file:
        file.write("JobID|User|Account|Partition|Submit|Start|End|State|ReqCPUS|ReqMem|NNodes\n")
        for job, start in enumerate(begun, 1):
            times = f"{start}|{start}|{start + job % 100_000 + 1}"
            file.write(f"{job}|u{job % 90}|a{job % 9}|batch|{times}|COMPLETED|4|16G|1\n")


@pytest.mark.scale
def test_half_a_million_jobs_are_ingested(tmp_path: Path) -> None:
    """A job becomes events and a task, which take more to join than as many rows of usage."""
    _write_jobs(tmp_path / "sacct.txt", 450_000)
    options = IngestOptions(jobs=2, capacity="128cores,512GiB")
    ingest([tmp_path / "sacct.txt"], tmp_path / "store", options)
    # Each is submitted, scheduled and finished.
    assert borgtrace.open(tmp_path / "store").manifest.tables["instance_events"] == 3 * 450_000
