"""Standardization: parameters from the training set alone, kept beside the data, and the way back."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from borgtrace.datasets.series import moments, run_moments
from borgtrace.kernels.arrays import Numbers, Values

Method = Literal["standard", "minmax", "none"]
Series = Values


@dataclass(frozen=True, slots=True)
class Scaling:
    """How one feature was scaled: ``(value − offset) ÷ divisor``.

    Attributes
    ----------
    feature
        Name of the usage column.
    method
        ``"standard"`` (mean, deviation with ddof 1), ``"minmax"`` (smallest, range) or ``"none"``.
    offset, divisor
        The parameters; the divisor is 1 where deviation or range is 0.
    count, mean, deviation, minimum, maximum
        What was measured over all values of the training set; missing ones are skipped.

    Examples
    --------
    >>> scaling = scaling_of("average_cpu", "standard", np.array([3, 2.0, 2.0, 1.0, 3.0]))
    >>> scaling.offset, scaling.divisor
    (2.0, 1.0)
    """

    feature: str
    method: Method
    offset: float
    divisor: float
    count: int
    mean: float
    deviation: float
    minimum: float | None
    maximum: float | None


def scaling_of(feature: str, method: Method, measured: Numbers) -> Scaling:
    """Build the scaling of a feature from (count, mean, sum of squares, smallest, largest).

    Parameters
    ----------
    feature
        Name of the series.
    method
        How it is scaled.
    measured
        What was measured on the training set, shape (5,).
    """
    count, mean, squares, low, high = (float(number) for number in measured)
    deviation = math.sqrt(squares / (count - 1)) if count > 1 else 0.0
    offset, divisor = {
        "standard": (mean, deviation),
        "minmax": (low, high - low),
        "none": (0.0, 1.0),
    }[method]
    if not count:  # nothing was measured: leave the (missing) values as they are
        offset = 0.0
        divisor = 1.0
    extremes = (low, high) if count else (None, None)
    return Scaling(
        feature,
        method,
        offset,
        divisor or 1.0,
        int(count),
        mean,
        deviation,
        *extremes,
    )


def measure_series(series: Sequence[Series]) -> Numbers:
    """Measure each feature: shape (features, 5), see :func:`borgtrace.datasets.series.moments`."""
    measured = np.empty((len(series), 5))
    for values, row in zip(series, measured, strict=True):
        moments(values, row)
    return measured


def merge(parts: Iterable[Numbers]) -> Numbers:
    """Merge measurements of blocks (at least one), in their order (Chan, Golub & LeVeque, 1979).

    Examples
    --------
    >>> merge([np.array([[1, 2.0, 0.0, 2.0, 2.0]]), np.array([[1, 4.0, 0.0, 4.0, 4.0]])]).tolist()
    [[2.0, 3.0, 2.0, 2.0, 4.0]]
    """
    return reduce(_merged, parts)


def _merged(a: Numbers, b: Numbers) -> Numbers:
    count = a[:, 0] + b[:, 0]
    # The share of `b`, not sums of values: a mean far from 0 would swallow a small deviation.
    share = b[:, 0] / np.maximum(count, 1)
    delta = b[:, 1] - a[:, 1]
    mean = a[:, 1] + delta * share
    squares = a[:, 2] + b[:, 2] + delta**2 * a[:, 0] * share
    low = np.minimum(a[:, 3], b[:, 3])
    high = np.maximum(a[:, 4], b[:, 4])
    return np.stack([count, mean, squares, low, high], axis=1)


def measure_running(blocks: Iterable[Sequence[Series]], features: int) -> Numbers:
    """Measure value by value, as the pipeline of 2017 does: mean = sum ÷ count, deviation by Welford.

    Equal to it in the last bit, where :func:`merge` is equal to rounding.
    """
    state = np.tile(
        np.array(
            [
                0.0,
                0.0,
                0.0,
                0.0,
                np.inf,
                -np.inf,
            ]
        ),
        (features, 1),
    )
    for block in blocks:
        for series, row in zip(block, state, strict=True):
            run_moments(series, row)
    mean = state[:, 1] / np.maximum(state[:, 0], 1)
    return np.stack(
        [
            state[:, 0],
            mean,
            state[:, 3],
            state[:, 4],
            state[:, 5],
        ],
        axis=1,
    )


def inverse_transform(values: ArrayLike, scalings: Iterable[Scaling]) -> Numbers:
    """Bring scaled values back to the unit of the trace: ``value · divisor + offset``.

    Parameters
    ----------
    values
        Array whose last axis is the features.
    scalings
        One per feature, as kept beside the data.

    Returns
    -------
    float64 array of the same shape

    Examples
    --------
    >>> scaling = scaling_of("average_cpu", "standard", np.array([2, 3.0, 2.0, 2.0, 4.0]))
    >>> inverse_transform([[0.0], [2.0]], [scaling]).round(6).tolist()
    [[3.0], [5.828427]]
    """
    divisor, offset = np.array([(scaling.divisor, scaling.offset) for scaling in scalings]).T
    return np.asarray(values, np.float64) * divisor + offset
