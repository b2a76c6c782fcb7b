"""Build a dataset from a store: choose traces, split them, measure, then write every file in one pass."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from borgtrace.datasets import card, metadata, publishing
from borgtrace.datasets.buffers import reused_array
from borgtrace.datasets.features import check_series, static_features
from borgtrace.datasets.formats import FORMATS, suffix_of
from borgtrace.datasets.formats.arrays import (
    IDENTITY,
    FeatureNames,
    TraceArrays,
    TraceColumns,
    side_by_side,
)
from borgtrace.datasets.gathering import POINTS, Gatherer
from borgtrace.datasets.leakage import Leakage, running_on, shared_groups
from borgtrace.datasets.metadata import DatasetFile, Metadata, SelectionCounts
from borgtrace.datasets.options import SHARDS_OF_2017, DatasetOptions
from borgtrace.datasets.scaling import (
    Scaling,
    SeriesMoments,
    measure_running,
    measure_series,
    merge,
    scaling_of,
)
from borgtrace.datasets.series import scale, take_columns
from borgtrace.datasets.shards import default_shards, shard_name, shard_numbers, shard_prefixes
from borgtrace.datasets.trace_index import Counts, TraceIndex, select_traces
from borgtrace.datasets.trace_rows import TraceRows, TraceSpans
from borgtrace.engine import SparkTasks
from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Index
from borgtrace.kernels.runs import spans
from borgtrace.storage import RemotePath, as_path, check_free, new_folder, replacing
from borgtrace.store import Store

Result = TypeVar("Result")
Progress = Callable[[str, int, int], None]
"""Called with the step, how much of it is done, and how much there is."""

MEASURED_POINTS = POINTS // 8
"""Points that are measured at a time: so few that all threads end at about the same time."""


@dataclass(frozen=True, slots=True)
class BuildResult:
    """What was built.

    Attributes
    ----------
    path
        The dataset's folder.
    is_new
        False where the same dataset was already there.
    counts
        Traces in each set.
    n_matched
        Traces that fit the selection.
    windows
        Windows of the traces in all sets.
    removed
        Traces and windows of all tasks with usage (at ``"all"``), and what each criterion leaves out of them.
    leakage
        What the sets share.
    scalings
        How each series was scaled.
    """

    path: Path
    is_new: bool
    counts: dict[str, int]
    n_matched: int
    windows: int
    removed: dict[str, Counts]
    leakage: tuple[str, ...]
    scalings: tuple[Scaling, ...]

    @classmethod
    def of(
        cls,
        path: Path,
        is_new: bool,
        about: Metadata,
    ) -> BuildResult:
        """Return the result for a dataset of this metadata.

        Parameters
        ----------
        path
            The dataset's folder.
        is_new
            Whether it was built now.
        about
            Its metadata.
        """
        return cls(
            path=path,
            is_new=is_new,
            counts=about.counts,
            n_matched=about.n_matched,
            windows=about.windows,
            removed=about.removed,
            leakage=about.leakage,
            scalings=about.scalings,
        )


def build(
    store: Store,
    out: Path | str,
    options: DatasetOptions | None = None,
    *,
    replace: bool = False,
    threads: int | SparkTasks | None = None,
    progress: Progress | None = None,
) -> BuildResult:
    """Build a dataset.

    Parameters
    ----------
    store
        Where the traces come from.
    out
        Folder to create.  If it already holds the very same dataset, nothing is done.
    options
        See :class:`~borgtrace.datasets.options.DatasetOptions`.
    replace
        Whether to replace another dataset in `out`, once this one is complete.
    threads
        Threads that gather, encode and write; all cores where None.  They do not change a byte.  Or Spark's executors,
        which must see the store and `out` under the same names, in a bucket for instance.
    progress
        Called at each step.

    Raises
    ------
    UsageError
        An option makes no sense for this store, nothing matches, or `out` holds something else.  Nothing
        is written then.
    StoreError
        Another process is writing to `out`.
    """
    out = as_path(out)
    options = options or DatasetOptions()
    # The identity digests the store's digest and all options, but not the version of this package.
    if metadata.identity_of(out) == options.identity(store.manifest.digest):
        return BuildResult.of(out, False, metadata.read(out))
    is_replacing = replace and metadata.is_dataset(out)
    if not is_replacing:
        check_new_folder(out)
    elif out.resolve() in store.path.resolve().parents:
        raise UsageError(
            str(out),
            "holds the store, which would be removed with the old dataset",
            way_out="name another folder, or move the store",
        )
    dataset = DatasetBuild(
        store,
        options,
        threads=threads or os.cpu_count() or 1,
        progress=progress or (lambda *_: None),
    )
    with new_folder(out, replaces=is_replacing) as folder, store.expect_current():
        # Executors copy their own files to a bucket: they may not see a folder of this machine.
        is_shared = isinstance(threads, SparkTasks) and isinstance(out, RemotePath)
        about = write_sets(store, dataset, out if is_shared else folder.absolute())
        metadata.write(folder, about)
        dialect = store.manifest.dialect
        (folder / card.FILE).write_text(card.card(about, dialect))
        described = json.dumps(publishing.croissant(about, dialect), indent=1, ensure_ascii=False)
        (folder / publishing.CROISSANT_FILE).write_text(f"{described}\n")
        if options.is_original:
            metadata.write_original(folder, about)
    return BuildResult.of(out, True, about)


def write_sets(
    store: Store,
    dataset: DatasetBuild,
    folder: Path,
) -> Metadata:
    """Scale and write the traces of all sets, and return the metadata of the dataset."""
    # Leakage is counted while files are written: nothing needs it earlier.
    with ThreadPoolExecutor(1) as background:
        leakage = background.submit(
            measure_leakage,
            dataset.options,
            dataset.traces,
            dataset.sets,
        )
        scalings = dataset.measure()
        files = dataset.write(folder, scalings)
        return metadata.describe(
            store,
            dataset.options,
            names=dataset.names,
            scalings=scalings,
            files=files,
            leakage=leakage.result(),
            selected=dataset.count_selected(),
        )


def check_new_folder(out: Path) -> None:
    """Refuse a folder that holds something, and say how to replace another dataset in it."""
    if metadata.is_dataset(out):
        raise UsageError(
            str(out),
            "holds another dataset",
            expected="a new folder",
            got="a dataset of other options or of another store",
            way_out="name another folder, or replace it: --replace",
        )
    check_free(out)


class Shard(NamedTuple):
    """One file to write: its set, its path, and the positions of its traces, in order."""

    set_name: str
    path: Path
    positions: Index


class DatasetBuild:
    """A dataset that is being built: everything that is fixed before the first byte is written."""

    def __init__(
        self,
        store: Store,
        options: DatasetOptions,
        threads: int | SparkTasks,
        progress: Progress,
    ) -> None:
        self.options = options
        self.threads = threads
        self.progress = progress
        check_series(store, options.features)
        statics = static_features(store.manifest.dialect, options.static)
        progress("select", 0, 1)
        self.traces = select_traces(
            store,
            options.selection,
            statics,
            options.seed,
            is_original=options.is_original,
        )
        progress("select", 1, 1)
        self.sets = divide(options, self.traces)
        self.prefixes = shard_prefixes(self.traces, is_original=options.is_original)
        self.gatherer = Gatherer(store, options.features, options.selection.gaps)
        # Only the columns that were read tell which static features are words.
        words = self.traces.static_words
        numbers = tuple(name for name in options.static if name not in words)
        self.names = FeatureNames(options.features, numbers, words)

    def __getstate__(self) -> dict[str, Any]:
        # A progress bar cannot be pickled, and of all traces each task is sent its own.
        state = dict(vars(self))
        for name in ("progress", "sets", "prefixes", "traces"):
            del state[name]
        return state

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

    def measure(self) -> tuple[Scaling, ...]:
        """Measure the training set in one pass."""
        training = self.sets[self.options.split.names[0]]
        measure = self._measure_in_order if self.options.is_original else self._measure_in_parallel
        moments = measure(training)
        return tuple(
            scaling_of(feature, self.options.scale, of_feature)
            for feature, of_feature in zip(self.options.features, moments.features(), strict=True)
        )

    def _measure_in_order(self, training: Index) -> SeriesMoments:
        """Measure traces in the order of the set, in one thread: the sums of 2017 depend on it to the last bit."""
        blocks = (
            self.gatherer.gather(self.traces, block).series
            for block in blocks_of(self.traces, training, POINTS)
        )
        return measure_running(blocks, len(self.options.features))

    def _measure_in_parallel(self, training: Index) -> SeriesMoments:
        """Measure traces in the order of the store, so that reading walks forward."""
        # Marking is faster than sorting.
        is_training = np.zeros(len(self.traces), np.bool_)
        is_training[training] = True
        blocks = blocks_of(self.traces, np.flatnonzero(is_training), MEASURED_POINTS)
        items = [(block,) for block in blocks]
        return merge(self._map("measure", self._measure_block, items, self.traces.spans_at))

    def _measure_block(self, traces: TraceSpans, block: Index) -> SeriesMoments:
        return measure_series(self.gatherer.gather(traces, block).series)

    def write(self, folder: Path, scalings: tuple[Scaling, ...]) -> dict[str, list[DatasetFile]]:
        """Write all files of all sets."""
        shards: list[Shard] = []
        for set_name, index in self.sets.items():
            shards += self._shards(folder, set_name, index)
        items = [(shard.positions, shard.path, scalings) for shard in shards]
        # Results come back in the order of the shards, whichever thread wrote them.
        files: dict[str, list[DatasetFile]] = {name: [] for name in self.sets}
        written = self._map("write", self._write_shard, items, self.traces.rows_at)
        for shard, file in zip(shards, written, strict=True):
            files[shard.set_name].append(file)
        return files

    def _write_shard(
        self,
        traces: TraceRows,
        index: Index,
        path: Path,
        scalings: tuple[Scaling, ...],
    ) -> DatasetFile:
        write_format = FORMATS[self.options.format].write
        with replacing(path) as draft:
            records = write_format(
                draft,
                self.names,
                self._scaled(traces, index, scalings),
                is_compressed=self.options.gzip,
            )
            return DatasetFile(path.name, records, draft.stat().st_size)

    def _shards(
        self,
        folder: Path,
        set_name: str,
        index: Index,
    ) -> Iterator[Shard]:
        """Make the folder of a set, and yield its files."""
        is_original = self.options.is_original
        n_shards = self.options.shards or default_shards(len(index))
        if is_original:
            n_shards = SHARDS_OF_2017
        # By a hash of the task: which file holds a trace does not depend on seed, selection or split.
        numbers = shard_numbers(self.prefixes[index], n_shards)
        order = np.argsort(numbers, kind="stable")  # within a file traces keep their random order
        ends = np.cumsum(np.bincount(numbers, minlength=n_shards))
        sizes = np.diff(ends, prepend=0)
        suffix = suffix_of(self.options.format, is_compressed=self.options.gzip)
        (folder / set_name).mkdir()
        for number, (end, size) in enumerate(zip(ends, sizes, strict=True)):
            # The pipeline of 2017 leaves out files without a trace.
            if size or not is_original:
                file_name = shard_name(
                    number,
                    n_shards,
                    suffix,
                    is_original=is_original,
                )
                members = index[order[end - size : end]]
                yield Shard(set_name, folder / set_name / file_name, members)

    def _scaled(
        self,
        traces: TraceRows,
        index: Index,
        scalings: tuple[Scaling, ...],
    ) -> Iterator[TraceArrays]:
        """Gather and scale traces, block by block; the next block overwrites the last."""
        for block in blocks_of(traces, index, POINTS):
            gathered = self.gatherer.gather(traces, block)
            masks = []
            for k, (values, scaling) in enumerate(zip(gathered.series, scalings, strict=True)):
                mask = reused_array(f"mask {k}", len(values), np.uint8)
                scale(values, scaling.offset, scaling.divisor, mask)
                masks.append(mask)
            columns = take_trace_columns(traces, block, self.names)
            yield TraceArrays(
                offsets=gathered.offsets,
                values=side_by_side(gathered.series, np.float32),
                mask=side_by_side(masks, np.uint8),
                identity=columns.identity,
                numbers=columns.numbers,
                codes=columns.codes,
            )

    def _map(
        self,
        step: str,
        function: Callable[..., Result],
        items: Sequence[tuple[Any, ...]],
        take: Callable[[Index], TraceSpans],
    ) -> Iterator[Result]:
        """Run a function over some traces at a time, in threads or on Spark; yield results in order, reporting each.

        Parameters
        ----------
        step
            Its name, for the progress.
        function
            Called with traces, the positions of those that it is about, and the rest of the item.
        items
            Positions of traces, and what else the function is called with.
        take
            Returns what the function needs of the traces at some positions: a task of Spark is sent no others.
        """
        if isinstance(self.threads, SparkTasks):
            sent = ((take(index), *rest) for index, *rest in items)
            results = self.threads.map(partial(call_with_all, function), sent)
            yield from self._reported(step, results, len(items))
            return
        with ThreadPoolExecutor(self.threads) as pool:
            results = pool.map(lambda item: function(self.traces, *item), items)
            yield from self._reported(step, results, len(items))

    def _reported(self, step: str, results: Iterable[Result], n_items: int) -> Iterator[Result]:
        for n_done, result in enumerate(results, 1):
            self.progress(step, n_done, n_items)
            yield result


def call_with_all(function: Callable[..., Result], item: tuple[Any, ...]) -> Result:
    """Call a function of :meth:`DatasetBuild._map` with all of the traces that a task was sent."""
    traces, *rest = item
    return function(traces, np.arange(len(traces)), *rest)


def blocks_of(traces: TraceSpans, index: Index, points: int) -> Iterator[Index]:
    """Cut the traces at `index` into blocks of at most so many points."""
    for first, last in spans(traces.length[index], points):
        yield index[first:last]


def divide(options: DatasetOptions, traces: TraceIndex) -> dict[str, Index]:
    """Divide traces among the sets; the positions of each set's traces by its name."""
    split = options.split
    # Only these two need groups: a split by time uses times, and a task is its own group.
    groups = traces.groups(split.by) if split.by in ("job", "user") else None
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


def measure_leakage(
    options: DatasetOptions,
    traces: TraceIndex,
    sets: dict[str, Index],
) -> Leakage:
    """Count what the sets share."""
    codes = {kind: traces.groups(kind) for kind in ("job", "user", "logical name")}
    running = {}
    if options.split.by == "time":
        running = running_on(sets, traces.first_time, traces.last_time)
    return Leakage(shared_groups(sets, codes), running)


def take_trace_columns(
    traces: TraceRows,
    index: Index,
    names: FeatureNames,
) -> TraceColumns:
    """Return identity, static numbers and codes of static words of some traces."""
    identity = np.empty((len(index), len(IDENTITY)), np.int64)
    take_columns(tuple(getattr(traces, name) for name in IDENTITY), index, identity)
    numbers = [traces.static_numbers[name][index] for name in names.numbers]
    codes = [traces.static_codes[name][index] for name in names.words]
    return TraceColumns(
        identity=identity,
        numbers=side_by_side(numbers, np.float32, len(index)),
        codes=side_by_side(codes, np.int64, len(index)),
    )
