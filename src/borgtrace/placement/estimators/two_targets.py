"""Two promises on one machine: a strict one to production tasks, a lax one to all."""

from __future__ import annotations

import math

import numpy as np

from borgtrace.kernels.arrays import Numbers
from borgtrace.placement.estimators.estimator import Estimator
from borgtrace.placement.estimators.observation import Observation
from borgtrace.placement.types import Row, slack_kernel

RATIO = 50.0
"""How many times laxer the promise to best-effort tasks is: .001 beside .05."""


@slack_kernel
def two_target_slack(state: Row, item: Row, capacity: Row, parameters: Row) -> float:
    """The smaller of both promises' relative slacks; rows are μ, σ² of all tasks, then of production tasks."""
    least = 1.0
    for k in range(2):
        room = capacity[0] - state[2 * k] - item[2 * k]
        variance = state[2 * k + 1] + item[2 * k + 1]
        tail = 0.0 if room >= 0 else 1.0
        if variance > 0:
            tail = 0.5 * math.erfc(room / math.sqrt(2 * variance))
        # Relative to its own target, else the lax promise would drown the strict one.
        least = min(least, 1 - tail / parameters[k])
    return least


class TwoTargets(Estimator):
    """GPA with one target for production tasks and a laxer one for everything on the machine.

    Production tasks have precedence: when a machine is full, best-effort tasks are throttled first.  So production
    suffers when *production alone* exceeds the machine (target ρ), best-effort when *all* together do (target 50 ρ).
    Without classes every task counts as production.
    """

    name = "gpa-two-targets"
    symbol = "ρ"
    about = "GPA, strict for production tasks, 50 times laxer for all"
    limits = (
        "The laxer promise decides: at ρ = .001, with a random half of the jobs as production, all together overflow "
        ".93 times as often as they may, production alone .06 times."
    )
    needs_more = True
    # The laxer target is RATIO times this one and has to stay a probability.
    high = 1.0 / RATIO
    # The parameter bounds production alone, not the overflow of a machine, which `targets` stands for.
    targets = False
    slack = staticmethod(two_target_slack)

    def items(self, observed: Observation, capacity: float) -> Numbers:
        """Mean and variance, once for all and once if the task is production."""
        both = np.column_stack([observed.mean, observed.variance])
        if observed.is_production is None:
            return np.column_stack([both, both])
        return np.column_stack([both, both * observed.is_production[:, None]])

    def parameters(self, capacity: float) -> Numbers:
        """The target of all tasks, then that of production."""
        return np.array([RATIO * self.parameter, self.parameter])
