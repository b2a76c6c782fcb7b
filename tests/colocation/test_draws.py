"""Draws follow the empirical distribution, and depend on the task and the seed alone."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from scipy import stats

from borgtrace.colocation.tasks.draws import draw_quantiles, draw_uniform, draw_weighted
from borgtrace.colocation.tasks.moments import row_moments
from borgtrace.kernels.hashing import task_keys

VALUES = np.array([9, 0, 1, 2, 3, 7], np.float32)
OFFSETS = np.array([0, 1, 5, 6])
TASKS = np.array([1])
KEYS = task_keys(4, TASKS, TASKS)


def test_windows_are_equally_likely() -> None:
    out = np.empty((1, 40_000), np.float32)
    draw_uniform(VALUES, OFFSETS, TASKS, KEYS, out)
    counts = np.bincount(out[0].astype(int), minlength=4)
    assert stats.chisquare(counts).pvalue > 1e-3


def test_windows_weigh_by_their_length() -> None:
    out = np.empty((1, 40_000), np.float32)
    weights = np.array([1, 10, 20, 30, 40, 5])
    draw_weighted(VALUES, OFFSETS, weights, TASKS, KEYS, out)
    counts = np.bincount(out[0].astype(int), minlength=4)
    expected = 400 * weights[1:5]
    assert stats.chisquare(counts, expected).pvalue > 1e-3


def test_percentiles_are_interpolated() -> None:
    """One window whose quantiles are 0, 1, 3 at 0, ½, 1: uniform on (0, 1), then on (1, 3)."""
    levels = np.array([0.0, 0.5, 1.0])
    out = np.empty((1, 20_000), np.float32)
    offsets = np.array([0, 1])
    weights = np.array([300])
    quantiles = np.array([[0, 1, 3]], np.float32)
    draw_quantiles(quantiles, levels, offsets, weights, np.array([0]), KEYS, out)
    level = np.where(
        out[0] < 1,
        out[0] / 2,
        0.5 + (out[0] - 1) / 4,
    )
    assert stats.kstest(level, "uniform").pvalue > 1e-3


def test_consecutive_draws_and_tasks_are_uncorrelated() -> None:
    ids = np.arange(300)
    out = np.empty((300, 2000), np.float32)
    offsets = np.arange(0, 300 * 8 + 1, 8)
    values = np.tile(np.arange(8, dtype=np.float32), 300)
    draw_uniform(values, offsets, ids, task_keys(0, ids, 0 * ids), out)
    centered = (out - 3.5) / np.sqrt(5.25)
    products = centered[:, 1:] * centered[:, :-1]
    assert abs(products.mean()) < 4 / np.sqrt(products.size)
    different_tasks = np.triu_indices(300, 1)
    between = np.corrcoef(out)[different_tasks]
    standard_error = between.std() / np.sqrt(len(between))
    assert between.std() == pytest.approx(1 / np.sqrt(2000), rel=0.03)
    assert abs(between.mean()) < 4 * standard_error


def test_seeds_and_identities_give_different_keys() -> None:
    a, b = np.meshgrid(np.arange(40), np.arange(40))
    keys = [task_keys(seed, a.ravel(), b.ravel()) for seed in (-1, 0, 1)]
    assert len(np.unique(np.concatenate(keys))) == 3 * 1600


def test_threads_do_not_matter() -> None:
    ids = np.arange(3)
    two = np.empty((3, 100), np.float32)
    one = np.empty((3, 100), np.float32)
    draw_uniform(VALUES, OFFSETS, ids, task_keys(0, ids, ids), two)
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        draw_uniform(VALUES, OFFSETS, ids, task_keys(0, ids, ids), one)
    finally:
        numba.set_num_threads(before)
    assert one.tobytes() == two.tobytes()


def test_row_moments_equal_numpy() -> None:
    rows = np.random.default_rng(0).random((5, 1001), np.float32)
    means, stds = row_moments(rows)
    np.testing.assert_allclose(
        means,
        rows.mean(1, dtype=np.float64),
        rtol=1e-13,
    )
    np.testing.assert_allclose(
        stds,
        rows.std(1, dtype=np.float64),
        rtol=1e-12,
    )
