"""Means of few samples, and deviations over means: tables and claims on a few values, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from borgtrace.colocation.experiments.usage import (
    colocation_preparation,
    deviation_regression,
    relative_difference,
)
from borgtrace.colocation.tasks.pool import PreparationStep
from borgtrace.question.conforming import table_of
from tests.colocation.answers import measured, options, refused, study_of
from tests.colocation.test_packing_past import on_clock
from tests.colocation.test_pool import make


def test_a_sample_of_all_windows_is_the_mean() -> None:
    # Averages are ten times the seconds: (10 − 1) ÷ 10, once all five windows are taken.
    relative = relative_difference.differences(
        make(
            [
                [0.25, 0.5, 0.25, 0.5, 1.0],
                [0.0],
                [0.5],
            ]
        )
    )
    assert relative.shape == (3, 11)
    assert relative[0, 2] == pytest.approx(0.9)
    assert np.isnan(relative[0, 3:]).all()
    assert np.isfinite(relative[0, :3]).all()
    # An idle task has no relative difference, one of a single window one.
    assert np.isnan(relative[1]).all()
    assert relative[2, 0] == pytest.approx(0.9)
    assert np.isnan(relative[2, 1:]).all()


def test_only_idle_tasks_have_no_relative_difference() -> None:
    # Averages of 1 and of 0, where each second took a half.
    pool = replace(
        on_clock(np.full((2, 3), 0.5)),
        avg=np.repeat(np.float32([1, 0]), 3),
    )
    relative = relative_difference.differences(pool)
    assert relative[0, :2].tolist() == [0.5, 0.5]
    assert np.isnan(relative[1]).all()


def test_weighted_windows_are_drawn_by_their_length() -> None:
    # Two windows of 0 and .5 that are weighed 1 : 3, drawn with replacement: means of draws of that task.
    pool = make(
        [[0.0, 0.5]],
        seconds=np.array([100, 300]),
        is_weighted=True,
    )
    relative = relative_difference.differences(pool, seed=4)
    drawn = pool.draw(np.array([0]), 1_000, 4)[0]
    average = 3.75  # of ten times .375
    assert relative[0, :2] == pytest.approx(
        [(average - drawn[0]) / average, (average - drawn[:2].mean()) / average]
    )
    # Two windows: no third sample.
    assert np.isnan(relative[0, 2:]).all()


def test_the_spread_over_tasks_for_each_number_of_samples() -> None:
    pool = make(
        [
            [0.5] * 2,
            [0.25] * 5,
            [0.0] * 5,
        ]
    )
    rows = relative_difference.compute(study_of(pool), options(seed=0))
    assert [(row["n_samples"], row["n_tasks"]) for row in rows] == [
        (1, 2),
        (2, 2),
        (5, 1),
    ]
    assert {round(row[name], 6) for row in rows for name in ("p5", "median", "p95")} == {0.9}
    with refused("every task's average usage is 0"):
        relative_difference.compute(
            study_of(make([[0.0]])),
            options(seed=0),
        )


def test_claims_about_few_samples() -> None:
    table = pa.Table.from_pylist(
        [
            {
                "n_samples": n,
                "p25": low,
                "p75": high,
            }
            for n, low, high in ((1, -0.5, 1.0), (15, -0.25, 0.5), (1000, 0, 0.375))
        ]
    )
    # .25 over .75; no width, no asymmetry; .375 over 1.5.
    assert measured(relative_difference, "S1-fig1-symmetric", table) == pytest.approx(1 / 3)
    point = pa.Table.from_pylist(
        [
            {
                "n_samples": 15,
                "p25": 0.25,
                "p75": 0.25,
            }
        ]
    )
    assert measured(relative_difference, "S1-fig1-symmetric", point) == 0.0
    assert measured(relative_difference, "S1-fig1-narrows", table) == 0.25
    with refused("no task has 15 windows"):
        measured(relative_difference, "S1-fig1-symmetric", table.slice(0, 1))


def test_a_heat_map_of_deviation_over_mean() -> None:
    mean = np.array([0.005, 0.0301, 0.0302])
    std = np.array([0.0, 0.0101, 0.0102])
    rows = deviation_regression.heat_map("inst", mean, std).to_pylist()
    assert [(row["mean_cell"], row["deviation_cell"], row["n_tasks"]) for row in rows] == [
        (0, 0, 1),
        (3, 2, 2),
    ]
    # Through (.005, 0) and, nearly, (.03, .01).
    assert {round(row["slope"], 2) for row in rows} == {0.4}
    assert deviation_regression.regression(np.array([0.5, 0.5]), np.array([0.0, 1.0])) is None
    flat = deviation_regression.heat_map(
        "avg", np.array([0.5, 0.5]), np.array([0.0, 1.0])
    ).to_pylist()
    assert {(row["slope"], row["intercept"]) for row in flat} == {(None, None)}
    slope, intercept = deviation_regression.regression(
        np.array([1.0, 2.0, 6.0]), np.array([2.0, 3.0, 7.0])
    ) or (0, 0)
    assert slope == pytest.approx(1)
    assert intercept == pytest.approx(1)


def test_both_series_of_a_pool_have_cells() -> None:
    rows = deviation_regression.compute(
        study_of(make([[0.25, 0.25], [0.0, 0.5]])), options()
    ).to_pylist()
    found = [(row["series"], row["mean_cell"], row["deviation_cell"]) for row in rows]
    assert found == [
        ("inst", 25, 0),
        ("inst", 25, 50),
        ("avg", 250, 0),
        ("avg", 250, 500),
    ]


def test_a_cell_as_it_is_drawn() -> None:
    row = {
        "series": "avg",
        "mean_cell": 3,
        "deviation_cell": 2,
        "n_tasks": 7,
        "slope": 0.5,
        "intercept": 0.25,
    }
    drawn = deviation_regression.QUESTION.chart(
        pa.Table.from_pylist([row, row | {"slope": None}])
    ).to_dict()
    found, unknown = drawn["hconcat"][0]["data"]["values"]
    places = {
        "mean": 0.03,
        "mean_end": 0.04,
        "deviation": 0.01,
        "deviation_end": 0.015,
        "line": 0.265,
    }
    assert {name: found[name] for name in places} == pytest.approx(places)
    assert found["series"] == "(b) avg"
    assert found["n_tasks"] == 7
    assert unknown["line"] is None


def test_a_coefficient_is_that_of_its_series() -> None:
    table = pa.table(
        {
            "series": ["inst", "avg"],
            "slope": [0.5, 0.25],
            "intercept": [0.0, 1.0],
        }
    )
    assert measured(deviation_regression, "S1-fig3-avg-slope", table) == 0.25
    assert measured(deviation_regression, "S1-fig3-inst-intercept", table) == 0.0
    with refused("all tasks have the same mean"):
        measured(deviation_regression, "S1-fig3-inst-slope", table.slice(1))


def test_steps_that_a_pool_does_not_record() -> None:
    steps = (
        PreparationStep("that never used CPU", 0, 0),
        PreparationStep("that never used any", 3, 12),
        PreparationStep("averages above", 0, 5, "windows"),
    )
    pool = on_clock(np.ones((2, 3)), steps=steps)
    answer = colocation_preparation.compute(study_of(pool), options())
    table = table_of(answer, colocation_preparation.QUESTION.answer.table("answer"))
    rows = [
        (row["step"], row["name"], row["unit"], row["n_touched"], row["n_before"])
        for row in table.to_pylist()
    ]
    assert rows == [
        (k, step.name, step.unit, step.count, step.of) for k, step in enumerate(steps, 1)
    ]
    # The first has nothing to touch.
    assert measured(colocation_preparation, "S1-zero", table) == 0.25
    assert measured(colocation_preparation, "S1-above-one", table) == 0
    with refused("the pool does not record it"):
        measured(colocation_preparation, "S1-short-tasks", table)
