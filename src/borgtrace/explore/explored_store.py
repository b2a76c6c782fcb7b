"""What all views share: a store, its pyramid, its tasks and its whole span."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from borgtrace.errors import UsageError
from borgtrace.explore.pyramid import Pyramid
from borgtrace.explore.span import TimeSpan, whole_span
from borgtrace.explore.sql_box import SqlBox
from borgtrace.explore.tiers import UNKNOWN, tier_colors
from borgtrace.kernels.arrays import Index
from borgtrace.notation import Notation, short_name
from borgtrace.schema import Dialect
from borgtrace.store import Store

SIZES = """
    SELECT machine_id,
        arg_max(platform_id, (time, source_part, source_row)) AS platform_id,
        arg_max(cpu_capacity, (time, source_part, source_row)) AS cpu_capacity,
        arg_max(memory_capacity, (time, source_part, source_row)) AS memory_capacity
    FROM machine_events
    WHERE type <> 'REMOVE'
    GROUP BY machine_id
"""


class LastKnownSize(NamedTuple):
    """What a machine is: capacities as fractions of the largest, None where not known."""

    platform_id: str | None
    cpu_capacity: float | None
    memory_capacity: float | None


class TaskColumns:
    """What a page needs of many tasks at once: columns of their table, by position.

    Parameters
    ----------
    table
        Rows of the table of tasks, in the order of the store.
    dialect
        Names the tiers.
    """

    COLUMNS = ("collection_type", "priority", "cpu_request", "memory_request")

    def __init__(self, table: pa.Table, dialect: Dialect) -> None:
        self.tiers = tuple(tier_colors(dialect))
        """Names of the tiers, `UNKNOWN` last; `tier` counts in them."""
        self._columns = {name: table[name].to_numpy() for name in self.COLUMNS}
        self._dialect = dialect

    @cached_property
    def tier(self) -> npt.NDArray[np.uint8]:
        """Tier of each task, as its position in `tiers`."""
        priority = self._columns["priority"]
        tier = np.full(len(priority), self.tiers.index(UNKNOWN), np.uint8)
        for name, low, high in self._dialect.tiers:
            tier[(priority >= low) & (priority <= high)] = self.tiers.index(name)
        return tier

    @cached_property
    def is_job(self) -> npt.NDArray[np.bool_]:
        """Whether it is a task; False for an instance of an alloc set, whose usage contains that of its tasks."""
        return np.asarray(self._columns["collection_type"] != "ALLOC_SET")

    def request(self, resource: str) -> npt.NDArray[np.float32]:
        """Return what each task requested, NaN where that is not known."""
        return self._columns[f"{resource}_request"]


@dataclass(frozen=True)
class ExploredStore:
    """One store, open for exploring.

    Parameters
    ----------
    store
        An open store.
    pyramid
        Of that store.
    """

    store: Store
    pyramid: Pyramid

    @property
    def dialect(self) -> Dialect:
        """The format of the trace."""
        return self.store.manifest.dialect

    @cached_property
    def span(self) -> TimeSpan:
        """All that happened within the trace."""
        return whole_span(self.store.manifest)

    @cached_property
    def notation(self) -> Notation:
        """How its machines, tasks, amounts and times are written."""
        return Notation.of(self.store)

    @cached_property
    def machine_sizes(self) -> dict[int, LastKnownSize]:
        """What each machine was when it last was there, by its id."""
        sizes = {}
        for row in self.store.sql(SIZES).to_pylist():
            machine_id = row.pop("machine_id")
            sizes[machine_id] = LastKnownSize(**row)
        return sizes

    def describe_machine(self, machine_id: int) -> str:
        """Return what a machine is, such as ``8 cores, 32 GiB``; empty where nothing is known of it."""
        size = self.machine_sizes.get(machine_id)
        if size is None:
            return ""
        parts = []
        if size.cpu_capacity is not None or size.memory_capacity is not None:
            parts.append(self.notation.amounts.size_text(size.cpu_capacity, size.memory_capacity))
        if size.platform_id:
            parts.append(f"platform {short_name(size.platform_id)}")
        return ", ".join(parts)

    @cached_property
    def tasks(self) -> TaskColumns:
        """Columns of all tasks, read when they are first needed."""
        return TaskColumns(self.store.task_columns(TaskColumns.COLUMNS), self.dialect)

    @cached_property
    def sql_box(self) -> SqlBox:
        """Answers queries of the reader's."""
        return SqlBox(self.store)

    def place(self, machine_id: int) -> int:
        """Return the position of a machine among all.

        Raises
        ------
        UsageError
            Where the store has no such machine; it names the nearest.
        """
        place = self.pyramid.place(machine_id)
        if place is None:
            machines = self.pyramid.machines
            hint = "the store names no machines"
            if len(machines):
                hint = f"the nearest is {nearest(machines, machine_id)}"
            raise UsageError("machine", "not in this store", got=str(machine_id), way_out=hint)
        return place

    def job_rows(self, collection_id: int) -> tuple[int, int]:
        """Return the positions of a job's tasks: the first, and the one after the last.

        Raises
        ------
        UsageError
            Where the store has no such job; it names the nearest.
        """
        low, high = self.store.rows_of_collection(collection_id)
        if low == high:
            last = self.store.manifest.tables.get("tasks", 0) - 1
            hint = "the store has no tasks"
            if last >= 0:
                # It would lie between these two.
                neighbors = np.clip([low - 1, low], 0, last)
                ids = self.store.task_ids(neighbors)[0]
                hint = f"the nearest is {nearest(ids, collection_id)}"
            raise UsageError(
                "job",
                "no task of it is in this store",
                got=str(collection_id),
                way_out=hint,
            )
        return low, high

    def task_of(self, rows: Index) -> Index:
        """Return the position of the task to which each usage row belongs."""
        # Tasks without usage share their offset with the next: the last of them has the row.
        return np.searchsorted(self.store.offsets, rows, side="right") - 1


def nearest(ids: Index, wanted: int) -> int:
    """Return the id that is nearest to a wanted one."""
    return int(ids[np.abs(ids - wanted).argmin()])
