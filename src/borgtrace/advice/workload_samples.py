"""Samples of whole workloads in real units, some workloads at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from borgtrace.advice.grouping import Workloads
from borgtrace.kernels.arrays import Index
from borgtrace.overcommit.priorities import LOWEST, serving
from borgtrace.overcommit.recommenders.samples import JobSamples, ranges_of_jobs, usage_of
from borgtrace.schema.time import SECOND, TRACE_START, WINDOW
from borgtrace.store import Store


def workload_samples(
    store: Store,
    workloads: Workloads,
    resource: str,
    unit: float,
) -> Iterator[JobSamples]:
    """Yield the samples of all workloads, some at a time, as those of one job each.

    Unlike those of :func:`borgtrace.overcommit.recommenders.samples.job_samples` they include tasks without a request,
    whose `request` is NaN.  An alloc set's own instances are left out, the tasks inside it count.

    Parameters
    ----------
    store
        An open store.
    workloads
        How its tasks are grouped.
    resource
        ``"cpu"`` or ``"memory"``.
    unit
        Cores, or bytes, of the largest machine.
    """
    request_column = f"{resource}_request"
    tasks = store.task_columns(["collection_type", "priority", request_column])
    is_job = tasks["collection_type"].to_numpy() != "ALLOC_SET"
    priority = tasks["priority"].to_numpy().astype(np.float64)
    is_serving = np.nan_to_num(priority, nan=LOWEST) >= serving(store.manifest.dialect)
    request = tasks[request_column].to_numpy().astype(np.float64) * unit
    values = usage_of(store, resource)
    starts = store.array("start_time")
    n_windows = np.diff(store.offsets)
    # Tasks of a workload one after the other, those of each in the order of the index.
    by_workload = np.argsort(workloads.of_task, kind="stable")
    workload = workloads.of_task[by_workload]
    offsets = np.append(0, np.cumsum(n_windows[by_workload]))
    for first, end in ranges_of_jobs(offsets, workload):
        chosen = by_workload[first:end]
        windows = windows_of(store.offsets, chosen)
        task = np.repeat(chosen, n_windows[chosen])
        value = np.asarray(values[windows], np.float64) * unit
        start = np.asarray(starts[windows], np.int64) * SECOND
        is_used = is_job[task] & ~np.isnan(value) & (start >= TRACE_START)
        task = task[is_used]
        value = value[is_used]
        slot = (start[is_used] - TRACE_START) // WINDOW
        order = np.lexsort((task, slot, workloads.of_task[task]))
        task = task[order]
        yield JobSamples(
            job=workloads.of_task[task],
            task=task,
            slot=slot[order],
            value=value[order],
            request=request[task],
            is_serving=is_serving[task],
            resource=resource,
            size=unit,
        )


def windows_of(offsets: Index, tasks: Index) -> Index:
    """Return the rows of the windows of some tasks, one task after the other.

    Examples
    --------
    >>> windows_of(np.array([0, 2, 2, 5]), np.array([2, 0])).tolist()
    [2, 3, 4, 0, 1]
    """
    n_windows = offsets[tasks + 1] - offsets[tasks]
    # Each row is its place among all, moved to where its task begins.
    begins = np.append(0, np.cumsum(n_windows))[:-1]
    moved = np.repeat(offsets[tasks] - begins, n_windows)
    return np.arange(len(moved)) + moved
