"""Ratios over machines, with intervals that take machines as the units that vary."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from borgtrace.kernels.incomplete import student_quantile
from borgtrace.schema.time import DAY, WINDOW

SLOTS_PER_DAY = DAY // WINDOW


class RatioEstimate(NamedTuple):
    """A ratio, and the ends of its 95 % interval: None where they are not known."""

    value: Any
    low: Any
    high: Any


def ratio(parts: npt.NDArray[Any], wholes: npt.NDArray[Any]) -> RatioEstimate:
    """Return Σ parts ÷ Σ wholes with a 95 % interval; units are independent, and both their numbers vary.

    The variance of a ratio of means by linearization (Cochran, Sampling Techniques, § 6.4), with Student's quantile.

    Parameters
    ----------
    parts, wholes
        Of each unit, shape (n,).

    Returns
    -------
    RatioEstimate
        All None where the divisor is 0; no interval of fewer than two units.
    """
    whole = float(wholes.sum())
    if whole <= 0:
        return RatioEstimate(None, None, None)
    value = float(parts.sum()) / whole
    n = len(parts)
    if n < 2:
        return RatioEstimate(value, None, None)
    residuals = parts - value * wholes
    spread = np.sqrt(n / (n - 1) * (residuals**2).sum())
    error = float(student_quantile(n - 1, 0.975) * spread / whole)
    return RatioEstimate(value, value - error, value + error)


def share(part: float, whole: float) -> float | None:
    """Return the part of a whole; None where there is no whole."""
    return float(part / whole) if whole > 0 else None
