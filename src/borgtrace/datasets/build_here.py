"""A dataset whose traces this process chooses, in threads or with tasks of Spark that are sent their traces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

from borgtrace.datasets.chosen import ChosenTraces, Shard
from borgtrace.datasets.formats.arrays import FeatureNames
from borgtrace.datasets.leakage import Leakage
from borgtrace.datasets.metadata import DatasetFile, SelectionCounts
from borgtrace.datasets.options import DatasetOptions
from borgtrace.datasets.scaling import Scaling, SeriesMoments
from borgtrace.datasets.trace_rows import TraceSpans
from borgtrace.datasets.trace_work import TraceWork
from borgtrace.engine import SparkTasks
from borgtrace.kernels.arrays import Index
from borgtrace.store import Store

Result = TypeVar("Result")


class BuildHere:
    """A dataset whose traces this process chooses; threads build it, or tasks of Spark that are sent their traces.

    Parameters
    ----------
    store, options, threads
        As for :func:`~borgtrace.datasets.build.build`.
    """

    def __init__(self, store: Store, options: DatasetOptions, threads: int | SparkTasks) -> None:
        self._threads = threads
        self._chosen = ChosenTraces(store, options)
        self._blocks = self._chosen.measured_blocks()
        self._work = TraceWork(store, options, self._chosen.names)

    @property
    def names(self) -> FeatureNames:
        """What each trace has."""
        return self._chosen.names

    @property
    def selected(self) -> SelectionCounts:
        """How many traces came into the sets, and what was left out."""
        return self._chosen.count_selected()

    @property
    def n_blocks(self) -> int:
        """Number of blocks that are measured."""
        return len(self._blocks)

    @cached_property
    def _shards(self) -> list[Shard]:
        return list(self._chosen.shards())

    @property
    def files(self) -> Sequence[tuple[str, str]]:
        """Set and name of each file."""
        return [(shard.set_name, shard.file_name) for shard in self._shards]

    def leakage(self) -> Leakage:
        """Return what the sets share."""
        return self._chosen.measure_leakage()

    def measured(self) -> Iterator[SeriesMoments]:
        """Yield what was measured of each block, in order."""
        items = [(block,) for block in self._blocks]
        return self._map(self._work.measure, items, self._chosen.traces.spans_at)

    def written(self, folder: Path, scalings: tuple[Scaling, ...]) -> Iterator[DatasetFile]:
        """Write the files below a folder, and yield each, in order, whichever thread wrote it."""
        for name in self._chosen.sets:
            (folder / name).mkdir()
        items = []
        for shard in self._shards:
            path = folder / shard.set_name / shard.file_name
            items.append((shard.positions, path, scalings))
        # In threads, what is unfinished is the folder of the whole dataset.
        is_spark = isinstance(self._threads, SparkTasks)
        write = self._work.write_at_once if is_spark else self._work.write
        return self._map(write, items, self._chosen.traces.rows_at)

    def _map(
        self,
        function: Callable[..., Result],
        items: Sequence[tuple[Any, ...]],
        take: Callable[[Index], TraceSpans],
    ) -> Iterator[Result]:
        """Run a function over some traces at a time, in threads or on Spark, and yield results in order.

        Parameters
        ----------
        function
            Called with traces, and the rest of the item.
        items
            Positions of traces, and what else the function is called with.
        take
            Returns what the function needs of the traces at some positions; a task of Spark is sent no others.
        """
        if isinstance(self._threads, SparkTasks):
            sent = ((take(index), *rest) for index, *rest in items)
            yield from self._threads.map(partial(call_with_all, function), sent)
            return

        def work(item: tuple[Any, ...]) -> Result:
            index, *rest = item
            # In the thread: traces at random places are taken side by side.
            return function(take(index), *rest)

        with ThreadPoolExecutor(self._threads) as pool:
            yield from pool.map(work, items)


def call_with_all(function: Callable[..., Result], item: tuple[Any, ...]) -> Result:
    """Call a function of :meth:`BuildHere._map` with what a task was sent."""
    return function(*item)
