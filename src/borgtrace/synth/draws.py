"""Draws by share: ranks with a heavy tail, weighted values, systematic samples."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence


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
    return len(head) + _zipf(u / (1.0 - sum(head)), exponent, count - len(head), shift)


def _zipf(u: float, exponent: float, count: int, shift: float = 0.0) -> int:
    """Draw a rank 1 … `count` with probability ∝ (rank + shift)^−exponent, by inversion."""
    power = 1.0 - exponent
    low, high = (1.0 + shift) ** power, (count + 1.0 + shift) ** power
    # Rounding may lead one rank too far.
    return min(count, int((low + u * (high - low)) ** (1.0 / power) - shift))


def pick(values: range | tuple[int, ...], weights: tuple[float, ...], u: float) -> int:
    """Return the value at share `u` of the weights.

    Examples
    --------
    >>> pick((7, 8, 9), (0.5, 0.25, 0.25), 0.6)
    8
    """
    threshold = u * sum(weights)
    for value, weight in zip(values, weights, strict=True):
        threshold -= weight
        if threshold < 0.0:
            return value
    return values[-1]


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
