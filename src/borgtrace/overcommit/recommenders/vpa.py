"""The Vertical Pod Autoscaler's recommender: target and bounds.

After kubernetes/autoscaler, vertical-pod-autoscaler/pkg/recommender.  A job is one container: all its tasks share a
histogram.  CPU samples weigh .1 each; memory is the peak of each task's 24 h, corrected while it grows.  Samples are
those of the trace, one in 5 minutes, and confidence counts them as they come.
"""

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.overcommit.histogram import Buckets, Shape, add, clear, find, percentile, subtract
from borgtrace.overcommit.policies.kubernetes import DAY
from borgtrace.overcommit.recommenders.recommender import Recommender, age
from borgtrace.overcommit.recommenders.samples import JobSamples

_CPU = Buckets.exponential(1000.0, 0.01)
_MEMORY = Buckets.exponential(1e12, 1e7)
_LEAST = {"cpu": 0.025, "memory": 250e6}
_MARGIN = 1.15
_WEIGHT = 0.1
_SAMPLES_PER_DAY = 1440.0


class Vpa(Recommender):
    """VPA's target: the 90th percentile + 15 %, at least 25 millicores and 250 MB."""

    name = "vpa"
    about = "VPA's target: P90 + 15 %, half-life 24 h"

    def recommend(self, samples: JobSamples) -> Numbers:
        """Return the target after each sample."""
        return bounded(samples, percentile_of(samples, 0.9))


class VpaUpdated(Vpa):
    """VPA with its updater: the target takes effect where a task is recreated for it.

    That is at once where the limit lies outside the bounds, else where the tasks are 12 h old and the target differs by
    10 % or more.  The original sums that difference over the resources; here each resource stands alone.
    """

    name = "vpa-updater"
    about = "VPA's target, applied as its updater does: out of bounds at once, else after 12 h and a change of 10 %"

    def recommend(self, samples: JobSamples) -> Numbers:
        """Return the limit that is applied after each sample; NaN until the first update."""
        first = np.searchsorted(samples.job, samples.job)
        count = np.arange(1, len(samples) + 1) - first
        confidence = np.minimum(age(samples) / DAY, count / _SAMPLES_PER_DAY)
        low = percentile_of(samples, 0.5) * (confidence / (confidence + 0.001)) ** 2
        # At the first sample nothing is known, and no limit is too high.
        rise = np.divide(1.0, confidence, out=np.full(len(samples), np.inf), where=confidence > 0)
        high = percentile_of(samples, 0.95) * (1.0 + rise)
        target = super().recommend(samples)
        bounds = bounded(samples, low), bounded(samples, high)
        return _updated(samples.job, samples.slot, target, *bounds, samples.request, DAY // 2)


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
        return Shape(_CPU, DAY, share, _MARGIN).after(samples.job, samples.slot, samples.value, _WEIGHT)
    task = np.unique(samples.task, return_inverse=True)[1].astype(np.int64)
    return daily_peaks(samples.job, task, samples.slot, samples.value, float(DAY), share, _MEMORY) * _MARGIN


def bounded(samples: JobSamples, found: Numbers) -> Numbers:
    """Return recommendations that are not below the least of the resource."""
    return np.maximum(found, _LEAST[samples.resource])


@compiled()
def _updated(
    job: Index, slot: Index, target: Numbers, low: Numbers, high: Numbers, request: Numbers, patience: int
) -> Numbers:
    out = np.empty(job.size)
    limit, since, now = 0.0, 0, np.nan
    for i in range(job.size):
        if i == 0 or job[i] != job[i - 1]:
            limit, since, now = request[i], slot[i], np.nan
        # Judged once a slot, by the last sample of it.
        is_last = i + 1 == job.size or job[i + 1] != job[i] or slot[i + 1] != slot[i]
        is_old = slot[i] - since >= patience and abs(limit - target[i]) >= 0.1 * limit
        if is_last and (limit < low[i] or limit > high[i] or is_old):
            limit, since, now = target[i], slot[i], target[i]
        out[i] = now
    return out


@compiled()
def daily_peaks(
    job: Index, task: Index, slot: Index, value: Numbers, day: float, share: float, buckets: Buckets
) -> Numbers:
    """Return a percentile of the tasks' daily peaks after each sample, float64 (n,).

    A task's first interval ends at its first sample, so that the first peak stands alone; each next one lasts a day.

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
    weights, state, out = np.zeros(buckets.n), np.zeros(4), np.empty(job.size)
    n_tasks = 0
    for i in range(task.size):
        n_tasks = max(n_tasks, task[i] + 1)
    end, peak = np.full(n_tasks, -1.0), np.zeros(n_tasks)
    for i in range(job.size):
        if i == 0 or job[i] != job[i - 1]:
            clear(weights, state)
        k = task[i]
        if end[k] < 0:
            end[k] = slot[i]
        is_new = slot[i] >= end[k]
        if is_new:
            end[k] += np.floor((slot[i] - end[k]) / day) * day + day
        elif value[i] > peak[k]:
            subtract(weights, state, find(peak[k], buckets), 1.0, end[k], day)
        if is_new or value[i] > peak[k]:
            peak[k] = value[i]
            add(weights, state, find(peak[k], buckets), 1.0, end[k], day)
        out[i] = percentile(weights, state, share, buckets)
    return out
