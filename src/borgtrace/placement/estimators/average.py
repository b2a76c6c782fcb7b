"""Sizes proportional to the average usage."""

from __future__ import annotations

from borgtrace.placement.estimators.estimator import Numbers
from borgtrace.placement.estimators.observation import Observation
from borgtrace.placement.estimators.registry import register
from borgtrace.placement.estimators.sizes import SizeEstimator


@register
class Average(SizeEstimator):
    """Every task takes its mean times a safety factor f (the paper's "av").

    Examples
    --------
    >>> import numpy as np
    >>> Average(1.25).sizes(Observation(np.float32([[0.25, 0.75]])))
    array([0.625])
    """

    name = "average"
    symbol = "f"
    about = "f times the mean of every task"
    paper = (1.0, 1.25, 2.0)

    def sizes(self, observed: Observation) -> Numbers:
        """f·μ of each task."""
        return self.parameter * observed.mean
