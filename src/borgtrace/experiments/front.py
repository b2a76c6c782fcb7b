"""Pareto's front: settings that none beats in both of two measures."""

from __future__ import annotations

from borgtrace.kernels.arrays import Numbers


def is_on_front(rates: Numbers, savings: Numbers) -> list[bool]:
    """Return of each point whether none saves as much with fewer violations, or more with as few (Pareto's front).

    Examples
    --------
    >>> import numpy as np
    >>> is_on_front(np.array([0.0, 0.01, 0.02]), np.array([0.1, 0.3, 0.2]))
    [True, True, False]
    """
    front = []
    for rate, saved in zip(rates, savings, strict=True):
        no_worse = (rates <= rate) & (savings >= saved)
        better = no_worse & ((rates < rate) | (savings > saved))
        front.append(not bool(better.any()))
    return front
