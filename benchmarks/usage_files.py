"""Usage files the size of the real ones, for benchmarks: 20 columns, rounded as Google rounds.

Not a benchmark itself.  Values repeat as they do in the real trace (ten significant bits), tasks
live for about 17 windows, and rows are sorted by time.
"""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
from isal import igzip

WINDOW = 300_000_000
WINDOWS = 17


def _rounded(values: np.ndarray) -> np.ndarray:
    unit = np.maximum(2.0 ** (np.floor(np.log2(np.maximum(values, 1e-300))) - 9), 2.0**-20)
    return np.round(values / unit) * unit


def _texts(values: np.ndarray) -> pa.Array:
    distinct, places = np.unique(values, return_inverse=True)
    return pa.array(np.char.mod("%.4g", distinct)).take(pa.array(places))


def _measured(random: np.random.Generator, rows: int, missing: float = 0.0) -> pa.Array:
    pool = np.char.mod("%.4g", _rounded(np.exp(random.normal(-5, 2, 20_000)).clip(0, 1)))
    places = random.integers(0, len(pool), rows)
    # Behind the last text of the pool stands the empty one.
    places[random.random(rows) < missing] = len(pool)
    return pa.array(np.append(pool, "")).take(pa.array(places))


def write_usage(path: Path, rows: int, seed: int, first_window: int = 0) -> int:
    """Write one task_usage part and return the bytes of its text."""
    random = np.random.default_rng(seed)
    tasks = max(rows // WINDOWS, 1)
    jobs = np.random.default_rng(0).integers(3_418_309, 6_486_641_236, max(tasks // 4, 1))
    job, index = jobs[random.integers(0, len(jobs), tasks)], random.integers(0, 500, tasks)
    machine = random.integers(5, 6_457_070_948, tasks)
    task = random.integers(0, tasks, rows)
    start = 600_000_000 + WINDOW * (first_window + np.sort(random.integers(0, WINDOWS, rows)))
    cpu = _rounded(np.exp(random.normal(-6, 2, rows)).clip(0, 0.5))
    memory = _texts(_rounded(np.exp(random.normal(-5, 1.5, rows)).clip(0, 0.5)))
    columns = [
        start,
        start + WINDOW,
        job[task],
        index[task],
        machine[task],
        _texts(cpu),
        memory,
        _measured(random, rows),
        _measured(random, rows, 0.1),
        _measured(random, rows, 0.1),
        memory,
        _measured(random, rows, 0.14),
        _measured(random, rows, 0.14),
        _texts(np.minimum(4 * cpu, 1)),
        _measured(random, rows, 0.2),
        _measured(random, rows, 0.3),
        _measured(random, rows, 0.4),
        _measured(random, rows),
        random.integers(0, 2, rows),
        _texts(cpu),
    ]
    table = pa.table([pa.array(column) for column in columns], names=[str(i) for i in range(20)])
    text = io.BytesIO()
    pa.csv.write_csv(table, text, pa.csv.WriteOptions(include_header=False, quoting_style="none"))
    with igzip.open(path, "wb", compresslevel=2) as file:
        file.write(text.getbuffer())
    return text.getbuffer().nbytes


def write_records(path: Path, rows: int, seed: int) -> int:
    """Write one 2019 usage shard as BigQuery exports it and return the bytes of its text."""
    random = np.random.default_rng(seed)
    values = _rounded(random.random((rows, 26)) / 64)
    heads, tails = np.sort(values[:, :11], axis=1), np.sort(values[:, 11:20], axis=1)
    lines = [
        json.dumps(
            {
                "start_time": str(600_000_000 + WINDOW * int(row % 8000)),
                "end_time": str(900_000_000 + WINDOW * int(row % 8000)),
                "collection_id": str(330_587_238_433 + int(random.integers(0, 100_000))),
                "instance_index": str(int(random.integers(0, 500))),
                "machine_id": "23624491139",
                "alloc_collection_id": "0",
                "alloc_instance_index": "-1",
                "collection_type": "0",
                "average_usage": {"cpus": values[row, 20], "memory": values[row, 21]},
                "maximum_usage": {"cpus": values[row, 20] * 2, "memory": values[row, 21] * 2},
                "random_sample_usage": {"cpus": values[row, 20]},
                "assigned_memory": values[row, 22],
                "page_cache_memory": values[row, 23],
                "cycles_per_instruction": values[row, 24] * 64,
                "memory_accesses_per_instruction": values[row, 25],
                "sample_rate": 1.0,
                "cpu_usage_distribution": heads[row].tolist(),
                "tail_cpu_usage_distribution": tails[row].tolist(),
            },
            separators=(",", ":"),
        )
        for row in range(rows)
    ]
    text = ("\n".join(lines) + "\n").encode()
    with igzip.open(path, "wb", compresslevel=2) as file:
        file.write(text)
    return len(text)
