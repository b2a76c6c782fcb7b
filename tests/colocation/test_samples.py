"""Random subsets: right sizes, no repeats, every element alike; prefix means by brute force."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from borgtrace.colocation.tasks.subsets import draw_subsets, prefix_means
from borgtrace.kernels.hashing import task_keys


@pytest.mark.parametrize(
    ("n", "size"),
    [
        (5, 5),
        (5, 1),
        (1000, 40),
    ],
)
def test_subsets_hold_different_elements_within_range(n: int, size: int) -> None:
    subsets = draw_subsets(n, size, 200, seed=1)
    assert subsets.shape == (200, size)
    assert subsets.min() >= 0
    assert subsets.max() < n
    assert all(len(set(row)) == size for row in subsets.tolist())


def test_every_pair_is_equally_likely() -> None:
    pairs = np.sort(draw_subsets(5, 2, 20_000, seed=3), axis=1)
    counts = np.unique(
        pairs[:, 0] * 5 + pairs[:, 1],
        return_counts=True,
    )[1]
    assert len(counts) == 10
    assert stats.chisquare(counts).pvalue > 1e-3


def test_seed_and_size_change_the_subsets() -> None:
    first = draw_subsets(100, 10, 5, seed=1)
    assert (first == draw_subsets(100, 10, 5, seed=1)).all()
    assert (first != draw_subsets(100, 10, 5, seed=2)).any()
    assert (first != draw_subsets(100, 11, 5, seed=1)[:, :10]).any()


def test_prefix_means_take_each_window_once() -> None:
    values = np.array([1, 2, 4, 8, 100], np.float32)
    offsets = np.array([0, 4, 5])
    means = np.empty((2, 3))
    prefix_means(
        values,
        offsets,
        task_keys(0, offsets[:2], offsets[:2]),
        np.array([1, 3, 4]),
        means,
    )
    assert means[0, 0] in (1, 2, 4, 8)
    assert means[0, 1] * 3 in (7, 11, 13, 14)  # the sum of three different ones
    assert means[0, 2] == 3.75  # all four
    assert means[1, 0] == 100
    assert np.isnan(means[1, 1:]).all()


def test_first_of_a_prefix_is_uniform() -> None:
    n = 20_000
    values = np.tile(np.arange(4, dtype=np.float32), n)
    offsets = np.arange(0, 4 * n + 1, 4)
    means = np.empty((n, 1))
    prefix_means(
        values,
        offsets,
        task_keys(1, np.arange(n), np.arange(n)),
        np.array([1]),
        means,
    )
    counts = np.bincount(
        means[:, 0].astype(int),
        minlength=4,
    )
    assert stats.chisquare(counts).pvalue > 1e-3
