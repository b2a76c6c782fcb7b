"""GPA over any number of resources, of which some are hard limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from borgtrace.kernels.arrays import Numbers
from borgtrace.placement._gaussian import fit_bin
from borgtrace.placement.estimators.estimator import Estimator
from borgtrace.placement.estimators.observation import Observation
from borgtrace.placement.types import Row, slack_kernel


@slack_kernel
def vector_slack(state: Row, item: Row, capacity: Row, parameters: Row) -> float:
    """The smallest FitBin of all resources, as a share of its target; rows are μ of each, then σ² of each."""
    least = 1.0
    n = capacity.size
    for k in range(n):
        room = capacity[k] - state[k] - item[k]
        variance = state[n + k] + item[n + k]
        least = min(least, fit_bin(room, variance, parameters[k]) / parameters[k])
    return least


@dataclass(frozen=True)
class VectorGpa(Estimator):
    """GPA for each of several resources; a hard limit is one whose loads do not vary.

    Attributes
    ----------
    parameter
        ρ of every resource.
    mean, variance
        float64 (n, k): moments of each task by resource, the CPU first; fractions of the largest machine.

    Where it is wrong
    -----------------
    As GPA is, for each resource by itself: it says nothing of how often any of them overflows.
    """

    mean: Numbers = field(default_factory=lambda: np.empty((0, 1)))
    variance: Numbers = field(default_factory=lambda: np.empty((0, 1)))

    name = "vector-gpa"
    symbol = "ρ"
    about = "GPA for each resource, some of them hard limits"
    high = 1.0
    # Made of moments, which no name and number can say.
    is_listed = False
    slack = staticmethod(vector_slack)

    @classmethod
    def of(cls, rho: float, varying: Sequence[Observation], hard: Sequence[Numbers]) -> VectorGpa:
        """Put resources together.

        Parameters
        ----------
        rho
            Tolerated probability of overflow of each that varies.
        varying
            Usage of those that may overflow, the CPU first.
        hard
            float64 (n,) each: what a task may take at most of those that may not.
        """
        still = [np.zeros(len(limit)) for limit in hard]
        means, variances = (
            [getattr(one, name) for one in varying] for name in ("mean", "variance")
        )
        return cls(rho, np.column_stack([*means, *hard]), np.column_stack([*variances, *still]))

    def items(self, observed: Observation, capacity: float) -> Numbers:
        """The means of all resources, which packers compare, then the variances."""
        return np.hstack([self.mean, self.variance])

    def parameters(self, capacity: float) -> Numbers:
        """The target of each resource."""
        return np.full(self.mean.shape[1], self.parameter)

    def row(self, capacity: float) -> Numbers:
        """The CPU's capacity, and the largest machine's of all others."""
        return np.array([capacity, *np.ones(self.mean.shape[1] - 1)])
