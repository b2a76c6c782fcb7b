"""From a store to a dataset: choose, split, measure, then write every file in one pass."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from borgtrace.datasets import meta
from borgtrace.datasets._series import scale
from borgtrace.datasets.blocks import POINTS, Gatherer, spans
from borgtrace.datasets.features import series_features, static_features
from borgtrace.datasets.formats import FORMATS, IDENTITY, Names, Part, suffix_of
from borgtrace.datasets.leakage import Shared, running_on, shared_groups
from borgtrace.datasets.options import Options
from borgtrace.datasets.scaling import Numbers, Scaling, measure_running, measure_series, merge, scaling_of
from borgtrace.datasets.scratch import scratch
from borgtrace.datasets.shards import default_shards, shard_name, shard_numbers, shard_prefixes
from borgtrace.datasets.traces import Traces, choose
from borgtrace.errors import UsageError
from borgtrace.kernels.gather import take_columns
from borgtrace.storage import check_free, new_folder

if TYPE_CHECKING:
    from borgtrace.store import Store

Job = TypeVar("Job")
Result = TypeVar("Result")
Index = NDArray[np.int64]
Progress = Callable[[str, int, int], None]
"""Called with the step, how much of it is done, and how much there is."""


def _silent(step: str, done: int, total: int) -> None:
    """Report nothing."""


@dataclass(frozen=True, slots=True)
class Built:
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
    leakage
        What the sets share.
    scalings
        How each series was scaled.
    """

    path: Path
    is_new: bool
    counts: dict[str, int]
    n_matched: int
    leakage: tuple[str, ...]
    scalings: tuple[Scaling, ...]


