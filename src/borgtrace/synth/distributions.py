"""Piecewise quantile functions: published percentiles, turned back into draws."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QuantileCurve:
    """A quantile function through published points, straight in the logarithm of the value.

    Parameters
    ----------
    shares
        Cumulative probabilities, rising from 0 to 1.
    values
        The values there, positive and not falling.

    Examples
    --------
    >>> round(QuantileCurve((0.0, 0.5, 1.0), (1.0, 10.0, 100.0)).at(0.75), 1)
    31.6
    """

    shares: tuple[float, ...]
    values: tuple[float, ...]

    def at(self, u: float) -> float:
        """Return the value at cumulative probability `u`."""
        i = min(max(bisect_left(self.shares, u), 1), len(self.shares) - 1)
        low, high = self.shares[i - 1], self.shares[i]
        # Two equal shares are a step: the upper value.
        weight = (u - low) / (high - low) if high > low else 1.0
        # Published percentiles span five decades (downtimes: 13 s to 12 days): on straight lines between the values
        # themselves nearly all of a segment would lie near its upper end.
        a, b = math.log(self.values[i - 1]), math.log(self.values[i])
        return math.exp(a + (b - a) * weight)

    def below(self, value: float) -> float:
        """Return the cumulative probability of `value`: the inverse of :meth:`at`.

        Examples
        --------
        >>> round(QuantileCurve((0.0, 0.5, 1.0), (1.0, 10.0, 100.0)).below(1000.0**0.5), 3)
        0.75
        """
        i = min(max(bisect_left(self.values, value), 1), len(self.values) - 1)
        low, high = self.values[i - 1], self.values[i]
        weight = math.log(min(max(value, low), high) / low) / math.log(high / low) if high > low else 1.0
        return self.shares[i - 1] + (self.shares[i] - self.shares[i - 1]) * weight


@dataclass(frozen=True, slots=True)
class DiscreteDistribution:
    """A discrete distribution: requests come in a few round numbers.

    Examples
    --------
    >>> DiscreteDistribution((0.25, 0.5), (0.5, 0.5)).at(0.6), DiscreteDistribution((0.25, 0.5), (0.5, 0.5)).mean
    (0.5, 0.375)
    """

    values: tuple[float, ...]
    weights: tuple[float, ...]

    def at(self, u: float) -> float:
        """Return the atom at cumulative probability `u`."""
        total, threshold = 0.0, u * sum(self.weights)
        for value, weight in zip(self.values, self.weights, strict=True):
            total += weight
            if threshold < total:
                return value
        return self.values[-1]

    @property
    def mean(self) -> float:
        """Mean of the distribution."""
        pairs = zip(self.values, self.weights, strict=True)
        return sum(value * weight for value, weight in pairs) / sum(self.weights)


@dataclass(frozen=True, slots=True)
class OutcomeShares:
    """How a run ends, by how long it lasted.

    Parameters
    ----------
    limits
        Upper ends of the length bins, s; the last bin is open.
    shares
        Per bin the probabilities of EVICT, FAIL, FINISH, KILL.
    """

    limits: tuple[float, ...]
    shares: tuple[tuple[float, float, float, float], ...]

    def draw(self, seconds: float, u: float) -> str:
        """Return the event that ends a run of `seconds`."""
        row = self.shares[bisect_right(self.limits, seconds)]
        threshold = u * sum(row)
        for name, share in zip(("EVICT", "FAIL", "FINISH", "KILL"), row, strict=True):
            threshold -= share
            if threshold < 0.0:
                return name
        # Rounding left a rest.
        return "KILL"
