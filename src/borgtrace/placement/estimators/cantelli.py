"""Sizes from Cantelli's inequality: mean plus a number of standard deviations."""

from __future__ import annotations

from borgtrace.placement.estimators.estimator import Numbers
from borgtrace.placement.estimators.observation import Observation
from borgtrace.placement.estimators.registry import register
from borgtrace.placement.estimators.sizes import SizeEstimator


@register
class Cantelli(SizeEstimator):
    """Every task takes its mean plus b standard deviations (Hwang & Pedram; the paper's "Cantelli").

    Cantelli: P(X > μ + bσ) ≤ 1 / (1 + b²) for any distribution: b = 4.4 for 95 %.  Adding σ instead of σ² forgets
    that tasks rarely peak together: machines stay half empty.

    Examples
    --------
    >>> import numpy as np
    >>> Cantelli(2).sizes(Observation(np.float32([[0.25, 0.75]])))
    array([1.])
    """

    name = "cantelli"
    symbol = "b"
    about = "mean + b standard deviations of every task"
    paper = (4.4, 1.7, 1.0)

    def sizes(self, observed: Observation) -> Numbers:
        """μ + bσ of each task."""
        return observed.mean + self.parameter * observed.std
