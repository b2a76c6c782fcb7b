"""The base class of recommenders, and the simplest one."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from borgtrace.errors import UsageError
from borgtrace.extensions import quiet_output
from borgtrace.kernels.arrays import Numbers
from borgtrace.overcommit.recommenders.samples import JobSamples
from borgtrace.overcommit.rule import NamedRule


@dataclass(frozen=True)
class Recommender(NamedRule):
    """Recommends a limit for the tasks of a job from the samples of all of them.

    A subclass has `name`, `about` and :meth:`recommend`, and is a frozen dataclass where it has parameters.  Users can
    name it once its file follows ``--from``, its package has an entry point of the group ``borgtrace.recommenders``,
    or, one of ours, :mod:`borgtrace.overcommit.recommenders.registry` lists it.

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

    def recommended(self, samples: JobSamples) -> Numbers:
        """Return what is recommended after each sample, checked by :meth:`checked`."""
        with quiet_output():
            limits = self.recommend(samples)
        return self.checked(limits, len(samples))

    def checked(self, recommended: Numbers, n_samples: int) -> Numbers:
        """Return what :meth:`recommend` returned, once it is sure that it is a limit for each sample.

        Raises
        ------
        UsageError
            It has another length, or holds what is no number, is infinite or negative.
        """
        limits = np.asarray(recommended)
        where = f"recommender {self.name}"
        if limits.dtype.kind not in "fiu" or limits.shape != (n_samples,):
            raise UsageError(
                where,
                "what recommend returns",
                expected=f"numbers of shape ({n_samples},), one for each sample",
                got=f"{limits.dtype} of shape {limits.shape}",
            )
        n_wrong = int(((limits < 0) | np.isinf(limits)).sum())
        if n_wrong:
            raise UsageError(
                where,
                "what recommend returns",
                expected="amounts of at least 0, and NaN where nothing is recommended",
                got=f"{n_wrong:,} that are negative or infinite",
            )
        return limits.astype(np.float64, copy=False)


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
