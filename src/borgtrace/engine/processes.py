"""Work on processes of this machine, which end with the process that started them, and on threads of it."""

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, TypeVar

from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError

from borgtrace.errors import StoreError
from borgtrace.extensions import guarded

_HEARTBEAT = 0.1
"""Seconds between two looks at whether the parent still lives."""

_KEEP_MEMORY = {
    "MIMALLOC_PURGE_DELAY": "-1",
    "MALLOC_MMAP_THRESHOLD_": str(1 << 32),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 33),
}
"""Arrow's allocator and that of the C library return no memory to the system in a worker.

The next file reuses it.  Returning memory and clearing it again cost a tenth of the CPU of staging.
"""

Item = TypeVar("Item")
Result = TypeVar("Result")
Run = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]
"""A map that yields the result of each item, in order: `map_threads` with a number of threads, or tasks of Spark."""


def map_processes(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    workers: int,
    *,
    place: str,
    way_out: str = "run again with fewer --jobs",
    ordered: bool = True,
) -> Iterator[Result]:
    """Yield the result of each item, computed by `workers` processes (in this one where there is one worker).

    Parameters
    ----------
    function
        A function of a module, or a partial of one: it is pickled.
    items
        What it is called with; taken as workers become free, so it may be a generator.
    workers
        Number of processes.
    place, way_out
        What the error names when a worker is killed: the folder being written, and what to do.
    ordered
        Whether results come in the order of the items; otherwise as they are ready.

    Raises
    ------
    StoreError
        A worker was killed.
    """
    # No process to start, and errors keep their own traceback.
    if workers == 1:
        yield from map(function, items)
        return
    function = guarded(function)
    kind = "generator" if ordered else "generator_unordered"
    # Read once, when a worker starts; the user's own settings stay.
    os.environ.update(_KEEP_MEMORY | os.environ)
    # Items are large (whole files): handed out one at a time, so that no worker waits behind another's batch.
    pool = Parallel(
        n_jobs=workers,
        return_as=kind,
        batch_size=1,
        pre_dispatch="2*n_jobs",
    )
    try:
        yield from pool(delayed(call_in_worker)(function, item, os.getpid()) for item in items)
    except TerminatedWorkerError as error:
        raise StoreError(
            place,
            "a worker process was killed",
            got="perhaps not enough memory",
            way_out=way_out,
        ) from error


def map_threads(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    workers: int,
) -> Iterator[Result]:
    """Yield the result of each item, in their order, computed by threads: for work that releases the GIL.

    Parameters
    ----------
    function, items
        As for `map_processes`; no item is taken before a thread is free.
    workers
        Number of threads.

    Examples
    --------
    >>> list(map_threads(abs, [-1, 2], workers=2))
    [1, 2]
    """
    pool = Parallel(
        workers,
        backend="threading",
        return_as="generator",
        pre_dispatch=workers,
        batch_size=1,
    )
    yield from pool(delayed(function)(item) for item in items)


def call_in_worker(function: Callable[[Item], Result], item: Item, parent: int) -> Result:
    """Call a function in a worker, which from then on ends with its parent.

    Parameters
    ----------
    function, item
        What is called, and with what.
    parent
        Process id of the parent.
    """
    # In the worker and at its first item: loky offers no hook for its start.  `cache` makes it one thread a worker.
    end_with(parent)
    return function(item)


@cache
def end_with(parent: int) -> None:
    """Let this worker die when `parent` does: after kill -9 nothing else stops it from writing on."""
    threading.Thread(
        target=watch_parent,
        args=(parent,),
        daemon=True,
    ).start()


def watch_parent(parent: int) -> None:
    """End this process once its parent, of that process id, has ended."""
    # A process whose parent has died is given another parent.
    while os.getppid() == parent:
        time.sleep(_HEARTBEAT)
    # Not sys.exit, which ends a thread only.
    os._exit(1)
