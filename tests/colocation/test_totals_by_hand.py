"""Totals and pairs of tasks, tasks that peak together, and replays: tables and claims on a few values, by hand."""

from __future__ import annotations

import math
import tomllib
from importlib.resources import files
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

from borgtrace.colocation import Study
from borgtrace.colocation.experiments import (
    colocation_preparation,
    deviation_regression,
    packing_correlated,
    packing_rebalancing,
    packing_replay,
    percentile_error,
    relative_difference,
    sum_examples,
    sum_normality,
    task_correlation,
)
from borgtrace.colocation.pool import Step
from borgtrace.colocation.sample_sums import SampleSums
from borgtrace.engine.embedded import ask
from borgtrace.placement import Observation
from borgtrace.recipe import NotApplicable
from tests.colocation.test_claims_by_hand import measured
from tests.colocation.test_packing_past import on_clock
from tests.colocation.test_pool import make


def study_of(pool: Any) -> Study:
    return cast(Study, SimpleNamespace(pool=lambda options: pool))


def options(**given: Any) -> Any:
    return SimpleNamespace(**given)


def refused(reason: str) -> Any:
    return pytest.raises(NotApplicable, match=f"^{reason}$")


# --- the normal law of a total ---------------------------------------------------------------------


def sums(size: int, percentiles: list[list[float]], mean: float = 1.0, std: float = 0.5) -> SampleSums:
    n = len(percentiles)
    found: Any = SimpleNamespace(
        size=size, percentiles=np.array(percentiles), mean=np.full(n, mean), std=np.full(n, std)
    )
    return cast(SampleSums, found)


def test_errors_of_normal_percentiles() -> None:
    # 1.644854, 2.326348 and 3.090232 deviations of .5 above 1; no relative error of 0.
    found = percentile_error.errors(sums(10, [[2.0, 2.0, 2.0], [0.0, 1.0, 4.0]]))
    normal = [1.822427, 2.163174, 2.545116]
    expected = [[each / 2 - 1 for each in normal], [math.nan, normal[1] - 1, normal[2] / 4 - 1]]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_violin_for_each_size_of_the_figure() -> None:
    found = [sums(10, [[2.0] * 3, [1.0] * 3]), sums(15, [[2.0] * 3]), sums(50, [[0.0, 2.0, 0.0]])]
    study = cast(Study, SimpleNamespace(sums=lambda options: found))
    rows = percentile_error.compute(study, options()).to_pylist()
    assert {(row["size"], row["percentile"], row["n_samples"]) for row in rows} == {
        *((10, level, 2) for level in (95.0, 99.0, 99.9)),
        (50, 99.0, 1),
    }
    violin = [row for row in rows if (row["size"], row["percentile"]) == (10, 95.0)]
    assert [row["cell"] for row in violin] == list(range(24))
    # Errors −.0888 and .8224: half of the samples in the first and in the last of 24 cells between them.
    low, high = 1.822427 / 2 - 1, 1.822427 - 1
    width = (high - low) / 24
    assert [row["low"] for row in violin] == pytest.approx([low + k * width for k in range(24)], abs=1e-6)
    assert [row["high"] for row in violin] == pytest.approx([low + k * width for k in range(1, 25)], abs=1e-6)
    assert [row["density"] for row in violin] == pytest.approx([0.5 / width, *[0] * 22, 0.5 / width], rel=1e-4)
    assert violin[0]["median"] == pytest.approx((low + high) / 2, abs=1e-6)
    with refused("all realized percentiles are 0"):
        nothing = cast(Study, SimpleNamespace(sums=lambda options: [sums(10, [[0.0] * 3])]))
        percentile_error.compute(nothing, options())


def test_claims_about_errors_of_percentiles() -> None:
    table = pa.Table.from_pylist(
        [
            {"size": size, "percentile": level, "p25": low, "median": median, "p75": high}
            for size, level, low, median, high in (
                *((10, 95.0, -0.5, -0.25, 0.0), (50, 95.0, 0.0, 0.125, 0.25)),
                *((10, 99.9, -1.0, -0.5, -0.25), (50, 99.9, -0.5, -0.375, -0.125)),
            )
        ]
    )
    assert measured(percentile_error, "S1-fig6-median", table) == 0.25
    assert measured(percentile_error, "S1-fig6-under", table) == -0.375
    # .375 over .75.
    assert measured(percentile_error, "S1-fig6-spread", table) == 0.5
    with refused("no samples of 10 tasks"):
        measured(percentile_error, "S1-fig6-spread", table.slice(3))
    with refused("no samples of 50 tasks"):
        measured(percentile_error, "S1-fig6-spread", table.slice(2, 1))
    with refused("no such percentile"):
        measured(percentile_error, "S1-fig6-under", table.slice(0, 2))


