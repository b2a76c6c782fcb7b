"""GPA over any number of resources, of which some are hard limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from borgtrace.kernels.arrays import Numbers
from borgtrace.kernels.gaussian import fit_bin
from borgtrace.placement.estimators.estimator import Estimator
from borgtrace.placement.estimators.observation import Observation
from borgtrace.placement.types import Row, room_above, slack_kernel, sum_with


@slack_kernel
def vector_slack(
    state: Row,
    item: Row,
    capacity: Row,
    parameters: Row,
) -> float:
    """Return the smallest FitBin of all resources, as a share of its target; rows are μ of each, then σ² of each."""
    least = 1.0
    n_resources = capacity.size
    for mean in range(n_resources):
        variance_column = n_resources + mean
        target = parameters[mean]
        room = room_above(
            state,
            item,
            mean,
            capacity[mean],
        )
        variance = sum_with(state, item, variance_column)
        least = min(least, fit_bin(room, variance, target) / target)
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
    slack = staticmethod(vector_slack)

    @classmethod
    def of(
        cls,
        rho: float,
        varying: Sequence[Observation],
        hard: Sequence[Numbers],
    ) -> VectorGpa:
        """Combine resources.

        Parameters
        ----------
        rho
            Tolerated probability of overflow of each that varies.
        varying
            Usage of those that may overflow, the CPU first.
        hard
            float64 (n,) each: what a task may take at most of those that may not.
        """
        means = [observed.mean for observed in varying]
        variances = [observed.variance for observed in varying]
        for limit in hard:
            means.append(limit)
            variances.append(np.zeros(len(limit)))
        return cls(
            rho,
            np.column_stack(means),
            np.column_stack(variances),
        )

    def items(self, observed: Observation, capacity: float) -> Numbers:
        """Return the means of all resources, which packers compare, then the variances."""
        return np.hstack([self.mean, self.variance])

    def parameters(self, capacity: float) -> Numbers:
        """Return the target of each resource."""
        return np.full(self.mean.shape[1], self.parameter)

    def row(self, capacity: float) -> Numbers:
        """Return the CPU's capacity, and the largest machine's of all others."""
        n_others = self.mean.shape[1] - 1
        return np.array([capacity, *np.ones(n_others)])
