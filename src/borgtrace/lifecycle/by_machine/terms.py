"""Terms (limits and priorities in force) and stays on machines, task by task."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import ibis.expr.types as ir
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from borgtrace.engine import to_batches
from borgtrace.kernels.arrays import Index
from borgtrace.lifecycle.order import in_order
from borgtrace.schema import Dialect
from borgtrace.schema.time import AFTER_TRACE

TaskRows = Callable[[Index], Index]
"""From keys of tasks, int64 (n, 2), to their positions in the store: :meth:`borgtrace.store.Store.task_rows`."""
KEY = ("collection_id", "instance_index")
TERM = np.dtype(
    [
        ("task", "u4"),
        ("time", "i8"),
        ("cpu", "f4"),
        ("memory", "f4"),
        ("priority", "i2"),
    ]
)
"""What is promised to a task from `time` (µs) on: limits as fractions of the largest machine."""
STAY = np.dtype(
    [
        ("task", "u4"),
        ("machine", "i8"),
        ("start", "i8"),
        ("end", "i8"),
    ]
)
"""From when to when (µs) a task was on a machine."""


def write_terms(
    task_rows: TaskRows,
    events: ir.Table,
    dialect: Dialect,
    path: Path,
) -> npt.NDArray[np.void]:
    """Write the terms of all tasks, in the order of tasks and times, and return them mapped into memory.

    Only terms that differ from the one before are kept.  An event without any request changes nothing; a resource
    without one has no limit (NaN).

    Parameters
    ----------
    task_rows
        From keys of tasks to their positions in the store.
    events
        ``instance_events``.
    dialect
        Settles equal times.
    path
        The file.
    """
    has_request = events.cpu_request.notnull() | events.memory_request.notnull()
    columns = [
        *KEY,
        "time",
        "type",
        "source_part",
        "source_row",
        "cpu_request",
        "memory_request",
        "priority",
    ]
    rows, order = in_order(
        events.filter(has_request).select(*columns),
        KEY,
        dialect,
    )
    batches = to_batches(rows.order_by([*KEY, *order]))
    return _write(path, TERM, _changed_terms(task_rows, batches))


def _changed_terms(
    task_rows: TaskRows,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[npt.NDArray[np.void]]:
    """Yield the terms that differ from the one before, wherever a batch ends."""
    before = np.empty(0, TERM)
    for batch in batches:
        terms = np.concatenate([before, _terms(task_rows, batch)])
        # NaN equals nothing: such a term is kept again, which changes no row.
        is_repeated = np.ones(len(terms), np.bool_)
        is_repeated[:1] = len(before) > 0
        for name in ("task", "cpu", "memory", "priority"):
            column = terms[name]
            is_repeated[1:] &= column[1:] == column[:-1]
        yield terms[~is_repeated]
        before = terms[-1:]


def _terms(task_rows: TaskRows, batch: pa.RecordBatch) -> npt.NDArray[np.void]:
    terms = np.empty(batch.num_rows, TERM)
    terms["task"] = _positions_of_tasks(task_rows, batch)
    terms["time"] = batch["time"].to_numpy()
    terms["cpu"] = batch["cpu_request"].to_numpy(zero_copy_only=False)
    terms["memory"] = batch["memory_request"].to_numpy(zero_copy_only=False)
    terms["priority"] = batch["priority"].fill_null(-1).to_numpy()
    return terms


def write_stays(
    task_rows: TaskRows,
    attempts: ir.Table,
    path: Path,
) -> npt.NDArray[np.void]:
    """Write when tasks were on machines, in the order of tasks and times, and return the stays mapped into memory.

    Parameters
    ----------
    task_rows
        From keys of tasks to their positions in the store.
    attempts
        ``instance_attempts``.  Those inside an alloc set are left out: its instance stands for them.
    path
        The file.
    """
    is_placed = attempts.schedule_time.notnull() & attempts.machine_id.notnull()
    is_outside_alloc_sets = attempts.alloc_collection_id.isnull()
    placed = attempts.filter(is_placed & is_outside_alloc_sets)
    rows = placed.select(*KEY, "machine_id", "schedule_time", "left_time")
    batches = to_batches(rows.order_by([*KEY, "schedule_time"]))
    return _write(
        path,
        STAY,
        (_stays(task_rows, batch) for batch in batches),
    )


def _stays(task_rows: TaskRows, batch: pa.RecordBatch) -> npt.NDArray[np.void]:
    stays = np.empty(batch.num_rows, STAY)
    stays["task"] = _positions_of_tasks(task_rows, batch)
    stays["machine"] = batch["machine_id"].to_numpy()
    stays["start"] = batch["schedule_time"].to_numpy()
    stays["end"] = batch["left_time"].fill_null(AFTER_TRACE).to_numpy()
    return stays


def starts_of(rows: npt.NDArray[np.void], first_task: int, n_tasks: int) -> Index:
    """Return where the rows of each of some neighboring tasks begin: shape (tasks + 1,)."""
    tasks = np.arange(first_task, first_task + n_tasks + 1)
    return np.searchsorted(rows["task"], tasks).astype(np.int64)


def _positions_of_tasks(task_rows: TaskRows, batch: pa.RecordBatch) -> Index:
    """Return the position in the store's index of each row's task."""
    keys = [batch[name].to_numpy().astype(np.int64) for name in KEY]
    return task_rows(np.stack(keys, axis=1))


def _write(
    path: Path,
    dtype: np.dtype[np.void],
    parts: Iterable[npt.NDArray[np.void]],
) -> npt.NDArray[np.void]:
    """Write some rows into a file, and return them mapped into memory."""
    with path.open("wb") as file:
        for part in parts:
            part.tofile(file)
    # An empty file cannot be mapped.
    return np.memmap(path, dtype, "r") if path.stat().st_size else np.empty(0, dtype)
