"""Forecasters along a trace: when they are trained, on what, and which slots they tell."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from borgtrace.forecast import UsageSeries, examples, walks
from borgtrace.forecast.backtest import ForecastOptions, backtests_of
from borgtrace.forecast.forecasters import Autoregression, Persistence, Seasonal
from borgtrace.forecast.saved import load
from borgtrace.forecast.series import HORIZONS
from borgtrace.forecast.trained import TrainedForecaster, train
from borgtrace.forecast.walk import Walk, walks_of
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.question.store_question import no_report
from tests.forecast.test_by_hand import NO_STORE, SLOTS
from tests.forecast.test_forecast import noisy


def followed(walk: Walk, series: UsageSeries) -> tuple[Numbers, Numbers]:
    return walk(series.key // SLOTS, series.slot, series.value)


def told_slots(walk: Walk, series: UsageSeries) -> Index:
    """The slots of which anything is told."""
    mean, deviation = followed(walk, series)
    assert (np.isnan(mean) == np.isnan(deviation)).all()
    return np.unique(series.slot[~np.isnan(mean).any(axis=1)])


def test_a_forecaster_is_trained_anew_whenever_the_hours_have_doubled() -> None:
    """At two hours, four, eight and sixteen; at the last where so many slots are known."""

    def trainings(slots: int) -> list[tuple[int, int]]:
        return [(begin, end) for begin, end, _ in Walk(Persistence).spans(noisy(0, 100, slots))]

    assert trainings(192) == [
        (24, 48),
        (48, 96),
        (96, 192),
        (192, 384),
    ]
    assert trainings(191) == [
        (24, 48),
        (48, 96),
        (96, 192),
    ]
    assert trainings(23) == []


@pytest.mark.parametrize(("tasks", "first"), [(100, 23), (99, 47)])
def test_a_hundred_examples_are_enough_to_learn_from(tasks: int, first: int) -> None:
    # By slot 24 each task has one example, by slot 48 it has 25; what is known then is told at the slot before.
    assert told_slots(Walk(Persistence), noisy(0, tasks, 60)).tolist() == list(range(first, 60))


def test_what_is_learned_is_a_sample_of_five_thousand_examples() -> None:
    # 250 tasks with 25 examples each by slot 48; the sample is drawn with seed 0.
    found = noisy(3, tasks=250, slots=60)
    by_hand = train(Autoregression(), examples(found, 0, 48, 5_000, 0))
    now = examples(found, 47, 60 + HORIZONS, 10**6, 0)
    mean, deviation = (each[found.slot >= 47] for each in followed(Walk(Autoregression), found))
    assert len(mean) == len(now) == 250 * 13
    np.testing.assert_array_equal(mean, by_hand.forecast(now).mean)
    np.testing.assert_array_equal(deviation, by_hand.forecast(now).deviation)


@pytest.mark.parametrize(("begin", "first"), [(0, 11), (30, 29)])
def test_what_was_trained_before_tells_all_hours_that_it_has_not_seen(
    begin: int, first: int
) -> None:
    trained = train(Persistence(), examples(noisy(0), 0, 100, 1_000, 0))
    assert told_slots(Walk(trained, begin), noisy(1, 3, 60)).tolist() == list(range(first, 60))


def test_saved_forecasters_stand_for_those_of_the_same_name(
    tmp_path: Path,
) -> None:
    quick = {
        "persistence": Persistence,
        "seasonal": Seasonal,
        "autoregression": Autoregression,
    }
    assert {name: (walk.by, walk.begin) for name, walk in walks(NO_STORE, "cpu", "").items()} == {
        name: (kind, 0) for name, kind in quick.items()
    }
    path = str(tmp_path / "model")
    options = ForecastOptions(forecasters=("persistence", "boosting"), save=path)
    list(backtests_of(noisy(3, slots=192), "this", "cpu", options, no_report))
    found = walks_of(load(path, "this", "cpu"))
    assert list(found) == ["persistence", "seasonal", "autoregression", "boosting"]
    # Trained last before the third of three cuts in 96 to 192.
    assert {name: walk.begin for name, walk in found.items()} == {
        **dict.fromkeys(("persistence", "boosting"), 160),
        **dict.fromkeys(("seasonal", "autoregression"), 0),
    }
    by = found["persistence"].by
    assert isinstance(by, TrainedForecaster)
    assert isinstance(by.forecaster, Persistence)
    assert found["seasonal"].by is Seasonal
    # Of another store it has seen nothing.
    assert walks_of(load(path, "another", "cpu"))["persistence"].begin == 0
