"""Which cuts of a trace are judged: as few examples as will do, and one less."""

from __future__ import annotations

import numpy as np
import pytest

from borgtrace.forecast import (
    FORECASTERS,
    ForecastOptions,
    UsageSeries,
    packing,
    study,
)
from borgtrace.forecast.backtest import ForecastBacktest, backtests_of
from borgtrace.forecast.series import HORIZONS
from borgtrace.forecast.trained import train
from borgtrace.question.store_question import no_report
from tests.forecast.test_by_hand import NO_STORE, NO_TABLES, SLOTS, constant, example, joined
from tests.forecast.test_forecast import noisy


def judged(series: UsageSeries, folds: int) -> list[int]:
    """Return the cuts at which persistence is judged."""
    options = ForecastOptions(forecasters=("persistence",), folds=folds)
    return [each.cut for each in backtests_of(series, "this", "cpu", options, no_report)]


def test_a_hundred_targets_are_enough_to_learn_from() -> None:
    # Each task has one example before the cut at slot 24: of slot 11, with its last target in slot 23.
    hundred = noisy(0, tasks=100, slots=48)
    assert judged(hundred, 1) == [24]
    assert judged(noisy(0, tasks=99, slots=48), 1) == []
    # One task misses slot 23: an hour ahead there are 99.
    kept = hundred.key != 7 * SLOTS + 23
    assert judged(UsageSeries(hundred.key[kept], hundred.value[kept]), 1) == []


def test_a_cut_with_too_little_before_it_leaves_the_next_one() -> None:
    # Cuts at 48 and 72: three tasks have 25 examples each before the first, and 49 before the second.
    assert judged(noisy(0, tasks=3, slots=96), 2) == [72]


def test_a_series_ends_after_its_last_slot() -> None:
    assert UsageSeries(np.array([5, SLOTS + 3]), np.array([0.1, 0.2])).end == 6
    assert UsageSeries(np.empty(0, np.int64), np.empty(0)).end == 0


def test_a_cut_at_which_no_task_runs_packs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    empty = ForecastBacktest(example(101, 0.3, 0.3), 100, {})
    full = ForecastBacktest(example(199, 0.3, 0.3), 200, {})
    monkeypatch.setattr(packing, "backtests", lambda *_: iter([empty, full]))
    rows = packing.compute(NO_STORE, NO_TABLES, ForecastOptions(), no_report)
    assert {(row["forecaster"], row["tasks"], row["machines"]) for row in rows} == {
        ("history", 1, 1),
        ("future", 1, 1),
    }


def test_forecasts_without_an_error_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    later = joined(example(20, 0.3, 0.5), example(21, 0.3, 0.5))
    forecasters = constant(np.full(HORIZONS, 0.5), 0.0)
    monkeypatch.setattr(
        study, "backtests", lambda *_: iter([ForecastBacktest(later, 0, forecasters)])
    )
    rows = study.compute(NO_STORE, NO_TABLES, ForecastOptions(), no_report)
    names = ("forecasts", "mean_error", "rmse", "skill", "coverage", "width")
    assert [[row[name] for name in names] for row in rows] == [[2, 0.0, 0.0, 1.0, 1.0, 0.0]] * 4


def test_the_earliest_examples_are_learned_from_and_the_latest_judge_them() -> None:
    # Two tasks, one after the other in the table: by time, slots 0 to 3 of both teach, and slot 4 of both is held out.
    known = joined(*(example(slot, 0.5, 0.5, task) for task in range(2) for slot in range(5)))
    known.usage[known.slot < 4, ::2] = 0.3
    known.target[known.slot == 4] = 0.7
    persistence = train(FORECASTERS["persistence"](), known)
    assert persistence.floor == pytest.approx(0.1)
    assert persistence.factor == pytest.approx([2.0] * HORIZONS, rel=1e-6)


def test_a_short_series_is_cut_where_there_is_enough_before_and_after() -> None:
    # An hour seen and an hour to come take 24 slots, and an hour to judge 12: 36 slots have one cut, 35 none.
    assert judged(noisy(0, tasks=100, slots=36), 3) == [24]
    assert judged(noisy(0, tasks=100, slots=35), 3) == []
    # 40 slots after the middle of 80 hold three hours, but not four.
    assert judged(noisy(0, tasks=100, slots=80), 4) == [40, 53, 66]


def test_a_series_that_begins_late_is_cut_in_its_own_second_half() -> None:
    series = noisy(0, tasks=100, slots=48)
    late = UsageSeries(series.key + 1000, series.value)
    assert judged(late, 1) == [1024]
