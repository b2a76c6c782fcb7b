"""The distribution of a sum on a grid, against its definition, added up in the same order."""

from __future__ import annotations

import numpy as np
import pytest

from borgtrace.kernels.arrays import Numbers
from borgtrace.kernels.convolution import convolved


def by_definition(mass: Numbers, n_used: int, own: Numbers, low: int, high: int) -> list[float]:
    """Add up cell by cell, from the lowest of the task that joins."""
    sums = [0.0] * len(mass)
    for x in range(low, high + 1):
        for s in range(x, min(x + n_used, len(mass))):
            sums[s] += own[x] * mass[s - x]
    return sums


@pytest.mark.parametrize("n_cells", [1, 2, 5, 40])
@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_four_cells_at_a_pass_give_the_bits_of_one_after_the_other(
    n_cells: int, share: float
) -> None:
    rng = np.random.default_rng(n_cells)
    # From nothing used to all of the grid: cells that never, partly or always contribute together.
    for n_used in range(n_cells + 1):
        mass = np.where(np.arange(n_cells) < n_used, rng.random(n_cells), 0.0)
        own = np.where(rng.random(n_cells) < share, rng.random(n_cells), 0.0)
        low = int(rng.integers(n_cells))
        high = int(rng.integers(low, n_cells))
        joined = convolved(mass, n_used, own, low, high)
        assert joined.tolist() == by_definition(mass, n_used, own, low, high)


def test_two_dice() -> None:
    die = np.array([0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0]) / 6
    total = convolved(die, 7, die, 1, 6) * 36
    assert np.round(total, 9).tolist() == [0, 0, 1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1]
