"""Table 1 and Fig. 6 said again in plain NumPy and SciPy, on 20 samples of each size."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from borgtrace.colocation import synthetic_pool
from borgtrace.colocation.experiments.sums.percentile_error import errors
from borgtrace.colocation.sums.sample_sums import judge_samples
from borgtrace.colocation.tasks.subsets import draw_subsets

SEED = 11
SAMPLES = 20
REALIZATIONS = 3000
SIZES = (10, 50, 250)


@pytest.fixture(scope="module")
def realizations() -> np.ndarray:
    pool = synthetic_pool(500, seed=2)
    return pool.draw(np.arange(len(pool)), REALIZATIONS, SEED)


@pytest.mark.wide
@pytest.mark.parametrize("size", SIZES)
def test_verdicts_and_percentile_errors(realizations: np.ndarray, size: int) -> None:
    (found,) = judge_samples(realizations, (size,), SAMPLES, SEED)
    members = draw_subsets(len(realizations), size, SAMPLES, SEED)
    for s in range(SAMPLES):
        rows = realizations[members[s]].astype(np.float64)
        total = rows.sum(axis=0)
        statistic = stats.anderson(total, method="interpolate").statistic
        assert found.normality[s] == pytest.approx(statistic, rel=1e-3, abs=1e-3)
        for critical in (0.752, 0.787):
            assert (found.normality[s] > critical) == (statistic > critical)
        law = stats.norm(
            rows.mean(axis=1).sum(),
            np.sqrt(rows.var(axis=1).sum()),
        )
        percentiles = np.percentile(total, [95, 99, 99.9])
        expected = (law.ppf([0.95, 0.99, 0.999]) - percentiles) / percentiles
        np.testing.assert_allclose(
            errors(found)[s],
            expected,
            rtol=0,
            atol=2e-6,
        )


def test_sizes_above_the_pool_are_left_out(realizations: np.ndarray) -> None:
    assert [sums.size for sums in judge_samples(realizations, (10, 500, 501), 1, SEED)] == [10, 500]
