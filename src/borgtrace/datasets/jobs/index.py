"""The index of an export: ``path,user,app,job,task,length,maximum``, one line per task, in order of path."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from borgtrace.datasets.jobs.layout import JobsLayout
from borgtrace.datasets.order import path_order

if TYPE_CHECKING:
    from borgtrace.store import Store

COLUMNS = ("path", "user", "app", "job", "task", "length", "maximum")
_CHUNK = 1 << 18
_TASKS = """
select collection_id, instance_index, n_windows, cast(max_average_cpu as float) as maximum
from tasks where collection_type = 'JOB' and n_windows > 0
"""
_SUBMITS = """
select collection_id, coalesce(arg_min("user", (time, source_part, source_row)), '') as "user",
       coalesce(arg_min(collection_logical_name, (time, source_part, source_row)), '') as app
from collection_events where type = 'SUBMIT' group by collection_id order by collection_id
"""
_UNSUBMITTED = """
select collection_id, coalesce(any_value("user"), '') as "user",
       coalesce(any_value(collection_logical_name), '') as app
from tasks where collection_type = 'JOB' and n_windows > 0
     and collection_id not in (select collection_id from collection_events where type = 'SUBMIT')
group by collection_id order by collection_id
"""


def write_index(store: Store, path: Path, layout: JobsLayout, *, has_header: bool) -> int:
    """Write the index; return the number of tasks.

    Users and applications (logical names) are dense numbers by first appearance over the SUBMIT events of
    jobs, in order of job; jobs that were never seen to be submitted come after all others.
    """
    options = pa_csv.WriteOptions(include_header=False, quoting_style="none")
    tasks = 0
    with path.open("wb") as file:
        if has_header:
            file.write((",".join(COLUMNS) + "\n").encode())
        for table in _tables(store, layout):
            pa_csv.write_csv(table, file, options)
            tasks += table.num_rows
    return tasks


def _tables(store: Store, layout: JobsLayout) -> Iterator[pa.Table]:
    tasks = store.sql(_TASKS)
    jobs = tasks.column("collection_id").to_numpy()
    numbers = tasks.column("instance_index").to_numpy().astype(np.int64)
    owners = _owners(store)
    order = path_order(jobs, numbers, layout.granularity, is_by_task=layout.key == "task")
    for first in range(0, len(order), _CHUNK):
        index = order[first : first + _CHUNK]
        chunk = tasks.take(pa.array(index))
        row = np.searchsorted(owners[0], jobs[index])
        paths = layout.paths(jobs[index], numbers[index])
        yield pa.table(
            [
                pa.array(paths),
                pa.array(owners[1][row]),
                pa.array(owners[2][row]),
                chunk.column("collection_id"),
                chunk.column("instance_index"),
                chunk.column("n_windows"),
                chunk.column("maximum"),
            ],
            names=list(COLUMNS),
        )


def _owners(store: Store) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return jobs in ascending order and the dense numbers of their users and applications."""
    table = pa.concat_tables([store.sql(_SUBMITS), store.sql(_UNSUBMITTED)])
    jobs = table.column("collection_id").to_numpy()
    order = np.argsort(jobs, kind="stable")
    users, apps = (_dense(table.column(name))[order] for name in ("user", "app"))
    return jobs[order], users, apps


def _dense(words: pa.ChunkedArray) -> NDArray[np.int64]:
    encoded = pc.dictionary_encode(words.cast(pa.string()).combine_chunks())
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
