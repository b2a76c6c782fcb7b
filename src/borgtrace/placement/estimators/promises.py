"""Several promises on one machine: one for each class of service, kept on average over the hours of the day."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.gaussian import gaussian_tail
from borgtrace.placement.estimators.estimator import Estimator
from borgtrace.placement.estimators.observation import Observation
from borgtrace.placement.types import Row, room_above, slack_kernel, sum_with


@slack_kernel
def nested_slack(
    state: Row,
    item: Row,
    capacity: Row,
    parameters: Row,
) -> float:
    """Return the smallest relative slack of all promises.

    Rows are μ and σ² by hour, of all tasks, then of those of the stricter classes …; parameters are the number of hours
    and the targets in that order.
    """
    n_hours = int(parameters[0])
    mean = 0
    least = 1.0
    for target in parameters[1:]:
        total = 0.0
        for _ in range(n_hours):
            variance_column = mean + 1
            room = room_above(
                state,
                item,
                mean,
                capacity[0],
            )
            variance = sum_with(state, item, variance_column)
            mean += 2
            if variance > 0:
                total += gaussian_tail(room, variance)
            elif room < 0:
                total += 1.0
        # Relative to its own target, else the lax promise would drown the strict one.
        least = min(least, 1 - total / n_hours / target)
    return least


@dataclass(frozen=True)
class Promises(Estimator):
    """GPA with a target for each class of service and moments by the hour of the day.

    Classes have precedence by their targets: when a machine is full, those of laxer targets are throttled first.  So a
    class suffers when *it and all stricter ones together* exceed the machine: for the mean over the hours of
    1 − Φ((c − μ) ÷ σ) of the time.

    Attributes
    ----------
    targets
        Tolerated probabilities of overflow by class, the laxest first; `parameter` is the strictest.
    mean, variance
        float64 (n, hours): moments of each task by the hour of the day.
    rank
        int64 (n,): class of each task, its place in `targets`.

    Where it is wrong
    -----------------
    Tasks that peak together within an hour of the day overflow more often than it says.
    """

    targets_by_class: tuple[float, ...] = ()
    mean: Numbers = field(default_factory=lambda: np.empty((0, 1)))
    variance: Numbers = field(default_factory=lambda: np.empty((0, 1)))
    rank: Index = field(default_factory=lambda: np.empty(0, np.int64))

    name = "gpa-promises"
    symbol = "ρ"
    about = "GPA, a target for each class of service, moments by the hour of the day"
    high = 1.0
    slack = staticmethod(nested_slack)

    def items(self, observed: Observation, capacity: float) -> Numbers:
        """Return mean and variance by hour, once for each class that the task belongs to or precedes."""
        n_tasks = len(self.rank)
        moments = np.stack([self.mean, self.variance], axis=2).reshape(n_tasks, -1)
        classes = np.arange(len(self.targets_by_class))
        counts = self.rank[:, None] >= classes
        by_class = counts[:, :, None] * moments[:, None, :]
        return np.asarray(by_class.reshape(n_tasks, -1))

    def parameters(self, capacity: float) -> Numbers:
        """Return the number of hours and the targets, the laxest first."""
        n_hours = self.mean.shape[1]
        return np.array([n_hours, *self.targets_by_class])
