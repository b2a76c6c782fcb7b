"""One pass over the usage of a store that distributes it over buckets of machines, each sorted within the budget."""

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import ibis.expr.types as ir
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from borgtrace.engine.identifiers import quoted
from borgtrace.engine.memory import parse_memory
from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Index, Values
from borgtrace.kernels.runs import spans
from borgtrace.lifecycle.by_machine.metrics import Metric
from borgtrace.lifecycle.by_machine.row_files import (
    MACHINE_ENTRY,
    MACHINE_ROW,
    Rows,
    map_rows,
)
from borgtrace.lifecycle.by_machine.terms import STAY, starts_of, write_stays, write_terms
from borgtrace.lifecycle.by_machine.window_rows import (
    LONGEST,
    N_COUNTS,
    N_ROWS,
    NAMES_OF_COUNTS,
    NO_MACHINE,
    WINDOW_ROW,
    MachineWindows,
    SlotRules,
    TaskStarts,
    fill_rows,
)
from borgtrace.schema.time import SECOND, TRACE_START, WINDOW
from borgtrace.storage import write_file
from borgtrace.store import Store

Report = Callable[[str, int, int], None]
_SORTING = 5
"""Sorting a bucket of n bytes takes so many times n."""
_HASH_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_HASH_SHIFT = np.uint64(40)


@dataclass(frozen=True)
class PartitionLimits:
    """What a partitioner holds in memory and in a sorting key.

    Attributes
    ----------
    chunk
        Windows that are read, and rows that are sorted, at a time.
    bits_of_slot, bits_of_term
        Of a sorting key: slots for two years, half a thousand million terms; the rest tells 65,536 machines apart.
    memory
        Bytes in which a bucket is sorted; None takes the store's budget.
    """

    chunk: int = 1 << 20
    bits_of_slot: int = 18
    bits_of_term: int = 29
    memory: int | None = None


class TaskRange(NamedTuple):
    """Neighboring tasks: the first, and the one after the last."""

    first: int
    end: int


