"""Traces that a task of Spark chooses: they go to other tasks through the bucket, and to the driver come counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, TypeVar

import pyarrow.parquet as pq

from borgtrace.datasets.chosen import ChosenTraces
from borgtrace.datasets.formats.arrays import FeatureNames
from borgtrace.datasets.leakage import Leakage
from borgtrace.datasets.metadata import DatasetFile, SelectionCounts
from borgtrace.datasets.options import DatasetOptions
from borgtrace.datasets.scaling import Scaling, SeriesMoments
from borgtrace.datasets.trace_rows import TraceRows, TraceSpans
from borgtrace.datasets.trace_work import TraceWork
from borgtrace.engine import SparkTasks
from borgtrace.kernels.arrays import Index
from borgtrace.storage import INCOMPLETE, RemotePath, readable, remove, scratch_folder, upload
from borgtrace.store import Store
from borgtrace.store.digest import file_digests
from borgtrace.store.kept_in_bucket import fetch

Spans = TypeVar("Spans", bound=TraceSpans)
_WORTH_A_TASK = 1_000_000
"""Points from which a block or a file is a task of its own."""


class TracesOfTask(NamedTuple):
    """Traces that a task reads from the bucket: the file, its SHA-256, and their points."""

    name: str
    digest: str
    n_points: int


class FileOfTask(NamedTuple):
    """A file of the dataset that a task writes: its set, its name, and its traces."""

    set_name: str
    file_name: str
    traces: TracesOfTask


class ChosenSummary(NamedTuple):
    """What the driver knows of the chosen traces.

    Attributes
    ----------
    names
        What each trace has.
    selected
        How many came into the sets, and what was left out.
    leakage
        What the sets share.
    blocks
        Traces of the training set that are measured at a time.
    files
        The files of the dataset.
    """

    names: FeatureNames
    selected: SelectionCounts
    leakage: Leakage
    blocks: list[TracesOfTask]
    files: list[FileOfTask]


def choose(store: Store, options: DatasetOptions, folder: RemotePath) -> ChosenSummary:
    """Choose the traces of a dataset, and put those of each task into a folder of a bucket.

    Parameters
    ----------
    store, options
        As for :func:`~borgtrace.datasets.build.build`.
    folder
        Where they go.
    """
    chosen = ChosenTraces(store, options)
    traces = chosen.traces
    blocks = chosen.measured_blocks()
    shards = list(chosen.shards())
    with TemporaryDirectory(dir=scratch_folder()) as name:
        here = Path(name)
        _write(here, "block", (traces.spans_at(block) for block in blocks))
        _write(here, "file", (traces.rows_at(shard.positions) for shard in shards))
        digests = file_digests({path.name: path for path in here.iterdir()})
        upload(here, folder)

    def of_task(kind: str, number: int, positions: Index) -> TracesOfTask:
        file_name = _name(kind, number)
        n_points = int(traces.length[positions].sum())
        return TracesOfTask(file_name, digests[file_name], n_points)

    files = []
    for number, shard in enumerate(shards):
        own_traces = of_task("file", number, shard.positions)
        files.append(FileOfTask(shard.set_name, shard.file_name, own_traces))
    return ChosenSummary(
        names=chosen.names,
        selected=chosen.count_selected(),
        leakage=chosen.measure_leakage(),
        blocks=[of_task("block", number, block) for number, block in enumerate(blocks)],
        files=files,
    )


def _name(kind: str, number: int) -> str:
    return f"{kind}-{number:05d}"


def _write(folder: Path, kind: str, parts: Iterable[TraceSpans]) -> None:
    for number, part in enumerate(parts):
        pq.write_table(part.to_table(), folder / _name(kind, number), compression="zstd")


class BuildByTasks:
    """A dataset in a bucket that tasks of Spark build, from the choice of its traces on.

    Parameters
    ----------
    store, options
        As for :func:`~borgtrace.datasets.build.build`.
    tasks
        Where the work is done.
    out
        The dataset's folder.
    """

    def __init__(
        self,
        store: Store,
        options: DatasetOptions,
        tasks: SparkTasks,
        out: RemotePath,
    ) -> None:
        self._tasks = tasks
        self._out = out
        self._pieces = out / f"chosen{INCOMPLETE}"
        (self.chosen,) = tasks.map(partial(choose, store, options), [self._pieces])
        self._work = TraceWork(store, options, self.chosen.names)

    @property
    def names(self) -> FeatureNames:
        """What each trace has."""
        return self.chosen.names

    @property
    def selected(self) -> SelectionCounts:
        """How many traces came into the sets, and what was left out."""
        return self.chosen.selected

    @property
    def n_blocks(self) -> int:
        """Number of blocks that are measured."""
        return len(self.chosen.blocks)

    @property
    def files(self) -> Sequence[tuple[str, str]]:
        """Set and name of each file."""
        return [(file.set_name, file.file_name) for file in self.chosen.files]

    def leakage(self) -> Leakage:
        """Return what the sets share."""
        return self.chosen.leakage

    def measured(self) -> Iterator[SeriesMoments]:
        """Yield what was measured of each block, in order."""
        blocks = self.chosen.blocks
        return self._tasks.map_together(
            partial(_measure, self._work, self._pieces),
            blocks,
            [block.n_points for block in blocks],
            worth=_WORTH_A_TASK,
        )

    def written(self, folder: Path, scalings: tuple[Scaling, ...]) -> Iterator[DatasetFile]:
        """Write the files, and yield each in order; what tasks read for that is removed at the end.

        Parameters
        ----------
        folder
            Where they go.
        scalings
            How each series is scaled.
        """
        files = self.chosen.files
        yield from self._tasks.map_together(
            partial(_write_file, self._work, self._pieces, folder, scalings),
            files,
            [file.traces.n_points for file in files],
            worth=_WORTH_A_TASK,
        )
        remove(self._pieces)


def _measure(work: TraceWork, folder: RemotePath, block: TracesOfTask) -> SeriesMoments:
    traces = _read(TraceSpans, folder, block)
    return work.measure(traces)


def _write_file(
    work: TraceWork,
    folder: RemotePath,
    out: Path,
    scalings: tuple[Scaling, ...],
    file: FileOfTask,
) -> DatasetFile:
    traces = _read(TraceRows, folder, file.traces)
    path = out / file.set_name / file.file_name
    return work.write_at_once(traces, path, scalings)


def _read(kind: type[Spans], folder: RemotePath, traces: TracesOfTask) -> Spans:
    with TemporaryDirectory(dir=scratch_folder()) as name:
        path = Path(name) / traces.name
        fetch(folder / traces.name, traces.digest, path)
        return kind.of_table(pq.read_table(readable(path), partitioning=None))
