"""Buckets of machines beside a store: dealt in one pass over its usage, each sorted within the memory budget."""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import ibis.expr.types as ir
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from borgtrace.engine.memory import parse_memory
from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Index, Values
from borgtrace.kernels.runs import spans
from borgtrace.lifecycle.by_machine import dealing
from borgtrace.lifecycle.by_machine.dealing import NO_MACHINE, ROW, Manner, Starts, Windows, deal
from borgtrace.lifecycle.by_machine.metrics import Metric
from borgtrace.lifecycle.by_machine.terms import STAY, TERM, starts_of, write_stays, write_terms
from borgtrace.schema.time import SECOND, TRACE_START, WINDOW
from borgtrace.storage import write_file
from borgtrace.store import Store
from borgtrace.store.kept import kept_folder, version_of

CELL = np.dtype(
    [
        ("term", "u4"),
        ("slot", "i4"),
        ("cpu", "f4"),
        ("memory", "f4"),
    ]
)
"""A row of a machine, in the order of tasks and slots."""
Rows = npt.NDArray[np.void]
Report = Callable[[str, int, int], None]
_CHUNK = 1 << 20
"""Windows that are dealt at a time."""
_SORTING = 5
"""A bucket of n bytes takes so many times n while it is sorted."""
_BITS_OF_SLOT = 18
_BITS_OF_TERM = 29
"""Of a sorting key: slots for two years, half a thousand million terms; the rest tells 65,536 machines apart."""


@dataclass(frozen=True)
class MachineUsage:
    """Usage by machine, read from `folder`; see :func:`machine_usage`.

    Parameters
    ----------
    folder
        Where it is kept.
    """

    folder: Path
    _open: dict[int, Rows] = field(default_factory=dict, repr=False)

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """``n_slots``, ``n_rows``, and numbers of windows that could not be dealt by reason."""
        return json.loads((self.folder / "facts.json").read_text())

    @cached_property
    def terms(self) -> Rows:
        """Task, begin, limits and priority of every term (`borgtrace.lifecycle.by_machine.terms.TERM`)."""
        return _mapped(self.folder / "terms", TERM)

    @cached_property
    def _index(self) -> Rows:
        return np.load(self.folder / "index.npy")

    @property
    def machines(self) -> Index:
        """Ids of the machines that have rows, ascending."""
        return self._index["machine"]

    def rows(self, place: int) -> Rows:
        """Return the rows of a machine in the order of tasks and slots: term, slot, cpu and memory.

        Parameters
        ----------
        place
            Position of the machine in `machines`.
        """
        entry = self._index[place]
        bucket = int(entry["bucket"])
        if bucket not in self._open:
            self._open[bucket] = _mapped(self.folder / f"rows-{bucket:05d}", CELL)
        return self._open[bucket][entry["first"] : entry["first"] + entry["n"]]


_INDEX = np.dtype(
    [
        ("machine", "i8"),
        ("bucket", "i4"),
        ("first", "i8"),
        ("n", "i8"),
    ]
)


def _mapped(path: Path, dtype: np.dtype[np.void]) -> Rows:
    # A plain array on the same memory: np.memmap runs Python code for every slice.  An empty file cannot be mapped.
    return np.asarray(np.memmap(path, dtype, "r")) if path.stat().st_size else np.empty(0, dtype)


def expected_size(store: Store) -> int:
    """Return how many bytes the buckets of a store take while they are made: each row twice, once unsorted."""
    return store.manifest.tables.get("instance_usage", 0) * (ROW.itemsize + CELL.itemsize)


def machine_usage(
    store: Store,
    events: ir.Table,
    attempts: ir.Table,
    cpu: Metric,
    memory: Metric,
    *,
    is_whole: bool = False,
    report: Report = lambda step, done, total: None,
) -> MachineUsage:
    """Return the usage of a store by machine, dealt first where it is not kept.

    A row is a task on a machine in a slot of 300 s.  A mean is that over the slot, whatever part of it was measured; a
    peak is the largest of the windows that touch the slot.  Limits are those in force at the end of the slot.  A slot
    without usage, while the events say that the task runs there, has a row of NaN.  Tasks inside an alloc set are left
    out, for its instances contain what they use.

    Parameters
    ----------
    store
        An open store.
    events, attempts
        Its ``instance_events`` and ``instance_attempts``.
    cpu, memory
        What is taken as usage.
    is_whole
        Whether every window counts as the whole slot that it begins in, slots are combined by their maximum, and only
        usage says that a task is there: as the simulator of Google has it.
    report
        Called with the step, how much of it is done, and how much there is.
    """
    # No kind may begin with another: what is kept of an earlier state of the store is removed by the beginning.
    kind = f"{'whole-' * is_whole}machines-{cpu.name}-{memory.name}"
    parent = Path(__file__).parent

    def build(folder: Path) -> None:
        _Dealer(store, folder, (cpu, memory), is_whole, report).run(events, attempts)

    return MachineUsage(kept_folder(store, kind, version_of([parent, parent.parent]), build))


