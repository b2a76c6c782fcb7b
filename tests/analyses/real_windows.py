"""Usage windows of real rows as arrays, each source beside the store that it makes."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from borgtrace.catalog import find
from borgtrace.question import EngineTables, Tables
from tests.analyses import real_rows
from tests.analyses.real_rows import WINDOW, Array

HOUR = 3600
BEGIN = 600
"""Second of the trace's clock at which slots and hours begin."""


@dataclass(frozen=True)
class Windows:
    """Windows by task and start: task and job as numbers, start in s since `BEGIN`, length in s, usage."""

    task: Array
    job: Array
    machine: Array
    start: Array
    seconds: Array
    cpu: Array
    memory: Array
    is_inside: Array
    """Whether it runs in an alloc instance, whose own row would hold it, too."""

    @cached_property
    def slot(self) -> Array:
        """The 300 s in which it starts."""
        return self.start // WINDOW

    def where(self, condition: Array) -> Windows:
        """Keep the windows that meet a condition."""
        columns = {field.name: getattr(self, field.name)[condition] for field in fields(self)}
        return Windows(**columns)

    def sums(self, by: Array, values: Array) -> Array:
        """Add up values × lengths by a number from 0."""
        return np.bincount(by, np.nan_to_num(values) * self.seconds)


@dataclass(frozen=True, eq=False)
class Source:
    """Rows of a source, and the store that was made of them."""

    name: str
    all_windows: Windows
    tables: Tables
    rows_2019: pa.Table | None = None

    @cached_property
    def is_inside_trace(self) -> Array:
        """Whether each window begins after the start of the trace: 2019 has some that do not."""
        return self.all_windows.start >= 0

    @cached_property
    def windows(self) -> Windows:
        """The windows inside the trace."""
        return self.all_windows.where(self.is_inside_trace)

    def column_2019(self, name: str) -> Array:
        """Return a column of the joined rows, of windows inside the trace."""
        assert self.rows_2019 is not None
        return self.rows_2019[name].to_numpy()[self.is_inside_trace]

    @cache  # noqa: B019 - sources live as long as the module
    def answer(self, question: str) -> list[dict[str, Any]]:
        """Answer a question."""
        result = find(question).run(self.tables)
        assert not result.not_applicable, result.not_applicable
        answer: list[dict[str, Any]] = result.table.to_pylist()
        return answer


def windows_of_2019(rows: pa.Table) -> Windows:
    columns = {name: rows[name].to_numpy() for name in rows.column_names if name != "source_file"}
    names = columns["unique_id"].astype(str)
    # Rows are in the order of tasks, whose names are in another.
    task = np.append(0, np.cumsum(names[1:] != names[:-1]))
    _, job = np.unique(columns["collection_id"], return_inverse=True)
    start = columns["time"] // 1_000_000 - BEGIN
    return Windows(
        task=task,
        job=job,
        machine=columns["machine_id"],
        start=start,
        seconds=np.full(len(start), WINDOW),
        cpu=columns["avg_cpu_usage"].astype(np.float32).astype(float),
        memory=columns["avg_memory_usage"].astype(np.float32).astype(float),
        is_inside=columns["alloc_collection_id"] > 0,
    )


def windows_of_machines(usage: real_rows.MachineUsage) -> Windows:
    _, task = np.unique(usage.machine, return_inverse=True)
    order = np.lexsort((usage.start, task))
    task = task[order]
    return Windows(
        task=task,
        job=task,
        machine=usage.machine[order],
        start=usage.start[order] - BEGIN,
        seconds=np.full(len(task), WINDOW),
        cpu=usage.cpu[order].astype(float),
        memory=usage.memory[order].astype(float),
        is_inside=np.zeros(len(task), bool),
    )


def windows_of_series(series: real_rows.Series) -> Windows:
    """A window lasts 300 s, or until the next of its VM."""
    n_windows = [len(start) for start in series.start]
    task = np.repeat(np.arange(len(n_windows)), n_windows)
    seconds = [np.minimum(np.append(np.diff(start), WINDOW), WINDOW) for start in series.start]
    cpu = np.concatenate(series.cpu).astype(np.float32).astype(float)
    return Windows(
        task=task,
        job=task,
        machine=np.full(len(task), -1),
        start=np.concatenate(series.start),
        seconds=np.concatenate(seconds),
        cpu=cpu,
        memory=np.full(len(task), np.nan),
        is_inside=np.zeros(len(task), bool),
    )


FOLDERS = {
    "2019": "usage-2019",
    "machines": "machines-2011",
    "bitbrains": "bitbrains",
    "azure": "azure",
}


def source_of(name: str, trace: Path, folder: Path) -> Source:
    """Read the rows of a source (all of them if it is called whole), and make a store of them."""
    is_whole = name.startswith("whole")
    if name.endswith("2019"):
        rows = real_rows.usage_2019(trace, is_whole=is_whole)
        store = real_rows.store_2019(trace, folder, rows)
        return Source(name, windows_of_2019(rows), EngineTables.of(store), rows)
    if name.endswith("machines"):
        usage = real_rows.machine_usage_2011(trace)
        store = real_rows.store_of_machines_2011(trace, folder, usage)
        return Source(name, windows_of_machines(usage), EngineTables.of(store))
    if name.endswith("azure"):
        series, store = real_rows.azure(trace, folder)
    else:
        series, store = real_rows.bitbrains(trace, folder)
    return Source(name, windows_of_series(series), EngineTables.of(store))


def quantities(windows: Windows) -> dict[str, Array]:
    """Return what was measured, by resource."""
    columns = {"cpu": windows.cpu, "memory": windows.memory}
    return {name: values for name, values in columns.items() if not np.isnan(values).all()}
