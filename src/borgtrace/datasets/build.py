"""From a store to a dataset: choose, split, measure, then write every file in one pass."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from borgtrace.datasets import card, metadata
from borgtrace.datasets.buffers import reused_array
from borgtrace.datasets.features import check_series, static_features
from borgtrace.datasets.formats import FORMATS, suffix_of
from borgtrace.datasets.formats.arrays import IDENTITY, FeatureNames, TraceArrays, side_by_side
from borgtrace.datasets.gathering import POINTS, Gatherer
from borgtrace.datasets.leakage import Leakage, running_on, shared_groups
from borgtrace.datasets.metadata import File, Metadata, Selected
from borgtrace.datasets.options import SHARDS_OF_2017, Options
from borgtrace.datasets.scaling import Scaling, measure_running, measure_series, merge, scaling_of
from borgtrace.datasets.series import scale, take_columns
from borgtrace.datasets.shards import default_shards, shard_name, shard_numbers, shard_prefixes
from borgtrace.datasets.trace_index import Counts, TraceIndex, select_traces
from borgtrace.engine import SparkTasks
from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Index, Values
from borgtrace.kernels.runs import spans
from borgtrace.storage import RemotePath, as_path, check_free, new_folder, replacing
from borgtrace.store import Store

Item = TypeVar("Item")
Result = TypeVar("Result")
Progress = Callable[[str, int, int], None]
"""Called with the step, how much of it is done, and how much there is."""

_MEASURED_AT_ONCE = POINTS // 8
"""Points of a block that is measured: small enough that threads end at about the same time."""


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
            path,
            is_new,
            about.counts,
            about.n_matched,
            about.windows,
            about.removed,
            about.leakage,
            about.scalings,
        )


def build(
    store: Store,
    out: Path | str,
    options: Options | None = None,
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
        See :class:`~borgtrace.datasets.options.Options`.
    replace
        Whether another dataset that `out` holds is replaced, once this one is whole.
    threads
        Threads that gather, encode and write; all cores where None.  They do not change a byte.  Or executors of Spark,
        which see the store and `out` under the same names, a bucket for instance.
    progress
        Told of each step.

    Raises
    ------
    UsageError
        An option makes no sense for this store, nothing matches, or `out` holds something else.  Nothing
        is written then.
    StoreError
        Another process is writing to `out`.
    """
    out = place(out)
    options = options or Options()
    # A digest of the store's digest and all options.  The version of this package is no part of it.
    if metadata.identity_of(out) == options.identity(store.manifest.digest):
        return BuildResult.of(out, False, metadata.read(out))
    replaces = replace and metadata.is_dataset(out)
    if not replaces:
        _check_free(out)
    work = _Work(store, options, threads or os.cpu_count() or 1, progress or (lambda *_: None))
    # What sets share is counted beside the writing, and needed only when it is done.
    with new_folder(out, replaces=replaces) as folder, ThreadPoolExecutor(1) as aside:
        leakage = aside.submit(_leakage, options, work.traces, work.sets)
        scalings = work.measure()
        # What goes to a bucket executors copy there, each its own files: they may not see a folder of this machine.
        is_shared = isinstance(threads, SparkTasks) and isinstance(out, RemotePath)
        files = work.write(out if is_shared else folder.absolute(), scalings)
        about = metadata.describe(
            store,
            options,
            work.names,
            scalings,
            files,
            leakage.result(),
            work.selected(),
        )
        metadata.write(folder, about)
        (folder / card.FILE).write_text(card.card(about, store.manifest.dialect))
        if options.is_original:
            metadata.write_original(folder, about)
    return BuildResult.of(out, True, about)


def _check_free(out: Path) -> None:
    """Refuse a folder that holds something, and say how another dataset in it is replaced."""
    if metadata.is_dataset(out):
        got = "a dataset of other options or of another store"
        way_out = "name another folder, or replace it: --replace"
        raise UsageError(
            str(out),
            "holds another dataset",
            expected="a new folder",
            got=got,
            way_out=way_out,
        )
    check_free(out)


