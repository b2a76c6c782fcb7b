"""What a recommender is, and those that are one decaying histogram per job."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from borgtrace.kernels.arrays import Numbers
from borgtrace.overcommit.histogram import FOREVER, Buckets, rolling
from borgtrace.overcommit.policies.policy import SLOTS_PER_HOUR
from borgtrace.overcommit.recommenders.samples import JobSamples

KINDS: dict[str, type[Recommender]] = {}
"""Recommenders by name, as far as their modules have been imported."""
DAY = 24 * SLOTS_PER_HOUR
MEBIBYTE = 2.0**20


class Recommender(ABC):
    """Recommends a limit for the tasks of a job from the samples of all of them."""

    name: ClassVar[str]
    about: ClassVar[str]
    resources: ClassVar[tuple[str, ...]] = ("cpu", "memory")

    def __init_subclass__(cls) -> None:
        """List every class with a name of its own."""
        if "name" in cls.__dict__:
            KINDS[cls.name] = cls

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


@dataclass(frozen=True)
class Shape:
    """A decaying histogram and what is read from it.

    Attributes
    ----------
    buckets
        In cores or bytes.
    half_life
        In slots; infinite where nothing decays.
    share
        Percentile ÷ 100.
    margin
        What the percentile is multiplied by.
    """

    buckets: Buckets
    half_life: float
    share: float
    margin: float

    def after(self, samples: JobSamples, weight: Numbers) -> Numbers:
        """Return the percentile with its margin after each sample.

        Parameters
        ----------
        samples
            Of jobs.
        weight
            Of each sample.
        """
        return self.percentiles(samples, weight, (self.share,))[:, 0] * self.margin

    def percentiles(self, samples: JobSamples, weight: Numbers, shares: tuple[float, ...]) -> Numbers:
        """Return several percentiles after each sample, without margin: float64 (n, shares)."""
        shape = np.array([self.buckets.first, self.buckets.ratio, self.buckets.n])
        return rolling(samples.job, samples.slot, samples.value, weight, float(self.half_life), np.array(shares), shape)


class Koordinator(Recommender):
    """koordinator: percentile with a margin of 10 %; nothing for a job younger than a day."""

    name = "koordinator"
    about = "P95 of CPU (half-life 12 h), P98 of memory (24 h), + 10 %; the request for a day"
    _shapes: ClassVar[dict[str, Shape]] = {
        "cpu": Shape(Buckets.exponential(1024.0, 0.025), DAY / 2, 0.95, 1.1),
        "memory": Shape(Buckets.exponential(2.0**41, 5 * MEBIBYTE), DAY, 0.98, 1.1),
    }

    def recommend(self, samples: JobSamples) -> Numbers:
        """Return the percentile once a day has passed."""
        found = self._shapes[samples.resource].after(samples, np.ones(len(samples)))
        return np.where(age(samples) >= DAY, found, np.nan)


class Katalyst(Recommender):
    """katalyst's recommender of CPU: P95, samples weighed by their value, of at least .1 core; from a day on."""

    name = "katalyst"
    about = "P95 of CPU, weighted by usage (half-life 24 h); the request for a day"
    resources = ("cpu",)

    def recommend(self, samples: JobSamples) -> Numbers:
        """Return the percentile once a day has passed."""
        shape = Shape(Buckets.exponential(1000.0, 0.01), DAY, 0.95, 1.0)
        found = shape.after(samples, np.maximum(samples.value, 0.1))
        return np.where(age(samples) >= DAY, found, np.nan)


class Crane(Recommender):
    """crane as its code behaves: P99 of a histogram that never decays, although a half-life is configured."""

    name = "crane"
    about = "P99 + 15 % as the code behaves: the configured half-life is not used"
    _half_lives: ClassVar[dict[str, float]] = {"cpu": FOREVER, "memory": FOREVER}

    def recommend(self, samples: JobSamples) -> Numbers:
        """Return the percentile."""
        half_life = self._half_lives[samples.resource]
        if samples.resource == "cpu":
            shape = Shape(Buckets.linear(100.0, 0.1), half_life, 0.99, 1.15)
            return shape.after(samples, np.maximum(samples.value, 1e-5))
        shape = Shape(Buckets.linear(1000 * 100 * MEBIBYTE, 100 * MEBIBYTE), half_life, 0.99, 1.15)
        return shape.after(samples, np.ones(len(samples)))


class CraneConfigured(Crane):
    """crane as it is configured: half-lives of 24 h for CPU, and of 48 h for memory."""

    name = "crane-configured"
    about = "P99 + 15 % with the half-lives that are configured: 24 h for CPU, 48 h for memory"
    _half_lives: ClassVar[dict[str, float]] = {"cpu": DAY, "memory": 2 * DAY}


def age(samples: JobSamples) -> Numbers:
    """Return the slots since the first sample of each sample's job: (n,)."""
    first = np.searchsorted(samples.job, samples.job)
    return (samples.slot - samples.slot[first]).astype(np.float64)
