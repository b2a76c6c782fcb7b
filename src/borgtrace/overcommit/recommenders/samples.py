"""Samples of whole jobs in real units, in the order in which a recommender sees them."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.overcommit.priorities import LOWEST, serving
from borgtrace.schema.time import SECOND, TRACE_START, WINDOW
from borgtrace.store import Store

_CHUNK = 1 << 21
"""Windows that are read at a time; a larger job is read whole."""
BITS_OF_TIME = 32
"""Of a moment."""
COLUMNS = {"cpu": "average_cpu", "memory": "maximum_memory"}
"""What recommenders learn from: 5-minute means of CPU, and peaks of memory, which cannot be taken back."""


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
        now = np.where(is_own, recommended[before], np.nan)
        return np.where(np.isnan(now), self.request, now)


def job_samples(store: Store, resource: str, unit: float) -> Iterator[JobSamples]:
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
    names = [
        "collection_id",
        "collection_type",
        "priority",
        f"{resource}_request",
    ]
    tasks = store.layout.tasks(names)
    collection = tasks["collection_id"].to_numpy()
    number = np.cumsum(np.diff(collection, prepend=collection[:1]) != 0)
    is_job = tasks["collection_type"].to_numpy() != "ALLOC_SET"
    priority = tasks["priority"].to_numpy().astype(np.float64)
    request = tasks[names[-1]].to_numpy().astype(np.float64) * unit
    lowest = serving(store.manifest.dialect)
    for first, last in _ranges(store, collection):
        low = int(store.offsets[first])
        high = int(store.offsets[last])
        value = np.asarray(store.array(COLUMNS[resource])[low:high], np.float64) * unit
        task = np.repeat(np.arange(first, last), np.diff(store.offsets[first : last + 1]))
        start = np.asarray(store.array("start_time")[low:high], np.int64) * SECOND
        kept = is_job[task] & ~np.isnan(value) & ~np.isnan(request[task]) & (start >= TRACE_START)
        task = task[kept]
        slot = (start[kept] - TRACE_START) // WINDOW
        value = value[kept]
        job = number[task]
        order = np.lexsort((task, slot, job))
        job = job[order]
        task = task[order]
        slot = slot[order]
        value = value[order]
        is_serving = np.nan_to_num(priority[task], nan=LOWEST) >= lowest
        yield JobSamples(job, task, slot, value, request[task], is_serving, resource, unit)


def _ranges(store: Store, collection: Index) -> Iterator[tuple[int, int]]:
    """Yield ranges of tasks (the first, and the one after the last) that hold whole jobs."""
    starts = np.append(np.flatnonzero(np.diff(collection, prepend=-1)), len(collection))
    first = 0
    for start in starts.tolist():
        if start > first and store.offsets[start] - store.offsets[first] >= _CHUNK:
            yield first, start
            first = start
    if first < len(collection):
        yield first, len(collection)
