"""What limits would have been, and what would have happened under them, job-day by job-day."""

from dataclasses import dataclass, field

import numpy as np

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.overcommit.policies.kubernetes import DAY
from borgtrace.overcommit.recommenders.samples import JobSamples

_MOVED = 1e-9
"""A recommendation that moves by less, relatively, has not changed."""


@dataclass
class Tally:
    """Sums over samples and job-days of one recommender, to which some jobs at a time are added.

    Attributes
    ----------
    slack
        (mean limit − P95 of usage) ÷ mean limit of each job-day with a limit.
    changes
        Changes of the recommendation in each job-day.
    jobs, samples, unused, short, task_days, short_task_days
        Jobs; samples; Σ (limit − usage) over samples; samples above the limit; days of tasks, and those in which a
        task was above it.
    """

    slack: list[Numbers] = field(default_factory=list)
    changes: list[Index] = field(default_factory=list)
    jobs: int = 0
    samples: int = 0
    unused: float = 0.0
    short: int = 0
    task_days: int = 0
    short_task_days: int = 0

    def add(self, samples: JobSamples, recommended: Numbers, chosen: Flags) -> None:
        """Add some jobs.

        Parameters
        ----------
        samples
            Whole jobs.
        recommended
            What is recommended after each sample.
        chosen
            bool (n,): samples that count; of a job all or none.
        """
        limit = samples.in_force(recommended)[chosen]
        job, slot, task = (column[chosen] for column in (samples.job, samples.slot, samples.task))
        value = samples.value[chosen]
        if not len(job):
            return
        days = int(slot.max()) // DAY + 1
        job_day = job * days + slot // DAY
        first = np.flatnonzero(np.diff(job_day, prepend=-1))
        mean = np.add.reduceat(limit, first) / np.diff(np.append(first, len(job)))
        high = _percentile_95(job_day, value, first)
        self.slack.append(((mean - high)[mean > 0]) / mean[mean > 0])
        self.changes.append(_changes(job, slot, recommended[chosen], job_day, first))
        is_short = value > limit
        task_day, at = np.unique(task * days + slot // DAY, return_inverse=True)
        self.jobs += len(np.unique(job))
        self.samples += len(job)
        self.unused += float((limit - value).sum())
        self.short += int(is_short.sum())
        self.task_days += len(task_day)
        self.short_task_days += int((np.bincount(at, is_short) > 0).sum())


def _percentile_95(group: Index, value: Numbers, first: Index) -> Numbers:
    """Return the 95th percentile of each group of neighbors, linear between values."""
    ordered = value[np.lexsort((value, group))]
    sizes = np.diff(np.append(first, len(value)))
    position = (sizes - 1) * 0.95
    below = position.astype(np.int64)
    low = ordered[first + below]
    high = ordered[first + np.minimum(below + 1, sizes - 1)]
    return low + (high - low) * (position - below)


def _changes(
    job: Index,
    slot: Index,
    recommended: Numbers,
    job_day: Index,
    first: Index,
) -> Index:
    """Count per job-day how often the recommendation after a slot differs from that after the slot before."""
    last = np.append((np.diff(slot) != 0) | (np.diff(job) != 0), True)
    after = np.nan_to_num(recommended[last])
    jobs = job[last]
    days = job_day[last]
    moved = np.abs(np.diff(after)) > _MOVED * np.maximum(after[1:], after[:-1])
    # The first recommendation of a job changes its request, and is no change of a recommendation.
    moved &= (jobs[1:] == jobs[:-1]) & (after[:-1] > 0)
    counted = np.searchsorted(job_day[first], days[1:][moved])
    return np.bincount(counted, minlength=len(first)).astype(np.int64)
