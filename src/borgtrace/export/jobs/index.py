"""The index of an export: ``path,user,app,job,task,length,maximum``, one line per task, in order of path."""

from pathlib import Path

import pyarrow.csv as pa_csv

from borgtrace.export.jobs.layout import JobsLayout
from borgtrace.store import Store

COLUMNS = ("path", "user", "app", "job", "task", "length", "maximum")
_INDEX = Path(__file__).with_name("index.sql").read_text("utf-8")


def write_index(store: Store, path: Path, layout: JobsLayout, *, has_header: bool) -> int:
    """Write the index; return the number of tasks.

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