def build(
    store: Store,
    out: Path | str,
    options: Options | None = None,
    *,
    threads: int | None = None,
    progress: Progress = _silent,
) -> Built:
    """Build a dataset.

    Parameters
    ----------
    store
        Where the traces come from.
    out
        Folder to create.  If it already holds the very same dataset, nothing is done.
    options
        See :class:`~borgtrace.datasets.options.Options`.
    threads
        Threads that gather, encode and write; all cores where None.  They do not change a byte.
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
    out, options = Path(out), options or Options()
    identity = options.identity(store.manifest.digest)
    if meta.identity_of(out) == identity:
        return _already(out)
    check_free(out)
    work = _Work.prepare(store, options, threads or os.cpu_count() or 1, progress)
    with new_folder(out) as folder, ThreadPoolExecutor(1) as aside:
        told = aside.submit(_leakage, options, work.traces, work.sets)
        scalings = work.measure()
        files = work.write(folder, scalings)
        leakage = told.result()
        meta.write(
            folder, meta.describe(store, options, identity, work.names, scalings, files, leakage, work.traces.n_matched)
        )
        if options.is_original:
            meta.write_original(folder, len(options.features), files)
    counts = {name: len(index) for name, index in work.sets.items()}
    lines = tuple(str(entry) for entry in leakage.shared) + leakage.lines()
    return Built(out, True, counts, work.traces.n_matched, lines, scalings)


def _already(out: Path) -> Built:
    known = meta.read(out)
    return Built(out, False, known.counts, known.n_matched, known.leakage, known.scalings)


@dataclass(frozen=True, slots=True)
class _Work:
    """All that is fixed before the first byte is written."""

    options: Options
    traces: Traces
    sets: dict[str, Index]
    prefixes: NDArray[np.uint32]
    gatherer: Gatherer
    names: Names
    threads: int
    progress: Progress

    @classmethod
    def prepare(cls, store: Store, options: Options, threads: int, progress: Progress) -> _Work:
        features = series_features(store, options.features)
        statics = static_features(store.manifest.generation, options.statics)
        progress("select", 0, 1)
        traces = choose(store, options.selection, statics, options.seed, is_original=options.is_original)
        progress("select", 1, 1)
        sets = _divide(options, traces)
        return cls(
            options,
            traces,
            sets,
            shard_prefixes(traces, threads, is_original=options.is_original),
            Gatherer.of(store, features, options.selection.gaps),
            _names(options, traces),
            threads,
            progress,
        )

    def measure(self) -> tuple[Scaling, ...]:
        """Measure the training set in one pass."""
        training = self.sets[self.options.split.names[0]]
        if self.options.is_original:
            blocks = (self.gatherer.gather(self.traces, run)[1] for run in self._runs(training, POINTS))
            measured = measure_running(blocks, len(self.options.features))
        else:
            # In the order of the store: a gather that walks forward.  Marking is faster than sorting.
            is_training = np.zeros(len(self.traces), np.bool_)
            is_training[training] = True
            measured = self._measure(np.flatnonzero(is_training))
        return tuple(
            scaling_of(name, self.options.scale, row) for name, row in zip(self.options.features, measured, strict=True)
        )

    def _runs(self, index: Index, points: int) -> Iterator[Index]:
        """Cut traces into runs of so many points."""
        for first, last in spans(self.traces.length[index], points):
            yield index[first:last]

    def _measure(self, index: Index) -> Numbers:
        def measure(run: Index) -> Numbers:
            return measure_series(self.gatherer.gather(self.traces, run)[1])

        return merge(self._mapped("measure", measure, list(self._runs(index, POINTS // 8))))

    def write(self, folder: Path, scalings: tuple[Scaling, ...]) -> dict[str, list[meta.File]]:
        """Write all files of all sets."""
        jobs = [job for name, index in self.sets.items() for job in self._files(folder, name, index)]

        def write(job: _File) -> meta.File:
            write_file = FORMATS[self.options.format].write
            records = write_file(
                job.path, self.names, self._parts(job.index, scalings), is_compressed=self.options.is_compressed
            )
            return meta.File(job.path.name, records, job.path.stat().st_size)

        files: dict[str, list[meta.File]] = {name: [] for name in self.sets}
        for job, file in zip(jobs, self._mapped("write", write, jobs), strict=True):
            files[job.set_name].append(file)
        return files

    def _files(self, folder: Path, name: str, index: Index) -> Iterator[_File]:
        original = self.options.is_original
        shards = 256 if original else self.options.shards or default_shards(len(index))
        numbers = shard_numbers(self.prefixes[index], shards)
        order = np.argsort(numbers, kind="stable")
        ends = np.cumsum(np.bincount(numbers, minlength=shards))
        suffix = suffix_of(self.options.format, is_compressed=self.options.is_compressed)
        (folder / name).mkdir()
        for number, (end, size) in enumerate(zip(ends, np.diff(ends, prepend=0), strict=True)):
            if size or not original:
                path = folder / name / shard_name(number, shards, suffix, is_original=original)
                yield _File(name, path, index[order[end - size : end]])

    def _parts(self, index: Index, scalings: tuple[Scaling, ...]) -> Iterator[Part]:
        """Gather and scale; each part is overwritten by the next."""
        for run in self._runs(index, POINTS):
            offsets, series = self.gatherer.gather(self.traces, run)
            masks = []
            for k, (values, scaling) in enumerate(zip(series, scalings, strict=True)):
                masks.append(scratch(f"mask {k}", len(values), np.uint8))
                scale(values, scaling.offset, scaling.divisor, masks[k])
            yield Part(offsets, _side_by_side(series), _side_by_side(masks), *_about(self.traces, run, self.names))

    def _mapped(self, step: str, function: Callable[[Job], Result], jobs: list[Job]) -> Iterator[Result]:
        """Run over threads, in order, reporting."""
        with ThreadPoolExecutor(self.threads) as pool:
            for done, result in enumerate(pool.map(function, jobs), 1):
                self.progress(step, done, len(jobs))
                yield result


@dataclass(frozen=True, slots=True)
class _File:
    """One file to write: its set, its path, its traces."""

    set_name: str
    path: Path
    index: Index


def _divide(options: Options, traces: Traces) -> dict[str, Index]:
    groups = {"job": lambda: traces.job, "user": lambda: traces.user}.get(options.split.by, lambda: None)()
    sets = dict(zip(options.split.names, options.split.divide(len(traces), groups, traces.first_time), strict=True))
    name = options.split.names[0]
    if not len(sets[name]):
        raise UsageError(
            "--split",
            "the training set is empty",
            expected="at least one trace",
            got=f"{options.split.fractions[0]:g} of {len(traces)}",
            way_out="select more traces",
        )
    return sets


def _leakage(options: Options, traces: Traces, sets: dict[str, Index]) -> meta.Leakage:
    codes = {"job": traces.job, "user": traces.user, "logical name": traces.logical_name}
    shared: tuple[Shared, ...] = shared_groups(sets, codes)
    is_by_time = options.split.by == "time"
    return meta.Leakage(shared, running_on(sets, traces.first_time, traces.last_time) if is_by_time else {})


def _names(options: Options, traces: Traces) -> Names:
    words = {name: column[1] for name in options.statics if isinstance(column := traces.columns[name], tuple)}
    return Names(options.features, tuple(name for name in options.statics if name not in words), words)


def _side_by_side(series: list[NDArray[Any]]) -> NDArray[Any]:
    """Return series of shape (points,) as one array of shape (points, features)."""
    return series[0][:, np.newaxis] if len(series) == 1 else np.stack(series, axis=1)


def _about(traces: Traces, index: Index, names: Names) -> tuple[Index, NDArray[np.float32], Index]:
    """Identity, static numbers and codes of static words of some traces."""
    identity = np.empty((len(index), len(IDENTITY)), np.int64)
    take_columns(tuple(getattr(traces, name) for name in IDENTITY), index, identity)
    numbers = np.empty((len(index), len(names.numbers)), np.float32)
    for k, name in enumerate(names.numbers):
        numbers[:, k] = traces.columns[name][index]
    codes = np.empty((len(index), len(names.words)), np.int64)
    for k, name in enumerate(names.words):
        codes[:, k] = traces.columns[name][0][index]
    return identity, numbers, codes
