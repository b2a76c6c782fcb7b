"""Forecasters by hand, without leaks, and what they buy."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from borgtrace.cli import main
from borgtrace.errors import EngineError, SourceError, UsageError
from borgtrace.forecast import (
    FORECAST,
    FORECASTERS,
    PACKED,
    Examples,
    UsageSeries,
    examples,
)
from borgtrace.forecast.backtest import ForecastOptions, backtests_of
from borgtrace.forecast.packing import TaskMoments, count_packing
from borgtrace.forecast.series import DAY, HORIZONS, PAST
from borgtrace.forecast.trained import train
from borgtrace.question.store_question import no_report
from tests.cli.test_compact import store

SLOTS = 1 << 20
SECOND = 10**6
REST = ",".join("0" * 12)
"""Columns of usage that nothing here reads."""


def series(values: dict[tuple[int, int], float]) -> UsageSeries:
    keys = sorted(values)
    return UsageSeries(
        np.array([task * SLOTS + slot for task, slot in keys]),
        np.array([values[key] for key in keys]),
    )


def noisy(seed: int, tasks: int = 30, slots: int = 600) -> UsageSeries:
    """An autoregression around each task's level: x′ − m = .6 (x − m) + noise."""
    draw = np.random.default_rng(seed)
    value = np.zeros((tasks, slots))
    for slot in range(1, slots):
        value[:, slot] = 0.6 * value[:, slot - 1] + draw.normal(0, 0.02, tasks)
    value += draw.uniform(0.2, 0.4, tasks)[:, None]
    key = (np.arange(tasks)[:, None] * SLOTS + np.arange(slots)).ravel()
    return UsageSeries(key, value.ravel())


