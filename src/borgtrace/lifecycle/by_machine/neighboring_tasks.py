"""Neighboring tasks of a store, with all that usage by machine is made of: the whole store, or a range of it."""

from collections.abc import Callable
from dataclasses import dataclass

import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.kernels.arrays import Index
from borgtrace.lifecycle.by_machine.terms import TaskRows
from borgtrace.schema import Dialect
from borgtrace.store import Store


@dataclass(frozen=True)
class NeighboringTasks:
    """Tasks that follow each other.

    Attributes
    ----------
    first
        Position of the first one in the store.
    offsets
        Where the windows of each begin among those of all of them: int64 (tasks + 1,), from 0.
    task_rows
        From keys of tasks to their positions in the store.
    events, attempts
        Their ``instance_events`` and ``instance_attempts``.
    stream
        Answers a query over their ``instance_usage``, rows in the order of the tasks.
    dialect
        Settles equal times.
    """

    first: int
    offsets: Index
    task_rows: TaskRows
    events: ir.Table
    attempts: ir.Table
    stream: Callable[[str], pa.RecordBatchReader]
    dialect: Dialect

    def __len__(self) -> int:
        return len(self.offsets) - 1


def all_tasks(store: Store, events: ir.Table, attempts: ir.Table) -> NeighboringTasks:
    """Return all tasks of a store.

    Parameters
    ----------
    store
        An open store.
    events, attempts
        Its ``instance_events`` and ``instance_attempts``.
    """
    return NeighboringTasks(
        first=0,
        offsets=store.offsets,
        task_rows=store.task_rows,
        events=events,
        attempts=attempts,
        stream=store.stream,
        dialect=store.manifest.dialect,
    )
