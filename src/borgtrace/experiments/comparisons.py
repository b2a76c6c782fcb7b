"""Differences between families of policies at the same risk, with intervals that hold for all of them together.

Many comparisons find a difference by chance. Holm's method would correct their p values, but gives no intervals, and
takes no notice that differences resemble each other: those of A from B and from C share A. The largest |t| does both
(Hothorn, Bretz and Westfall, Biometrical Journal 2008): how large it becomes by chance is drawn from the covariance of
the differences over the blocks, and each interval is so many standard errors wide. All intervals together hold in 95 of
100 experiments.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from borgtrace.experiments.blocks import Covariance
from borgtrace.kernels.arrays import Index, Numbers

DRAWS = 10_000
"""Of the largest |t|: its 95th percentile then varies by 1 %."""
_MANY_BLOCKS = 200
"""So many tell the standard errors to 5 %: they are taken as known."""
COVERAGE = 0.95
_EQUAL = 1e-9
"""Savings that differ by less are the same, but for the rounding of sums."""


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Differences of pairs, and their simultaneous 95 % intervals; arrays of shape (pairs,).

    Attributes
    ----------
    first, second
        Which two estimates a pair consists of: the difference is first − second.
    difference, low, high
        NaN ends where too few blocks tell nothing.
    p
        Adjusted for all pairs: in how many experiments without any difference some pair would look as different.
    """

    first: Index
    second: Index
    difference: Numbers
    low: Numbers
    high: Numbers
    p: Numbers


class _Extremes(NamedTuple):
    """Draws of the largest |t| of all pairs, sorted."""

    draws: Numbers

    @property
    def critical(self) -> float:
        return float(np.quantile(self.draws, COVERAGE))

    def share_above(self, statistics: Numbers) -> Numbers:
        n_below = np.searchsorted(self.draws, statistics, side="left")
        return np.asarray((len(self.draws) - n_below + 1) / (len(self.draws) + 1))


def compare_all(
    estimates: Numbers, of_estimates: Covariance, groups: Index, seed: int = 0
) -> Comparisons:
    """Compare each two estimates of a group.

    Parameters
    ----------
    estimates
        float64 (k,).
    of_estimates
        Their covariance.
    groups
        int64 (k,): estimates of one group are compared; pairs of all groups are corrected together.
    seed
        Of the draws.

    Examples
    --------
    Two estimates that vary by themselves: 1.4 errors for their difference, 1.96 of these for 95 %.

    >>> nothing = np.zeros((2, 2))
    >>> of_two = Covariance(np.eye(2) * 1e-4, nothing, nothing, freedom=10_000)
    >>> found = compare_all(np.array([0.3, 0.1]), of_two, np.zeros(2, int))
    >>> found.difference.round(3), found.low.round(3), found.high.round(3)
    (array([0.2]), array([0.172]), array([0.228]))
    """
    pairs = [
        pair
        for pair in combinations(range(len(estimates)), 2)
        if groups[pair[0]] == groups[pair[1]]
    ]
    first = np.array([pair[0] for pair in pairs], np.int64)
    second = np.array([pair[1] for pair in pairs], np.int64)
    difference = estimates[first] - estimates[second]
    nothing = np.full(len(pairs), np.nan)
    if of_estimates.freedom < 1 or not pairs:
        return Comparisons(first, second, difference, nothing, nothing, nothing)
    contrasts = np.zeros((len(pairs), len(estimates)))
    contrasts[np.arange(len(pairs)), first] = 1
    contrasts[np.arange(len(pairs)), second] = -1
    of_differences = of_estimates.of_contrasts(contrasts).matrix
    errors = np.sqrt(np.maximum(np.diag(of_differences), 0))
    is_same = (np.abs(difference) < _EQUAL) & (errors < _EQUAL)
    difference = np.where(is_same, 0.0, difference)
    errors = np.where(errors < _EQUAL, 0.0, errors)
    extremes = _draw_extremes(of_differences, errors, of_estimates.freedom, seed)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistics = np.where(is_same, 0.0, np.abs(difference) / errors)
    margin = extremes.critical * errors
    return Comparisons(
        first=first,
        second=second,
        difference=difference,
        low=difference - margin,
        high=difference + margin,
        p=extremes.share_above(statistics),
    )


def _draw_extremes(matrix: Numbers, errors: Numbers, freedom: int, seed: int) -> _Extremes:
    """Draw the largest |t| of differences with this covariance, where none of them differs."""
    varies = errors > 0
    if not varies.any():
        return _Extremes(np.zeros(DRAWS))
    own = errors[varies]
    correlation = matrix[np.ix_(varies, varies)] / np.outer(own, own)
    values, vectors = np.linalg.eigh(correlation)
    is_needed = values > 1e-12 * values.max()
    root = vectors[:, is_needed] * np.sqrt(values[is_needed])
    rng = np.random.default_rng(seed)
    largest = np.empty(DRAWS)
    # In parts: of many pairs all draws together would not fit into memory.
    step = max(1, 1_000_000 // len(own))
    for begin in range(0, DRAWS, step):
        end = min(begin + step, DRAWS)
        shape = (end - begin, root.shape[1])
        normal = rng.standard_normal(shape) @ root.T
        scale = _draw_scales(rng, root, shape, freedom)
        largest[begin:end] = np.abs(normal / scale).max(axis=1)
    return _Extremes(np.sort(largest))


def _draw_scales(
    rng: np.random.Generator, root: Numbers, shape: tuple[int, int], freedom: int
) -> Numbers:
    """Draw what estimated standard errors are, as shares of the true ones: (draws, pairs).

    Each pair has an error of its own, estimated from as many blocks as there are degrees of freedom.  With one scale
    for all of them, as the multivariate t distribution has it, ten blocks would find a difference by chance in 9 % of
    the experiments instead of 5 %.
    """
    if freedom > _MANY_BLOCKS:
        return np.ones((shape[0], len(root)))
    squares = np.zeros((shape[0], len(root)))
    for _ in range(freedom):
        squares += (rng.standard_normal(shape) @ root.T) ** 2
    return np.asarray(np.sqrt(squares / freedom))
