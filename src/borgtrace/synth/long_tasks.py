"""Long tasks straight from the CPU model, without a cell.

A cell yields only about 2.3 long tasks (24 windows or more) per machine-day, so an experiment on
100,000 of them needs a shortcut: the same processes, observed over as many windows as long tasks live.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.arrays import Index, Numbers, Values
from borgtrace.kernels.compiled import compiled
from borgtrace.schema.bounds import SHARED_FACTOR, SYNTHETIC_TASKS, Bounds, check_number
from borgtrace.synth.model.classes import CLASSES, LONG
from borgtrace.synth.model.cpu_process import (
    NOISE,
    CpuModel,
    begin_noise,
    model_of_2011,
    random_second,
    window_average,
)
from borgtrace.synth.model.hashing import generator, key, mix

WINDOWS = Bounds(1, 1_000_000)
LONGEST = 2000
"""Longest task, in windows (about a week)."""
WINDOWS_PER_WEEK = 2016
# In the range of the real ids, which go up to 6.49e9.
FIRST_ID = 6_000_000_000
USED = 0.29
"""Median of CPU used ÷ requested by a task: that of production tasks of 2019, the only one known task by task."""
SPREAD = 0.35
"""Deviation of its logarithm (a choice: no trace publishes it for long tasks)."""
LARGEST_REQUEST = 0.5
"""Largest request that is made (2011)."""
_TASK = np.dtype(
    [
        ("job", "i8"),
        ("index", "i8"),
        ("kind", "i1"),
        # Whether its level drifts.
        ("drifts", "i1"),
        # Its first window.
        ("first", "i8"),
        ("level", "f4"),
        # The day wave, which none of these tasks has.
        ("wave", "f4"),
        ("phase", "f4"),
    ]
)
"""A task, and the parameters of its process."""


@dataclass(frozen=True, slots=True)
class LongTasks:
    """Long tasks, each an empirical sample of its usage.

    Attributes
    ----------
    job, index : int64, int32, shape (n,)
        Collection id and instance index.
    offsets : int64, shape (n + 1,)
        Windows of task i are rows ``offsets[i]:offsets[i + 1]`` (CSR).
    inst, avg : float32, shape (offsets[-1],)
        Random 1-second sample and average CPU of each window, in time order.
    kind : int8, shape (n,)
        Number of the class of :data:`borgtrace.synth.model.classes.CLASSES` each task was drawn from.
    request : float32, shape (n,)
        CPU that each task asks for.

    Examples
    --------
    >>> mean, deviation = draw_long_tasks(100, seed=1).moments()
    >>> mean.shape, bool((deviation > 0).all())
    ((100,), True)
    """

    job: Index
    index: NDArray[np.int32]
    offsets: Index
    inst: Values
    avg: Values
    kind: NDArray[np.int8]
    request: Values

    def __len__(self) -> int:
        return len(self.job)

    def moments(self) -> tuple[Numbers, Numbers]:
        """Return mean and standard deviation (ddof 0) of the samples `inst` of every task: two arrays of shape (n,)."""
        starts = self.offsets[:-1]
        lengths = np.diff(self.offsets)
        samples = self.inst.astype(np.float64)
        mean = np.add.reduceat(samples, starts) / lengths
        residual = self.inst - np.repeat(mean, lengths)
        variance = np.add.reduceat(residual**2, starts) / lengths
        return mean, np.sqrt(variance)


def draw_long_tasks(
    n: int,
    seed: int,
    *,
    shared_factor: float = 0.0,
    windows: int | None = None,
) -> LongTasks:
    """Draw `n` long tasks from the CPU model.

    Calibrated to Janus & Rzadca (SoCC'17): mean task usage .0274, regression of deviation on mean
    (Fig. 3), shares of shape classes (Fig. 4) and Anderson–Darling rates of sums (Table 1).

    Parameters
    ----------
    n
        Number of tasks, at least 1.
    seed
        Another seed gives other tasks.
    shared_factor
        Share of the variance that all tasks have in common, window by window from their first ones.
    windows
        Length of every task; by default as long as long tasks live.

    Raises
    ------
    UsageError
        When `n` is below 1, a task would have no window, or the factor is not a share.

    Notes
    -----
    Memory: about 90 windows × 8 bytes per task (70 MB at n = 100,000).

    Examples
    --------
    >>> tasks = draw_long_tasks(50, seed=0)
    >>> bool(np.all(np.diff(tasks.offsets) >= 24)), float(tasks.inst.max()) <= 1.0
    (True, True)
    """
    check_number("n", n, SYNTHETIC_TASKS)
    if windows is not None:
        check_number("windows", windows, WINDOWS)
    check_number("shared_factor", shared_factor, SHARED_FACTOR)
    # Names of streams are part of the data: another name is another pool.
    rng = generator(seed, "pool")
    sizes = job_sizes(n, rng)
    tasks = np.zeros(n, dtype=_TASK)
    jobs = np.arange(len(sizes))
    tasks["job"] = np.repeat(jobs, sizes)
    tasks["index"] = np.concatenate([np.arange(size) for size in sizes])
    _draw_processes(tasks, rng)
    # Pareto tail of the published run times (2 h .822, 5 h .923, 10 h .971).
    drawn_lengths = LONG / rng.random(n)
    lengths = np.minimum(drawn_lengths, LONGEST).astype(np.int64)
    if windows is not None:
        lengths[:] = windows
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    # What all tasks share happens at one time: they then begin together.
    tasks["first"] = 0 if shared_factor else rng.integers(0, WINDOWS_PER_WEEK, size=n)
    sampled = np.empty(offsets[-1], dtype=np.float32)
    averages = np.empty(offsets[-1], dtype=np.float32)
    model = model_of_2011()._replace(shared_factor=shared_factor)
    process_key = np.uint64(key(seed, "process"))
    _fill(model, process_key, tasks, offsets, sampled, averages)
    return LongTasks(
        job=FIRST_ID + 37 * tasks["job"],
        index=tasks["index"].astype(np.int32),
        offsets=offsets,
        inst=sampled,
        avg=averages,
        kind=tasks["kind"].copy(),
        request=_requests(tasks["level"], seed),
    )


def job_sizes(n: int, rng: np.random.Generator) -> Index:
    """Draw sizes of jobs that add up to n: Zipf, cut so that no job makes up more than 1 % of the pool.

    Parameters
    ----------
    n
        Number of tasks.
    rng
        Where random numbers come from.
    """
    # One job with many tasks of one class would give the pool other shares of classes than the paper's.
    limit = max(1, min(50, n // 100))
    sizes = np.minimum(rng.zipf(2.2, size=n), limit)
    total = np.cumsum(sizes)
    n_jobs = int(np.searchsorted(total, n)) + 1
    sizes = sizes[:n_jobs].astype(np.int64)
    # The last job gives up what is too much, so that the pool has exactly n tasks.
    sizes[-1] -= total[n_jobs - 1] - n
    return sizes


def _draw_processes(
    tasks: NDArray[np.void],
    rng: np.random.Generator,
) -> None:
    """Draw class and level (of the job, with a jitter of the task) and which tasks drift."""
    job = tasks["job"]
    n_jobs = job[-1] + 1
    kind_of_job = rng.choice(len(CLASSES.rows), size=n_jobs, p=CLASSES.shares)
    job_score = rng.standard_normal(n_jobs)[job]
    task_score = rng.standard_normal(len(tasks))
    kind = kind_of_job[job]
    tasks["kind"] = kind
    tasks["level"] = CLASSES.levels(kind, job_score * np.sqrt(0.8) + task_score * np.sqrt(0.2))
    drifting_share = CLASSES.drifting[kind]
    tasks["drifts"] = rng.random(len(tasks)) < drifting_share


def _requests(levels: Values, seed: int) -> Values:
    # A separate stream, so that usage is what it was before tasks had requests.
    scores = generator(seed, "requests").standard_normal(len(levels))
    requests = levels / USED * np.exp(SPREAD * scores)
    return np.minimum(requests, LARGEST_REQUEST).astype(np.float32)


@compiled()
def _fill(
    model: CpuModel,
    base: np.uint64,
    tasks: NDArray[np.void],
    offsets: Index,
    inst: Values,
    avg: Values,
) -> None:
    """Fill `inst` and `avg` with a random second and the average of consecutive windows of every task."""
    noises = np.empty(2, dtype=NOISE)
    noise = noises[0]
    cell = noises[1]
    begin_noise(cell, base)
    for i in range(len(tasks)):
        task = tasks[i]
        # The key of a task, as a task of a cell has it.
        job = mix(base, np.uint64(task["job"]))
        own = mix(job, np.uint64(task["index"] + 1))
        seconds = mix(own, np.uint64(7))
        begin_noise(noise, own)
        for row in range(offsets[i], offsets[i + 1]):
            window = task["first"] + row - offsets[i]
            # Nothing is shared with the job, so its noise is never read.
            mean = window_average(
                model,
                task,
                noise,
                noise,
                cell,
                task["drifts"],
                0.0,
                window,
            )
            bits = mix(seconds, np.uint64(window))
            avg[row] = min(mean, 1.0)
            sampled = random_second(model, bits, mean, task["kind"])
            inst[row] = min(sampled, 1.0)