@dataclass
class MachinePartitioner:
    """One pass over a store: what it needs, and how far it has come."""

    store: Store
    folder: Path
    metrics: tuple[Metric, Metric]
    is_whole: bool
    report: Report
    limits: PartitionLimits

    def run(self, events: ir.Table, attempts: ir.Table) -> None:
        """Write the buckets, their index and what was counted.

        Parameters
        ----------
        events, attempts
            ``instance_events`` and ``instance_attempts`` of the store.
        """
        dialect = self.store.manifest.dialect
        n_tasks = len(self.store.offsets) - 1
        task_rows = self.store.task_rows
        self.terms = write_terms(
            task_rows,
            events,
            dialect,
            self.folder / "terms",
        )
        self.term_start = starts_of(self.terms, n_tasks)
        self.term_time = np.ascontiguousarray(self.terms["time"])
        self.is_positive = np.asarray((self.terms["cpu"] > 0) & (self.terms["memory"] > 0))
        stays_file = self.folder / "stays"
        self.stays = write_stays(task_rows, attempts, stays_file)
        self.stay_start = starts_of(self.stays, n_tasks)
        is_peak = np.array([metric.is_peak or self.is_whole for metric in self.metrics])
        n_slots = _count_slots(self.store, self.limits.chunk)
        self.rules = SlotRules(is_peak, self.is_whole, n_slots)
        self._check_bounds()
        counts = self._distribute()
        index = self._sort()
        np.save(self.folder / "index.npy", np.sort(index, order="machine"))
        stays_file.unlink()
        facts = {"n_slots": n_slots, "n_rows": int(index["n"].sum())}
        facts |= dict(zip(NAMES_OF_COUNTS, counts.tolist(), strict=True))
        write_file(self.folder / "facts.json", json.dumps(facts))

    def _check_bounds(self) -> None:
        """Refuse what a sorting key cannot tell apart."""
        bounds = (
            ("slots of 5 minutes", self.rules.n_slots, self.limits.bits_of_slot),
            ("terms of tasks", len(self.terms), self.limits.bits_of_term),
        )
        for name, n, bits in bounds:
            if n >= 1 << bits:
                raise UsageError(
                    str(self.store.path),
                    f"too many {name} to sort usage by machine",
                    expected=f"fewer than {1 << bits:,}",
                    got=f"{n:,}",
                    way_out="make a part of the store: borgtrace subset",
                )

    @cached_property
    def n_buckets(self) -> int:
        """As many as let one of them be sorted within the memory budget."""
        budget = self.limits.memory or parse_memory(self.store.memory)
        n_windows = self.store.manifest.tables.get("instance_usage", 0)
        return max(1, _divide_up(n_windows * WINDOW_ROW.itemsize * _SORTING, budget))

    def _distribute(self) -> Index:
        """Write the unsorted rows of each bucket, and return what was counted."""
        counts = np.zeros(N_COUNTS, np.int64)
        files = [self._unsorted(bucket).open("wb") for bucket in range(self.n_buckets)]
        n_windows = int(self.store.offsets[-1])
        for tasks, table in _chunks(self.store, self.metrics, self.limits.chunk):
            self.report(
                "assigning usage to machines",
                int(self.store.offsets[tasks.first]),
                n_windows,
            )
            rows = self._rows_of_tasks(tasks, table, counts)
            if self.n_buckets == 1:
                rows.tofile(files[0])
                continue
            # Machine ids of a kind (ages, sites) are neighbors: a multiplication spreads them over the buckets.
            hashed = rows["machine"].astype(np.uint64) * _HASH_FACTOR >> _HASH_SHIFT
            bucket_of_row = hashed % np.uint64(self.n_buckets)
            for bucket, file in enumerate(files):
                rows[bucket_of_row == bucket].tofile(file)
        for file in files:
            file.close()
        return counts

    def _unsorted(self, bucket: int) -> Path:
        return self.folder / f"unsorted-{bucket:05d}"

    def _rows_of_tasks(
        self,
        tasks: TaskRange,
        table: pa.Table,
        counts: Index,
    ) -> Rows:
        """Return the rows of the windows of some tasks, and add what was counted."""
        part = slice(tasks.first, tasks.end + 1)
        windows = _windows_of(table, self.metrics)
        window_start = self.store.offsets[part]
        stay_start = self.stay_start[part]
        stays = _writable(self.stays[stay_start[0] : stay_start[-1]], STAY)
        starts = TaskStarts(
            window=window_start - window_start[0],
            term=self.term_start[part],
            stay=stay_start - stay_start[0],
        )
        # Once to count, once to write.
        no_rows = np.empty(0, WINDOW_ROW)
        counted = fill_rows(
            windows,
            starts,
            self.term_time,
            self.is_positive,
            stays,
            self.rules,
            no_rows,
        )
        rows = np.empty(counted[N_ROWS], WINDOW_ROW)
        counts += fill_rows(
            windows,
            starts,
            self.term_time,
            self.is_positive,
            stays,
            self.rules,
            rows,
        )
        return rows

    def _sort(self) -> Rows:
        """Sort each bucket, and return where the rows of each machine are."""
        index = []
        for bucket in range(self.n_buckets):
            self.report("sorting machines", bucket, self.n_buckets)
            index.append(self._sort_bucket(bucket))
            self._unsorted(bucket).unlink()
        return np.concatenate(index)

    def _sort_bucket(self, bucket: int) -> Rows:
        rows = map_rows(self._unsorted(bucket), WINDOW_ROW)
        ids, number = _number_machines(rows["machine"])
        by_machine = np.argsort(number, kind="stable")
        lengths = np.bincount(number, minlength=len(ids))
        ends = np.append(0, np.cumsum(lengths))
        entries = np.zeros(len(ids), MACHINE_ENTRY)
        entries["machine"] = ids
        entries["bucket"] = bucket
        with (self.folder / f"rows-{bucket:05d}").open("wb") as file:
            # Some machines at a time: reused memory need not be cleared by the system again.
            for low, high in spans(lengths, self.limits.chunk):
                part = by_machine[ends[low] : ends[high]]
                machine = number[part].astype(np.int64) - low
                combined, machine_of_row = self._combine_slots(rows[part], machine)
                entries["n"][low:high] = np.bincount(machine_of_row, minlength=high - low)
                combined.tofile(file)
        entries["first"] = np.cumsum(entries["n"]) - entries["n"]
        return entries

    def _combine_slots(self, rows: Rows, machine: Index) -> tuple[Rows, Index]:
        """Sort rows of numbered machines and combine those of a slot; return them and their machines."""
        bits_of_slot = self.limits.bits_of_slot
        key = machine << (bits_of_slot + self.limits.bits_of_term)
        key |= rows["term"].astype(np.int64) << bits_of_slot
        key |= rows["slot"]
        # Stable: windows of a slot are added in the order of their start, whatever the buckets.
        order = np.argsort(key, kind="stable")
        first = np.flatnonzero(np.diff(key[order], prepend=-1))
        first_rows = order[first]
        combined = np.empty(len(first), MACHINE_ROW)
        combined["term"] = rows["term"][first_rows]
        combined["slot"] = rows["slot"][first_rows]
        for name, is_peak in zip(("cpu", "memory"), self.rules.is_peak, strict=True):
            combined[name] = _combine(rows[name][order], first, is_peak)
        return combined, machine[first_rows]


