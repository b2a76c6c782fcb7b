"""One pass over neighboring tasks: the rows of their windows, dealt to buckets of machines in the order of tasks."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from borgtrace.engine.identifiers import quoted
from borgtrace.kernels.arrays import Index
from borgtrace.lifecycle.by_machine.metrics import Metric
from borgtrace.lifecycle.by_machine.neighboring_tasks import NeighboringTasks
from borgtrace.lifecycle.by_machine.row_files import TERMS, Rows, unsorted_name
from borgtrace.lifecycle.by_machine.terms import STAY, starts_of, write_stays, write_terms
from borgtrace.lifecycle.by_machine.window_rows import (
    N_COUNTS,
    N_ROWS,
    NO_MACHINE,
    WINDOW_ROW,
    MachineWindows,
    SlotRules,
    TaskStarts,
    fill_rows,
)

_HASH_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_HASH_SHIFT = np.uint64(40)
_STAYS = "stays"
Progress = Callable[[int], None]
"""Called with the number of windows that were dealt."""


@dataclass(frozen=True)
class SlotMetrics:
    """What counts as usage, and how windows count in slots.

    Attributes
    ----------
    cpu, memory
        The metric that counts as usage of each.
    is_whole
        As for :func:`~borgtrace.lifecycle.by_machine.machine_usage.machine_usage`.
    """

    cpu: Metric
    memory: Metric
    is_whole: bool

    @property
    def is_peak(self) -> npt.NDArray[np.bool_]:
        """Whether the windows of a slot are combined by their maximum: of CPU, and of memory."""
        return np.array([metric.is_peak or self.is_whole for metric in (self.cpu, self.memory)])


class TaskSpan(NamedTuple):
    """Some of the neighboring tasks: the first, and the one after the last."""

    first: int
    end: int


class Dealing:
    """A pass over neighboring tasks.  Terms and stays are written when it is made.

    Parameters
    ----------
    tasks
        The tasks.
    metrics
        What counts as usage.
    folder
        Where files go: terms, and the rows of each bucket.
    chunk
        Windows that are read at a time.
    """

    def __init__(
        self,
        tasks: NeighboringTasks,
        metrics: SlotMetrics,
        folder: Path,
        chunk: int,
    ) -> None:
        self.tasks = tasks
        self.metrics = metrics
        self.folder = folder
        self.chunk = chunk
        self.terms = write_terms(tasks.task_rows, tasks.events, tasks.dialect, folder / TERMS)
        self._term_start = starts_of(self.terms, tasks.first, len(tasks))
        self._term_time = np.ascontiguousarray(self.terms["time"])
        self._is_positive = np.asarray((self.terms["cpu"] > 0) & (self.terms["memory"] > 0))
        self._stays = write_stays(tasks.task_rows, tasks.attempts, folder / _STAYS)
        self._stay_start = starts_of(self._stays, tasks.first, len(tasks))

    def deal(
        self,
        n_slots: int,
        n_buckets: int,
        progress: Progress = lambda n_windows: None,
    ) -> Index:
        """Write the unsorted rows of each bucket, and return what was counted: int64 (`N_COUNTS`,).

        Parameters
        ----------
        n_slots
            Slots in which anything may have been measured, in the whole store.
        n_buckets
            Buckets of machines.
        progress
            Told how far it is.
        """
        rules = SlotRules(self.metrics.is_peak, self.metrics.is_whole, n_slots)
        counts = np.zeros(N_COUNTS, np.int64)
        files = [(self.folder / unsorted_name(bucket)).open("wb") for bucket in range(n_buckets)]
        for span, table in self._chunks():
            progress(int(self.tasks.offsets[span.first]))
            rows = self._rows_of_tasks(span, table, rules, counts)
            if n_buckets == 1:
                rows.tofile(files[0])
                continue
            # Machine ids of a kind (ages, sites) are neighbors: a multiplication spreads them over the buckets.
            hashed = rows["machine"].astype(np.uint64) * _HASH_FACTOR >> _HASH_SHIFT
            bucket_of_row = hashed % np.uint64(n_buckets)
            for bucket, file in enumerate(files):
                rows[bucket_of_row == bucket].tofile(file)
        for file in files:
            file.close()
        (self.folder / _STAYS).unlink()
        return counts

    def _rows_of_tasks(
        self,
        span: TaskSpan,
        table: pa.Table,
        rules: SlotRules,
        counts: Index,
    ) -> Rows:
        """Return the rows of the windows of some tasks, and add what was counted."""
        part = slice(span.first, span.end + 1)
        windows = _windows_of(table, self.metrics)
        window_start = self.tasks.offsets[part]
        stay_start = self._stay_start[part]
        stays = _writable(self._stays[stay_start[0] : stay_start[-1]], STAY)
        starts = TaskStarts(
            window=window_start - window_start[0],
            term=self._term_start[part],
            stay=stay_start - stay_start[0],
        )
        # Once to count, once to write.
        no_rows = np.empty(0, WINDOW_ROW)
        counted = fill_rows(
            windows,
            starts,
            self._term_time,
            self._is_positive,
            stays,
            rules,
            no_rows,
        )
        rows = np.empty(counted[N_ROWS], WINDOW_ROW)
        counts += fill_rows(
            windows,
            starts,
            self._term_time,
            self._is_positive,
            stays,
            rules,
            rows,
        )
        return rows

    def _chunks(self) -> Iterator[tuple[TaskSpan, pa.Table]]:
        """Yield some of the tasks with their windows."""
        batches = self.tasks.stream(_windows_sql(self.metrics))
        offsets = self.tasks.offsets
        pending = batches.schema.empty_table()
        task = 0
        for batch in batches:
            pending = pa.concat_tables([pending, pa.Table.from_batches([batch])])
            if pending.num_rows < self.chunk:
                continue
            # Tasks whose last window is here; the windows of the next one wait for the rest.
            end_of_rows = offsets[task] + pending.num_rows
            end = int(np.searchsorted(offsets, end_of_rows, side="right")) - 1
            if end > task:
                n_windows = int(offsets[end] - offsets[task])
                yield TaskSpan(task, end), pending.slice(0, n_windows)
                pending = pending.slice(n_windows)
                task = end
        if task < len(self.tasks):
            yield TaskSpan(task, len(self.tasks)), pending


def _windows_sql(metrics: SlotMetrics) -> str:
    """Write the query of windows.

    Without ORDER BY: rows come in the order of the files, which is that of the tasks.
    """
    columns = dict.fromkeys(
        ["start_time", "end_time", metrics.cpu.column, metrics.memory.column],
    )
    names = ", ".join(quoted(name) for name in columns)
    # The instances of an alloc set contain what the tasks inside them use: those are on no machine here.
    return f"""
        SELECT {names},
            if(alloc_collection_id IS NULL, coalesce(machine_id, {NO_MACHINE}), {NO_MACHINE}) AS machine_id
        FROM instance_usage
    """


def _windows_of(table: pa.Table, metrics: SlotMetrics) -> MachineWindows:
    """Return windows of the store as compiled functions take them."""
    cpu = metrics.cpu
    memory = metrics.memory
    return MachineWindows(
        start=_writable(table["start_time"].to_numpy(), np.int64),
        end=_writable(table["end_time"].to_numpy(), np.int64),
        machine=_writable(table["machine_id"].to_numpy(), np.int64),
        cpu=_writable(cpu.values(table[cpu.column]), np.float32),
        memory=_writable(memory.values(table[memory.column]), np.float32),
    )


def _writable(values: npt.NDArray[Any], kind: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return a contiguous, writable array: Numba compiles a kernel anew for every other kind of array."""
    return np.require(values, kind, ["C", "W"])
