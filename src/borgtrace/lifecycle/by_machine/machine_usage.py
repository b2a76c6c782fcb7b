"""Usage by machine, kept beside a store: read back, or computed first where it is not there."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import ibis.expr.types as ir
import numpy as np

from borgtrace.engine import SparkTasks
from borgtrace.errors import EngineError, StoreError
from borgtrace.kernels.arrays import Index
from borgtrace.lifecycle.by_machine.dealing import SlotMetrics
from borgtrace.lifecycle.by_machine.limits import PartitionLimits
from borgtrace.lifecycle.by_machine.metrics import Metric
from borgtrace.lifecycle.by_machine.on_cluster import ClusterPartition
from borgtrace.lifecycle.by_machine.partitioner import Report, partition
from borgtrace.lifecycle.by_machine.row_files import (
    FACTS,
    INDEX,
    MACHINE_ROW,
    TERMS,
    Rows,
    map_rows,
    rows_name,
)
from borgtrace.lifecycle.by_machine.terms import TERM
from borgtrace.lifecycle.by_machine.window_rows import WINDOW_ROW
from borgtrace.storage import read_text, require_regular
from borgtrace.store import Store
from borgtrace.store.kept_folders import code_digest
from borgtrace.store.kept_in_bucket import BucketKeeper, FolderInBucket


@dataclass(frozen=True)
class MachineUsage:
    """Usage by machine, read from `folder`; see :func:`machine_usage`.

    Parameters
    ----------
    folder
        Where it is kept.
    in_bucket
        The same where that is in a bucket: a process copies the files that it reads.
    """

    folder: Path
    in_bucket: FolderInBucket | None = None
    _open: dict[int, Rows] = field(default_factory=dict, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Let a worker open the folder itself, wherever it runs: what is mapped here would be sent there whole."""
        return MachineUsage, (self.folder.absolute(), self.in_bucket)

    def _file(self, name: str) -> Path:
        return self.in_bucket.local_copy(name) if self.in_bucket else self.folder / name

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """``n_slots``, ``n_rows``, and numbers of windows that belong to no machine, by reason."""
        return json.loads(read_text(self._file(FACTS)))

    @cached_property
    def terms(self) -> Rows:
        """Task, begin, limits and priority of every term (`borgtrace.lifecycle.by_machine.terms.TERM`)."""
        return map_rows(self._file(TERMS), TERM)

    @cached_property
    def _index(self) -> Rows:
        index = self._file(INDEX)
        if not index.exists():
            raise EngineError(
                str(self.folder),
                "workers do not see the usage by machine",
                way_out="put the store on a disk that all of them share, or in a bucket; "
                "or leave out --engine",
            )
        return np.load(require_regular(index))

    @property
    def machines(self) -> Index:
        """Ids of the machines that have rows, ascending."""
        return self._index["machine"]

    def buckets(self, places: Sequence[int]) -> Index:
        """Return the file in which the rows of each of some machines are, by their positions."""
        return self._index["bucket"][np.asarray(places)]

    def n_rows(self, places: Sequence[int]) -> Index:
        """Return how many rows each of some machines has."""
        return self._index["n"][np.asarray(places)]

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
            self._open[bucket] = map_rows(self._file(rows_name(bucket)), MACHINE_ROW)
        first = entry["first"]
        return self._open[bucket][first : first + entry["n"]]


def expected_size(store: Store) -> int:
    """Return how many bytes the buckets of a store take while they are written: each row twice, once unsorted."""
    n_windows = store.manifest.tables.get("instance_usage", 0)
    return n_windows * (WINDOW_ROW.itemsize + MACHINE_ROW.itemsize)


def machine_usage(
    store: Store,
    events: ir.Table,
    attempts: ir.Table,
    cpu: Metric,
    memory: Metric,
    *,
    is_whole: bool = False,
    report: Report = lambda step, done, total: None,
    limits: PartitionLimits = PartitionLimits(),  # noqa: B008 (frozen)
) -> MachineUsage:
    """Return the usage of a store by machine, computed first where it is not kept.

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
        The metric that counts as usage of each.
    is_whole
        Whether every window counts as the whole slot that it begins in, slots are combined by their maximum, and only
        usage says that a task is there: as Google's simulator has it.  Then limits are those of the last event by the
        begin of the window with requests above 0 of both resources, and a slot in which they change has two rows.
    report
        Called with the step, how much of it is done, and how much there is.
    limits
        What is held in memory and in a sorting key.
    """
    metrics = SlotMetrics(cpu, memory, is_whole)

    def build(folder: Path) -> None:
        partition(store, events, attempts, metrics, folder, limits, report)

    return MachineUsage(store.keeper.find_or_keep(_kind(metrics), _version(), build))


def machine_usage_of_cluster(
    store: Store,
    keeper: BucketKeeper,
    tasks: SparkTasks,
    cpu: Metric,
    memory: Metric,
    *,
    is_whole: bool = False,
    report: Report = lambda step, done, total: None,
    limits: PartitionLimits = PartitionLimits(),  # noqa: B008 (frozen)
) -> MachineUsage:
    """Return the same rows as :func:`machine_usage`, made by the tasks of Spark and kept in the store's bucket.

    Each process that reads them copies what it reads into its user's cache.  About 100 bytes pass through the driver
    for each machine, and for each file of usage in each bucket of machines.

    Parameters
    ----------
    store
        An open store in a bucket that has usage.
    keeper
        Its :attr:`~borgtrace.store.Store.bucket_keeper`.
    tasks
        Where the work is done.
    cpu, memory, is_whole, report, limits
        As for :func:`machine_usage`.

    Raises
    ------
    EngineError
        The bucket cannot be written to.
    """
    metrics = SlotMetrics(cpu, memory, is_whole)
    kind = _kind(metrics)
    kept = keeper.find(kind, _version())
    if kept is None:
        try:
            folder = keeper.new_folder(kind, _version())
        except StoreError as error:
            raise EngineError(
                str(store.path),
                "workers cannot keep usage by machine in the bucket",
                got=f"{error.what} ({error.got})",
                way_out="let this account write there, copy the store to a disk that all workers share, "
                "or leave out --engine",
            ) from error
        kept = keeper.keep(
            folder,
            ClusterPartition(store, tasks, metrics, limits, report).build,
        )
    return MachineUsage(kept.folder, kept)


def _kind(metrics: SlotMetrics) -> str:
    # No kind may be a prefix of another: an earlier state's folders are removed by their prefix.
    kind = f"machines-{metrics.cpu.name}-{metrics.memory.name}"
    return f"whole-{kind}" if metrics.is_whole else kind


def _version() -> str:
    sources = Path(__file__).parent
    return code_digest([sources, sources.parent])
