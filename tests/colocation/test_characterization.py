"""The questions about a pool: one contract for all, and answers known by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from borgtrace.catalog import experiments
from borgtrace.colocation import synthetic_pool
from borgtrace.colocation.experiments.usage.deviation_regression import regression
from borgtrace.colocation.experiments.usage.relative_difference import SIZES, differences
from borgtrace.colocation.experiments.usage.usage_shapes import histograms
from borgtrace.colocation.experiments.usage.usage_stationarity import rejections
from borgtrace.colocation.options import ColocationOptions
from borgtrace.colocation.study import Study
from borgtrace.colocation.tasks.pool import TaskPool
from borgtrace.errors import UsageError
from tests.analyses.tiny import tiny
from tests.colocation.test_pool import make

MODULES = (
    "colocation_preparation",
    "relative_difference",
    "usage_deviation",
    "deviation_regression",
    "usage_stationarity",
    "usage_changes",
    "usage_shapes",
    "sum_examples",
    "sum_normality",
    "percentile_error",
)
EXPERIMENTS = experiments()
SMALL = {
    "realizations": 400,
    "samples": 40,
    "seed": 3,
}


def ask(name: str, pool: TaskPool, **params: Any) -> list[dict[str, Any]]:
    """The rows of a recipe's answer on a pool."""
    recipe = EXPERIMENTS[name]
    known = {key: value for key, value in {**SMALL, **params}.items() if key in recipe.parameters}
    result = recipe.run(Study(pool), **known)
    assert result.not_applicable is None, result.not_applicable
    rows: list[dict[str, Any]] = result.table.to_pylist()
    return rows


@pytest.fixture(scope="module")
def pool() -> TaskPool:
    return synthetic_pool(400, seed=8)


@pytest.mark.parametrize("name", MODULES)
def test_contract(name: str, pool: TaskPool) -> None:
    """Same seed, same rows; a chart; every claim judged; no NaN; synthetic pools are called synthetic."""
    recipe = EXPERIMENTS[name]
    params = {key: value for key, value in SMALL.items() if key in recipe.parameters}
    first, second = (recipe.run(Study(pool), **params) for _ in range(2))
    assert first.table.equals(second.table)
    assert first.table.num_rows
    for column in first.table.columns:
        values = [v for v in column.to_pylist() if isinstance(v, float)]
        assert np.isfinite(values).all()
    chart = first.plot()
    assert chart is not None
    assert chart.to_dict()["title"]
    assert len(first.findings) == len(recipe.claims)
    assert first.provenance.is_synthetic


@pytest.mark.parametrize("name", MODULES)
def test_a_store_without_usage_is_not_applicable(name: str) -> None:
    result = EXPERIMENTS[name].run(tiny())
    assert result.not_applicable == (
        "the store holds no rows of tasks; ingest files that have some"
    )
    assert all(finding.verdict == "not applicable" for finding in result.findings)


@pytest.mark.parametrize("name", MODULES)
def test_a_pool_of_one_task_answers_or_says_why(name: str) -> None:
    result = EXPERIMENTS[name].run(Study(make([[0.5] * 24])))
    reasons = {
        "usage_shapes": "16 clusters need as many different tasks, the pool has 1",
        "sum_examples": "the pool has 1 long tasks, the smallest sample needs 10",
        "sum_normality": "the pool has 1 long tasks, the smallest sample needs 10",
        "percentile_error": "the pool has 1 long tasks, the smallest sample needs 10",
        "colocation_preparation": None,
        "usage_changes": "the pool has no time stamps",
    }
    assert result.not_applicable == reasons.get(name)


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        (
            "sum_normality",
            {"realizations": 99},
            "realizations: out of range: expected 100 to 1,000,000, got 99",
        ),
        (
            "percentile_error",
            {"samples": 0},
            "samples: out of range: expected 1 to 1,000,000, got 0",
        ),
        (
            "usage_deviation",
            {"tasks": 0},
            "tasks: out of range: expected 1 to 1,000,000,000, got 0",
        ),
    ],
)
def test_refuses(
    name: str,
    params: dict[str, int],
    message: str,
    pool: TaskPool,
) -> None:
    with pytest.raises(UsageError) as error:
        EXPERIMENTS[name].run(Study(pool), **params)
    assert str(error.value) == message


def test_questions_share_a_pool_of_the_size_asked_for(pool: TaskPool) -> None:
    study = Study(pool)
    fifty = ColocationOptions(tasks=50, seed=1)
    assert study.pool(ColocationOptions()) is pool
    assert len(study.pool(fifty)) == 50
    assert study.pool(fifty) is study.pool(fifty)


def test_all_windows_of_a_task_give_its_mean_exactly() -> None:
    """k = number of windows: nothing is left to chance (here k = 5 and averages are ten times inst)."""
    relative = differences(
        make(
            [
                [0, 1, 2, 3, 4],
                [2, 2, 2, 2, 2],
            ]
        )
    )
    assert relative[:, SIZES.index(5)] == pytest.approx([0.9, 0.9])
    assert np.isnan(relative[:, SIZES.index(10) :]).all()


def test_a_task_that_averages_zero_has_no_relative_difference() -> None:
    pool = make([[0.0] * 24, [0.5] * 24])
    rows = ask("relative_difference", pool)
    assert {row["n_tasks"] for row in rows} == {1}
    assert rows[0]["median"] == pytest.approx(0.9)


