"""Writes one file per job (or task), several processes at a time, and the index of all files."""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from borgtrace.engine.processes import map_processes
from borgtrace.export.jobs.file_rows import FileRows
from borgtrace.export.jobs.files import write_files
from borgtrace.export.jobs.index import write_index
from borgtrace.export.jobs.layout import JobsLayout
from borgtrace.export.result import ExportResult
from borgtrace.storage import as_path, check_free, new_folder
from borgtrace.store import Store

INDEX = "index.csv"
ROWS_PER_CALL = 1 << 20
"""Usage rows that a worker writes per call: enough to outweigh its start, few enough for progress."""
Progress = Callable[[str, int, int], None]
"""Called with the name of a step, the usage rows done, and all of them."""


def export_jobs(
    store: Store,
    out: Path | str,
    layout: JobsLayout | None = None,
    *,
    has_header: bool = True,
    workers: int | None = None,
    progress: Progress | None = None,
) -> ExportResult:
    """Write one file per job (or task), and ``index.csv``.

    Parameters
    ----------
    store
        Where from.
    out
        Folder to create.
    layout
        See :class:`~borgtrace.export.jobs.layout.JobsLayout`.
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
        Another process is writing to `out`, or a worker was killed.
    """
    out = as_path(out)
    layout = layout or JobsLayout()
    rows_of_store = store.usage_rows()
    rows = rows_of_jobs(store)
    check_free(out)
    with new_folder(out) as folder, store.expect_current():
        # What one call writes needs no second process.
        cores = 1 if rows <= ROWS_PER_CALL else workers or os.cpu_count() or 1
        n_files = 0
        n_written = 0
        for files in _write_files(store, folder, layout, cores, place=str(out)):
            n_files += len(files)
            n_written += sum(file.last - file.first for file in files)
            if progress:
                progress("write", n_written, rows)
        tasks = write_index(
            store,
            folder / INDEX,
            layout,
            has_header=has_header,
        )
    return ExportResult(
        out,
        files=n_files,
        tasks=tasks,
        rows=n_written,
        rows_left_out=rows_of_store - rows,
    )


def _write_files(
    store: Store,
    folder: Path,
    layout: JobsLayout,
    cores: int,
    *,
    place: str,
) -> Iterator[Sequence[FileRows]]:
    """Write the files of all jobs, and yield those of each call."""
    parts = [str(part) for part in store.layout.parts("instance_usage")]
    write = partial(write_files, parts, out=folder, layout=layout)
    yield from map_processes(write, plan_calls(store, layout), cores, place=place)


def rows_of_jobs(store: Store) -> int:
    """Return the number of usage rows of jobs: those of alloc instances contain what their tasks used."""
    table = store.sql(
        "SELECT coalesce(sum(n_windows), 0)::BIGINT AS rows FROM tasks WHERE collection_type = 'JOB'"
    )
    return int(table["rows"][0].as_py())


def plan_calls(store: Store, layout: JobsLayout) -> Iterator[list[FileRows]]:
    """Yield the files of the export with their rows, those of about a million rows at a time.

    Parameters
    ----------
    store
        Where from.
    layout
        Names the files.
    """
    table = store.sql(
        f"""
        SELECT {layout.path_sql} AS path, min(first_row)::BIGINT AS first, sum(n_windows)::BIGINT AS rows
        FROM tasks
        WHERE collection_type = 'JOB' AND n_windows > 0
        GROUP BY ALL
        ORDER BY first
        """
    )
    if not table.num_rows:
        return
    first_rows = table["first"].to_numpy()
    # Cut at files: a job never goes to two processes, which would write to one file.
    boundaries = np.arange(0, first_rows[-1] + 1, ROWS_PER_CALL)
    starts = np.searchsorted(first_rows, boundaries, side="left").tolist()
    ends = [*starts[1:], table.num_rows]
    for start, end in zip(starts, ends, strict=True):
        if start < end:
            rows = table.slice(start, end - start).to_pylist()
            yield [FileRows(row["path"], row["first"], row["first"] + row["rows"]) for row in rows]
