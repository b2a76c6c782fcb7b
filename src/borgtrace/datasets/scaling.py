"""Standardization: parameters from the training set alone, stored with the data, and the inverse."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from borgtrace.datasets.series import moments, run_moments
from borgtrace.kernels.arrays import Numbers, Values

Method = Literal["standard", "minmax", "none"]


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
    >>> moments = FeatureMoments(count=3, mean=2.0, squares=2.0, minimum=1.0, maximum=3.0)
    >>> scaling = scaling_of("average_cpu", "standard", moments)
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


@dataclass(frozen=True, slots=True)
class FeatureMoments:
    """What was measured of one feature: `squares` is the sum of squared deviations from the mean."""

    count: float
    mean: float
    squares: float
    minimum: float
    maximum: float


@dataclass(frozen=True, slots=True)
class SeriesMoments:
    """What was measured of several features: as :class:`FeatureMoments`, arrays of shape (features,)."""

    count: Numbers
    mean: Numbers
    squares: Numbers
    minimum: Numbers
    maximum: Numbers

    def features(self) -> Iterator[FeatureMoments]:
        """Yield the moments of each feature."""
        for k in range(len(self.count)):
            yield FeatureMoments(
                count=float(self.count[k]),
                mean=float(self.mean[k]),
                squares=float(self.squares[k]),
                minimum=float(self.minimum[k]),
                maximum=float(self.maximum[k]),
            )


def scaling_of(
    feature: str,
    method: Method,
    measured: FeatureMoments,
) -> Scaling:
    """Build the scaling of a feature.

    Parameters
    ----------
    feature
        Name of the series.
    method
        How it is scaled.
    measured
        What was measured on the training set.
    """
    count = measured.count
    deviation = math.sqrt(measured.squares / (count - 1)) if count > 1 else 0.0
    offset = 0.0
    divisor = 1.0
    # Where nothing was measured the (missing) values stay as they are.
    if count and method == "standard":
        offset = measured.mean
        divisor = deviation or 1.0
    elif count and method == "minmax":
        offset = measured.minimum
        divisor = measured.maximum - measured.minimum or 1.0
    return Scaling(
        feature=feature,
        method=method,
        offset=offset,
        divisor=divisor,
        count=int(count),
        mean=measured.mean,
        deviation=deviation,
        minimum=measured.minimum if count else None,
        maximum=measured.maximum if count else None,
    )


def measure_series(series: Sequence[Values]) -> SeriesMoments:
    """Measure each feature, see :func:`borgtrace.datasets.series.moments`."""
    measured = np.empty((len(series), 5))
    for values, of_feature in zip(series, measured, strict=True):
        moments(values, of_feature)
    return SeriesMoments(*measured.T)


def merge(parts: Iterable[SeriesMoments]) -> SeriesMoments:
    """Merge measurements of blocks (at least one), in their order (Chan, Golub & LeVeque, 1979).

    Examples
    --------
    >>> two = SeriesMoments(*np.array([[1.0], [2.0], [0.0], [2.0], [2.0]]))
    >>> four = SeriesMoments(*np.array([[1.0], [4.0], [0.0], [4.0], [4.0]]))
    >>> list(merge([two, four]).features())
    [FeatureMoments(count=2.0, mean=3.0, squares=2.0, minimum=2.0, maximum=4.0)]
    """
    return reduce(merge_two, parts)


def merge_two(first: SeriesMoments, second: SeriesMoments) -> SeriesMoments:
    """Merge the measurements of two blocks."""
    count = first.count + second.count
    # The share of the second, not sums of values: a mean far from 0 would swallow a small deviation.
    share = second.count / np.maximum(count, 1)
    delta = second.mean - first.mean
    return SeriesMoments(
        count=count,
        mean=first.mean + delta * share,
        squares=first.squares + second.squares + delta**2 * first.count * share,
        minimum=np.minimum(first.minimum, second.minimum),
        maximum=np.maximum(first.maximum, second.maximum),
    )


def measure_running(blocks: Iterable[Sequence[Values]], features: int) -> SeriesMoments:
    """Measure value by value, as the pipeline of 2017 does: mean = sum ÷ count, deviation by Welford.

    Equal to it in the last bit, where :func:`merge` is equal to rounding.
    """
    # Count, sum, running mean, Welford's sum of squares, smallest, largest.
    initial = np.array([0.0, 0.0, 0.0, 0.0, np.inf, -np.inf])
    states = np.tile(initial, (features, 1))
    for block in blocks:
        for series, state in zip(block, states, strict=True):
            run_moments(series, state)
    count, total, _, squares, minimum, maximum = states.T
    return SeriesMoments(
        count=count,
        mean=total / np.maximum(count, 1),
        squares=squares,
        minimum=minimum,
        maximum=maximum,
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
    >>> moments = FeatureMoments(count=2, mean=3.0, squares=2.0, minimum=2.0, maximum=4.0)
    >>> scaling = scaling_of("average_cpu", "standard", moments)
    >>> inverse_transform([[0.0], [2.0]], [scaling]).round(6).tolist()
    [[3.0], [5.828427]]
    """
    parameters = [(scaling.divisor, scaling.offset) for scaling in scalings]
    divisor, offset = np.array(parameters).T
    return np.asarray(values, np.float64) * divisor + offset
