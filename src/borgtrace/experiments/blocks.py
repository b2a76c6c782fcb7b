"""Blocks of an experiment: how estimates vary that are made of what units add to them in periods.

A unit is a machine, or a job; a period is a day, or an hour. What one unit adds in several periods resembles itself,
and so does what several units add in one period. So neither is taken as independent: the variance of an estimate is
that between units, plus that between periods, less what both count twice (two-way clustering: Cameron, Gelbach and
Miller, JBES 2011), and at least the larger of the two. Fewer than five periods cannot tell how they differ; then units
alone vary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.incomplete import student_quantile

LEAST_PERIODS = 5
"""Periods that tell how they differ: Student's t has four degrees of freedom then, and an interval 2.8 errors."""


class Covariance(NamedTuple):
    """How estimates vary together: by units, by periods, and by blocks of both.

    Attributes
    ----------
    by_unit, by_period, by_block
        float64 (k, k); zeros for periods and blocks where too few periods tell nothing.
    freedom
        Degrees of freedom for Student's t; 0 where a single unit cannot tell.
    """

    by_unit: Numbers
    by_period: Numbers
    by_block: Numbers
    freedom: int

    def of_contrasts(self, contrasts: Numbers) -> Covariance:
        """Return the covariance of sums of the estimates.

        Parameters
        ----------
        contrasts
            float64 (sums, k): the weights of the estimates.
        """
        return Covariance(
            by_unit=contrasts @ self.by_unit @ contrasts.T,
            by_period=contrasts @ self.by_period @ contrasts.T,
            by_block=contrasts @ self.by_block @ contrasts.T,
            freedom=self.freedom,
        )

    @property
    def matrix(self) -> Numbers:
        """The covariance, float64 (k, k).

        Where what both clusterings count twice leaves a matrix with negative variances, these are set to 0; then each
        variance is raised to the larger one of units and of periods, correlations kept.
        """
        values, vectors = np.linalg.eigh(self.by_unit + self.by_period - self.by_block)
        both = (vectors * np.maximum(values, 0)) @ vectors.T
        least = np.maximum(np.diag(self.by_unit), np.diag(self.by_period))
        own = np.maximum(np.diag(both), 0)
        is_raised = (own < least) & (own > 0)
        factor = np.ones(len(own))
        np.sqrt(least / np.where(own > 0, own, 1), out=factor, where=is_raised)
        scaled = both * np.outer(factor, factor)
        # What was cancelled to nothing keeps the larger variance, on its own.
        lacking = own <= 0
        scaled[lacking, lacking] = least[lacking]
        return np.asarray(scaled)

    @property
    def errors(self) -> Numbers:
        """Standard errors, float64 (k,)."""
        return np.sqrt(np.diag(self.matrix))


def covariance(influences: Numbers, unit: Index, period: Index) -> Covariance:
    """Return the covariance of estimates from what blocks of units and periods add to them.

    Parameters
    ----------
    influences
        float64 (blocks, k): sums over the blocks are 0.
    unit, period
        Of each block.
    """
    k = influences.shape[1]
    nothing = np.zeros((k, k))
    of_units = _sums_by(unit, influences)
    n_units = len(of_units)
    if n_units < 2:
        return Covariance(nothing, nothing, nothing, 0)
    by_unit = _scatter(of_units)
    of_periods = _sums_by(period, influences)
    n_periods = len(of_periods)
    if n_periods < LEAST_PERIODS:
        return Covariance(by_unit, nothing, nothing, n_units - 1)
    freedom = min(n_units, n_periods) - 1
    return Covariance(by_unit, _scatter(of_periods), _scatter(influences), freedom)


def _sums_by(label: Index, values: Numbers) -> Numbers:
    """Return the sums of rows by label: (labels, k)."""
    order = np.argsort(label, kind="stable")
    starts = np.flatnonzero(np.diff(label[order], prepend=label.min(initial=0) - 1))
    return np.add.reduceat(values[order], starts, axis=0)


def _scatter(values: Numbers) -> Numbers:
    """Return the covariance of the sum of independent rows with mean 0: (k, k)."""
    n = len(values)
    return np.asarray(n / (n - 1) * (values.T @ values))


def mean_covariance(of_stores: Sequence[Covariance]) -> Covariance:
    """Return the covariance of the means over stores, which are independent; the freedom is the least of any."""
    squared = len(of_stores) ** 2
    return Covariance(
        by_unit=np.sum([one.by_unit for one in of_stores], axis=0) / squared,
        by_period=np.sum([one.by_period for one in of_stores], axis=0) / squared,
        by_block=np.sum([one.by_block for one in of_stores], axis=0) / squared,
        freedom=min(one.freedom for one in of_stores),
    )


def margins(of: Covariance) -> Numbers:
    """Return half the widths of 95 % intervals, one for each estimate by itself: (k,); NaN where nothing tells."""
    if of.freedom < 1:
        return np.full(len(of.by_unit), np.nan)
    return np.asarray(student_quantile(of.freedom, 0.975) * of.errors)
