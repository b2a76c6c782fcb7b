"""The two-sample KS test of windows, against scipy and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from borgtrace.kernels.hashing import task_keys
from borgtrace.kernels.kolmogorov import ks_p_value, ks_steps, window_pairs


@pytest.mark.parametrize("n", [5, 11, 12, 36])
def test_statistic_and_p_value_equal_scipy(n: int) -> None:
    rng = np.random.default_rng(n)
    for shift in (0.0, 0.3, 1.0):
        a = np.sort(rng.normal(size=n).astype(np.float32))
        b = np.sort(rng.normal(shift, size=n).astype(np.float32))
        steps = ks_steps(a, b)
        expected = stats.ks_2samp(a, b, method="exact")
        assert steps / n == pytest.approx(expected.statistic)
        assert ks_p_value(n, steps) == pytest.approx(expected.pvalue, rel=1e-9)


def test_ties_across_the_samples_are_no_gap() -> None:
    a = np.array([0, 0, 1], np.float32)
    assert ks_steps(a, a) == 0
    assert ks_steps(a, np.array([0, 1, 1], np.float32)) == 1
    assert ks_p_value(3, 0) == 1.0


def test_windows_are_two_different_ones() -> None:
    """Ten windows of constants 0 … 9: any two different ones lie all apart, any one and itself not at all."""
    n_tasks = 400
    spacing = 12
    series = np.repeat(np.arange(10, dtype=np.float32), spacing)
    values = np.tile(series, n_tasks)
    offsets = np.arange(0, n_tasks * 120 + 1, 120)
    keys = task_keys(0, offsets[:-1], offsets[:-1])
    for length in (12, 11):
        steps = np.empty(n_tasks, np.int64)
        window_pairs(
            values,
            offsets,
            keys,
            spacing,
            length,
            steps,
        )
        np.testing.assert_array_equal(steps, length)


def test_a_task_with_one_window_has_no_pair() -> None:
    values = np.zeros(47, np.float32)
    offsets = np.array([0, 23, 47])
    keys = task_keys(0, offsets[:2], offsets[:2])
    steps = np.empty(2, np.int64)
    window_pairs(
        values,
        offsets,
        keys,
        12,
        12,
        steps,
    )
    assert steps.tolist() == [-1, 0]
