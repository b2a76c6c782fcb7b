"""The pool against the numbers that Janus & Rzadca (SoCC'17) print or imply."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from borgtrace.errors import UsageError
from borgtrace.synth import LongTasks, draw_long_tasks
from borgtrace.synth.long_tasks import job_sizes
from borgtrace.synth.model.classes import CLASSES
from tests.synth.scripted import ScriptedGenerator


@pytest.fixture(scope="module")
def large() -> LongTasks:
    return draw_long_tasks(40_000, seed=3)


def test_a_pool_is_made_of_long_tasks(large: LongTasks) -> None:
    lengths = np.diff(large.offsets)
    assert len(large) == 40_000
    assert lengths.min() >= 24
    assert large.inst.dtype == large.avg.dtype == np.float32
    assert large.inst.min() >= 0.0
    assert large.inst.max() <= 1.0


def test_moments_are_those_of_the_paper(large: LongTasks) -> None:
    mean, deviation = large.moments()
    fit = stats.linregress(mean, deviation)
    assert mean.mean() == pytest.approx(0.0274, rel=0.05)
    assert deviation.mean() == pytest.approx(0.0249, rel=0.05)
    assert 0.0295 <= np.sqrt((deviation**2).mean()) <= 0.0315
    assert 0.030 <= mean.std() <= 0.045
    assert mean.max() <= 0.5
    assert fit.slope == pytest.approx(0.36, abs=0.04)
    assert fit.intercept == pytest.approx(0.015, abs=0.0015)


def test_classes_have_the_shares_of_the_clusters(large: LongTasks) -> None:
    counts = np.bincount(large.kind, minlength=len(CLASSES.rows))
    percentages = counts / len(large) * 100
    published = [row.share for row in CLASSES.rows]
    assert percentages == pytest.approx(published, abs=1.5)


def looks_normal(sums: np.ndarray) -> bool:
    """Test sums as the paper does: Anderson–Darling with estimated mean and deviation, at 5 %."""
    scores = np.sort((sums - sums.mean()) / sums.std(ddof=1))
    log_below = stats.norm.logcdf(scores)
    log_above = stats.norm.logsf(scores)
    odd_numbers = 2 * np.arange(1, len(scores) + 1) - 1
    weighted = odd_numbers * (log_below + log_above[::-1])
    statistic = -len(scores) - weighted.mean()
    return bool(statistic <= 0.787)


@pytest.mark.wide
@pytest.mark.parametrize(("n", "rate"), [(20, 0.965), (100, 0.493)])
def test_sums_look_as_normal_as_in_table_1(
    large: LongTasks,
    n: int,
    rate: float,
) -> None:
    rng = np.random.default_rng(0)
    lengths = np.diff(large.offsets)
    rejected = []
    for _ in range(150):
        tasks = rng.choice(len(large), n, replace=False)
        # 10,000 random windows of each task.
        windows = (rng.random((n, 10_000)) * lengths[tasks, None]).astype(np.int64)
        samples = large.inst[large.offsets[tasks, None] + windows]
        rejected.append(not looks_normal(samples.sum(axis=0)))
    assert np.mean(rejected) == pytest.approx(rate, abs=0.12)


def test_same_seed_same_pool() -> None:
    pool = draw_long_tasks(200, 1)
    again = draw_long_tasks(200, 1)
    other = draw_long_tasks(200, 2)
    assert np.array_equal(pool.inst, again.inst)
    assert not np.array_equal(pool.offsets, other.offsets)


@pytest.mark.parametrize(
    ("n", "largest", "n_jobs"),
    [
        (99, 1, 99),
        (199, 1, 199),
        (200, 2, 100),
        (299, 2, 150),
        (5000, 50, 100),
        (5100, 50, 102),
    ],
)
def test_no_job_has_more_than_a_hundredth_of_the_pool_or_fifty_tasks(
    n: int,
    largest: int,
    n_jobs: int,
) -> None:
    """Where all jobs would be of a thousand tasks; the last one has what is left."""
    large_jobs = ScriptedGenerator(zipf=[[1000] * n])
    sizes = job_sizes(n, large_jobs)  # type: ignore[arg-type]
    assert max(sizes) == largest
    assert len(sizes) == n_jobs
    assert sum(sizes) == n


def test_bad_sizes_are_refused() -> None:
    with pytest.raises(UsageError) as caught:
        draw_long_tasks(0, seed=1)
    assert str(caught.value) == "n: out of range: expected 1 to 1,000,000, got 0"