def test_examples_by_hand() -> None:
    # Task 0 has slots 0 to 26, but not 13; task 1 has slots 288 to 311 and one a day before.
    values = {(0, slot): float(slot) for slot in range(27) if slot != 13}
    values |= {(1, slot): 0.5 for slot in range(288, 312)} | {(1, 303 - DAY): 0.25}
    found = examples(
        series(values),
        0,
        400,
        1000,
        0,
    )
    # An hour without a gap: slots 11 and 12, and 25 and 26 of task 0; 299 to 311 of task 1.
    assert (found.key // SLOTS).tolist() == [0] * 4 + [1] * 13
    assert (found.key % SLOTS)[:4].tolist() == [11, 12, 25, 26]
    assert found.usage[0].tolist() == list(range(12))
    assert found.target[0].tolist() == pytest.approx([12, np.nan, *range(14, 24)], nan_ok=True)
    # Slot 303 is the fourth after 299, and the only one that a day before is known of.
    assert found.day_before[4].tolist() == [0.5] * 3 + [0.25] + [0.5] * 8
    # The last target lies before the end, and the first example is not before the beginning.
    assert (
        examples(
            series(values),
            12,
            25,
            1000,
            0,
        ).key
        % SLOTS
    ).tolist() == [12]
    assert (
        examples(
            series(values),
            12,
            24,
            1000,
            0,
        ).key
        % SLOTS
    ).tolist() == []
    assert (
        len(
            examples(
                series(values),
                0,
                400,
                5,
                0,
            )
        )
        == 5
    )


def at_cut(found: UsageSeries, cut: int) -> tuple[Examples, Examples]:
    known = examples(found, 0, cut, 10**6, 0)
    now = examples(found, cut - 1, cut + HORIZONS, 10**6, 0)
    return known, now


@pytest.mark.parametrize("name", FORECASTERS)
def test_what_comes_after_the_cut_changes_no_forecast(name: str) -> None:
    """The future of every task is replaced, and some tasks end at the cut: a signal that nobody may find."""
    # More than a day, so that the day before is known of what is forecast.
    found = noisy(1, tasks=10, slots=350)
    cut = 310
    later = found.slot >= cut
    planted = UsageSeries(found.key, np.where(later, 5.0 + found.key // SLOTS, found.value))
    kept = ~later | (found.key // SLOTS % 2 == 0)
    ended = UsageSeries(found.key[kept], found.value[kept])
    told = []
    for each in (found, planted, ended):
        known, now = at_cut(each, cut)
        forecasts = train(FORECASTERS[name](), known).forecast(now)
        told.append((forecasts.mean, forecasts.deviation))
        assert len(now) == 10
    for other in told[1:]:
        np.testing.assert_array_equal(other[0], told[0][0])
        np.testing.assert_array_equal(other[1], told[0][1])


@pytest.mark.parametrize("name", ["autoregression", "boosting", "lstm"])
def test_what_learns_beats_persistence_and_knows_how_sure_it_is(name: str) -> None:
    found = noisy(2)
    cut = 450
    known = examples(found, 0, cut, 10**6, 0)
    later = examples(found, cut - 1, 600, 10**6, 0)
    errors = {}
    for each in ("persistence", name):
        forecasts = train(FORECASTERS[each](), known).forecast(later)
        error = later.target - forecasts.mean
        errors[each] = np.sqrt((error**2).mean(axis=0))
        inside = (np.abs(error) <= 1.6449 * forecasts.deviation).mean()
        assert inside == pytest.approx(0.9, abs=0.03)
    # One slot ahead: .02 at the best against .0224 = .02·√(1 + (1 − .6)²/(1 − .36)); an hour ahead .025 against .0354.
    assert (errors[name] < errors["persistence"])[1:].all()
    assert errors[name][-1] < 0.031
    if name == "autoregression":
        assert errors[name][0] == pytest.approx(0.02, rel=0.05)


def test_a_network_hears_of_others_beside_what_stands_still_and_jumps() -> None:
    """A jump out of rest is thousands of deviations of the hour before; what is noisy is forecast as without it."""
    pytest.importorskip("torch")
    calm = noisy(2)
    slots = np.arange(600)
    # Another task: off for four hours, on for four hours, without a flicker.
    jumps = UsageSeries(9 * SLOTS + slots, np.where(slots // 50 % 2 == 0, 0.1, 0.9))
    both = UsageSeries(np.append(calm.key, jumps.key), np.append(calm.value, jumps.value))
    forecaster = train(FORECASTERS["lstm"](), examples(both, 0, 450, 10**6, 0))
    later = examples(calm, 449, 600, 10**6, 0)
    error = later.target - forecaster.forecast(later).mean
    # As above, where there are no jumps.
    assert np.sqrt((error[:, -1] ** 2).mean()) < 0.031


def test_a_rhythm_of_the_day_is_told_by_the_day_before() -> None:
    slots = np.arange(3 * DAY)
    found = UsageSeries(slots, 0.5 + 0.3 * np.sin(2 * np.pi * slots / DAY))
    known = examples(found, 0, 2 * DAY, 10**6, 0)
    later = examples(
        found,
        2 * DAY - 1,
        3 * DAY,
        10**6,
        0,
    )
    seasonal = train(FORECASTERS["seasonal"](), known)
    np.testing.assert_allclose(seasonal.forecast(later).mean, later.target, atol=1e-12)


def test_deviations_by_hand() -> None:
    # Ten examples that never vary, and one that does: the factor is that of the last fifth, two examples.
    past = np.full((10, PAST), 0.5)
    past[:8, ::2] = 0.3
    target = np.full((10, HORIZONS), 0.5)
    target[8:] = [[0.6] * HORIZONS, [0.5] * HORIZONS]
    target[9, 0] = np.nan
    known = Examples(np.arange(10), past, past[:, -1:] + 0 * target, target)
    persistence = train(FORECASTERS["persistence"](), known)
    # The floor is the mean deviation of the first eight, .1; errors are .1 and 0 in units of it.
    assert persistence.floor == pytest.approx(0.1)
    assert persistence.factor == pytest.approx([1.0] + [np.sqrt(0.5)] * 11, rel=1e-6)
    varied = Examples(
        np.arange(1),
        past[:1],
        past[:1],
        target[:1],
    )
    assert persistence.forecast(varied).deviation[0, 0] == pytest.approx(np.sqrt(0.02), rel=1e-6)


def test_a_packing_by_hand() -> None:
    # Means of .5, .5 and .25, without variance: two machines; in one slot the first holds 1.2.
    used = np.full((3, 4), 0.5)
    used[0, 2] = 0.7
    used[2] = 0.25
    constant = TaskMoments(np.array([0.5, 0.5, 0.25]), np.zeros(3), used)
    assert count_packing(constant, 0.01) == (3, 2, 1)
    # Deviations of .2: none fit beside another at ρ = .001, one of 2 fits nowhere.
    varied = TaskMoments(np.array([0.5, 0.5, 2.0]), np.full(3, 0.04), used)
    assert count_packing(varied, 0.01) == (2, 2, 0)


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six tasks over 16 hours; windows of a slot, some of them in two parts."""
    draw = np.random.default_rng(0)
    usage = []
    events = []
    for task in range(6):
        value = 0.1
        for slot in range(192):
            value = 0.05 + 0.5 * value + 0.02 * draw.random()
            begin = 600 + 300 * slot
            cuts = (0, 100, 300) if (task, slot) == (0, 0) else (0, 300)
            for low, high in pairwise(cuts):
                used = value
                if len(cuts) > 2:
                    used = 0.2 if low else 0.1
                span = f"{(begin + low) * SECOND},{(begin + high) * SECOND}"
                usage.append(f"{span},1,{task},1,{used},0.1,{REST},0")
        for kind, where in ((0, ""), (1, 1)):
            events.append(f"{600 * SECOND},,1,{task},{where},{kind},u,1,9,0.5,0.5,0,0")
    usage.sort(key=lambda row: int(row.split(",")[0]))
    tables = {
        "machine_events": ["0,1,0,PLATFORM,1,1"],
        "task_events": events,
        "task_usage": usage,
    }
    return store(tmp_path_factory.mktemp("forecast"), **tables)


def test_series_of_a_store(cell: Path) -> None:
    import borgtrace

    found = UsageSeries.of(borgtrace.open(cell), "cpu", 10, 0)
    assert len(found.key) == 6 * 192
    # 100 s of .1 and 200 s of .2.
    assert found.value[0] == pytest.approx(0.5 / 3)
    assert np.isnan(found.at(np.array([0, 191, 192, SLOTS]))).tolist() == [
        False,
        False,
        True,
        False,
    ]
    assert len(UsageSeries.of(borgtrace.open(cell), "memory", 2, 0).key) == 2 * 192


def test_a_saved_model_is_judged_after_the_hours_that_it_knows(cell: Path, tmp_path: Path) -> None:
    path = str(tmp_path / "model.npz")
    asked = {"forecasters": ("autoregression",), "folds": 2}
    rows = FORECAST.run(cell, **asked, save=path).table.to_pylist()
    assert [row["horizon"] for row in rows] == pytest.approx([1 / 12, 0.25, 0.5, 1])
    # Cuts at 96 and 144 of 192 slots; from slot 95 and 143 on, with twelve targets before the next cut.
    assert rows[0]["forecasts"] == 6 * ((143 - 12) - 95 + 1 + (191 - 12) - 143 + 1)
    assert all(0.7 < row["coverage"] <= 1 for row in rows)
    assert rows[0]["skill"] > 0
    again = FORECAST.run(cell, **asked, model=path).table.to_pylist()
    assert again[0]["forecasts"] == 6 * ((191 - 12) - 143 + 1)
    # Elsewhere nothing was seen.
    options = ForecastOptions(model=path, folds=2)
    elsewhere = backtests_of(noisy(3, slots=192), "another", "cpu", options, no_report)
    assert [each.cut for each in elsewhere] == [96, 144]
    with pytest.raises(SourceError) as caught:
        FORECAST.run(cell, model=str(tmp_path / "none"))
    missing = tmp_path / "none"
    command = f"borgtrace forecast STORE --save {missing}"
    assert str(caught.value) == f"{missing}: no such file; make one: {command}"
    (tmp_path / "other").write_text("no pickle")
    with pytest.raises(SourceError) as caught:
        FORECAST.run(cell, model=str(tmp_path / "other"))
    assert str(caught.value) == (
        f"{tmp_path / 'other'}: not forecasters that were saved: got File is not a zip file; "
        "make one: borgtrace forecast STORE --save FILE"
    )


def test_packings_of_a_store(cell: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(
            [
                "forecast",
                str(cell),
                "--pack",
                "--forecaster",
                "persistence",
                "--folds",
                "2",
                "--json",
            ]
        )
    assert caught.value.code == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["forecaster"] for row in rows} == {"history", "future", "persistence"}
    assert {row["tasks"] for row in rows} == {12}
    # Six tasks of about .12 fit one machine; at each of two cuts.
    assert {row["machines"] for row in rows if row["forecaster"] == "future"} == {2}
    assert {row["overload"] for row in rows} == {0.0}


def test_without_an_hour_there_is_no_answer(tmp_path: Path) -> None:
    usage = [f"{600 * SECOND},{900 * SECOND},1,0,1,0.1,0.1,{REST},0"]
    events = [
        f"{600 * SECOND},,1,0,{where},{kind},u,1,9,0.5,0.5,0,0" for kind, where in ((0, ""), (1, 1))
    ]
    short = store(
        tmp_path,
        machine_events=["0,1,0,PLATFORM,1,1"],
        task_events=events,
        task_usage=usage,
    )
    for question in (FORECAST, PACKED):
        assert question.run(short).not_applicable is not None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"forecasters": ("arima",)},
            "--forecaster: no such forecaster: expected one of persistence, seasonal, ",
        ),
        ({"folds": 0}, "--folds: out of range: expected 1 to 1,000, got 0"),
        (
            {"save": "x", "resources": ("cpu", "memory")},
            "--save: several resources: expected one, got cpu, memory",
        ),
    ],
)
def test_a_setting_that_is_none_is_refused(given: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        replace(ForecastOptions(), **given)
    assert str(caught.value).startswith(message)


def test_without_scikit_learn_boosting_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "boosting" in ForecastOptions().forecasters
    monkeypatch.setitem(sys.modules, "sklearn", None)
    assert tuple(ForecastOptions().forecasters) == ("persistence", "seasonal", "autoregression")
    known = examples(noisy(0, 3, 100), 0, 100, 50, 0)
    with pytest.raises(EngineError) as caught:
        train(FORECASTERS["boosting"](), known)
    message = 'forecaster boosting: needs scikit-learn; pip install "borgtrace[trees]"'
    assert str(caught.value) == message


def test_without_torch_the_network_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(EngineError) as caught:
        train(FORECASTERS["lstm"](), examples(noisy(0, 3, 100), 0, 100, 50, 0))
    assert str(caught.value) == "forecaster lstm: needs torch; pip install torch"