class _Work:
    """All that is fixed before the first byte is written."""

    def __init__(
        self,
        store: Store,
        options: Options,
        threads: int | SparkTasks,
        progress: Progress,
    ) -> None:
        self.options = options
        self.threads = threads
        self.progress = progress
        check_series(store, options.features)
        statics = static_features(store.manifest.dialect, options.statics)
        progress("select", 0, 1)
        self.traces = select_traces(
            store,
            options.selection,
            statics,
            options.seed,
            is_original=options.is_original,
        )
        progress("select", 1, 1)
        self.sets = _split(options, self.traces)
        self.prefixes = shard_prefixes(self.traces, is_original=options.is_original)
        self.gatherer = Gatherer(store, options.features, options.selection.gaps)
        # Which static features are words is known only now: text comes back as codes and words.
        words = {
            name: column[1]
            for name, column in self.traces.statics.items()
            if isinstance(column, tuple)
        }
        numbers = tuple(name for name in options.statics if name not in words)
        self.names = FeatureNames(options.features, numbers, words)

    def __getstate__(self) -> dict[str, Any]:
        # To workers goes what tasks need: a bar of progress cannot.
        return {
            name: value
            for name, value in vars(self).items()
            if name not in ("progress", "sets", "prefixes")
        }

    def selected(self) -> Selected:
        """Count what came into the sets, and what was left out."""
        n_windows = self.traces.n_windows
        chosen = np.concatenate(list(self.sets.values()))
        windows = int(n_windows[chosen].sum())
        left = (len(n_windows) - len(chosen), int(n_windows.sum()) - windows)
        return Selected(
            self.traces.n_matched,
            windows,
            self.traces.removed | ({"--split": left} if any(left) else {}),
        )

    def measure(self) -> tuple[Scaling, ...]:
        """Measure the training set in one pass."""
        options = self.options
        training = self.sets[self.options.split.names[0]]
        if options.is_original:
            # In the order of the set and in one thread: the sums of 2017 depend on the order to the last bit.
            blocks = (
                self.gatherer.gather(self.traces, run)[1] for run in self._runs(training, POINTS)
            )
            measured = measure_running(blocks, len(options.features))
        else:
            # In the order of the store: a gather that walks forward.  Marking is faster than sorting.
            is_training = np.zeros(len(self.traces), np.bool_)
            is_training[training] = True
            runs = list(self._runs(np.flatnonzero(is_training), _MEASURED_AT_ONCE))
            measured = merge(
                self._mapped(
                    "measure",
                    lambda run: measure_series(self.gatherer.gather(self.traces, run)[1]),
                    runs,
                )
            )
        return tuple(
            scaling_of(n, options.scale, row)
            for n, row in zip(options.features, measured, strict=True)
        )

    def write(self, folder: Path, scalings: tuple[Scaling, ...]) -> dict[str, list[File]]:
        """Write all files of all sets."""
        shards = [
            shard
            for name, index in self.sets.items()
            for shard in self._shard_files(folder, name, index)
        ]
        write_format = FORMATS[self.options.format].write

        def write(shard: tuple[Path, Index]) -> File:
            path, index = shard
            arrays = self._scaled(index, scalings)
            with replacing(path) as draft:
                records = write_format(
                    draft, self.names, arrays, is_compressed=self.options.is_compressed
                )
                return File(path.name, records, draft.stat().st_size)

        # Results come back in the order of the files, whatever thread wrote them.
        files: dict[str, list[File]] = {name: [] for name in self.sets}
        for (path, _), file in zip(shards, self._mapped("write", write, shards), strict=True):
            files[path.parent.name].append(file)
        return files

    def _shard_files(
        self,
        folder: Path,
        name: str,
        index: Index,
    ) -> Iterator[tuple[Path, Index]]:
        """Yield the files of a set: where each is written, and which traces it holds."""
        original = self.options.is_original
        shards = SHARDS_OF_2017 if original else self.options.shards or default_shards(len(index))
        # By a hash of the task: which file holds a trace does not depend on seed, selection or split.
        numbers = shard_numbers(self.prefixes[index], shards)
        order = np.argsort(numbers, kind="stable")  # within a file traces keep their random order
        ends = np.cumsum(np.bincount(numbers, minlength=shards))
        suffix = suffix_of(self.options.format, is_compressed=self.options.is_compressed)
        (folder / name).mkdir()
        for number, (end, size) in enumerate(zip(ends, np.diff(ends, prepend=0), strict=True)):
            if size or not original:  # the pipeline of 2017 leaves out files without a trace
                file = shard_name(number, shards, suffix, is_original=original)
                yield folder / name / file, index[order[end - size : end]]

    def _scaled(self, index: Index, scalings: tuple[Scaling, ...]) -> Iterator[TraceArrays]:
        """Gather and scale traces; what is yielded is overwritten by the next."""
        for run in self._runs(index, POINTS):
            offsets, series = self.gatherer.gather(self.traces, run)
            masks = []
            for k, (values, scaling) in enumerate(zip(series, scalings, strict=True)):
                masks.append(reused_array(f"mask {k}", len(values), np.uint8))
                scale(values, scaling.offset, scaling.divisor, masks[k])
            once = _static_columns(self.traces, run, self.names)
            values = side_by_side(series, np.float32)
            mask = side_by_side(masks, np.uint8)
            yield TraceArrays(offsets, values, mask, *once)

    def _runs(self, index: Index, points: int) -> Iterator[Index]:
        """Cut traces into runs of so many points."""
        return (index[first:last] for first, last in spans(self.traces.length[index], points))

    def _mapped(
        self,
        step: str,
        function: Callable[[Item], Result],
        items: Sequence[Item],
    ) -> Iterator[Result]:
        """Run over threads, in order, reporting."""
        threads = self.threads
        with (
            nullcontext(threads)
            if isinstance(threads, SparkTasks)
            else ThreadPoolExecutor(threads) as pool
        ):
            for done, result in enumerate(pool.map(function, items), 1):
                self.progress(step, done, len(items))
                yield result


