"""The order in which traces are drawn is that of NumPy's legacy generator, number by number."""

from __future__ import annotations

import numpy as np
import pytest

from borgtrace.datasets.drawing import shuffled


@pytest.mark.parametrize("seed", [0, 1, 2017, 2**32 - 1])
# Around powers of two, which decide how many bits are drawn, and around what is exchanged together.
@pytest.mark.parametrize(
    "n", [0, 1, 2, 3, 4, 5, 8, 9, 255, 256, 257, 258, 513, 1000, 65_536, 65_537]
)
def test_the_order_is_that_of_numpy(n: int, seed: int) -> None:
    expected = np.arange(n)
    np.random.RandomState(seed).shuffle(expected)
    assert shuffled(np.arange(n), seed).tolist() == expected.tolist()


def test_what_is_shuffled_stays_as_it_is() -> None:
    index = np.array([7, 5, 3])
    assert sorted(shuffled(index, 0).tolist()) == [3, 5, 7]
    assert index.tolist() == [7, 5, 3]
