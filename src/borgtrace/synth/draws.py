"""Draws by share: weighted values, published percentiles, ranks with a heavy tail, systematic samples."""

import math
import random
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Value = TypeVar("Value")
Shares: TypeAlias = Mapping[Value, float]
"""Values and what each weighs; weights need not add up to 1."""


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

    def all_at(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values at many cumulative probabilities, of their shape."""
        return np.asarray(np.exp(np.interp(u, self.shares, np.log(self.values))))

    def below(self, value: float) -> float:
        """Return the cumulative probability of `value`: the inverse of :meth:`at`.

        Examples
        --------
        >>> round(QuantileCurve((0.0, 0.5, 1.0), (1.0, 10.0, 100.0)).below(1000.0**0.5), 3)
        0.75
        """
        i = min(max(bisect_left(self.values, value), 1), len(self.values) - 1)
        low, high = self.values[i - 1], self.values[i]
        weight = (
            math.log(min(max(value, low), high) / low) / math.log(high / low) if high > low else 1.0
        )
        return self.shares[i - 1] + (self.shares[i] - self.shares[i - 1]) * weight


def ranked(u: float, head: tuple[float, ...], exponent: float, count: int, shift: float) -> int:
    """Draw a rank 1 … `count`: the first ranks by their shares, the rest by a power law.

    Parameters
    ----------
    u
        A number in [0, 1).
    head
        Shares of the first ranks.
    exponent, shift
        Of the power law of the rest.
    count
        The largest rank.
    """
    for rank, share in enumerate(head, start=1):
        if u < share:
            return rank
        u -= share
    # The rest by inversion: the probability of its rank is ∝ (rank + shift)^−exponent.
    power, rest = 1.0 - exponent, count - len(head)
    low, high = (1.0 + shift) ** power, (rest + 1.0 + shift) ** power
    # Rounding may lead one rank too far.
    return len(head) + min(
        rest, int((low + u / (1.0 - sum(head)) * (high - low)) ** (1.0 / power) - shift)
    )


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
    # Rounding left a rest.
    return value


class Stratified:
    """Random numbers in [0, 1) of which each block holds one from each of its equal parts.

    Shares of what is rare are then met by a few thousand draws, not only by a million.

    Parameters
    ----------
    rng
        Where they come from.
    block
        Numbers in a block.

    Examples
    --------
    >>> even = Stratified(random.Random(1), block=4)
    >>> sorted(int(4 * even.draw()) for _ in range(4))
    [0, 1, 2, 3]
    """

    def __init__(self, rng: random.Random, block: int = 256) -> None:
        self._rng, self._block = rng, block
        self._parts: list[int] = []

    def draw(self) -> float:
        """Return the next number."""
        if not self._parts:
            self._parts = self._rng.sample(range(self._block), self._block)
        return (self._parts.pop() + self._rng.random()) / self._block


class BalancedStrata:
    """Places in [0, 1] for what comes one after the other, such that each part of it gets the same mass.

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

    def place(self, u: float, mass: float, below: float = 1.0) -> float:
        """Return the place `u` of the lightest part that begins below a limit, and add a mass to it.

        Parameters
        ----------
        u
            Where in its part, from 0 to 1.
        mass
            What to add to the part.
        below
            Parts that begin at or above it, as a share of all, are not chosen.
        """
        parts = len(self._masses)
        # The first of equally light parts, so that the result depends on masses and order alone.
        lightest = min(range(max(1, math.ceil(below * parts))), key=self._masses.__getitem__)
        self._masses[lightest] += mass
        return (lightest + u) / parts


def systematic(sizes: Sequence[float], keys: Sequence[float]) -> list[float]:
    """Return per job its mid position among all tasks when jobs are sorted by key.

    Examples
    --------
    >>> systematic([2, 6], [0.9, 0.1])
    [0.875, 0.375]
    """
    total, before = float(sum(sizes)), 0.0
    places = [0.0] * len(sizes)
    # Jobs with equal keys keep their order, whatever the sort does.
    for i in sorted(range(len(sizes)), key=lambda j: (keys[j], j)):
        places[i] = (before + 0.5 * sizes[i]) / total
        before += sizes[i]
    return places
