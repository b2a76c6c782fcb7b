"""Draws by share: ranks with a heavy tail, weighted values, systematic samples."""

from __future__ import annotations


def ranked(u: float, head: tuple[float, ...], exponent: float, count: int, shift: float) -> int:
    """Draw a rank 1 … `count`: the first ranks by their shares, the rest by a power law."""
    for rank, share in enumerate(head, start=1):
        if u < share:
            return rank
        u -= share
    return len(head) + _zipf(u / (1.0 - sum(head)), exponent, count - len(head), shift)


def _zipf(u: float, exponent: float, count: int, shift: float = 0.0) -> int:
    """Draw a rank 1 … `count` with probability ∝ (rank + shift)^−exponent, by inversion."""
    power = 1.0 - exponent
    low, high = (1.0 + shift) ** power, (count + 1.0 + shift) ** power
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


def systematic(sizes: list[int], keys: list[float]) -> list[float]:
    """Return per job its mid position among all tasks when jobs are sorted by key.

    Examples
    --------
    >>> systematic([2, 6], [0.9, 0.1])
    [0.875, 0.375]
    """
    total, before = float(sum(sizes)), 0.0
    places = [0.0] * len(sizes)
    for i in sorted(range(len(sizes)), key=lambda j: (keys[j], j)):
        places[i] = (before + 0.5 * sizes[i]) / total
        before += sizes[i]
    return places
