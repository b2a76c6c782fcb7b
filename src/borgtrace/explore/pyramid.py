"""Aggregates from which the explorer draws a whole cell, computed once and kept beside the store.

A pyramid is a folder named after the store's digest: ``cell.parquet`` (used, allocated and available per tier and
300 s), ``queue.parquet`` (pending and running tasks), two grids of how full each machine was in each 300 s and in each
hour, the usage windows of each machine and the attempts of each task.  Zoomed out, the hour is read; zoomed in, the
300 s.  It is one to two percent of the store, holds nothing of its own, and may be deleted at any time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace.engine import to_batches
from borgtrace.explore.grid import RESOURCES, ByteGrid, file_name, mean_rows, write_grids
from borgtrace.explore.lives import Lives, write_lives
from borgtrace.explore.windows import WindowFiles, find_runs, machine_ids, write_windows
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.store.kept_folders import code_digest

if TYPE_CHECKING:
    from borgtrace.store import Store

DEFINING_PACKAGES = ("lifecycle", "analyses", "explore")
"""Packages whose code decides what a pyramid holds: where it changes, another pyramid is built."""
CELL_FILE = "cell.parquet"
QUEUE_FILE = "queue.parquet"
MACHINES_FILE = "machines.npy"
STEPS = ("tiers", "queue", "windows of machines", "attempts of tasks", "machines")
Report = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Pyramid:
    """The aggregates of one store, read from `folder` on first use.

    Parameters
    ----------
    folder
        Where they are kept.
    """

    folder: Path
    _grids: dict[tuple[str, bool], ByteGrid] = field(default_factory=dict)

    @cached_property
    def cell(self) -> pa.Table:
        """Used, allocated and available per tier and slot (``hour`` is the number of the slot)."""
        return pq.read_table(self.folder / CELL_FILE, partitioning=None)

    @cached_property
    def queue(self) -> pa.Table:
        """Pending and running tasks at the end of each 300 s, with their extremes."""
        return pq.read_table(self.folder / QUEUE_FILE, partitioning=None)

    @cached_property
    def machines(self) -> Index:
        """Ids of all machines that have events or usage, ascending."""
        return np.asarray(np.load(self.folder / MACHINES_FILE))

    def grid(self, resource: str, *, by_hour: bool) -> ByteGrid:
        """Return how full each machine was: (machines, slots or hours), memory-mapped; see `borgtrace.explore.grid`.

        Parameters
        ----------
        resource
            ``"cpu"`` or ``"memory"``.
        by_hour
            Whether columns are hours instead of slots of 300 s.
        """
        key = (resource, by_hour)
        if key not in self._grids:
            path = self.folder / file_name(resource, by_hour=by_hour)
            self._grids[key] = np.load(path, mmap_mode="r")
        return self._grids[key]

    @cached_property
    def means(self) -> dict[str, Numbers]:
        """Mean share of each machine over the hours in which it was present, NaN where it never was."""
        return {name: mean_rows(self.grid(name, by_hour=True)) for name in RESOURCES}

    @cached_property
    def windows(self) -> WindowFiles:
        """The usage windows of each machine."""
        return WindowFiles(self.folder)

    @cached_property
    def lives(self) -> Lives:
        """The attempts of each task."""
        return Lives(self.folder)

    def place(self, machine_id: int) -> int | None:
        """Return the position of a machine in `machines`, None where the store has none of that id."""
        place = int(np.searchsorted(self.machines, machine_id))
        if place < len(self.machines) and self.machines[place] == machine_id:
            return place
        return None

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(path.stat().st_size for path in self.folder.iterdir())


def pyramid(store: Store, report: Report = lambda step, done, total: None) -> Pyramid:
    """Return the pyramid of a store, built first where there is none.

    Parameters
    ----------
    store
        An open store.
    report
        Called before each step: what is being done, its number, and the number of steps.
    """
    root = Path(__file__).parent.parent
    digest = code_digest(root / name for name in DEFINING_PACKAGES)

    def build(folder: Path) -> None:
        build_pyramid(store, folder, report)

    return Pyramid(store.keeper.find_or_keep("explore", digest, build))


def build_pyramid(store: Store, folder: Path, report: Report) -> None:
    """Compute the aggregates of a store and write them into a folder."""
    # Here: Ibis takes half a second to import, and a pyramid that is there is read without it.
    from borgtrace.analyses.queue import queue_length
    from borgtrace.analyses.usage import machine_utilization, utilization
    from borgtrace.question import EngineTables
    from borgtrace.schema.time import WINDOW

    def say(number: int) -> None:
        report(STEPS[number], number, len(STEPS))

    tables = EngineTables.of(store, memory=store.memory)
    say(0)
    cell = tables.fetch(utilization.levels(tables, WINDOW))
    cell = cell.sort_by([("hour", "ascending"), ("tier", "ascending")])
    pq.write_table(cell, folder / CELL_FILE)
    say(1)
    pq.write_table(queue_length.stock(tables, WINDOW), folder / QUEUE_FILE)
    say(2)
    with_events = tables.fetch(tables.machine_events.select("machine_id").distinct())
    runs = find_runs(machine_ids(store), store.offsets)
    machines = write_windows(runs, folder, with_events["machine_id"].to_numpy())
    np.save(folder / MACHINES_FILE, machines)
    say(3)
    write_lives(to_batches(tables.instance_attempts), folder, machines, store.task_rows)
    say(4)
    is_measured = machine_utilization.fetch_measured_slots(tables)
    present = tables.fetch(machine_utilization.presence(tables))
    # In batches: a month of a whole cell has a hundred million of these rows.
    shares = to_batches(machine_utilization.shares(tables))
    write_grids(folder, machines, is_measured, present, shares)
