"""Tasks as an estimator describes them: all that packing needs to know."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Numbers
from borgtrace.placement.estimators.estimator import Estimator
from borgtrace.placement.estimators.observation import Observation


@dataclass(frozen=True, eq=False)
class Fitted:
    """An estimator with the tasks it has described, as the packing kernels need them.

    Attributes
    ----------
    items
        float64 (n, w): one row per task.
    capacity
        Of the largest machine, for which the items were computed.
    """

    estimator: Estimator
    items: Numbers
    capacity: float

    @property
    def empty(self) -> Numbers:
        """The state of a machine without tasks."""
        return self.estimator.empty(self.items)

    @property
    def parameters(self) -> Numbers:
        """The numbers that the estimator passes to its fit test."""
        return np.asarray(self.estimator.parameters(self.capacity), np.float64)


def require_capacity(name: str, capacity: float) -> None:
    """Refuse a capacity that no machine can have.

    Parameters
    ----------
    name
        What the user calls it.
    capacity
        The number.

    Raises
    ------
    UsageError
        It is not positive and finite.
    """
    if not 0 < capacity < np.inf:
        problem = "not the capacity of a machine"
        raise UsageError(
            name,
            problem,
            expected="a number above 0",
            got=f"{capacity:g}",
        )


def fit(
    estimator: Estimator,
    observed: Observation,
    capacity: float = 1.0,
) -> Fitted:
    """Let an estimator describe the tasks; the result serves any number of packings.

    Parameters
    ----------
    estimator
        The fit test.
    observed
        What is known of the n tasks.
    capacity
        Of the largest machine.

    Raises
    ------
    UsageError
        The capacity is not positive, or a task's numbers are not finite.
    """
    require_capacity("capacity", capacity)
    # Kernels are compiled for contiguous float64 rows only.
    items = np.ascontiguousarray(estimator.items(observed, capacity), np.float64)
    # A NaN fails every comparison: the task would silently count as unplaceable.
    if not np.isfinite(items).all():
        raise UsageError(
            f"estimator {estimator.label}",
            "its numbers are not finite for some tasks",
            expected="finite usage",
            way_out="drop tasks with missing samples first",
        )
    return Fitted(estimator, items, capacity)