@dataclass
class _Dealer:
    """One pass over a store: what it needs, and how far it is."""

    store: Store
    folder: Path
    metrics: tuple[Metric, Metric]
    is_whole: bool
    report: Report

    def run(self, events: ir.Table, attempts: ir.Table) -> None:
        dialect = self.store.manifest.dialect
        n_tasks = len(self.store.offsets) - 1
        self.terms = write_terms(self.store, events, dialect, self.folder / "terms")
        self.term_start, self.term_time = (
            starts_of(self.terms, n_tasks),
            np.ascontiguousarray(self.terms["time"]),
        )
        stays = self.folder / "stays"
        self.stays = write_stays(self.store, attempts, stays)
        self.stay_start = starts_of(self.stays, n_tasks)
        is_peak = np.array([metric.is_peak or self.is_whole for metric in self.metrics])
        self.manner = Manner(is_peak, self.is_whole, _slots(self.store))
        self._check_bounds()
        counts = self._deal()
        index = self._sort()
        np.save(self.folder / "index.npy", np.sort(index, order="machine"))
        stays.unlink()
        names = ("n_dealt", "without_machine", "without_limit", "without_end")
        facts = {"n_slots": self.manner.n_slots, "n_rows": int(index["n"].sum())}
        write_file(
            self.folder / "facts.json",
            json.dumps(facts | dict(zip(names, counts.tolist(), strict=True))),
        )

    def _check_bounds(self) -> None:
        """Refuse what a sorting key cannot tell apart."""
        slots = ("slots of 5 minutes", self.manner.n_slots, _BITS_OF_SLOT)
        for name, n, bits in (slots, ("terms of tasks", len(self.terms), _BITS_OF_TERM)):
            if n >= 1 << bits:
                where = str(self.store.path)
                what = f"too many {name} to sort usage by machine"
                expected = f"fewer than {1 << bits:,}"
                way_out = "make a part of the store: borgtrace subset"
                raise UsageError(where, what, expected=expected, got=f"{n:,}", way_out=way_out)

    @cached_property
    def n_buckets(self) -> int:
        """As many as let one of them be sorted within the memory budget."""
        budget = parse_memory(self.store.memory)
        return max(
            1,
            -(
                -self.store.manifest.tables.get("instance_usage", 0)
                * ROW.itemsize
                * _SORTING
                // budget
            ),
        )

    def _deal(self) -> Index:
        counts = np.zeros(dealing.N_COUNTS, np.int64)
        files = [self._unsorted(bucket).open("wb") for bucket in range(self.n_buckets)]
        for tasks, table in _chunks(self.store, self.metrics):
            self.report(
                "dealing usage to machines",
                int(self.store.offsets[tasks[0]]),
                int(self.store.offsets[-1]),
            )
            rows = self._rows(tasks, table, counts)
            # Machine ids of a kind (ages, sites) are neighbors: a multiplication spreads them over the buckets.
            mixed = rows["machine"].astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(
                40
            )
            bucket = mixed % np.uint64(self.n_buckets)
            for number, file in enumerate(files):
                (rows if self.n_buckets == 1 else rows[bucket == number]).tofile(file)
        for file in files:
            file.close()
        return counts

    def _unsorted(self, bucket: int) -> Path:
        return self.folder / f"dealt-{bucket:05d}"

    def _rows(self, tasks: Index, table: pa.Table, counts: Index) -> Rows:
        """Return what `deal` makes of some windows; called twice, to count and to write."""
        first, last = tasks
        part = slice(first, last + 1)
        windows = Windows(
            *(
                _writable(table[name].to_numpy(), np.int64)
                for name in ("start_time", "end_time", "machine_id")
            ),
            *(
                _writable(metric.values(table[metric.column]), np.float32)
                for metric in self.metrics
            ),
        )
        offsets = self.store.offsets[part]
        lives = self.stay_start[part]
        stays = _writable(self.stays[lives[0] : lives[-1]], STAY)
        starts = Starts(offsets - offsets[0], self.term_start[part], lives - lives[0])
        given = windows, starts, self.term_time, stays, self.manner
        found = deal(*given, np.empty(0, ROW))
        rows = np.empty(found[dealing.DEALT], ROW)
        counts += deal(*given, rows)
        return rows

    def _sort(self) -> Rows:
        index = []
        for bucket in range(self.n_buckets):
            self.report("sorting machines", bucket, self.n_buckets)
            rows = _mapped(self._unsorted(bucket), ROW)
            ids, number = _numbered(rows["machine"])
            by_machine = np.argsort(number, kind="stable")
            lengths = np.bincount(number, minlength=len(ids))
            ends = np.append(0, np.cumsum(lengths))
            entries = np.zeros(len(ids), _INDEX)
            entries["machine"] = ids
            entries["bucket"] = bucket
            with (self.folder / f"rows-{bucket:05d}").open("wb") as file:
                # Some machines at a time: memory that is used again need not be cleared by the system again.
                for low, high in spans(lengths, _CHUNK):
                    part = by_machine[ends[low] : ends[high]]
                    cells, which = self._cells(rows[part], number[part].astype(np.int64) - low)
                    entries["n"][low:high] = np.bincount(which, minlength=high - low)
                    cells.tofile(file)
            entries["first"] = np.cumsum(entries["n"]) - entries["n"]
            index.append(entries)
            self._unsorted(bucket).unlink()
        return np.concatenate(index)

    def _cells(self, rows: Rows, machine: Index) -> tuple[Rows, Index]:
        """Sort rows of some machines, given by number, and combine those of a slot; return them and their machines."""
        key = machine << (_BITS_OF_SLOT + _BITS_OF_TERM)
        key |= (rows["term"].astype(np.int64) << _BITS_OF_SLOT) | rows["slot"]
        # Stable: windows of a slot are added in the order of their start, whatever the buckets.
        order = np.argsort(key, kind="stable")
        first = np.flatnonzero(np.diff(key[order], prepend=-1))
        cells = np.empty(len(first), CELL)
        cells["term"] = rows["term"][order[first]]
        cells["slot"] = rows["slot"][order[first]]
        for name, is_peak in zip(("cpu", "memory"), self.manner.is_peak, strict=True):
            cells[name] = _combined(rows[name][order], first, is_peak)
        return cells, machine[order[first]]


