"""Sizes that are a percentile of the observed usage; 100 is the maximum."""

from __future__ import annotations

from borgtrace.placement.estimators.estimator import Numbers
from borgtrace.placement.estimators.observation import Observation
from borgtrace.placement.estimators.registry import register
from borgtrace.placement.estimators.sizes import SizeEstimator


@register
class Percentile(SizeEstimator):
    """Every task takes a percentile of what it was seen to use (the paper's "perc"), linear between values.

    Examples
    --------
    >>> import numpy as np
    >>> Percentile(100).sizes(Observation(np.float32([[0.25, 0.75]])))
    array([0.75])
    """

    name = "percentile"
    symbol = "p"
    about = "the p-th percentile of every task"
    high = 100.0
    includes_high = True
    paper = (50, 70, 90, 95, 99, 100)

    def sizes(self, observed: Observation) -> Numbers:
        """The percentile of each task."""
        return observed.percentile(self.parameter)
