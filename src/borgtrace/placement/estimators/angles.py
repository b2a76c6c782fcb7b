"""The grid of θ at which generating functions are kept."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ANGLES = 26
"""θ = 0 and 25 steps of a third up to 512 ÷ capacity: a deviation of 1 % of the capacity has its saddle inside."""


def angles(capacity: float) -> NDArray[np.float64]:
    """θ = 0 and a geometric grid from 0.5 to 512 over the capacity, float64 (ANGLES,)."""
    return np.concatenate([[0.0], np.geomspace(0.5, 512.0, ANGLES - 1)]) / capacity
