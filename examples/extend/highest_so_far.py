"""A recommender: the highest sample of a job so far, with a margin."""

from dataclasses import dataclass

import numpy as np

from borgtrace import Recommender


@dataclass(frozen=True)
class HighestSoFar(Recommender):
    """The highest sample of any task of the job up to now, times 1 + margin."""

    margin: float = 0.2

    name = "highest-so-far"
    about = "the highest sample of a job so far, with a margin"

    def recommend(self, samples):
        limits = np.empty(len(samples))
        for job in np.unique(samples.job):
            is_own = samples.job == job
            slots, slot = np.unique(samples.slot[is_own], return_inverse=True)
            peaks = np.zeros(len(slots))
            # All tasks of a slot are known when it ends.
            np.maximum.at(peaks, slot, samples.value[is_own])
            limits[is_own] = np.maximum.accumulate(peaks)[slot]
        return (1 + self.margin) * limits
