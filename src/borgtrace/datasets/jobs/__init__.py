"""One file per job in folders named by MD5, and their index: what scripts of 2017 read."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from borgtrace.datasets.folder import building, check_free
from borgtrace.datasets.jobs.files import Run
from borgtrace.datasets.jobs.index import write_index
from borgtrace.datasets.jobs.layout import DEFAULT_COLUMNS, JobsLayout
from borgtrace.datasets.jobs.workers import write_runs
from borgtrace.errors import UsageError

if TYPE_CHECKING:
    from borgtrace.store import Store

__all__ = ["DEFAULT_COLUMNS", "Exported", "JobsLayout", "export_jobs"]

INDEX = "index.csv"
_RUN = 1 << 20
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written: files, tasks in the index, usage rows of the store."""

    path: Path
    files: int
    tasks: int
    rows: int


def export_jobs(
    store: Store,
    out: Path | str,
    layout: JobsLayout | None = None,
    *,
    has_header: bool = True,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Exported:
    """Write one file per job (or task), and ``index.csv``.

    Parameters
    ----------
    store
        Where from.
    out
        Folder to create.
    layout
        See :class:`~borgtrace.datasets.jobs.layout.JobsLayout`.
    has_header
        Whether the index begins with the names of its columns.
    workers
        Processes; all cores where None.  They do not change a byte.
    progress
        Told of each step.

    Raises
    ------
    UsageError
        The store has no usage, or `out` holds something.
    StoreError
        Another process is writing to `out`.
    """
    out, layout, report = Path(out), layout or JobsLayout(), progress or (lambda *_: None)
    rows = store.manifest.tables.get("instance_usage", 0)
    if not rows:
        raise UsageError(
            str(store.path),
            "the store has no usage",
            expected="rows in instance_usage",
            got="none",
            way_out="ingest task_usage or instance_usage files first",
        )
    check_free(out)
    with building(out) as folder:
        parts = [str(part) for part in store.layout.parts("instance_usage")]
        runs = _runs(store)
        work = write_runs(parts, runs, folder, layout, workers or os.cpu_count() or 1)
        files = 0
        for done, count in enumerate(work, 1):
            files += count
            report("write", done, len(runs))
        tasks = write_index(store, folder / INDEX, layout, has_header=has_header)
    return Exported(out, files, tasks, rows)


def _runs(store: Store) -> list[Run]:
    """Cut the usage table into runs of whole jobs, about a million rows each."""
    table = store.sql(
        "select min(first_row) as first from tasks where n_windows > 0 group by collection_id order by first"
    )
    first = table.column("first").to_numpy()
    total = store.manifest.tables["instance_usage"]
    starts = first[np.unique(np.searchsorted(first, np.arange(0, total, _RUN), side="left").clip(0, len(first) - 1))]
    return [Run(int(a), int(b)) for a, b in zip(starts, [*starts[1:], total], strict=True)]
