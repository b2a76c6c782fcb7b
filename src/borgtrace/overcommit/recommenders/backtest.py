"""What limits would have been, and what would have happened under them, job-day by job-day."""

from dataclasses import dataclass, field

import numpy as np

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.overcommit.policies.kubernetes import DAY
from borgtrace.overcommit.recommenders.samples import JobSamples

_UNCHANGED = 1e-9
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
    jobs, samples
        How many were added.
    unused
        Σ (limit − usage) over samples.
    short
        Samples above the limit.
    task_days, short_task_days
        Days of tasks, and those in which a task was above its limit.
    """

    slack: list[Numbers] = field(default_factory=list)
    changes: list[Index] = field(default_factory=list)
    jobs: int = 0
    samples: int = 0
    unused: float = 0.0
    short: int = 0
    task_days: int = 0
    short_task_days: int = 0

    def add(
        self,
        samples: JobSamples,
        recommended: Numbers,
        chosen: Flags,
    ) -> None:
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
        job = samples.job[chosen]
        slot = samples.slot[chosen]
        task = samples.task[chosen]
        value = samples.value[chosen]
        n = len(job)
        if not n:
            return
        day = slot // DAY
        n_days = int(slot.max()) // DAY + 1
        job_day = job * n_days + day
        first = np.flatnonzero(np.diff(job_day, prepend=-1))
        samples_per_day = np.diff(np.append(first, n))
        mean_limit = np.add.reduceat(limit, first) / samples_per_day
        high = _percentile_95(job_day, value, first)
        has_limit = mean_limit > 0
        is_short = value > limit
        task_day, number = np.unique(task * n_days + day, return_inverse=True)
        short_samples = np.bincount(number, is_short)
        self.slack.append((mean_limit - high)[has_limit] / mean_limit[has_limit])
        changes = _count_changes(
            job,
            slot,
            recommended[chosen],
            job_day,
            first,
        )
        self.changes.append(changes)
        self.jobs += len(np.unique(job))
        self.samples += n
        self.unused += float((limit - value).sum())
        self.short += int(is_short.sum())
        self.task_days += len(task_day)
        self.short_task_days += int((short_samples > 0).sum())


def _percentile_95(
    group: Index,
    value: Numbers,
    first: Index,
) -> Numbers:
    """Return the 95th percentile of each group of neighbors, linear between values."""
    ordered = value[np.lexsort((value, group))]
    sizes = np.diff(np.append(first, len(value)))
    position = (sizes - 1) * 0.95
    below = position.astype(np.int64)
    above = np.minimum(below + 1, sizes - 1)
    low = ordered[first + below]
    high = ordered[first + above]
    return low + (high - low) * (position - below)


def _count_changes(
    job: Index,
    slot: Index,
    recommended: Numbers,
    job_day: Index,
    first: Index,
) -> Index:
    """Count per job-day how often the recommendation after a slot differs from that after the slot before."""
    is_last_of_slot = np.append((np.diff(slot) != 0) | (np.diff(job) != 0), True)
    after_slot = np.nan_to_num(recommended[is_last_of_slot])
    job_of_slot = job[is_last_of_slot]
    day_of_slot = job_day[is_last_of_slot]
    before = after_slot[:-1]
    after = after_slot[1:]
    has_changed = np.abs(after - before) > _UNCHANGED * np.maximum(after, before)
    # The first recommendation of a job changes its request, and is no change of a recommendation.
    has_changed &= (job_of_slot[1:] == job_of_slot[:-1]) & (before > 0)
    days = np.searchsorted(job_day[first], day_of_slot[1:][has_changed])
    return np.bincount(days, minlength=len(first)).astype(np.int64)
