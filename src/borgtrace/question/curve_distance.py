"""The largest distance of two distribution functions over jobs, and its interval.

The largest distance of two samples is larger than that of what they were drawn from: noise adds to it wherever it can,
and never takes away everywhere.  Two samples of one distribution lie apart, too.  So its interval does not stand
around it: it holds each distance that two cells could have whose samples would be found as far apart as these are.
"""

from typing import NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Numbers, Values
from borgtrace.question.block_draws import BLOCKS, COVERAGE, NO_INTERVAL, IntervalEnds, JobValues

_POINTS = 1024
"""Values of each sample at which the functions are compared in a draw: more change an interval by less than 0.001."""
_CANDIDATES = 21
_FINE = 2001
"""Distances between the candidates, along the line, for the ends of an interval."""
_ROUNDING = 1e-9
"""Values that differ by less, as a part of themselves, are the same: amounts over their own mean are rounded."""


class _Steps(NamedTuple):
    """Distribution functions of the draws: values in ascending order, and the share up to each, (draws, values)."""

    points: Numbers
    shares: Numbers


class CurveDraws(NamedTuple):
    """The difference of two distribution functions, shape (points,), and what draws add to it, (draws, points)."""

    curve: Numbers
    noise: Numbers


def farthest(reference: Numbers, sample: Numbers) -> float:
    """Return the largest distance of two distribution functions: that of Kolmogorov and Smirnov.

    Parameters
    ----------
    reference, sample
        Values of the jobs of two stores.

    Examples
    --------
    Up to 1: half against none; up to 2: all against half.

    >>> farthest(np.array([1.0, 2.0]), np.array([2.0, 3.0]))
    0.5
    """
    points = np.concatenate((reference, sample)) * (1 + _ROUNDING)
    shares_below = [
        np.searchsorted(np.sort(values), points, side="right") / len(values)
        for values in (reference, sample)
    ]
    return float(np.abs(shares_below[0] - shares_below[1]).max())


def distance_interval(
    reference: JobValues,
    sample: JobValues,
    drawn: Numbers,
    scales: Numbers,
) -> IntervalEnds:
    """Return the 95 % interval of the largest distance; it holds the distance of the samples, too.

    Parameters
    ----------
    reference, sample
        Values of the jobs of two stores, in the same unit.
    drawn
        How often each block is drawn, shape (draws, blocks).
    scales
        By how much the unit of `sample` over that of `reference` is off in each draw: 1 where a unit is not itself
        measured, as a mean is.
    """
    draws = curve_draws(reference, sample, drawn, scales)
    distance = farthest(reference.values, sample.values)
    if not len(draws.noise):
        return NO_INTERVAL
    low, high = plausible_distances(draws)
    return IntervalEnds(min(low, distance), max(high, distance))


def curve_draws(
    reference: JobValues,
    sample: JobValues,
    drawn: Numbers,
    scales: Numbers,
) -> CurveDraws:
    """Return the difference of two distribution functions, and what each draw adds to it.

    Points are values of both samples.  In a draw each of them stays where it is in its own sample and moves in the
    other one with the scale of the draw, so that steps of a function are never torn from their values.
    """
    holds_jobs = np.ones(len(drawn), bool)
    for _, blocks in (reference, sample):
        counts = np.bincount(blocks, minlength=BLOCKS)
        holds_jobs &= drawn @ counts > 0
    drawn = drawn[holds_jobs]
    # The first is the sample itself, each block once.
    weights = np.concatenate((np.ones((1, BLOCKS)), drawn))
    all_scales = np.concatenate(([1.0], scales[holds_jobs]))
    first, second = _steps(reference, weights), _steps(sample, weights)
    curves = np.empty((len(weights), len(first.points) + len(second.points)))
    for number, scale in enumerate(all_scales):
        in_second = _shares_at(second, number, first.points * scale)
        in_first = _shares_at(first, number, second.points / scale)
        curves[number, : len(first.points)] = first.shares[number] - in_second
        curves[number, len(first.points) :] = in_first - second.shares[number]
    return CurveDraws(curves[0], curves[1:] - curves[0])


def plausible_distances(draws: CurveDraws) -> tuple[float, float]:
    """Return the least and the largest distance that would be seen as one like that of the samples.

    For each candidate the curve is that with this largest distance which lies nearest to the measured one: cut off at
    it, or stretched to it.  Noise is added, and what is found is corrected as the measured distance is: to the
    candidate whose median it is.  A candidate is plausible if the corrected distance of the samples is no farther from
    it than those of 95 % of the draws.  At 0 that is a one-sided test, as it must be: no distance is below.
    """
    # Half as many bytes are twice as fast, and seven digits are more than draws are worth.
    curve, noise = (values.astype(np.float32) for values in draws)
    distance = float(np.abs(curve).max())
    # Twice, for a candidate's own draws lie as far from it as the candidate may from the distance.
    reach = 2 * float(np.abs(noise).max())
    candidates = np.linspace(max(0.0, distance - reach), min(1.0, distance + reach), _CANDIDATES)
    measured = np.empty((len(candidates), len(noise)))
    for number, candidate in enumerate(candidates):
        measured[number] = np.abs(_curve_with(curve, candidate) + noise).max(axis=1)
    medians = np.maximum.accumulate(np.median(measured, axis=1))
    corrected = np.interp(distance, medians, candidates)
    errors = np.abs(np.interp(measured, medians, candidates) - candidates[:, np.newaxis])
    largest_errors = np.quantile(errors, COVERAGE, axis=1)
    excess = np.abs(corrected - candidates) - largest_errors
    fine = np.linspace(candidates[0], candidates[-1], _FINE)
    plausible = fine[np.interp(fine, candidates, excess) <= 0]
    if not len(plausible):
        return float(corrected), float(corrected)
    return float(plausible[0]), float(plausible[-1])


def _curve_with(curve: Values, distance: float) -> Values:
    """Return the curve nearest to `curve` whose largest distance is `distance`."""
    largest = np.abs(curve).max()
    if not largest:
        return np.full_like(curve, distance)
    if distance > largest:
        return curve * np.float32(distance / largest)
    return np.clip(curve, -distance, distance)


def _steps(sample: JobValues, weights: Numbers) -> _Steps:
    """Return the distribution function of each draw, where a job counts as often as its block was drawn."""
    points = np.unique(sample.values)
    # Of many values some serve, evenly by rank, up to the largest.
    n_points = min(len(points), _POINTS)
    points = points[np.linspace(0, len(points) - 1, n_points).astype(np.int64)]
    cells = sample.blocks * n_points + np.searchsorted(points, sample.values)
    counts = np.bincount(cells, minlength=BLOCKS * n_points).reshape(BLOCKS, -1)
    counts_below = counts.cumsum(axis=1)
    n_drawn = (weights @ counts_below[:, -1])[:, np.newaxis]
    return _Steps(points, (weights @ counts_below) / n_drawn)


def _shares_at(steps: _Steps, draw: int, values: Numbers) -> Numbers:
    """Return the shares of a draw up to `values`."""
    places = np.searchsorted(steps.points, values * (1 + _ROUNDING), side="right")
    shares = np.concatenate(([0.0], steps.shares[draw]))
    return shares[places]
