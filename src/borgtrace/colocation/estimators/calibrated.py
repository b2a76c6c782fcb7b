"""GPA whose target is set on held-out tasks so that the overflow it *causes* is the one asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from borgtrace.colocation.estimators.estimator import Estimator, Numbers
from borgtrace.colocation.estimators.gpa import Gpa, gaussian_slack
from borgtrace.colocation.estimators.registry import register

STEPS = 12
"""Halvings of the search interval: the target is found to within 0.3 %."""


@register
@dataclass(frozen=True)
class CalibratedGpa(Gpa):
    """Gaussian Percentile Approximation, told a stricter target than the one it has to keep.

    GPA exceeds strict targets because sums of bursty tasks are skewed.  On held-out tasks the excess can be measured,
    and the target lowered until the measured overflow is the one wanted.  Not for a workload that differs from the
    held-out one: the correction is one number for all machines.

    Attributes
    ----------
    told
        The target the Gaussian test is run with; equal to `parameter` until :meth:`prepared`.
    """

    told: float | None = None

    name = "gpa-calibrated"
    symbol = "ρ"
    about = "GPA with its target set on held-out tasks"
    high = 1.0
    paper = ()
    targets = True
    predicts = False
    slack = staticmethod(gaussian_slack)

    def parameters(self, capacity: float) -> Numbers:
        """The target the Gaussian test is run with."""
        return np.array([self.parameter if self.told is None else self.told])

    def prepared(self, quality: Callable[[Estimator], float]) -> Estimator:
        """Search the target, between a thousandth and twice of the one asked for, on held-out tasks."""
        return replace(self, told=told_target(self.parameter, lambda told: quality(Gpa(told))))


def told_target(wanted: float, quality: Callable[[float], float]) -> float:
    """Find the target at which GPA's measured overflow is `wanted`, by bisection on its logarithm.

    `quality` is a step function of the target (packings are discrete): the search keeps the side where the overflow
    is at most `wanted`.

    Examples
    --------
    >>> round(told_target(0.001, lambda told: 1.6 * told), 6)
    0.000625
    """
    low, high = np.log(wanted / 1000), np.log(min(2 * wanted, 0.999))
    for _ in range(STEPS + 3):
        middle = (low + high) / 2
        if quality(float(np.exp(middle))) <= wanted:
            low = middle
        else:
            high = middle
    return float(np.exp(low))
