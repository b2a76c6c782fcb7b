"""The base class of recommenders, and the simplest one."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from borgtrace.kernels.arrays import Numbers
from borgtrace.overcommit.recommenders.samples import JobSamples
from borgtrace.overcommit.rule import NamedRule


@dataclass(frozen=True)
class Recommender(NamedRule):
    """Recommends a limit for the tasks of a job from the samples of all of them.

    A subclass has `name`, `about` and :meth:`recommend`, and is a frozen dataclass where it has parameters.  Users can
    name it once it is listed in :mod:`borgtrace.overcommit.recommenders.registry`.

    Attributes
    ----------
    resources
        The resources that it recommends limits of.
    """

    option = "--recommender"
    resources: ClassVar[tuple[str, ...]] = ("cpu", "memory")

    @abstractmethod
    def recommend(self, samples: JobSamples) -> Numbers:
        """Return what is recommended after each sample, float64 (n,), in cores or bytes; NaN where nothing is."""


class OwnRequest(Recommender):
    """The requests of the tasks themselves."""

    name = "request"
    about = "the tasks' own requests"

    def recommend(self, samples: JobSamples) -> Numbers:
        """Recommend nothing."""
        return np.full(len(samples), np.nan)


def age(samples: JobSamples) -> Numbers:
    """Return the slots since the first sample of each sample's job: (n,)."""
    first = np.searchsorted(samples.job, samples.job)
    return (samples.slot - samples.slot[first]).astype(np.float64)
