"""What all views read: a store, its pyramid, its tasks, its whole span."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from borgtrace.errors import UsageError
from borgtrace.explore.pyramid import Pyramid
from borgtrace.explore.span import Span, whole
from borgtrace.explore.tiers import UNKNOWN, tier_colors
from borgtrace.schema import Dialect
from borgtrace.store import Store

_COLUMNS = ("collection_type", "priority", "cpu_request", "memory_request")


class Tasks:
    """What a page needs of many tasks at once: columns of their table by position, read when first asked for.

    Parameters
    ----------
    store
        An open store.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.tiers = tuple(tier_colors(store.manifest.dialect))
        """Names of the tiers, `UNKNOWN` last; `tier` counts in them."""

    @cached_property
    def tier(self) -> npt.NDArray[np.uint8]:
        """Tier of each task, as its position in `tiers`."""
        priority = self._columns["priority"]
        tier = np.full(len(priority), self.tiers.index(UNKNOWN), np.uint8)
        for name, low, high in self._store.manifest.dialect.tiers:
            tier[(priority >= low) & (priority <= high)] = self.tiers.index(name)
        return tier

    @cached_property
    def is_job(self) -> npt.NDArray[np.bool_]:
        """Whether it is a task; False for an instance of an alloc set, whose usage contains that of its tasks."""
        return np.asarray(self._columns["collection_type"] != "ALLOC_SET")

    def request(self, resource: str) -> npt.NDArray[np.float32]:
        """Return what each task requested, NaN where that is not known."""
        return self._columns[f"{resource}_request"]

    @cached_property
    def _columns(self) -> dict[str, npt.NDArray[Any]]:
        table = self._store.layout.tasks(_COLUMNS)
        return {name: table[name].to_numpy() for name in _COLUMNS}


@dataclass(frozen=True, slots=True)
class Trace:
    """One store, open for exploring."""

    store: Store
    pyramid: Pyramid
    tasks: Tasks
    span: Span

    @classmethod
    def of(cls, store: Store, pyramid: Pyramid) -> Trace:
        """Open a store whose pyramid is built.

        Parameters
        ----------
        store
            An open store.
        pyramid
            Of that store.
        """
        return cls(store, pyramid, Tasks(store), whole(store.manifest))

    @property
    def dialect(self) -> Dialect:
        """The format of the trace."""
        return self.store.manifest.dialect

    def place(self, machine_id: int) -> int:
        """Return the position of a machine among all.

        Raises
        ------
        UsageError
            Where the store has no such machine; it names the nearest.
        """
        found = self.pyramid.place(machine_id)
        if found is None:
            machines = self.pyramid.machines
            near = machines[np.abs(machines - machine_id).argmin()] if len(machines) else None
            way_out = (
                f"the nearest is {near}" if near is not None else "the store names no machines"
            )
            raise UsageError("machine", "not in this store", got=str(machine_id), way_out=way_out)
        return found

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
            way_out = "the store has no tasks"
            if last >= 0:
                # It would lie between these two.
                ids = self.store.task_ids(np.clip([low - 1, low], 0, last))[0]
                way_out = f"the nearest is {ids[np.abs(ids - collection_id).argmin()]}"
            raise UsageError(
                "job", "no task of it is in this store", got=str(collection_id), way_out=way_out
            )
        return low, high

    def task_of(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the position of the task to which each usage row belongs."""
        # Tasks without usage share their offset with the next: the last of them has the row.
        return np.searchsorted(self.store.offsets, rows, side="right") - 1
