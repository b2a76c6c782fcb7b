"""What tasks were promised, and when they ran: limits and priorities in force, and stays on machines, task by task."""

from collections.abc import Iterable
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
from borgtrace.store import Store

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
    store: Store, events: ir.Table, dialect: Dialect, path: Path
) -> npt.NDArray[np.void]:
    """Write the terms of all tasks, in the order of tasks and times, and return them mapped.

    Only what differs from the term before is kept.  An event without any request changes nothing; a resource without
    one has no limit (NaN).

    Parameters
    ----------
    store
        Whose tasks they are.
    events
        ``instance_events``.
    dialect
        Settles equal times.
    path
        The file.
    """
    named = events.cpu_request.notnull() | events.memory_request.notnull()
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
    rows, order = in_order(events.filter(named).select(*columns), KEY, dialect)
    return _write(
        path, TERM, (_terms(store, batch) for batch in to_batches(rows.order_by([*KEY, *order])))
    )


def _terms(store: Store, batch: pa.RecordBatch) -> npt.NDArray[np.void]:
    terms = np.empty(batch.num_rows, TERM)
    terms["task"] = _tasks(store, batch)
    terms["time"] = batch["time"].to_numpy()
    for name in ("cpu", "memory"):
        terms[name] = batch[f"{name}_request"].to_numpy(zero_copy_only=False)
    terms["priority"] = batch["priority"].fill_null(-1).to_numpy()
    # NaN equals nothing: such a term is kept again, which changes no row.
    same = np.ones(len(terms), np.bool_)
    same[:1] = False
    for name in ("task", "cpu", "memory", "priority"):
        same[1:] &= terms[name][1:] == terms[name][:-1]
    return terms[~same]


def write_stays(store: Store, attempts: ir.Table, path: Path) -> npt.NDArray[np.void]:
    """Write when tasks were on machines, in the order of tasks and times, and return them mapped.

    Parameters
    ----------
    store
        Whose tasks they are.
    attempts
        ``instance_attempts``.  Those inside an alloc set are left out: its instance stands for them.
    path
        The file.
    """
    placed = attempts.filter(
        attempts.schedule_time.notnull()
        & attempts.machine_id.notnull()
        & attempts.alloc_collection_id.isnull()
    )
    rows = placed.select(*KEY, "machine_id", "schedule_time", "left_time").order_by(
        [*KEY, "schedule_time"]
    )
    return _write(path, STAY, (_stays(store, batch) for batch in to_batches(rows)))


def _stays(store: Store, batch: pa.RecordBatch) -> npt.NDArray[np.void]:
    stays = np.empty(batch.num_rows, STAY)
    stays["task"] = _tasks(store, batch)
    stays["machine"] = batch["machine_id"].to_numpy()
    stays["start"] = batch["schedule_time"].to_numpy()
    stays["end"] = batch["left_time"].fill_null(AFTER_TRACE).to_numpy()
    return stays


def starts_of(rows: npt.NDArray[np.void], n_tasks: int) -> Index:
    """Return where the rows of each task begin: shape (tasks + 1,)."""
    return np.searchsorted(rows["task"], np.arange(n_tasks + 1)).astype(np.int64)


def _tasks(store: Store, batch: pa.RecordBatch) -> Index:
    return store.task_rows(
        np.stack([batch[name].to_numpy().astype(np.int64) for name in KEY], axis=1)
    )


def _write(
    path: Path, dtype: np.dtype[np.void], parts: Iterable[npt.NDArray[np.void]]
) -> npt.NDArray[np.void]:
    with path.open("wb") as file:
        for part in parts:
            part.tofile(file)
    # An empty file cannot be mapped.
    return np.memmap(path, dtype, "r") if path.stat().st_size else np.empty(0, dtype)
