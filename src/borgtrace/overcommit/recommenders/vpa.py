"""The Vertical Pod Autoscaler's recommender: target and bounds.

After kubernetes/autoscaler, vertical-pod-autoscaler/pkg/recommender.  A job is one container: all its tasks share a
histogram.  CPU samples weigh .1 each; memory is the peak of each task's 24 h, corrected while it grows, unless the
24 h began with a sample of 0: then VPA never raises it.  Samples are those of the trace, one in 5 minutes, and
confidence counts them as they come.  Left out are VPA's rounding to whole millicores and bytes, its samples for
containers that ran out of memory, which the trace does not tell, and that it forgets a job after 8 days without any.
"""

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.overcommit.histogram import (
    MEBIBYTE,
    N_STATE,
    VPA_BUCKETS,
    Buckets,
    DecayingHistogram,
    add,
    clear,
    find_bucket,
    percentile,
    subtract,
)
from borgtrace.overcommit.policies.kubernetes import DAY
from borgtrace.overcommit.recommenders.recommender import Recommender, age
from borgtrace.overcommit.recommenders.samples import BITS_OF_TIME, JobSamples

_LEAST = {"cpu": 0.025, "memory": 250 * MEBIBYTE}
_MARGIN = 1.15
_WEIGHT = 0.1
_SAMPLES_PER_DAY = 1440.0
_CHANGE = 0.1
TARGET, LOW, HIGH, REQUEST = range(4)
N_BOUNDS = 4
"""Rows of what is known of a resource at some moments."""


class Vpa(Recommender):
    """VPA's target: the 90th percentile + 15 %, at least 25 millicores and 250 MiB."""

    name = "vpa"
    about = "VPA's target: P90 + 15 %, half-life 24 h"

    def recommend(self, samples: JobSamples) -> Numbers:
        """Return the target after each sample."""
        return at_least(samples, percentile_of(samples, 0.9))


class VpaUpdated(Vpa):
    """VPA with its updater: the targets take effect where the tasks are recreated for it.

    That is at once where the limit of a resource lies outside its bounds, else where the tasks are 12 h old and the
    relative differences of limits and targets add up to 10 % or more, over the resources that are asked for.
    After vertical-pod-autoscaler/pkg/updater/priority.
    """

    name = "vpa-updater"
    about = "VPA's target, applied as its updater does: out of bounds at once, else after 12 h and a change of 10 %"

    def recommend(self, samples: JobSamples) -> Numbers:
        """Return the limit that is applied after each slot; NaN until the first update."""
        all_resources = (samples, *samples.beside)
        moments_of_each = [part.moment(part.slot) for part in all_resources]
        moments = np.unique(np.concatenate(moments_of_each))
        known = np.stack([self._known(part, moments) for part in all_resources])
        limits = _apply_updates(
            moments >> BITS_OF_TIME,
            moments,
            known,
            DAY // 2,
        )
        return limits[np.searchsorted(moments, samples.moment(samples.slot))]

    def _known(self, samples: JobSamples, moments: Index) -> Numbers:
        """Return target, bounds and request at some moments, by the job's samples so far: (4, m), NaN without any."""
        n = len(samples)
        first = np.searchsorted(samples.job, samples.job)
        count = np.arange(1, n + 1) - first
        confidence = np.minimum(age(samples) / DAY, count / _SAMPLES_PER_DAY)
        low = percentile_of(samples, 0.5) * (confidence / (confidence + 0.001)) ** 2
        # At the first sample nothing is known, and no limit is too high.
        rise = np.divide(
            1.0,
            confidence,
            out=np.full(n, np.inf),
            where=confidence > 0,
        )
        high = percentile_of(samples, 0.95) * (1.0 + rise)
        # The last column, for moments before any sample, is NaN.
        bounds = np.full((N_BOUNDS, n + 1), np.nan)
        bounds[TARGET, :n] = super().recommend(samples)
        bounds[LOW, :n] = at_least(samples, low)
        bounds[HIGH, :n] = at_least(samples, high)
        bounds[REQUEST, :n] = samples.request
        place = np.searchsorted(samples.moment(samples.slot), moments, side="right") - 1
        is_own = np.append(samples.job, -1)[place] == moments >> BITS_OF_TIME
        return np.where(
            is_own,
            bounds[:, place],
            np.nan,
        )


