"""Boosted trees against scikit-learn's, which is not installed with the package."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from borgtrace.forecast.boosting import MOST_SAMPLED, bin_thresholds, boosted_trees
from borgtrace.kernels.arrays import Numbers


def regressors_of(n: int) -> Numbers:
    """Return numbers with few values, with many, and with one."""
    random = np.random.default_rng(n)
    regressors = random.gamma(2.0, size=(n, 6))
    regressors[:, 1] = random.integers(0, 12, n)
    regressors[:, 2] = regressors[:, 2].round(1)
    regressors[:, 3] = 0.5
    return regressors


@pytest.mark.parametrize("n", [20, 39, 40, 250, 3_000])
def test_trees_are_those_of_scikit_learn(n: int) -> None:
    regressors = regressors_of(n)
    noise = np.random.default_rng(1).normal(size=n)
    target = np.sin(regressors[:, 0]) + 0.3 * regressors[:, 1] + 0.2 * noise
    model = HistGradientBoostingRegressor(early_stopping=False, random_state=0)
    # The threads of OpenMP spin while others use the machine.
    with threadpool_limits(1):
        model.fit(regressors, target)
    trees = boosted_trees(regressors, target, 0)
    others = regressors_of(n + 1)
    others[::7, 0] = np.nan
    for rows in (regressors, others):
        assert trees.predict(rows) == pytest.approx(model.predict(rows), abs=1e-7)


def test_a_constant_target_is_its_own_forecast() -> None:
    regressors = regressors_of(100)
    assert (
        boosted_trees(regressors, np.full(100, 0.25), 0).predict(regressors).tolist()
        == [0.25] * 100
    )


def test_bins_are_made_from_a_sample() -> None:
    values = np.arange(MOST_SAMPLED + 1.0)[:, None]
    # Every 255th part of the values, give or take what a sample leaves out.
    expected = np.arange(1, 255) * len(values) / 255
    (edges,) = bin_thresholds(values, 3)
    assert edges == pytest.approx(expected, abs=2)
    assert (bin_thresholds(values, 3)[0] == edges).all()