def _number_machines(ids: Index) -> tuple[Index, npt.NDArray[np.unsignedinteger]]:
    """Return the ids that occur, ascending, and the number of each; in one or two bytes it sorts fastest."""
    encoded = pa.array(ids).dictionary_encode()
    unique_ids = encoded.dictionary.to_numpy()
    order = np.argsort(unique_ids)
    number = np.empty(len(unique_ids), np.min_scalar_type(len(unique_ids)))
    number[order] = np.arange(len(unique_ids))
    return unique_ids[order], number[encoded.indices.to_numpy()]


def _combine(
    values: Values,
    first: Index,
    is_peak: bool,
) -> Values:
    """Combine neighboring values into one by their maximum or their sum; NaN is no value."""
    if not len(first):
        return values
    if is_peak:
        return np.fmax.reduceat(values, first)
    sums = np.add.reduceat(np.nan_to_num(values).astype(np.float64), first)
    has_value = np.logical_or.reduceat(~np.isnan(values), first)
    return np.where(has_value, sums, np.nan).astype(np.float32)


def _windows_of(table: pa.Table, metrics: tuple[Metric, Metric]) -> MachineWindows:
    """Return windows of the store as compiled functions take them."""
    cpu, memory = metrics
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


def _count_slots(store: Store, chunk: int) -> int:
    """Return the number of slots up to the last window whose end is known."""
    starts = store.array("start_time")
    seconds = store.array("duration")
    last = 0
    for first in range(0, len(starts), chunk):
        start = starts[first : first + chunk].astype(np.int64)
        length = np.asarray(seconds[first : first + chunk], np.float64)
        is_end_known = length * SECOND <= LONGEST
        ends = (start + length)[is_end_known]
        last = max(last, math.ceil(ends.max(initial=0.0)))
    return max(0, _divide_up(last * SECOND - TRACE_START, WINDOW))


def _divide_up(number: int, divisor: int) -> int:
    """Return the quotient, rounded up."""
    return -(-number // divisor)


def _chunks(
    store: Store,
    metrics: tuple[Metric, Metric],
    chunk: int,
) -> Iterator[tuple[TaskRange, pa.Table]]:
    """Yield neighboring tasks with their windows."""
    columns = dict.fromkeys(["start_time", "end_time", *(metric.column for metric in metrics)])
    names = ", ".join(quoted(name) for name in columns)
    # The instances of an alloc set contain what the tasks inside them use: those are on no machine here.
    # Without ORDER BY: rows come in the order of the files, which is that of the tasks.
    batches = store.stream(
        f"""
        SELECT {names},
            if(alloc_collection_id IS NULL, coalesce(machine_id, {NO_MACHINE}), {NO_MACHINE}) AS machine_id
        FROM instance_usage
        """
    )
    offsets = store.offsets
    n_tasks = len(offsets) - 1
    pending = batches.schema.empty_table()
    task = 0
    for batch in batches:
        pending = pa.concat_tables([pending, pa.Table.from_batches([batch])])
        if pending.num_rows < chunk:
            continue
        # Tasks whose last window is here; the windows of the next one wait for the rest.
        end_of_rows = offsets[task] + pending.num_rows
        end = int(np.searchsorted(offsets, end_of_rows, side="right")) - 1
        if end > task:
            n_windows = int(offsets[end] - offsets[task])
            yield TaskRange(task, end), pending.slice(0, n_windows)
            pending = pending.slice(n_windows)
            task = end
    if task < n_tasks:
        yield TaskRange(task, n_tasks), pending
