"""Sums of samples of rows, their quantiles and verdicts, against NumPy and SciPy."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from scipy import stats

from borgtrace.colocation.sums.row_sums import (
    BLOCK,
    LEAST_TILE,
    SHARED,
    TILE,
    TOGETHER,
    add_samples,
    sample_statistics,
)

LEVELS = np.array([0.0, 0.5, 0.95, 0.999, 1.0])


def judged(rows: np.ndarray, samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return sample_statistics(rows, samples, LEVELS)


@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 19, 40])
@pytest.mark.parametrize("realizations", [1, 3, TILE, TILE + 1])
def test_sums_equal_numpy(size: int, realizations: int) -> None:
    rng = np.random.default_rng(size)
    rows = rng.random((50, realizations), np.float32)
    samples = rng.integers(0, 50, (3, size))
    totals = np.empty((3, realizations), np.float32)
    add_samples(rows, samples, totals)
    np.testing.assert_allclose(
        totals,
        rows[samples].sum(1, dtype=np.float64),
        rtol=4e-7,
    )


@pytest.mark.parametrize("n_rows", [600, SHARED // LEAST_TILE, SHARED // LEAST_TILE + 1])
def test_sums_of_many_samples_equal_numpy_in_tiles_of_any_length(n_rows: int) -> None:
    """Tiles of 436 and 256 realizations that stay near, and of `TILE` where they do not."""
    rng = np.random.default_rng(n_rows)
    rows = rng.random((n_rows, 900), np.float32)
    samples = rng.integers(0, n_rows, (TOGETHER + 2, 11))
    totals = np.empty((len(samples), 900), np.float32)
    add_samples(rows, samples, totals)
    np.testing.assert_allclose(totals, rows[samples].sum(1, dtype=np.float64), rtol=4e-7)


def test_twenty_samples_judged_as_numpy_and_scipy_judge_them() -> None:
    """The independent re-statement: sum, sort, anderson and percentiles of plain NumPy/SciPy."""
    rng = np.random.default_rng(2)
    usage = rng.gamma(0.6, 0.05, (400, 3000))
    is_running = rng.random((400, 1)) < 0.7
    rows = (usage * is_running).astype(np.float32)
    samples = np.array([rng.choice(400, 30, replace=False) for _ in range(20)])
    normality, quantiles = judged(rows, samples)
    for s, members in enumerate(samples):
        total = rows[members].astype(np.float64).sum(0)
        expected = stats.anderson(total, method="interpolate").statistic
        assert normality[s] == pytest.approx(expected, rel=1e-4, abs=1e-4)
        assert (normality[s] > 0.752) == (expected > 0.752)
        np.testing.assert_allclose(
            quantiles[s],
            np.quantile(total, LEVELS),
            rtol=1e-6,
        )


def test_a_constant_sum_is_infinitely_far_from_normal() -> None:
    normality, quantiles = judged(
        np.full((2, 100), 0.25, np.float32),
        np.array([[0, 1]]),
    )
    assert normality[0] == np.inf
    np.testing.assert_array_equal(quantiles[0], 0.5)


def test_threads_do_not_matter() -> None:
    rng = np.random.default_rng(3)
    rows = rng.random((30, 800), np.float32)
    samples = rng.integers(0, 30, (BLOCK + 6, 10))
    two = judged(rows, samples)
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        one = judged(rows, samples)
    finally:
        numba.set_num_threads(before)
    assert [a.tobytes() for a in one] == [a.tobytes() for a in two]