def percentile_of(samples: JobSamples, share: float) -> Numbers:
    """Return a percentile + 15 % after each sample.

    Parameters
    ----------
    samples
        Of jobs.
    share
        Percentile ÷ 100.
    """
    if samples.resource == "cpu":
        histogram = DecayingHistogram(
            VPA_BUCKETS["cpu"],
            DAY,
            share,
            _MARGIN,
        )
        return histogram.after(
            samples.job,
            samples.slot,
            samples.value,
            _WEIGHT,
        )
    task = np.unique(samples.task, return_inverse=True)[1].astype(np.int64)
    percentiles = percentiles_of_daily_peaks(
        samples.job,
        task,
        samples.slot,
        samples.value,
        float(DAY),
        share,
        VPA_BUCKETS["memory"],
    )
    return percentiles * _MARGIN


def at_least(samples: JobSamples, recommended: Numbers) -> Numbers:
    """Return recommendations that are not below the least of the resource."""
    return np.maximum(recommended, _LEAST[samples.resource])


@compiled()
def _apply_updates(
    job: Index,
    moments: Index,
    known: Numbers,
    patience: int,
) -> Numbers:
    """Return the limit of the first resource that is applied after each moment; NaN where none is."""
    n_resources = len(known)
    out = np.full(job.size, np.nan)
    limits = np.empty(n_resources)
    last_update = 0
    applied = np.nan
    for i in range(job.size):
        if i == 0 or job[i] != job[i - 1]:
            limits[:] = np.nan
            last_update = moments[i]
            applied = np.nan
        is_outside = False
        change = 0.0
        for r in range(n_resources):
            target = known[r, TARGET, i]
            if not target > 0:
                continue
            if np.isnan(limits[r]):
                limits[r] = known[r, REQUEST, i]
            limit = limits[r]
            is_outside |= limit < known[r, LOW, i] or limit > known[r, HIGH, i]
            change += abs(limit - target) / limit if limit > 0 else 0.0
        is_due = moments[i] - last_update >= patience
        if is_outside or (is_due and change >= _CHANGE):
            limits[:] = known[:, TARGET, i]
            last_update = moments[i]
            applied = known[0, TARGET, i]
        out[i] = applied
    return out


@compiled()
def percentiles_of_daily_peaks(
    job: Index,
    task: Index,
    slot: Index,
    value: Numbers,
    day: float,
    share: float,
    buckets: Buckets,
) -> Numbers:
    """Return a percentile of the tasks' daily peaks after each sample, float64 (n,).

    A task's intervals of a day begin with its first sample.  The peak of one that begins with a sample of 0 is never
    raised: VPA takes a peak of 0 for none that it could correct.

    Parameters
    ----------
    job, task, slot, value
        Samples, sorted by job and slot; tasks are numbers from 0.
    day
        Interval and half-life, in slots.
    share
        Percentile ÷ 100.
    buckets
        Of the histogram of a job.
    """
    weights = np.zeros(buckets.n)
    state = np.zeros(N_STATE)
    out = np.empty(job.size)
    n_tasks = task.max() + 1 if task.size else 0
    # Of each task, the end of its interval, and the peak in it.
    end = np.full(n_tasks, -1.0)
    peak = np.zeros(n_tasks)
    for i in range(job.size):
        if i == 0 or job[i] != job[i - 1]:
            clear(weights, state)
        k = task[i]
        if end[k] < 0:
            end[k] = slot[i]
        is_new = slot[i] >= end[k]
        is_raised = not is_new and 0 < peak[k] < value[i]
        if is_new:
            n_passed = np.floor((slot[i] - end[k]) / day)
            end[k] += n_passed * day + day
        if is_raised:
            bucket = find_bucket(peak[k], buckets)
            subtract(weights, state, bucket, 1.0, end[k], day, buckets)
        if is_new or is_raised:
            peak[k] = value[i]
            bucket = find_bucket(peak[k], buckets)
            add(weights, state, bucket, 1.0, end[k], day, buckets)
        out[i] = percentile(weights, state, share, buckets)
    return out
