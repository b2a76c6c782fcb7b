"""One file per job in folders named by MD5, and their index: what scripts of 2017 read."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.csv as pa_csv

from borgtrace.engine.processes import map_processes
from borgtrace.export.jobs.file_rows import FileRows
from borgtrace.export.jobs.files import write_files
from borgtrace.export.jobs.layout import DEFAULT_COLUMNS, JobsLayout
from borgtrace.storage import as_path, check_free, new_folder
from borgtrace.store import Store

__all__ = ["DEFAULT_COLUMNS", "ExportResult", "JobsLayout", "export_jobs"]

INDEX = "index.csv"
COLUMNS = ("path", "user", "app", "job", "task", "length", "maximum")
_INDEX = Path(__file__).with_name("index.sql").read_text("utf-8")
_ROWS_PER_CALL = 1 << 20
"""Usage rows that a worker writes per call: enough to outweigh its start, few enough for progress."""
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class ExportResult:
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
    out, layout, report = as_path(out), layout or JobsLayout(), progress or (lambda *_: None)
    rows = store.usage_rows()
    check_free(out)
    with new_folder(out) as folder:
        parts = [str(part) for part in store.layout.parts("instance_usage")]
        write = partial(write_files, parts, out=folder, layout=layout)
        # What one call writes needs no second process.
        cores = 1 if rows <= _ROWS_PER_CALL else workers or os.cpu_count() or 1
        written = rows_done = 0
        # In the order of the rows, so the last file says how far the export is.
        for files in map_processes(write, _calls(store, layout), cores, place=str(out)):
            written += len(files)
            rows_done = files[-1].last
            report("write", rows_done, rows)
        tasks = write_index(store, folder / INDEX, layout, has_header=has_header)
    return ExportResult(out, written, tasks, rows)


def _calls(store: Store, layout: JobsLayout) -> Iterator[list[FileRows]]:
    """Yield the files of the export with their rows, those of about a million rows at a time."""
    table = store.sql(
        f"select {layout.path_sql} as path, min(first_row)::bigint as first, sum(n_windows)::bigint as rows "
        "from tasks where collection_type = 'JOB' and n_windows > 0 group by all order by first"
    )
    if not table.num_rows:
        return
    first = table.column("first").to_numpy()
    # Cut at files: a job never goes to two processes, which would write to one file.
    starts = np.searchsorted(first, np.arange(0, first[-1] + 1, _ROWS_PER_CALL), side="left")
    for low, high in zip(starts, [*starts[1:], table.num_rows], strict=True):
        if low < high:
            columns = (column.to_pylist() for column in table.slice(low, high - low).columns)
            yield [
                FileRows(path, begin, begin + rows)
                for path, begin, rows in zip(*columns, strict=True)
            ]


def write_index(store: Store, path: Path, layout: JobsLayout, *, has_header: bool) -> int:
    """Write the index, one line per task in order of path; return the number of tasks.

    Users and applications (logical names) are dense numbers by first appearance over the SUBMIT events of
    jobs, in order of job; jobs that were never seen to be submitted come after all others.

    Parameters
    ----------
    store
        Where from.
    path
        The file to write.
    layout
        Gives the paths.
    has_header
        Whether the first line names the columns.
    """
    # The header is written by hand: once, not with every batch.
    options = pa_csv.WriteOptions(include_header=False, quoting_style="none")
    tasks = 0
    with path.open("wb") as file:
        if has_header:
            file.write((",".join(COLUMNS) + "\n").encode())
        for batch in store.stream(_INDEX.format(path=layout.path_sql)):
            pa_csv.write_csv(batch, file, options)
            tasks += batch.num_rows
    return tasks
