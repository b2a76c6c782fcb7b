"""Recommenders that read one percentile of one decaying histogram per job: koordinator, katalyst, crane."""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from borgtrace.kernels.arrays import Numbers
from borgtrace.overcommit.histogram import (
    FOREVER,
    MEBIBYTE,
    VPA_BUCKETS,
    Buckets,
    DecayingHistogram,
)
from borgtrace.overcommit.policies.kubernetes import DAY, KOORDINATOR
from borgtrace.overcommit.policies.policy import SLOTS_PER_HOUR
from borgtrace.overcommit.recommenders.recommender import Recommender, age
from borgtrace.overcommit.recommenders.samples import JobSamples

CRANE_EPSILON = 1e-10
"""A bucket of crane that weighs less is empty: far less than its least weight of a sample."""


class HistogramRecommender(Recommender):
    """Base of those that read one percentile of one histogram of a job.

    Attributes
    ----------
    histograms
        The histogram of each resource.
    least_weights
        Of each resource whose samples weigh their value, the least weight.  All samples of another weigh 1.
    patience
        Age of a job, in slots, before anything is recommended.
    """

    histograms: ClassVar[dict[str, DecayingHistogram]]
    least_weights: ClassVar[Mapping[str, float]] = {}
    patience: ClassVar[int] = 0

    def recommend(self, samples: JobSamples) -> Numbers:
        """Return the percentile once the job is old enough."""
        weight: Numbers | float = 1.0
        if samples.resource in self.least_weights:
            least = self.least_weights[samples.resource]
            weight = np.maximum(samples.value, least)
        histogram = self.histograms[samples.resource]
        percentile = histogram.after(
            samples.job,
            samples.slot,
            samples.value,
            weight,
        )
        return np.where(
            age(samples) >= self.patience,
            percentile,
            np.nan,
        )


class Koordinator(HistogramRecommender):
    """koordinator: percentile with a margin of 10 %; nothing for a job younger than a day.

    It is what koordlet predicts of a pod (pkg/koordlet/prediction), of all tasks of a job; koordinator itself sets no
    limits.
    """

    name = "koordinator"
    about = "P95 of CPU (half-life 12 h), P98 of memory (24 h), + 10 %; the request for a day"
    histograms = {
        "cpu": replace(KOORDINATOR["cpu"], margin=1.1),
        "memory": replace(KOORDINATOR["memory"], margin=1.1),
    }
    patience = DAY


class Katalyst(HistogramRecommender):
    """katalyst: P90 without a margin, from a day on; samples of CPU weigh their value, of at least .1 core.

    After kubewharf/katalyst-core, pkg/controller/resource-recommend/processor/percentile.  Memory is the highest sample
    of each hour, added when the hour has ended; a margin (resourceBufferPercent) is the user's to add.
    """

    name = "katalyst"
    about = "P90 of CPU, weighted by usage, and of the hourly peaks of memory (half-life 24 h); the request for a day"
    histograms = {
        "cpu": DecayingHistogram(VPA_BUCKETS["cpu"], DAY, 0.9),
        "memory": DecayingHistogram(VPA_BUCKETS["memory"], DAY, 0.9),
    }
    least_weights = {"cpu": 0.1}
    patience = DAY

    def recommend(self, samples: JobSamples) -> Numbers:
        """Return the percentile after each sample: of memory, that of the hours that have ended."""
        # Without samples there is no last hour.
        if samples.resource == "cpu" or not len(samples):
            return super().recommend(samples)
        hours = samples.moment(samples.slot // SLOTS_PER_HOUR)
        first = np.flatnonzero(np.diff(hours, prepend=-1))
        last = np.append(first[1:], len(samples)) - 1
        job = samples.job[last]
        peak_of_hour = np.maximum.reduceat(samples.value, first)
        percentile = self.histograms["memory"].after(job, samples.slot[last], peak_of_hour)
        percentile[age(samples)[last] < self.patience] = np.nan
        hours_ended = samples.moment((samples.slot + 1) // SLOTS_PER_HOUR)
        last_hour = np.searchsorted(hours[first], hours_ended) - 1
        # −1, where no hour of any job has ended, takes the job that is none.
        is_own = np.append(job, -1)[last_hour] == samples.job
        return np.where(is_own, percentile[last_hour], np.nan)


class Crane(HistogramRecommender):
    """crane as its code behaves: P99 of a histogram of 7 days that never decays, although a half-life is configured.

    After gocrane/crane, pkg/prediction/percentile: every sample weighs its value, of memory its bytes, and at least
    1e-5; a bucket of less than 1e-10 is empty.  Its protection of containers that ran out of memory is left out: the
    trace has no such events.
    """

    name = "crane"
    about = "P99 of 7 days, weighted by usage, + 15 % as the code behaves: the configured half-life is not used"
    histograms = {
        "cpu": DecayingHistogram(
            buckets=Buckets.linear(100.0, 0.1, CRANE_EPSILON),
            half_life=FOREVER,
            share=0.99,
            margin=1.15,
            history=7 * DAY,
        ),
        "memory": DecayingHistogram(
            buckets=Buckets.linear(1000 * 100 * MEBIBYTE, 100 * MEBIBYTE, CRANE_EPSILON),
            half_life=FOREVER,
            share=0.99,
            margin=1.15,
            history=7 * DAY,
        ),
    }
    least_weights = {"cpu": 1e-5, "memory": 1e-5}


class CraneConfigured(Crane):
    """crane as it is configured: half-lives of 24 h for CPU, and of 48 h for memory."""

    name = "crane-configured"
    about = "crane with the half-lives that are configured: 24 h for CPU, 48 h for memory"
    histograms = {
        "cpu": replace(Crane.histograms["cpu"], half_life=DAY),
        "memory": replace(Crane.histograms["memory"], half_life=2 * DAY),
    }
