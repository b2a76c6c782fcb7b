"""Usage by machine, made by this process: one pass over the store, then a sort of each bucket within the budget."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import ibis.expr.types as ir
import numpy as np

from borgtrace.kernels.arrays import Index
from borgtrace.lifecycle.by_machine.bucket_sorting import BucketSorter
from borgtrace.lifecycle.by_machine.dealing import Dealing, SlotMetrics
from borgtrace.lifecycle.by_machine.limits import PartitionLimits
from borgtrace.lifecycle.by_machine.neighboring_tasks import all_tasks
from borgtrace.lifecycle.by_machine.row_files import FACTS, INDEX, Rows
from borgtrace.lifecycle.by_machine.slots import Times, last_end, slots_until
from borgtrace.lifecycle.by_machine.window_rows import NAMES_OF_COUNTS
from borgtrace.storage import write_file
from borgtrace.store import Store

Report = Callable[[str, int, int], None]
DEALING = "assigning usage to machines"
SORTING = "sorting machines"


def partition(
    store: Store,
    events: ir.Table,
    attempts: ir.Table,
    metrics: SlotMetrics,
    folder: Path,
    limits: PartitionLimits,
    report: Report,
) -> None:
    """Write terms, the rows of each bucket, their index and what was counted.

    Parameters
    ----------
    store
        An open store.
    events, attempts
        Its ``instance_events`` and ``instance_attempts``.
    metrics
        What counts as usage.
    folder
        Where files go.
    limits
        What is held in memory and in a sorting key.
    report
        Called with the step, how much of it is done, and how much there is.

    Raises
    ------
    UsageError
        There is more than a sorting key can tell apart.
    """
    dealing = Dealing(all_tasks(store, events, attempts), metrics, folder, limits.chunk)
    n_slots = slots_until(last_end(_times_of(store, limits.chunk)))
    limits.check(store.path, n_slots, len(dealing.terms))
    n_windows = int(store.offsets[-1])
    n_buckets = limits.n_buckets(n_windows, store.memory)
    counts = dealing.deal(n_slots, n_buckets, lambda done: report(DEALING, done, n_windows))
    sorter = BucketSorter(folder, metrics.is_peak, limits)
    entries = []
    for bucket in range(n_buckets):
        report(SORTING, bucket, n_buckets)
        entries.append(sorter.sort(bucket))
    write_summary(folder, entries, n_slots, counts)


def write_summary(folder: Path, entries: Sequence[Rows], n_slots: int, counts: Index) -> None:
    """Write where the rows of each machine are, and what was counted.

    Parameters
    ----------
    folder
        Where both files go.
    entries
        Of the machines of each bucket.
    n_slots
        Slots in which anything may have been measured.
    counts
        What :func:`~borgtrace.lifecycle.by_machine.window_rows.fill_rows` counted in all.
    """
    index = np.concatenate(entries)
    np.save(folder / INDEX, np.sort(index, order="machine"))
    facts = {"n_slots": n_slots, "n_rows": int(index["n"].sum())}
    facts |= dict(zip(NAMES_OF_COUNTS, counts.tolist(), strict=True))
    write_file(folder / FACTS, json.dumps(facts))


def _times_of(store: Store, chunk: int) -> Iterator[Times]:
    starts = store.array("start_time")
    seconds = store.array("duration")
    for first in range(0, len(starts), chunk):
        yield starts[first : first + chunk], seconds[first : first + chunk]
