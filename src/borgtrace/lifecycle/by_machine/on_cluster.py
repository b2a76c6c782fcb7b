"""Usage by machine, made by the tasks of Spark in the bucket of a store: no row of it passes through the driver."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from borgtrace.engine import SparkTasks
from borgtrace.lifecycle.by_machine.dealing import SlotMetrics
from borgtrace.lifecycle.by_machine.file_ranges import (
    RangeFacts,
    RangeFiles,
    check_order,
    measure_range,
    ranges_of,
)
from borgtrace.lifecycle.by_machine.limits import PartitionLimits
from borgtrace.lifecycle.by_machine.partitioner import DEALING, SORTING, write_summary
from borgtrace.lifecycle.by_machine.piece_joining import Piece, PieceJoiner
from borgtrace.lifecycle.by_machine.range_dealing import DealtRange, RangeDealer, RangeOfTasks
from borgtrace.lifecycle.by_machine.row_files import TERMS, Rows, unsorted_name
from borgtrace.lifecycle.by_machine.slots import slots_until
from borgtrace.storage import RemotePath, scratch_folder, upload
from borgtrace.store import Store
from borgtrace.store.digest import file_digests

Report = Callable[[str, int, int], None]
_WORTH_A_TASK = 1_000_000
"""Windows from which dealing a range is a task of its own."""
_WORTH_MEASURING = 4_000_000
"""The same for measuring it, which reads two columns."""


@dataclass(frozen=True)
class ClusterPartition:
    """Usage by machine of a store, in the making.

    Attributes
    ----------
    store
        A store in a bucket that has usage.
    tasks
        Where the work is done.
    metrics
        What counts as usage.
    limits
        What each task holds in memory and in a sorting key.
    report
        Called with the step, how much of it is done, and how much there is.
    """

    store: Store
    tasks: SparkTasks
    metrics: SlotMetrics
    limits: PartitionLimits
    report: Report

    def build(self, folder: RemotePath) -> dict[str, str]:
        """Fill a folder of the bucket, and return the SHA-256 of each file that is to be kept.

        Raises
        ------
        UsageError
            There is more than a sorting key can tell apart.
        StoreError
            The store is damaged, or the bucket cannot be read or written to.
        """
        ranges = ranges_of(self.store)
        facts = self._measure(ranges)
        n_slots = slots_until(max(of_range.last_end for of_range in facts))
        self.limits.check(self.store.path, n_slots, 0)
        n_windows = sum(of_range.n_windows for of_range in facts)
        n_buckets = self.limits.n_buckets(n_windows, self.store.memory)
        dealt = self._deal(folder, ranges, facts, n_slots, n_buckets)
        self.limits.check(self.store.path, n_slots, sum(part.n_terms for part in dealt))
        digests, entries = self._join(folder, dealt, n_buckets)
        counts = np.sum([part.counts for part in dealt], axis=0)
        with TemporaryDirectory(dir=scratch_folder()) as name:
            here = Path(name)
            write_summary(here, entries, n_slots, counts)
            upload(here, folder)
            return digests | file_digests({path.name: path for path in here.iterdir()})

    def _measure(self, ranges: Sequence[RangeFiles]) -> list[RangeFacts]:
        n_windows = self.store.usage_rows()
        sizes = [n_windows // len(ranges)] * len(ranges)
        measured = self.tasks.map_together(measure_range, ranges, sizes, worth=_WORTH_MEASURING)
        facts = list(measured)
        check_order(self.store, facts)
        return facts

    def _deal(
        self,
        folder: RemotePath,
        ranges: Sequence[RangeFiles],
        facts: Sequence[RangeFacts],
        n_slots: int,
        n_buckets: int,
    ) -> list[DealtRange]:
        dealer = RangeDealer(
            root=self.store.path,
            folder=folder,
            dialect=self.store.manifest.dialect,
            memory=self.store.memory,
            metrics=self.metrics,
            chunk=self.limits.chunk,
            n_slots=n_slots,
            n_buckets=n_buckets,
        )
        sizes = [of_range.n_windows for of_range in facts]
        dealt: list[DealtRange] = []
        n_dealt = 0
        self.report(DEALING, 0, sum(sizes))
        for part in self.tasks.map_together(
            dealer.deal,
            _placed(ranges, facts),
            sizes,
            worth=_WORTH_A_TASK,
        ):
            dealt.append(part)
            n_dealt += sizes[part.number]
            self.report(DEALING, n_dealt, sum(sizes))
        return dealt

    def _join(
        self,
        folder: RemotePath,
        dealt: Sequence[DealtRange],
        n_buckets: int,
    ) -> tuple[dict[str, str], list[Rows]]:
        """Return the digests of the joined files, and where the rows of the machines of each bucket are."""
        cpu, memory = self.metrics.is_peak.tolist()
        joiner = PieceJoiner(folder, (cpu, memory), self.limits)
        files: list[tuple[int | None, list[Piece]]] = [(None, _pieces(dealt, TERMS))]
        files += [(bucket, _pieces(dealt, unsorted_name(bucket))) for bucket in range(n_buckets)]
        digests: dict[str, str] = {}
        entries: list[Rows] = []
        for file in self.tasks.map(joiner.join, files):
            digests[file.name] = file.digest
            if file.entries is not None:
                self.report(SORTING, len(entries), n_buckets)
                entries.append(file.entries)
        return digests, entries


def _placed(ranges: Sequence[RangeFiles], facts: Sequence[RangeFacts]) -> list[RangeOfTasks]:
    """Return each range with the position of its first task, and with the files that may have its events."""
    first_tasks = accumulate((of_range.n_tasks for of_range in facts), initial=0)
    events = [
        (path, span)
        for files, of_range in zip(ranges, facts, strict=True)
        for path, span in zip(files.events, of_range.of_events, strict=True)
    ]
    placed = []
    for number, (files, of_range, first_task) in enumerate(
        zip(ranges, facts, first_tasks, strict=False)
    ):
        own_events = [path for path, span in events if span.meets(of_range.collections)]
        placed.append(
            RangeOfTasks(
                number=number,
                first_task=first_task,
                n_windows=of_range.n_windows,
                usage=files.usage,
                tasks=files.tasks,
                events=tuple(sorted(own_events)),
            )
        )
    return placed


def _pieces(dealt: Sequence[DealtRange], name: str) -> list[Piece]:
    """Return the pieces of a file, in the order of the ranges; a range that has no rows for it has none."""
    first_terms = accumulate((part.n_terms for part in dealt), initial=0)
    pieces = []
    for part, first_term in zip(dealt, first_terms, strict=False):
        if name in part.digests:
            pieces.append(Piece(part.number, part.digests[name], first_term))
    return pieces
