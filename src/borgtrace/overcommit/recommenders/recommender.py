"""What a recommender is, and those that are one decaying histogram per job."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from borgtrace.kernels.arrays import Numbers
from borgtrace.overcommit.histogram import FOREVER, MEBIBYTE, VPA_BUCKETS, Buckets, Shape
from borgtrace.overcommit.policies.kubernetes import DAY, KOORDINATOR
from borgtrace.overcommit.policies.policy import SLOTS_PER_HOUR
from borgtrace.overcommit.recommenders.samples import JobSamples
from borgtrace.overcommit.rule import Rule

KINDS: dict[str, type[Recommender]] = {}
"""Recommenders by name, as far as their modules have been imported."""


@dataclass(frozen=True)
class Recommender(Rule):
    """Recommends a limit for the tasks of a job from the samples of all of them.

    Attributes
    ----------
    resources
        What it speaks of.
    """

    option = "--recommender"
    kinds = KINDS
    resources: ClassVar[tuple[str, ...]] = ("cpu", "memory")

    @abstractmethod
    def recommend(self, samples: JobSamples) -> Numbers:
        """Return what is recommended after each sample, float64 (n,), in cores or bytes; NaN where nothing is."""


class Request(Recommender):
    """What the tasks requested themselves."""

    name = "request"
    about = "the tasks' own requests"

    def recommend(self, samples: JobSamples) -> Numbers:
        """Recommend nothing."""
        return np.full(len(samples), np.nan)


class HistogramRecommender(Recommender):
    """Base of those that read one percentile of one histogram of a job.

    Attributes
    ----------
    shapes
        The histogram of each resource.
    least
        Least weight of a sample of CPU, which weighs its value; 0 where all samples weigh the same.
    patience
        Age of a job, in slots, before anything is recommended.
    """

    shapes: ClassVar[dict[str, Shape]]
    least: ClassVar[float] = 0.0
    patience: ClassVar[int] = 0

    def recommend(self, samples: JobSamples) -> Numbers:
        """Return the percentile once the job is old enough."""
        is_weighed = self.least > 0 and samples.resource == "cpu"
        weight = np.maximum(samples.value, self.least) if is_weighed else 1.0
        found = self.shapes[samples.resource].after(
            samples.job, samples.slot, samples.value, weight
        )
        return np.where(age(samples) >= self.patience, found, np.nan)


class Koordinator(HistogramRecommender):
    """koordinator: percentile with a margin of 10 %; nothing for a job younger than a day."""

    name = "koordinator"
    about = "P95 of CPU (half-life 12 h), P98 of memory (24 h), + 10 %; the request for a day"
    shapes = {name: replace(shape, margin=1.1) for name, shape in KOORDINATOR.items()}
    patience = DAY


class Katalyst(HistogramRecommender):
    """katalyst: P90 without a margin, from a day on; samples of CPU weigh their value, of at least .1 core.

    After kubewharf/katalyst-core, pkg/controller/resource-recommend/processor/percentile.  Memory is the highest sample
    of each hour, added when the hour has ended; a margin (resourceBufferPercent) is the user's to add.
    """

    name = "katalyst"
    about = "P90 of CPU, weighted by usage, and of the hourly peaks of memory (half-life 24 h); the request for a day"
    shapes = {name: Shape(buckets, DAY, 0.9) for name, buckets in VPA_BUCKETS.items()}
    least = 0.1
    patience = DAY

    def recommend(self, samples: JobSamples) -> Numbers:
        """Return the percentile after each sample: of memory, that of the hours that have ended."""
        if samples.resource == "cpu":
            return super().recommend(samples)
        hours = samples.moment(samples.slot // SLOTS_PER_HOUR)
        first = np.flatnonzero(np.diff(hours, prepend=-1))
        last = np.append(first[1:], len(samples)) - 1
        highest = np.maximum.reduceat(samples.value, first)
        found = self.shapes["memory"].after(samples.job[last], samples.slot[last], highest)
        found[age(samples)[last] < self.patience] = np.nan
        ended = (
            np.searchsorted(hours[first], samples.moment((samples.slot + 1) // SLOTS_PER_HOUR)) - 1
        )
        # −1, where no hour of any job has ended, takes the job that is none.
        is_own = np.append(samples.job[last], -1)[ended] == samples.job
        return np.where(is_own, found[ended], np.nan)


class Crane(HistogramRecommender):
    """crane as its code behaves: P99 of a histogram of 7 days that never decays, although a half-life is configured."""

    name = "crane"
    about = "P99 of 7 days + 15 % as the code behaves: the configured half-life is not used"
    shapes = {
        "cpu": Shape(Buckets.linear(100.0, 0.1), FOREVER, 0.99, 1.15, 7 * DAY),
        "memory": Shape(
            Buckets.linear(1000 * 100 * MEBIBYTE, 100 * MEBIBYTE), FOREVER, 0.99, 1.15, 7 * DAY
        ),
    }
    least = 1e-5


class CraneConfigured(Crane):
    """crane as it is configured: half-lives of 24 h for CPU, and of 48 h for memory."""

    name = "crane-configured"
    about = "P99 of 7 days + 15 % with the half-lives that are configured: 24 h for CPU, 48 h for memory"
    shapes = {
        "cpu": replace(Crane.shapes["cpu"], half_life=DAY),
        "memory": replace(Crane.shapes["memory"], half_life=2 * DAY),
    }


def age(samples: JobSamples) -> Numbers:
    """Return the slots since the first sample of each sample's job: (n,)."""
    first = np.searchsorted(samples.job, samples.job)
    return (samples.slot - samples.slot[first]).astype(np.float64)
