"""Samples of whole jobs in real units, in the order in which a recommender sees them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.overcommit.priorities import LOWEST, serving
from borgtrace.schema.time import SECOND, TRACE_START, WINDOW
from borgtrace.store import Store

_CHUNK = 1 << 21
"""Windows that are read at a time; a larger job is read whole."""
BITS_OF_TIME = 32
"""Of a moment."""
COLUMNS = {
    "cpu": ("average_cpu",),
    "memory": ("maximum_memory", "average_memory"),
}
"""What recommenders learn from: 5-minute means of CPU, and peaks of memory, which cannot be taken back; means where a
store has no peaks."""


@dataclass(frozen=True, eq=False)
class JobSamples:
    """One resource of some jobs; columns of shape (n,), sorted by job, slot and task.

    Attributes
    ----------
    job, task
        Numbers of the job and the task, from 0.
    slot
        Slot of 300 s in which the window began.
    value
        Cores, or bytes.
    request
        What the task requested at its last SCHEDULE, in the same unit.
    is_serving
        Whether the job is of the production tier or above.
    resource
        ``"cpu"`` or ``"memory"``.
    size
        Cores, or bytes, of the largest machine.
    beside
        The same jobs' samples of other resources.
    """

    job: Index
    task: Index
    slot: Index
    value: Numbers
    request: Numbers
    is_serving: Flags
    resource: str
    size: float
    beside: tuple["JobSamples", ...] = ()

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.job)

    def moment(self, time: Index) -> Index:
        """Return job and time of each sample as one number, ascending as both are: (n,)."""
        return self.job << BITS_OF_TIME | time

    def in_force(self, recommended: Numbers) -> Numbers:
        """Return the limit of each sample: what was recommended after the slots before; else the task's request.

        Parameters
        ----------
        recommended
            Float64 (n,): what is recommended after each sample; NaN where nothing is.
        """
        moment = self.moment(self.slot)
        before = np.searchsorted(moment, moment) - 1
        # −1, before the first slot of all, takes the job that is none.
        is_own = np.append(self.job, -1)[before] == self.job
        limit = np.where(is_own, recommended[before], np.nan)
        return np.where(np.isnan(limit), self.request, limit)


def job_samples(
    store: Store,
    resource: str,
    unit: float,
) -> Iterator[JobSamples]:
    """Yield the samples of all jobs of a store, some jobs at a time; of each resource the same ones.

    Tasks inside an alloc set count, the set's own instances do not.  Windows without a value, and tasks without a
    request, are left out.

    Parameters
    ----------
    store
        An open store.
    resource
        ``"cpu"`` or ``"memory"``.
    unit
        Cores, or bytes, of the largest machine.
    """
    request_column = f"{resource}_request"
    tasks = store.task_columns(["collection_id", "collection_type", "priority", request_column])
    collection = tasks["collection_id"].to_numpy()
    job_of_task = np.cumsum(np.diff(collection, prepend=collection[:1]) != 0)
    is_job = tasks["collection_type"].to_numpy() != "ALLOC_SET"
    priority = tasks["priority"].to_numpy().astype(np.float64)
    is_serving = np.nan_to_num(priority, nan=LOWEST) >= serving(store.manifest.dialect)
    request = tasks[request_column].to_numpy().astype(np.float64) * unit
    values = usage_of(store, resource)
    for first, end in ranges_of_jobs(store.offsets, collection):
        offsets = store.offsets[first : end + 1]
        windows = slice(int(offsets[0]), int(offsets[-1]))
        value = np.asarray(values[windows], np.float64) * unit
        start = np.asarray(store.array("start_time")[windows], np.int64) * SECOND
        task = np.repeat(np.arange(first, end), np.diff(offsets))
        is_known = ~np.isnan(value) & ~np.isnan(request[task])
        is_used = is_job[task] & is_known & (start >= TRACE_START)
        task = task[is_used]
        value = value[is_used]
        slot = (start[is_used] - TRACE_START) // WINDOW
        order = np.lexsort((task, slot, job_of_task[task]))
        task = task[order]
        yield JobSamples(
            job=job_of_task[task],
            task=task,
            slot=slot[order],
            value=value[order],
            request=request[task],
            is_serving=is_serving[task],
            resource=resource,
            size=unit,
        )


def usage_of(store: Store, resource: str) -> npt.NDArray[np.generic]:
    """Return what recommenders learn from, of all windows in the order of tasks: the first of `COLUMNS` with a value.

    Parameters
    ----------
    store
        An open store.
    resource
        ``"cpu"`` or ``"memory"``.
    """
    arrays = [store.array(column) for column in COLUMNS[resource]]
    for array in arrays:
        if not np.isnan(np.asarray(array, np.float32)).all():
            return array
    return arrays[-1]


def ranges_of_jobs(
    offsets: Index,
    collection: Sequence[int] | Index,
    chunk: int = _CHUNK,
) -> Iterator[tuple[int, int]]:
    """Yield ranges of tasks (the first, and the one after the last) that hold whole jobs.

    Parameters
    ----------
    offsets
        First window of each task, and the number of all: (tasks + 1,).
    collection
        Job of each task; equal ones are neighbors.
    chunk
        Windows after which a range ends with its job.
    """
    is_first_of_job = np.diff(collection, prepend=-1)
    starts = np.append(np.flatnonzero(is_first_of_job), len(collection))
    first = 0
    for start in starts.tolist():
        if start > first and offsets[start] - offsets[first] >= chunk:
            yield first, start
            first = start
    if first < len(collection):
        yield first, len(collection)