def _numbered(ids: Index) -> tuple[Index, npt.NDArray[np.unsignedinteger]]:
    """Return the ids that occur, ascending, and the number of each; in one or two bytes it sorts fastest."""
    coded = pa.array(ids).dictionary_encode()
    found = coded.dictionary.to_numpy()
    order = np.argsort(found)
    number = np.empty(len(found), np.min_scalar_type(len(found)))
    number[order] = np.arange(len(found))
    return found[order], number[coded.indices.to_numpy()]


def _combined(values: Values, first: Index, is_peak: bool) -> Values:
    """Combine neighboring values into one by their maximum or their sum; NaN says nothing."""
    if not len(first):
        return values
    if is_peak:
        return np.fmax.reduceat(values, first)
    sums = np.add.reduceat(np.nan_to_num(values).astype(np.float64), first)
    return np.where(np.logical_or.reduceat(~np.isnan(values), first), sums, np.nan).astype(
        np.float32
    )


def _writable(values: npt.NDArray[Any], kind: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return a contiguous array that may be written to: for every other kind of array Numba compiles a kernel anew."""
    return np.require(values, kind, ["C", "W"])


def _slots(store: Store) -> int:
    """Return the number of slots up to the last window whose end is known."""
    starts = store.array("start_time")
    seconds = store.array("duration")
    last = 0
    for at in range(0, len(starts), _CHUNK):
        begin = starts[at : at + _CHUNK].astype(np.int64)
        length = np.asarray(seconds[at : at + _CHUNK], np.float64)
        known = length * SECOND <= dealing.LONGEST
        last = max(last, math.ceil((begin + length)[known].max(initial=0.0)))
    return max(0, -(-(last * SECOND - TRACE_START) // WINDOW))


def _chunks(store: Store, metrics: tuple[Metric, Metric]) -> Iterator[tuple[Index, pa.Table]]:
    """Yield neighboring tasks (the first, and the one after the last) with their windows."""
    wanted = dict.fromkeys(["start_time", "end_time", *(metric.column for metric in metrics)])
    # The instances of an alloc set contain what the tasks inside them use: those are on no machine here.
    outside = f"if(alloc_collection_id IS NULL, coalesce(machine_id, {NO_MACHINE}), {NO_MACHINE}) AS machine_id"
    # Without ORDER BY: rows come in the order of the files, which is that of the tasks.
    batches = store.stream(f"SELECT {', '.join(wanted)}, {outside} FROM instance_usage")
    offsets = store.offsets
    held = batches.schema.empty_table()
    task = 0
    for batch in batches:
        held = pa.concat_tables([held, pa.Table.from_batches([batch])])
        if held.num_rows < _CHUNK:
            continue
        # Tasks whose last window is here; the windows of the next one wait for the rest.
        ready = int(np.searchsorted(offsets, offsets[task] + held.num_rows, side="right")) - 1
        if ready > task:
            n = int(offsets[ready] - offsets[task])
            yield np.array([task, ready]), held.slice(0, n)
            held = held.slice(n)
            task = ready
    if task < len(offsets) - 1:
        yield np.array([task, len(offsets) - 1]), held
