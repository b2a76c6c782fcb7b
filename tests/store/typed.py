"""A manifest, an entry of its ledger and an index, typed by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace.store import columns
from borgtrace.store.layout import Layout, part_name
from borgtrace.store.manifest import Manifest, SourceEntry

SECOND = 1_000_000
EMPTY = Manifest(
    "2011",
    "",
    "UTC",
    "1",
    "d",
    {},
    (),
)
ENTRY = SourceEntry(
    "task_usage/part-00003", "f", "instance_usage", "task_usage", "csv", 9, "s", 3, None, 5, 4, 1
)


def entry(part: int | None, parts: int | None = None, **facts: Any) -> SourceEntry:
    return replace(
        ENTRY,
        part=part,
        parts=parts,
        **facts,
    )


def indexed(folder: Path, windows: list[int], first: list[int] | None = None) -> Layout:
    """A store's index of tasks (2, 0), (2, 1), (5, 0) …, and arrays that count their rows."""
    layout = Layout(folder)
    n_tasks = len(windows)
    starts = first
    if starts is None:
        starts = [sum(windows[:task]) for task in range(n_tasks)]
    layout.table("tasks").mkdir(parents=True)
    layout.traces.mkdir()
    table = pa.table(
        {
            "collection_id": pa.array([2, 2, 5, 9][:n_tasks], pa.int64()),
            "instance_index": pa.array([0, 1, 0, 3][:n_tasks], pa.int32()),
            "first_row": pa.array(starts, pa.int64()),
            "n_windows": pa.array(windows, pa.int32()),
        }
    )
    pq.write_table(table, layout.table("tasks") / part_name(0))
    n_rows = max(0, sum(windows))
    for name in columns.DEFAULT_COLUMNS:
        dtype = np.uint32 if name == "start_time" else np.float32
        np.save(layout.array(name), np.arange(n_rows, dtype=dtype))
    return layout
