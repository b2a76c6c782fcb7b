"""The oldest fit test: every task has a size, and the sizes on a machine add up to at most its capacity."""

from __future__ import annotations

from abc import abstractmethod

from borgtrace.placement.estimators.estimator import Estimator, Numbers
from borgtrace.placement.estimators.observation import Observation
from borgtrace.placement.types import Row, slack_kernel


@slack_kernel
def size_slack(state: Row, item: Row, capacity: Row, parameters: Row) -> float:
    """Capacity left when the item has joined."""
    return capacity[0] - state[0] - item[0]


class SizeEstimator(Estimator):
    """Base of the estimators that give every task a size; a subclass says which."""

    slack = staticmethod(size_slack)

    @abstractmethod
    def sizes(self, observed: Observation) -> Numbers:
        """Size of each task, float64 (n,), in capacity units."""

    def items(self, observed: Observation, capacity: float) -> Numbers:
        """The size of each task."""
        return self.sizes(observed)[:, None].copy()