def _split(options: Options, traces: TraceIndex) -> dict[str, Index]:
    split = options.split
    # Only these two need groups; time has the times, and a task is its own group.
    groups = traces.groups(split.by) if split.by in ("job", "user") else None
    sets = dict(zip(split.names, split.divide(len(traces), groups, traces.first_time), strict=True))
    if not len(sets[split.names[0]]):
        got = f"{split.fractions[0]:g} of {len(traces)}"
        way_out = "select more traces"
        what = "the training set is empty"
        expected = "at least one trace"
        raise UsageError(
            "--split",
            what,
            expected=expected,
            got=got,
            way_out=way_out,
        )
    return sets


def _leakage(options: Options, traces: TraceIndex, sets: dict[str, Index]) -> Leakage:
    codes = {kind: traces.groups(kind) for kind in ("job", "user", "logical name")}
    running = (
        running_on(sets, traces.first_time, traces.last_time) if options.split.by == "time" else {}
    )
    return Leakage(shared_groups(sets, codes), running)


def _static_columns(
    traces: TraceIndex, index: Index, names: FeatureNames
) -> tuple[Index, Values, Index]:
    """Return identity, static numbers and codes of static words of some traces."""
    identity = np.empty((len(index), len(IDENTITY)), np.int64)
    take_columns(tuple(getattr(traces, name) for name in IDENTITY), index, identity)
    numbers = [traces.statics[name][index] for name in names.numbers]
    codes = [traces.statics[name][0][index] for name in names.words]
    return (
        identity,
        side_by_side(numbers, np.float32, len(index)),
        side_by_side(codes, np.int64, len(index)),
    )
