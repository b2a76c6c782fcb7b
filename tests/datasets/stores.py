"""A store made of arrays: what datasets need of a store, small enough to check by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from borgtrace.errors import EngineError
from borgtrace.schema import TABLES
from borgtrace.store import Store
from borgtrace.store.manifest import Manifest


@dataclass
class ArrayStore:
    """The part of a store's face that datasets use, over arrays in memory."""

    tasks: pa.Table
    arrays: dict[str, np.ndarray]
    path: Path = Path("STORE")
    manifest: Manifest = field(init=False)

    def __post_init__(self) -> None:
        rows = len(self.arrays["start_time"])
        self.manifest = Manifest(
            "2011",
            "",
            "America/New_York",
            "0",
            "d" * 64,
            {"instance_usage": rows},
            (),
            synthetic={"seed": 0},
        )

    def array(self, column: str, spans: tuple[np.ndarray, np.ndarray] | None = None) -> np.ndarray:
        return self.arrays[column]

    def usage_rows(self) -> int:
        return Store.usage_rows(self)  # type: ignore[arg-type]

    def sql(self, query: str) -> pa.Table:
        with duckdb.connect() as connection:
            connection.register("tasks", self.tasks)
            try:
                return connection.sql(query).to_arrow_table()
            except duckdb.Error as error:
                raise EngineError("sql", str(error)) from error

    def expect_current(self) -> AbstractContextManager[None]:
        """Return a block in which nothing is watched: arrays in memory are not replaced."""
        return nullcontext()

    def stream(self, query: str) -> Iterator[pa.RecordBatch]:
        yield from self.sql(query).to_batches(max_chunksize=7)


def array_store(lengths: list[int], **columns: Any) -> ArrayStore:
    """Make a store of tasks with these numbers of windows, three tasks a job, plus given index columns."""
    n = len(lengths)
    first = np.cumsum([0, *lengths])
    index = np.arange(n)
    defaults: dict[str, Any] = {
        "collection_id": 6_000_000_000 + index // 3 * 7,
        "instance_index": (index % 3).astype(np.int32),
        "collection_type": ["JOB"] * n,
        "first_row": first[:-1],
        "n_windows": np.array(lengths, np.int32),
        "n_gaps": np.zeros(n, np.int32),
        "first_time": 600_000_000 + index * 1_000_000,
        "last_time": 600_000_000 + index * 1_000_000 + np.array(lengths, np.int64) * 300_000_000,
        "mean_average_cpu": np.full(n, 0.1),
        "priority": pa.array((index % 12).astype(np.int32)),
        "scheduling_class": (index % 4).astype(np.int32),
        "cpu_request": np.full(n, 0.25, np.float32),
        "user": [f"user{k // 5}" for k in range(n)],
        "collection_logical_name": [f"name{k // 6}" for k in range(n)],
        "end_type": ["FINISH"] * n,
    }
    known = defaults | columns
    tasks = pa.table({name: known[name] for name in TABLES["tasks"].names if name in known})
    rows = int(first[-1])
    rng = np.random.default_rng(7)
    within = np.arange(rows) - np.repeat(first[:-1], lengths)
    arrays = {
        "start_time": (600 + 300 * within).astype(np.uint32),
        "duration": np.full(rows, 300, np.float32),
        "average_cpu": rng.gamma(2, 0.02, rows).astype(np.float32),
        "average_memory": rng.random(rows).astype(np.float32),
    }
    return ArrayStore(tasks, arrays)
