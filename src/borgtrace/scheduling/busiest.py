"""The moment at which most is requested: what a cell must hold."""

import numpy as np

from borgtrace.kernels.arrays import Index
from borgtrace.question import EngineTables, NotApplicable
from borgtrace.scheduling.workload import TIMES, float_columns, integers
from borgtrace.schema.time import TRACE_START, WINDOW, Microseconds
from borgtrace.store import Store
from borgtrace.store.manifest import Manifest

NOTHING_RUNS = (
    "no task with a known start runs at any time, so there is nothing to pack; "
    "take a longer part of the trace, or files of events that say when tasks start"
)
"""Why a store has no busiest moment."""


def busiest_moment(store: Store) -> Microseconds:
    """Return the beginning of the window in which the tasks that run request most CPU; the first of equal ones.

    Where nothing runs at the beginning of any window, the start of a task.

    Where no request is known, tasks are counted instead. Only windows count in which usage was measured, if any was:
    what a task used is known in no other.

    Parameters
    ----------
    store
        An open store.

    Raises
    ------
    NotApplicable
        Where no task with a known start runs at any time.
    """
    tables = EngineTables.of(store, memory=store.memory)
    attempts = tables.instance_attempts
    placed = attempts.filter(
        attempts.alloc_collection_id.isnull() & attempts.schedule_time.notnull()
    )
    rows = tables.fetch(placed.select("cpu_request", *TIMES))
    requests = np.nan_to_num(float_columns(rows, "cpu_request")[:, 0])
    weights = requests if requests.any() else np.ones(len(requests))
    first, last = measured_span(store.manifest)
    windows = np.arange(first, max(last, first + 1), WINDOW)
    started = integers(rows, "schedule_time")
    left = integers(rows, "left_time")
    # −1: it runs to the end.
    left = np.where(left < 0, windows[-1] + WINDOW, left)
    running = running_amounts(windows, started, left, weights)
    if not running.max() and len(started):
        # All are shorter than a window, or come after the beginning of the last one.
        windows = np.unique(started)
        running = running_amounts(windows, started, left, weights)
    NotApplicable.unless(running.max() > 0, NOTHING_RUNS)
    return int(windows[running.argmax()])


def measured_span(manifest: Manifest) -> tuple[Microseconds, Microseconds]:
    """Return the beginning of the first window of a store and the end of its last one: of usage, else of events.

    Parameters
    ----------
    manifest
        Of the store.
    """
    for table in ("instance_usage", "instance_events"):
        first, last = manifest.time_range.get(table) or (0, 0)
        if last > TRACE_START:
            begin = max(first, TRACE_START)
            return begin // WINDOW * WINDOW, last
    return TRACE_START, TRACE_START + WINDOW


def running_amounts(
    windows: Index,
    started: Index,
    left: Index,
    weights: np.ndarray,
) -> np.ndarray:
    """Return what runs at the beginning of each window: float64 (windows,).

    Parameters
    ----------
    windows
        Their beginnings, ascending.
    started, left
        Of each task: it runs from the one until before the other.
    weights
        What each task counts.
    """
    n = len(windows)
    first = np.searchsorted(windows, started)
    end = np.maximum(np.searchsorted(windows, left), first)
    begins = np.bincount(first, weights, n + 1)[:n]
    ends = np.bincount(end, weights, n + 1)[:n]
    running = np.cumsum(begins - ends)
    # Differences of sums leave a rest where nothing runs.
    n_running = np.cumsum(np.bincount(first, minlength=n + 1) - np.bincount(end, minlength=n + 1))
    return np.where(n_running[:n] > 0, running, 0.0)