def test_a_violin_is_widest_where_most_samples_are() -> None:
    common = {"size": 30, "percentile": 99.9, "p25": 0.0, "median": 0.1, "p75": 0.2}
    cells = [common | {"cell": k, "low": k / 8, "high": (k + 1) / 8, "density": d} for k, d in enumerate((2.0, 4.0))]
    charts = tomllib.loads((files("borgtrace.colocation.experiments") / "charts.toml").read_text("utf-8"))
    first, second = ask(pa.Table.from_pylist(cells), charts["percentile_error"]["rows"])
    # The third of four sizes stands at 2.
    assert (first["place"], first["left"], first["right"]) == (2, pytest.approx(1.775), pytest.approx(2.225))
    assert (second["left"], second["right"]) == (pytest.approx(1.55), pytest.approx(2.45))
    assert (first["error"], second["error"], first["percentile"]) == (0.0625, 0.1875, "99.9 %")
    assert [(row["p25"], row["median"], row["p75"]) for row in (first, second)] == [(0.0, 0.1, 0.2), (None,) * 3]


def test_how_often_normality_is_rejected() -> None:
    # The critical values are .752 and .787.
    found = cast(Any, SimpleNamespace(size=20, normality=np.array([0.75, 0.76, 0.78, 0.79]), mean=np.array([1.0, 2.0])))
    study = cast(Study, SimpleNamespace(sums=lambda options: [found]))
    (row,) = sum_normality.compute(study, options(realizations=100)).to_pylist()
    assert row == {
        **{"size": 20, "n_samples": 4, "n_realizations": 100, "mean_usage": 1.5},
        **{"rejected": 0.75, "rejected_1974": 0.25},
    }
    table = pa.Table.from_pylist([row])
    with refused("the pool has fewer than 50 tasks"):
        measured(sum_normality, "S1-table1-50-0.752", table)
    for id_ in ("S1-table1-20-0.752", "S1-table1-20-0.787"):
        with refused("the published test is on 10,000 realizations"):
            measured(sum_normality, id_, table)
    published = pa.Table.from_pylist([row | {"n_realizations": 10_000}])
    assert measured(sum_normality, "S1-table1-20-0.752", published) == 0.75
    assert measured(sum_normality, "S1-table1-20-0.787", published) == 0.25
    # A mean does not depend on the number of realizations.
    assert measured(sum_normality, "S1-table1-mean-10", pa.Table.from_pylist([row | {"size": 10}])) == 1.5


