"""The traces of a dataset: which there are, in which set and file, and what the sets share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from borgtrace.datasets.features import check_series, static_features
from borgtrace.datasets.formats import suffix_of
from borgtrace.datasets.formats.arrays import FeatureNames
from borgtrace.datasets.gathering import POINTS
from borgtrace.datasets.leakage import Leakage, running_on, shared_groups
from borgtrace.datasets.metadata import SelectionCounts
from borgtrace.datasets.options import SHARDS_OF_2017, DatasetOptions
from borgtrace.datasets.shards import default_shards, shard_name, shard_numbers, shard_prefixes
from borgtrace.datasets.trace_index import TraceIndex, select_traces
from borgtrace.datasets.trace_rows import TraceSpans
from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Index
from borgtrace.kernels.runs import spans
from borgtrace.store import Store

MEASURED_POINTS = POINTS // 8
"""Points that are measured at a time: so few that all threads end at about the same time."""


class Shard(NamedTuple):
    """One file to write: its set, its name, and the positions of its traces, in order."""

    set_name: str
    file_name: str
    positions: Index


class ChosenTraces:
    """Everything that is fixed before the first byte is written.

    Parameters
    ----------
    store, options
        As for :func:`~borgtrace.datasets.build.build`.

    Attributes
    ----------
    traces
        All of them.
    sets
        Positions of the traces of each set.
    names
        What each trace has.

    Raises
    ------
    UsageError
        An option makes no sense for this store, or nothing matches.
    """

    def __init__(self, store: Store, options: DatasetOptions) -> None:
        self.options = options
        check_series(store, options.features)
        statics = static_features(store.manifest.dialect, options.static)
        self.traces = select_traces(
            store,
            options.selection,
            statics,
            options.seed,
            is_original=options.is_original,
        )
        # Numbered once: how traces are divided, and what sets share, depend on the same groups.
        self.groups = cache(self.traces.groups)
        with ThreadPoolExecutor(1) as background:
            # Asked for later, but numbered now, while another core has nothing to do.
            background.submit(lambda: [self.groups(kind) for kind in ("user", "logical name")])
            self.sets = divide(options, self.traces, self.groups)
        # Only the columns that were read tell which static features are words.
        words = self.traces.static_words
        numbers = tuple(name for name in options.static if name not in words)
        self.names = FeatureNames(options.features, numbers, words)

    def count_selected(self) -> SelectionCounts:
        """Count what came into the sets, and what was left out."""
        n_windows = self.traces.n_windows
        is_unused = np.ones(len(n_windows), np.bool_)
        for positions in self.sets.values():
            is_unused[positions] = False
        # Few or none: to add up the windows of all others at random places would take a hundredth of a build.
        unused = np.flatnonzero(is_unused)
        unused_windows = int(n_windows[unused].sum())
        windows = int(n_windows.sum()) - unused_windows
        removed = dict(self.traces.removed)
        if len(unused):
            removed["--split"] = (len(unused), unused_windows)
        return SelectionCounts(self.traces.n_matched, windows, removed)

    def measured_blocks(self) -> list[Index]:
        """Return the positions of the traces of the training set that are measured at a time.

        In the order of the store, so that reading walks forward.  With the original algorithm in that of the set, all
        at a time: its sums depend on it to the last bit.
        """
        training = self.sets[self.options.split.names[0]]
        if self.options.is_original:
            return [training]
        # Marking is faster than sorting.
        is_training = np.zeros(len(self.traces), np.bool_)
        is_training[training] = True
        return list(blocks_of(self.traces, np.flatnonzero(is_training), MEASURED_POINTS))

    def shards(self) -> Iterator[Shard]:
        """Yield the files of all sets."""
        prefixes = shard_prefixes(self.traces, is_original=self.options.is_original)
        for set_name, index in self.sets.items():
            yield from self._shards_of(set_name, index, prefixes[index])

    def _shards_of(
        self, set_name: str, index: Index, prefixes: NDArray[np.uint32]
    ) -> Iterator[Shard]:
        is_original = self.options.is_original
        n_shards = self.options.shards or default_shards(len(index))
        if is_original:
            n_shards = SHARDS_OF_2017
        # By a hash of the task: which file holds a trace does not depend on seed, selection or split.
        numbers = shard_numbers(prefixes, n_shards)
        order = np.argsort(numbers, kind="stable")  # within a file traces keep their random order
        ends = np.cumsum(np.bincount(numbers, minlength=n_shards))
        sizes = np.diff(ends, prepend=0)
        suffix = suffix_of(self.options.format, is_compressed=self.options.gzip)
        for number, (end, size) in enumerate(zip(ends, sizes, strict=True)):
            # The pipeline of 2017 leaves out files without a trace.
            if size or not is_original:
                file_name = shard_name(
                    number,
                    n_shards,
                    suffix,
                    is_original=is_original,
                )
                yield Shard(set_name, file_name, index[order[end - size : end]])

    def measure_leakage(self) -> Leakage:
        """Count what the sets share."""
        codes = {kind: self.groups(kind) for kind in ("job", "user", "logical name")}
        running = {}
        if self.options.split.by == "time":
            running = running_on(self.sets, self.traces.first_time, self.traces.last_time)
        return Leakage(shared_groups(self.sets, codes), running)


def blocks_of(traces: TraceSpans, index: Index, points: int) -> Iterator[Index]:
    """Cut the traces at `index` into blocks of at most so many points."""
    for first, last in spans(traces.length[index], points):
        yield index[first:last]


def divide(
    options: DatasetOptions, traces: TraceIndex, groups_of: Callable[[str], Index]
) -> dict[str, Index]:
    """Divide traces among the sets; the positions of each set's traces by its name.

    Parameters
    ----------
    options, traces
        What is divided, and how.
    groups_of
        Numbers the jobs or users of the traces, see :meth:`~borgtrace.datasets.trace_index.TraceIndex.groups`.
    """
    split = options.split
    # Only these two need groups: a split by time uses times, and a task is its own group.
    groups = groups_of(split.by) if split.by in ("job", "user") else None
    positions = split.divide(len(traces), groups, traces.first_time)
    sets = dict(zip(split.names, positions, strict=True))
    if not len(sets[split.names[0]]):
        raise UsageError(
            "--split",
            "the training set is empty",
            expected="at least one trace",
            got=f"{split.fractions[0]:g} of {len(traces)}",
            way_out="select more traces",
        )
    return sets