def test_deviations_by_hand() -> None:
    """Half of the tasks constant, half at 0 and 2: σ is 0 or 1, of averages 0 or 10."""
    rows = ask(
        "usage_deviation",
        make([[1, 1]] * 5 + [[0, 2]] * 5),
    )
    found = {(row["series"], row["share"]): row["deviation"] for row in rows}
    assert found["inst", 0.25] == 0
    assert found["inst", 0.75] == pytest.approx(1)
    assert found["avg", 1.0] == pytest.approx(10)


def test_line_by_hand() -> None:
    assert regression(np.array([1.0, 2.0, 4.0]), np.array([3.0, 5.0, 9.0])) == pytest.approx((2, 1))
    assert regression(np.array([1.0, 1.0]), np.array([1.0, 2.0])) is None


def test_regression_cells_count_every_task_once(pool: TaskPool) -> None:
    rows = ask("deviation_regression", pool)
    for series in ("inst", "avg"):
        cells = [row for row in rows if row["series"] == series]
        assert sum(row["n_tasks"] for row in cells) == len(pool)
        slope, intercept = np.polyfit(
            pool.mean(series),
            pool.std(series),
            1,
        )
        assert (cells[0]["slope"], cells[0]["intercept"]) == pytest.approx((slope, intercept))


def test_stationarity_by_hand() -> None:
    """24 windows: the only pair of windows of 12 is the two halves."""
    steady = [float(k % 6) for k in range(24)]
    shifted = [float(k) for k in range(24)]
    assert rejections(make([steady, shifted, [0.5] * 23]), 12, 12) == (1, 2)
    assert rejections(make([steady, shifted]), 12, 11) == (1, 2)
    assert rejections(make([steady]), 24, 24) == (0, 0)


def test_histograms_weigh_windows() -> None:
    weighted = make(
        [[0.015, 0.5]],
        seconds=np.array([100, 300]),
        is_weighted=True,
    )
    shape = histograms(weighted)[0]
    assert shape[1] == 0.25
    assert shape[50] == 0.75
    assert shape.sum() == 1


def test_shapes_are_found_again() -> None:
    """20 kinds of tasks with 5 of each are told apart by 16 clusters; densities stay densities."""
    tasks = []
    for kind in range(20):
        usage = [kind / 100 + 0.005] * 3 + [0.995]
        tasks += [usage] * 5
    pool = make(tasks)
    rows = ask("usage_shapes", pool)
    clusters = sorted({row["cluster"] for row in rows})
    assert clusters == [chr(ord("a") + k) for k in range(16)]
    for letter in clusters:
        cells = [row for row in rows if row["cluster"] == letter]
        assert sum(row["density"] for row in cells) == pytest.approx(1, abs=1e-6)
        assert cells[99]["density"] == pytest.approx(0.25, abs=1e-6)
    assert sum({row["cluster"]: row["share"] for row in rows}.values()) == pytest.approx(1)


@pytest.mark.wide
def test_totals_of_gaussian_tasks_are_normal() -> None:
    """Tasks that are normal themselves: 5 % of totals are rejected, percentiles are right, Fig. 5 fits."""
    rng = np.random.default_rng(1)
    pool = make([list(rng.normal(1, 0.1, 300)) for _ in range(1000)])
    normality = ask("sum_normality", pool, samples=600, realizations=1000)
    assert [row["size"] for row in normality] == [10, 20, 30, 50, 100, 250, 500]
    for row in normality:
        assert row["mean_usage"] == pytest.approx(row["size"], rel=0.01)
        if (
            row["size"] <= 50
        ):  # larger samples of the 1,000 tasks overlap too much to be independent
            assert row["rejected"] == pytest.approx(0.05, abs=0.03)
        assert row["rejected_1974"] <= row["rejected"]
    for row in ask("percentile_error", pool, samples=200, realizations=4000):
        assert abs(row["median"]) < 3e-3
    example = [row for row in ask("sum_examples", pool, realizations=20_000) if row["size"] == 50]
    assert sum(row["density"] * (row["high"] - row["low"]) for row in example) == pytest.approx(1)
    middle = max(example, key=lambda row: row["normal_density"])
    assert middle["density"] == pytest.approx(middle["normal_density"], rel=0.1)


@pytest.mark.parametrize(
    ("realizations", "verdicts"),
    [(9_999, {"not applicable"}), (10_000, {"holds", "does not hold"})],
)
def test_published_rates_compare_with_the_papers_number_of_realizations(
    realizations: int, verdicts: set[str], pool: TaskPool
) -> None:
    result = EXPERIMENTS["sum_normality"].run(Study(pool), realizations=realizations, samples=4)
    evidence_of_ways = {
        claim.id: claim.judge(result.table).verdict for claim in result.question.claims
    }
    assert {
        verdict for name, verdict in evidence_of_ways.items() if name.startswith("S1-table1-10-")
    } <= verdicts
    assert evidence_of_ways["S1-table1-mean-10"] != "not applicable"


def test_totals_of_idle_tasks_have_no_relative_error() -> None:
    """All realized percentiles are 0: said so, not divided by."""
    pool = make([[0.0] * 24] * 12)
    result = EXPERIMENTS["percentile_error"].run(Study(pool), realizations=100, samples=5)
    assert result.not_applicable == "all realized percentiles are 0"