def test_a_total_beside_its_normal_law() -> None:
    # Ten tasks of 0 or 1/16: every draw of a sample is a multiple of 1/16.
    pool = on_clock(np.tile([0.0, 0.0625], (10, 12)))
    table = sum_examples._example(pool, 10, 400, 3)
    rows = table.to_pylist()
    assert [(row["size"], row["cell"]) for row in rows] == [(10, k) for k in range(60)]
    drawn = np.sort(pool.draw(np.arange(10), 400, 3).astype(np.float64).sum(axis=0))
    assert (rows[0]["low"], rows[-1]["high"]) == (drawn[0], drawn[-1])
    width = (drawn[-1] - drawn[0]) / 60
    assert rows[0]["density"] == pytest.approx((drawn == drawn[0]).mean() / width)
    # Deviations of all tasks as drawn, and mean: the normal density in the middle of each cell.
    values = pool.draw(np.arange(10), 400, 3).astype(np.float64)
    mean, variance = values.mean(axis=1).sum(), values.var(axis=1).sum()
    for row in (rows[0], rows[29], rows[59]):
        middle = (row["low"] + row["high"]) / 2
        density = math.exp(-((middle - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)
        assert row["normal_density"] == pytest.approx(density, rel=1e-6)


def test_a_constant_total_is_normal_where_it_lies() -> None:
    rows = sum_examples._example(on_clock(np.full((10, 12), 0.0625)), 10, 50, 0).to_pylist()
    # .625 in every draw: cells between .125 and 1.125, none of whose middles is .625.
    assert (rows[0]["low"], rows[-1]["high"]) == (0.125, 1.125)
    assert {row["normal_density"] for row in rows} == {0.0}


def test_samples_as_large_as_the_pool_allows() -> None:
    def sizes(tasks: int) -> set[int]:
        pool = on_clock(np.tile([0.0, 0.0625], (tasks, 2)))
        return set(sum_examples.compute(study_of(pool), options(realizations=20, seed=0))["size"].to_pylist())

    assert [sizes(10), sizes(49), sizes(50)] == [{10}, {10}, {10, 50}]
    with refused("the pool has 9 long tasks, the smallest sample needs 10"):
        sizes(9)


def test_the_distance_of_two_densities() -> None:
    table = pa.Table.from_pylist(
        [
            {"size": size, "low": low, "high": low + 0.5, "density": found, "normal_density": normal}
            for size, low, found, normal in (
                *((10, 0.0, 2.0, 1.0), (10, 0.5, 0.0, 0.5)),
                *((500, 0.0, 1.0, 1.25), (500, 0.5, 1.0, 0.75)),
            )
        ]
    )
    # (1 · .5 + .5 · .5) ÷ 2; (.25 · .5 + .25 · .5) ÷ 2.
    assert measured(sum_examples, "S1-fig5", table) == pytest.approx(0.125 / 0.375)
    with refused("the pool has fewer than 500 tasks"):
        measured(sum_examples, "S1-fig5", table.slice(0, 2))


# --- means of few samples, and deviations ------------------------------------------------------------


def test_a_sample_of_all_windows_is_the_mean() -> None:
    # Averages are ten times the seconds: (10 − 1) ÷ 10, once all five windows are taken.
    found = relative_difference.differences(make([[0.25, 0.5, 0.25, 0.5, 1.0], [0.0], [0.5]]))
    assert found.shape == (3, 11)
    assert found[0, 2] == pytest.approx(0.9)
    assert np.isnan(found[0, 3:]).all()
    assert np.isfinite(found[0, :3]).all()
    # An idle task has no relative difference, one of a single window one.
    assert np.isnan(found[1]).all()
    assert found[2, 0] == pytest.approx(0.9)
    assert np.isnan(found[2, 1:]).all()


def test_weighted_windows_are_drawn_by_their_length() -> None:
    # Two windows of 0 and .5 that are weighed 1 : 3, drawn with replacement: means of draws of that task.
    pool = make([[0.0, 0.5]], seconds=np.array([100, 300]), is_weighted=True)
    found = relative_difference.differences(pool, seed=4)
    drawn = pool.draw(np.array([0]), 1_000, 4)[0]
    average = 3.75  # of ten times .375
    assert found[0, :2] == pytest.approx([(average - drawn[0]) / average, (average - drawn[:2].mean()) / average])
    # Two windows: no third sample.
    assert np.isnan(found[0, 2:]).all()


def test_the_spread_over_tasks_for_each_number_of_samples() -> None:
    pool = make([[0.5] * 2, [0.25] * 5, [0.0] * 5])
    rows = relative_difference.compute(study_of(pool), options(seed=0)).to_pylist()
    assert [(row["n_samples"], row["n_tasks"]) for row in rows] == [(1, 2), (2, 2), (5, 1)]
    assert {round(row[name], 6) for row in rows for name in ("p5", "median", "p95")} == {0.9}
    with refused("every task's average usage is 0"):
        relative_difference.compute(study_of(make([[0.0]])), options(seed=0))


def test_claims_about_few_samples() -> None:
    table = pa.Table.from_pylist(
        [
            {"n_samples": n, "p25": low, "p75": high}
            for n, low, high in ((1, -0.5, 1.0), (15, -0.25, 0.5), (1000, 0, 0.375))
        ]
    )
    # .25 over .75; no width, no asymmetry; .375 over 1.5.
    assert measured(relative_difference, "S1-fig1-symmetric", table) == pytest.approx(1 / 3)
    point = pa.Table.from_pylist([{"n_samples": 15, "p25": 0.25, "p75": 0.25}])
    assert measured(relative_difference, "S1-fig1-symmetric", point) == 0.0
    assert measured(relative_difference, "S1-fig1-narrows", table) == 0.25
    with refused("no task has 15 windows"):
        measured(relative_difference, "S1-fig1-symmetric", table.slice(0, 1))


def test_a_heat_map_of_deviation_over_mean() -> None:
    mean, std = np.array([0.005, 0.0301, 0.0302]), np.array([0.0, 0.0101, 0.0102])
    rows = deviation_regression._cells("inst", mean, std).to_pylist()
    assert [(row["mean_cell"], row["deviation_cell"], row["n_tasks"]) for row in rows] == [(0, 0, 1), (3, 2, 2)]
    # Through (.005, 0) and, nearly, (.03, .01).
    assert {round(row["slope"], 2) for row in rows} == {0.4}
    assert deviation_regression.regression(np.array([0.5, 0.5]), np.array([0.0, 1.0])) is None
    flat = deviation_regression._cells("avg", np.array([0.5, 0.5]), np.array([0.0, 1.0])).to_pylist()
    assert {(row["slope"], row["intercept"]) for row in flat} == {(None, None)}
    slope, intercept = deviation_regression.regression(np.array([1.0, 2.0, 6.0]), np.array([2.0, 3.0, 7.0])) or (0, 0)
    assert (slope, intercept) == (pytest.approx(1), pytest.approx(1))


def test_both_series_of_a_pool_have_cells() -> None:
    rows = deviation_regression.compute(study_of(make([[0.25, 0.25], [0.0, 0.5]])), options()).to_pylist()
    found = [(row["series"], row["mean_cell"], row["deviation_cell"]) for row in rows]
    assert found == [("inst", 25, 0), ("inst", 25, 50), ("avg", 250, 0), ("avg", 250, 500)]


def test_a_cell_as_it_is_drawn() -> None:
    row = {"series": "avg", "mean_cell": 3, "deviation_cell": 2, "n_tasks": 7, "slope": 0.5, "intercept": 0.25}
    found = deviation_regression._drawn(row)
    places = {"mean": 0.03, "mean_end": 0.04, "deviation": 0.01, "deviation_end": 0.015, "line": 0.265}
    assert {name: found[name] for name in places} == pytest.approx(places)
    assert (found["series"], found["n_tasks"]) == ("(b) avg", 7)
    assert deviation_regression._drawn(row | {"slope": None})["line"] is None


def test_a_coefficient_is_that_of_its_series() -> None:
    table = pa.table({"series": ["inst", "avg"], "slope": [0.5, 0.25], "intercept": [0.0, 1.0]})
    assert measured(deviation_regression, "S1-fig3-avg-slope", table) == 0.25
    assert measured(deviation_regression, "S1-fig3-inst-intercept", table) == 0.0
    with refused("all tasks have the same mean"):
        measured(deviation_regression, "S1-fig3-inst-slope", table.slice(1))


def test_steps_that_a_pool_does_not_record() -> None:
    steps = (
        Step("that never used CPU", 0, 0),
        Step("that never used any", 3, 12),
        Step("averages above", 0, 5, "windows"),
    )
    pool = SimpleNamespace(steps=steps)
    table = colocation_preparation.compute(study_of(pool), options())
    rows = [(row["step"], row["name"], row["unit"], row["n_touched"], row["n_before"]) for row in table.to_pylist()]
    assert rows == [(k, step.name, step.unit, step.count, step.of) for k, step in enumerate(steps, 1)]
    # The first has nothing to touch.
    assert measured(colocation_preparation, "S1-zero", table) == 0.25
    assert measured(colocation_preparation, "S1-above-one", table) == 0
    with refused("the pool does not record it"):
        measured(colocation_preparation, "S1-short-tasks", table)


# --- pairs -------------------------------------------------------------------------------------------


def test_pairs_within_a_job_and_across() -> None:
    # Two tasks of job 1 rise together, the one of job 0 falls, and one never changes.
    wave = np.tile([0.25, 0.5], 12)
    pool = on_clock(np.stack([wave, 0.75 - wave, wave, np.full(24, 0.25)]), jobs=[7, 5, 7, 5])
    rows = task_correlation.compute(study_of(pool), options(hours=2, seed=0)).to_pylist()
    assert len(rows) == 2 * 40
    found = {row["scope"]: (row["mean"], row["n_tasks"], row["hours"]) for row in rows}
    assert found["within"] == (pytest.approx(1), 4, 2.0)
    assert found["across"] == (pytest.approx(-1), 4, 2.0)
    # Cells of .05 from −1 on, of which the first has those across and the last the pair within.
    assert [row["low"] for row in rows[:40]] == pytest.approx([-1 + k / 20 for k in range(40)])
    shares = {(row["scope"], round(row["low"], 2)): row["share"] for row in rows if row["share"]}
    assert shares == {("within", 0.95): 1.0, ("across", -1.0): 1.0}
    (n,) = {row["n_pairs"] for row in rows if row["scope"] == "within"}
    assert n == 1
    still = on_clock(np.full((3, 24), 0.25))
    with refused("fewer than two tasks of the same hours have varying usage"):
        task_correlation.compute(study_of(still), options(hours=2, seed=0))


@pytest.mark.parametrize(
    ("jobs", "n"),
    [
        ([], 0),
        ([1, 2, 3], 0),
        ([1, 1], 1),
        ([2, 1, 2, 1, 2], 1 + 3),
        # Of a job of 301 tasks 300 are paired, 44,850 times; the first 20,000 are kept.
        ([0] * 150, 150 * 149 // 2),
        ([0] * 301, 20_000),
    ],
)
def test_all_pairs_of_a_job_are_kept_up_to_twenty_thousand(jobs: list[int], n: int) -> None:
    codes = np.array(jobs, np.int64)
    found = task_correlation.pairs_of(codes, 0)
    within, across = found["within"], found["across"]
    assert within.shape == (n, 2)
    assert len({tuple(sorted(pair)) for pair in within.tolist()}) == n
    assert (codes[within[:, 0]] == codes[within[:, 1]]).all()
    assert (within[:, 0] != within[:, 1]).all()
    assert (codes[across[:, 0]] != codes[across[:, 1]]).all()
    assert len(across) <= 20_000


def test_at_most_three_hundred_tasks_of_a_job_are_paired() -> None:
    # Jobs of 400 and 2 tasks: no pair holds a task behind the 300th, and the pair of the small job may be drawn.
    jobs = np.array([0] * 400 + [1] * 2)
    within = task_correlation.pairs_of(jobs, 0)["within"]
    assert within[(within < 400).all(axis=1)].max() <= 299
    assert len(within) == 20_000
    assert {tuple(pair) for pair in within[within[:, 0] >= 400].tolist()} <= {(400, 401)}


# --- tasks that peak together, and replays -------------------------------------------------------------


def test_tasks_of_a_job_apart_and_on_one_machine() -> None:
    usage = np.tile(np.float32([0.125, 0.25]), (3, 50))
    seen = Observation(usage, series=usage)
    high = np.full((3, 4), 0.375, np.float32)
    rows = packing_correlated._rows(seen, np.array([0, 0, 1]), {"raw": high, "shuffled": usage[:, :2]})
    assert [(row["estimator"], row["target"], row["is_apart"]) for row in rows[:8]] == [
        (name, target, apart)
        for name in ("gpa", "gpa-covariance")
        for target in (0.05, 0.01)
        for apart in (False, True)
    ]
    assert [row["judged_on"] for row in rows] == ["raw"] * 8 + ["shuffled"] * 8
    # .5625 of mean usage fit on one machine, which three tasks of .375 exceed at each of four moments.
    gpa = {
        (row["judged_on"], row["is_apart"]): row for row in rows if (row["estimator"], row["target"]) == ("gpa", 0.05)
    }
    together, apart = gpa["raw", False], gpa["raw", True]
    assert (together["m_abs"], together["overflows"], together["trials"]) == (1, 4, 4)
    # Two of one job are on two machines.
    assert (apart["m_abs"], apart["overflows"], apart["trials"]) == (2, 0, 8)


def test_the_first_half_is_learned_from_and_the_second_judges() -> None:
    values = np.full((4, 24), 0.125)
    values[:, 12:] = 0.5
    # One of four tasks is of another job; an odd slot would be judged.
    pool = on_clock(values, jobs=[3, 3, 3, 9])
    asked: list[Any] = []

    def rows_of(seen: Observation, jobs: np.ndarray, judged: dict[str, np.ndarray]) -> list[dict[str, Any]]:
        asked.append((seen, jobs, judged))
        return [{}]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing_correlated, "_rows", rows_of)
        given = options(hours=2, size=3, instances=2, seed=0)
        found = packing_correlated.compute(study_of(pool), given).to_pylist()
    assert found == [{"instance": k, "n_tasks": 3, "hours": 1.0} for k in (0, 1)]
    for seen, jobs, judged in asked:
        assert (seen.values.shape, set(seen.values.ravel().tolist())) == ((3, 12), {0.125})
        assert cast(Any, seen.series).tolist() == seen.values.tolist()
        assert {name: (each.shape, set(each.ravel().tolist())) for name, each in judged.items()} == {
            name: ((3, 12), {0.5}) for name in ("raw", "shuffled")
        }
        assert sorted(jobs.tolist()) in ([0, 0, 0], [0, 0, 1])


def test_shuffled_windows_are_of_a_seed_for_each_instance() -> None:
    values = np.arange(96, dtype=np.float64).reshape(4, 24) / 96
    pool = on_clock(values)
    for module in (packing_correlated, packing_replay):
        seeds: list[int] = []
        known = module.shuffled
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "_rows", lambda *asked: [{}])
            patch.setattr(module, "shuffled", lambda each, seed, n=seeds, old=known: n.append(seed) or old(each, seed))
            given = options(hours=2, size=3, instances=3, seed=5, realizations=100)
            module.compute(study_of(pool), given)
        assert seeds == [5, 6, 7]


def test_a_replay_packs_by_draws_and_judges_by_all() -> None:
    judged = {
        "draws": np.tile(np.float32([0.25, 0.5]), (2, 50)),
        "shuffled": np.full((2, 4), 0.5, np.float32),
        "raw": np.full((2, 4), 0.75, np.float32),
    }
    rows = packing_replay._rows(judged)
    assert [row["judged_on"] for row in rows] == ["draws"] * 6 + ["shuffled"] * 6 + ["raw"] * 6
    # Sizes promise nothing.
    assert [row["target"] for row in rows[:6]] == [0.1, 0.01, 0.001, 0.001, None, None]
    average = [row for row in rows if row["estimator"] == "average 1.25"]
    # 2 · .375 · 1.25 fit on one machine, whose bound is one: at .5 each they fill it, at .75 they exceed it.
    assert [(row["m_abs"], row["m"], row["overflows"], row["trials"]) for row in average] == [
        *((1, 1.0, 0, 100), (1, 1.0, 0, 4), (1, 1.0, 4, 4))
    ]


def test_a_replay_draws_from_all_windows_of_a_task() -> None:
    # Tasks of .25 that used .5 before the hours that are replayed.
    values = np.full((3, 36), 0.25)
    values[:, :12] = 0.5
    pool = on_clock(values)
    asked: list[Any] = []
    span = packing_replay.longest_busy_span(pool, 3, 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing_replay, "longest_busy_span", lambda *given: type(span)(12, 24, span.tasks))
        patch.setattr(packing_replay, "_rows", lambda judged: asked.append(judged) or [{}])
        given = options(hours=3, size=2, instances=1, seed=0, realizations=100)
        found = packing_replay.compute(study_of(pool), given).to_pylist()
    assert found == [{"instance": 0, "n_tasks": 2, "hours": 2.0}]
    (judged,) = asked
    assert judged["draws"].shape == (2, 100)
    assert set(judged["draws"].ravel().tolist()) == {0.25, 0.5}
    for name in ("shuffled", "raw"):
        assert (judged[name].shape, set(judged[name].ravel().tolist())) == ((2, 24), {0.25})


def test_the_mean_fall_is_of_two_estimators_and_best_fit() -> None:
    def table(*found: tuple[str, str, float, float]) -> pa.Table:
        return pa.Table.from_pylist(
            [
                {"estimator": name, "parameter": 0.1, "packer": packer, "instance": 0, "is_rebalanced": state, "q": q}
                for name, packer, before, after in found
                for state, q in ((False, before), (True, after))
            ]
        )

    # .5 and .25; other estimators, First Fit, and what never overflowed are left out.
    ways = (("gpa", "best-fit", 0.5, 0.25), ("average", "best-fit", 0.5, 0.375))
    others = (("cantelli", "best-fit", 0.5, 0.0), ("gpa", "first-fit", 0.5, 0.0), ("percentile", "best-fit", 0.0, 0.0))
    assert measured(packing_rebalancing, "S1-rebalancing", table(*ways, *others)) == 0.375
    with refused("nothing overflowed"):
        measured(packing_rebalancing, "S1-rebalancing", table(*others))
