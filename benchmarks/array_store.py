"""A store of arrays for benchmarks of datasets: tasks of drawn lengths, written without an ingest."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace.schema import TABLES
from borgtrace.schema.arrow import arrow_schema
from borgtrace.store.manifest import Manifest

SHARE, SHORTEST, LONGEST = 0.74, 5, 50
TASKS_PER_JOB = 38


def make_store(path: Path, tasks: int, *, with_rows: bool) -> None:
    """Write a store of `tasks` tasks: index and arrays, and the usage rows if asked."""
    if (path / "manifest.json").exists():
        return
    shutil.rmtree(path, ignore_errors=True)
    rng = np.random.default_rng(0)
    kind = rng.random(tasks)
    lengths = np.where(kind < SHARE, rng.integers(SHORTEST, LONGEST + 1, tasks), 0)
    lengths = np.where((kind >= SHARE) & (kind < 0.9), rng.integers(1, SHORTEST, tasks), lengths)
    lengths = np.where(kind >= 0.9, rng.integers(LONGEST + 1, 150, tasks), lengths)
    first = np.cumsum(lengths) - lengths
    rows = int(lengths.sum())
    job = np.cumsum(rng.random(tasks) < 1 / TASKS_PER_JOB)
    start = np.arange(tasks) - np.searchsorted(job, job)
    (path / "traces").mkdir(parents=True)
    within = np.arange(rows) - np.repeat(first, lengths)
    np.save(path / "traces" / "start_time.npy", (600 + 300 * within).astype(np.uint32))
    np.save(path / "traces" / "duration.npy", np.full(rows, 300, np.float32))
    cpu = rng.gamma(2, 0.015, rows).astype(np.float32)
    np.save(path / "traces" / "average_cpu.npy", cpu)
    for name in ("sampled_cpu", "average_memory"):
        np.lib.format.open_memmap(path / "traces" / f"{name}.npy", "w+", np.float32, (rows,))
    columns = {
        "collection_id": 3_418_309 + 9_973 * job,
        "instance_index": start,
        "collection_type": np.full(tasks, "JOB"),
        "first_row": first,
        "n_windows": lengths,
        "first_time": np.full(tasks, 600_000_000),
        "last_time": 600_000_000 + 300_000_000 * lengths,
        "priority": rng.integers(0, 12, tasks),
        "user": np.char.add("u" * 40, (job % 900).astype(str)),
        "collection_logical_name": np.char.add("n" * 40, (job % 20_000).astype(str)),
        "max_average_cpu": np.maximum.reduceat(cpu, first).astype(np.float64),
    }
    write_table(path, "tasks", columns, tasks)
    # Opening a store counts its rows; datasets are made of its arrays, and only an export reads what the rows say.
    usage: dict[str, np.ndarray] = {}
    if with_rows:
        owners = {
            name: np.repeat(columns[name], lengths) for name in ("collection_id", "instance_index")
        }
        times = (600 + 300 * within) * 1_000_000
        usage = {
            **owners,
            "start_time": times,
            "end_time": times + 300_000_000,
            "average_cpu": cpu,
            "collection_type": np.full(rows, "JOB"),
        }
    write_table(path, "instance_usage", usage, rows)
    counts = {"instance_usage": rows, "tasks": tasks}
    Manifest("2011", "", "UTC", "0", f"{tasks:064x}", counts, (), synthetic={"benchmark": 1}).write(
        path / "manifest.json"
    )


def write_table(path: Path, name: str, columns: dict[str, np.ndarray], rows: int) -> None:
    """Write a canonical table; columns that are not given are 0 or NULL."""
    schema = arrow_schema(TABLES[name])
    (path / name).mkdir()
    with pq.ParquetWriter(path / name / "part-00000.parquet", schema, compression="zstd") as writer:
        for low in range(0, rows, 1 << 19):
            high = min(low + (1 << 19), rows)
            arrays = []
            for column in schema:
                if column.name in columns:
                    arrays.append(pa.array(columns[column.name][low:high]).cast(column.type))
                elif column.nullable:
                    arrays.append(pa.nulls(high - low, column.type))
                else:
                    arrays.append(pa.array(np.zeros(high - low, np.int8)).cast(column.type))
            writer.write_table(pa.table(arrays, schema))
