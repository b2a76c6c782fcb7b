"""Draws by share: weighted values, published percentiles, ranks with a heavy tail, systematic samples."""

import math
import random
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
Value = TypeVar("Value")
Shares: TypeAlias = Mapping[Value, float]
"""Values and their weights, which need not add up to 1."""


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

    @classmethod
    def through(cls, points: Mapping[float, float]) -> Self:
        """Make a curve from the value at each cumulative probability."""
        return cls(tuple(points.keys()), tuple(points.values()))

    def at(self, u: float) -> float:
        """Return the value at cumulative probability `u`."""
        upper = self._segment_end(self.shares, u)
        low = self.shares[upper - 1]
        high = self.shares[upper]
        # Two equal shares are a step: take the upper value.
        weight = (u - low) / (high - low) if high > low else 1.0
        # Published percentiles span five decades (downtimes: 13 s to 12 days).  On straight lines between the values
        # themselves nearly all of a segment would lie near its upper end.
        log_low = math.log(self.values[upper - 1])
        log_high = math.log(self.values[upper])
        return math.exp(log_low + (log_high - log_low) * weight)

    @staticmethod
    def _segment_end(points: tuple[float, ...], point: float) -> int:
        """Return the number of the first point at or above one, at least 1: a segment lies between two points."""
        number = bisect_left(points, point)
        return min(max(number, 1), len(points) - 1)

    def all_at(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values at many cumulative probabilities, in an array of the same shape."""
        logs = np.interp(u, self.shares, np.log(self.values))
        return np.asarray(np.exp(logs))

    def below(self, value: float) -> float:
        """Return the cumulative probability of `value`: the inverse of :meth:`at`.

        Examples
        --------
        >>> round(QuantileCurve((0.0, 0.5, 1.0), (1.0, 10.0, 100.0)).below(1000.0**0.5), 3)
        0.75
        """
        upper = self._segment_end(self.values, value)
        low = self.values[upper - 1]
        high = self.values[upper]
        if high > low:
            inside = min(max(value, low), high)
            above_low = math.log(inside / low)
            weight = above_low / math.log(high / low)
        else:
            weight = 1.0
        step = self.shares[upper] - self.shares[upper - 1]
        return self.shares[upper - 1] + step * weight


class RankShares(NamedTuple):
    """How jobs are divided among ranked owners: the first ranks by their shares, the rest by a power law.

    Attributes
    ----------
    head
        Shares of the first ranks.
    exponent, shift
        The power law of the rest: the probability of its rank r is ∝ (r + shift)^−exponent.
    n_ranks
        The largest rank.

    Examples
    --------
    >>> owners = RankShares(head=(0.5, 0.25), exponent=2.0, n_ranks=5, shift=0.0)
    >>> [owners.rank_at(u) for u in (0.4, 0.6, 0.8, 0.99)]
    [1, 2, 3, 5]
    """

    head: Sequence[float]
    exponent: float
    n_ranks: int
    shift: float

    def rank_at(self, u: float) -> int:
        """Return the rank, from 1 to `n_ranks`, at a cumulative probability in [0, 1)."""
        for rank, share in enumerate(self.head, start=1):
            if u < share:
                return rank
            u -= share
        # The rest by inversion.
        power = 1.0 - self.exponent
        rest = self.n_ranks - len(self.head)
        low = (1.0 + self.shift) ** power
        high = (rest + 1.0 + self.shift) ** power
        share_of_rest = 1.0 - sum(self.head)
        position = low + u / share_of_rest * (high - low)
        rank = int(position ** (1.0 / power) - self.shift)
        # Rounding may lead one rank too far.
        return len(self.head) + min(rest, rank)


def pick(shares: Shares[Value], u: float) -> Value:
    """Return the value at share `u` of the weights.

    Examples
    --------
    >>> pick({7: 0.5, 8: 0.25, 9: 0.25}, 0.6)
    8
    """
    threshold = u * sum(shares.values())
    for value, weight in shares.items():
        threshold -= weight
        if threshold < 0.0:
            return value
    # Rounding left a remainder.
    return value


class Stratified:
    """Random numbers in [0, 1) of which each block holds one from each of its equal parts.

    A few thousand draws then meet the shares of rare values, not only a million.

    Parameters
    ----------
    rng
        Where the numbers come from.
    block
        Numbers in a block.

    Examples
    --------
    >>> even = Stratified(random.Random(1), block=4)
    >>> sorted(int(4 * even.draw()) for _ in range(4))
    [0, 1, 2, 3]
    """

    def __init__(self, rng: random.Random, block: int = 256) -> None:
        self._rng = rng
        self._block = block
        self._parts: list[int] = []

    def draw(self) -> float:
        """Return the next number."""
        if not self._parts:
            self._parts = self._rng.sample(range(self._block), self._block)
        part = self._parts.pop()
        return (part + self._rng.random()) / self._block


class EvenSequence:
    """Numbers in [0, 1) of which any run of neighbors covers the interval evenly: steps of the golden ratio.

    A heavy tail then comes regularly: each thousand sizes of jobs have the same mean, and any day the same volume.

    Parameters
    ----------
    first
        Where it begins, in [0, 1).

    Examples
    --------
    >>> even = EvenSequence(0.5)
    >>> sorted(int(4 * even.draw()) for _ in range(4))
    [0, 1, 2, 3]
    """

    def __init__(self, first: float) -> None:
        self._last = first

    def draw(self) -> float:
        """Return the next number."""
        self._last = (self._last + _GOLDEN) % 1.0
        return self._last


class BalancedStrata:
    """Places in [0, 1] for a sequence of masses, such that each part of [0, 1] gets the same mass.

    Parameters
    ----------
    parts
        Number of parts.

    Examples
    --------
    >>> even = BalancedStrata(2)
    >>> [even.place(0.5, mass) for mass in (1.0, 3.0, 1.0, 1.0)]
    [0.25, 0.75, 0.25, 0.25]
    """

    def __init__(self, parts: int = 16) -> None:
        self._masses = [0.0] * parts

    def place(
        self,
        u: float,
        mass: float,
        below: float = 1.0,
    ) -> float:
        """Add a mass to the lightest part, and return the place `u` of that part.

        Parameters
        ----------
        u
            Where in its part, from 0 to 1.
        mass
            What to add to the part.
        below
            Only parts that begin below this share of all are chosen.
        """
        parts = len(self._masses)
        allowed = range(max(1, math.ceil(below * parts)))
        # Equally light parts by turns from all over, not from the lowest on: the first jobs would all ask for little.
        lightest = min(allowed, key=lambda part: (self._masses[part], part * _GOLDEN % 1.0))
        self._masses[lightest] += mass
        return (lightest + u) / parts


def systematic(
    sizes: Sequence[float],
    keys: Sequence[float],
) -> list[float]:
    """Return per job its mid position among all tasks when jobs are sorted by key.

    Examples
    --------
    >>> systematic([2, 6], [0.9, 0.1])
    [0.875, 0.375]
    """
    total = float(sum(sizes))
    before = 0.0
    positions = [0.0] * len(sizes)
    # Jobs with equal keys keep their order, whatever the sort does.
    in_order = sorted(range(len(sizes)), key=lambda job: (keys[job], job))
    for job in in_order:
        middle = before + 0.5 * sizes[job]
        positions[job] = middle / total
        before += sizes[job]
    return positions
