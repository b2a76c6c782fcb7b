"""Independent tasks on Spark, which schedules them and repeats those of a lost executor."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from borgtrace.engine.compressed import compress, decompress
from borgtrace.engine.refusal import refusal
from borgtrace.engine.settling import settle
from borgtrace.errors import BorgtraceError
from borgtrace.extensions import guarded

_FEWEST_TASKS = 16
"""Tasks that small items are divided among."""


@dataclass(frozen=True)
class SparkTasks:
    """A Spark master as the place of work: each item is a task of its own, and only its result comes to the driver.

    A task may run again, where its executor was lost; it has to write what it wrote before.

    Parameters
    ----------
    url
        The master, as :func:`borgtrace.engine.connect` takes it.
    memory
        Of each executor, where no session runs yet.
    """

    url: str
    memory: str = "4GB"

    def map(
        self,
        function: Callable[..., Any],
        items: Iterable[Any],
        *,
        ordered: bool = True,
    ) -> Iterator[Any]:
        """Yield the result of each item; they come as those of :func:`borgtrace.engine.processes.map_processes` do.

        Parameters
        ----------
        function
            It is pickled with all that it holds, and sent to each executor once.
        items
            What it is called with; taken as executors become free, so it may be a generator.
        ordered
            Whether results come in the order of the items; otherwise as they are ready.

        Raises
        ------
        BorgtraceError
            What a task raised.
        EngineError
            Spark does not start, or gave a task up.
        """
        # Inside: joblib and Spark take longer to import than opening a store.
        from joblib import Parallel, delayed

        from borgtrace.engine.spark_session import open_session

        context = open_session(self.url, self.memory).sparkContext
        shared = context.broadcast(_PickledFunction(guarded(function)))
        kind = "generator" if ordered else "generator_unordered"
        # These threads only wait; more than cores, so that an executor that is done finds its next task.
        threads = Parallel(
            2 * context.defaultParallelism,
            backend="threading",
            return_as=kind,
            batch_size=1,
            pre_dispatch="n_jobs",
        )
        results = threads(delayed(_run)(context, shared, item) for item in items)
        try:
            for result in results:
                if isinstance(result, BorgtraceError):
                    raise result
                yield result
        finally:
            # None is left but after an error or an interruption.
            context.cancelAllJobs()
            with warnings.catch_warnings():
                # For cancelled tasks joblib advises to plan fewer.
                warnings.simplefilter("ignore", UserWarning)
                results.close()
            shared.destroy()

    def map_together(
        self,
        function: Callable[..., Any],
        items: Sequence[Any],
        sizes: Sequence[int],
        *,
        worth: int,
        ordered: bool = True,
    ) -> Iterator[Any]:
        """Yield the result of each item as `map` does; small items that follow each other share a task.

        Parameters
        ----------
        function, ordered
            As for `map`.
        items, sizes, worth
            As for :func:`group_items`.
        """
        groups = group_items(items, sizes, worth=worth)
        for results in self.map(partial(_call_each, function), groups, ordered=ordered):
            yield from results


def group_items(items: Sequence[Any], sizes: Sequence[int], *, worth: int) -> Iterator[list[Any]]:
    """Yield groups of items that follow each other, each for a task: small ones share it.

    A task costs 24 kB between driver and executor, whatever it does.

    Parameters
    ----------
    items
        What is done.
    sizes
        How large each item is, in the unit of `worth`.
    worth
        Size from which items are worth a task of their own; less where all of them are small, so that several
        executors still share them.

    Examples
    --------
    >>> groups = list(group_items(range(32), [1] * 32, worth=10))
    >>> len(groups), groups[0]
    (16, [0, 1])
    """
    least = min(worth, sum(sizes) // _FEWEST_TASKS)
    group: list[Any] = []
    size_of_group = 0
    for item, size in zip(items, sizes, strict=True):
        group.append(item)
        size_of_group += size
        if size_of_group >= least:
            yield group
            group = []
            size_of_group = 0
    if group:
        yield group


def _call_each(function: Callable[..., Any], items: Sequence[Any]) -> list[Any]:
    return [function(item) for item in items]


class _PickledFunction:
    """A function that may be a lambda or a closure, which pickle alone refuses."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __reduce__(self) -> tuple[Any, ...]:
        from pyspark import cloudpickle

        return cloudpickle.loads, (cloudpickle.dumps(self.function),)


def _run(context: Any, shared: Any, item: Any) -> Any:
    try:
        partition = context.parallelize([item], 1)
        (result,) = partition.map(partial(_call, shared)).collect()
    except Exception as error:  # Py4J and pyspark raise unrelated classes
        raise refusal(context.master, str(error)) from error
    size, compressed = result
    return pickle.loads(decompress(compressed, size))


def _call(shared: Any, item: Any) -> tuple[int, bytes]:
    """Return the size of the pickled result, and what it is compressed to."""
    from pyspark import cloudpickle

    try:
        result = shared.value(item)
    except BorgtraceError as error:
        # Raised, Spark would try again in vain, and make another error of it.
        result = error
    pickled = cloudpickle.dumps(result)
    settle()
    return len(pickled), compress(pickled)
