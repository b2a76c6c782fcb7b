"""Forecasters, their errors and the packings by them, on examples that are typed by hand."""

from __future__ import annotations

from pathlib import Path
from statistics import NormalDist
from typing import cast

import numpy as np
import pytest

from borgtrace.errors import UsageError
from borgtrace.forecast import (
    FORECASTERS,
    Examples,
    ForecastOptions,
    UsageSeries,
    packing,
    study,
)
from borgtrace.forecast.backtest import ForecastBacktest, backtests_of
from borgtrace.forecast.forecasters import Persistence, scaled_past
from borgtrace.forecast.series import HORIZONS, PAST, Past
from borgtrace.forecast.trained import LEVELS, Forecasts, TrainedForecaster, train
from borgtrace.kernels.arrays import Numbers
from borgtrace.question import EngineTables
from borgtrace.question.store_question import no_report
from borgtrace.store import Store
from tests.forecast.test_forecast import noisy

SLOTS = 1 << 20
NAN = float("nan")
NO_STORE = cast(Store, None)
NO_TABLES = cast(EngineTables, None)


def example(
    slot: int,
    past: float,
    target: dict[int, float] | float,
    task: int = 0,
) -> Examples:
    """One task that used the same for an hour; by how many slots ahead what came."""
    came = np.full((1, HORIZONS), target if isinstance(target, float) else NAN)
    for ahead, value in target.items() if isinstance(target, dict) else ():
        came[0, ahead - 1] = value
    seen = np.full((1, PAST), past)
    return Examples(
        np.array([task * SLOTS + slot]),
        seen,
        seen.copy(),
        came,
    )


def joined(*parts: Examples) -> Examples:
    return Examples(
        key=np.concatenate([part.key for part in parts]),
        usage=np.concatenate([part.usage for part in parts]),
        day_before=np.concatenate([part.day_before for part in parts]),
        target=np.concatenate([part.target for part in parts]),
    )


class Constant(TrainedForecaster):
    """A forecaster that says the same of every task."""

    def __init__(self, means: Numbers, deviation: float) -> None:
        super().__init__(Persistence(), np.full(HORIZONS, deviation), 0.0)
        object.__setattr__(self, "means", means)

    means: Numbers

    def forecast(self, seen: Past) -> Forecasts:
        shape = (len(seen), 1)
        return Forecasts(np.tile(self.means, shape), np.tile(self.factor, shape))


def constant(means: Numbers, deviation: float) -> dict[str, TrainedForecaster]:
    return {"constant": Constant(means, deviation)}


def test_errors_of_a_forecaster_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is forecast, with a deviation of 1; the newest values were 1, and two cuts are judged."""
    z = NormalDist().inv_cdf(0.95)
    cuts = [
        example(
            20,
            1.0,
            {
                1: z,
                3: 2.0,
                12: 1.0,
            },
        ),
        example(30, 1.0, {1: 3.0}),
    ]
    forecasters = constant(np.zeros(HORIZONS), 1.0)
    monkeypatch.setattr(
        study,
        "backtests",
        lambda *_: (ForecastBacktest(later, 0, forecasters) for later in cuts),
    )
    rows = study.compute(NO_STORE, NO_TABLES, ForecastOptions(), no_report)
    names = ("horizon", "forecasts", "mean_error", "rmse", "skill", "coverage", "width")
    # An error at the end of the interval is in it. Of 30 minutes nothing came; what stays as it was leaves no skill.
    assert [[row[name] for name in names] for row in rows] == [
        pytest.approx(
            [
                1 / 12,
                2,
                (z + 3) / 2,
                ((z**2 + 9) / 2) ** 0.5,
                1 - ((z**2 + 9) / ((z - 1) ** 2 + 4)) ** 0.5,
                0.5,
                2 * z,
            ]
        ),
        pytest.approx([0.25, 1, 2.0, 2.0, -1.0, 0.0, 2 * z]),
        [
            1.0,
            1,
            1.0,
            1.0,
            None,
            1.0,
            pytest.approx(2 * z),
        ],
    ]


def test_packings_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three tasks used .3 and then use .5 for half an hour: one machine holds what was, and not what comes."""
    target = np.where(np.arange(HORIZONS) < 6, 0.5, 0.3)
    parts = [example(99, 0.3, 0.0, task) for task in range(3)]
    for part in parts:
        part.target[:] = target
    # What is judged later, and is not there at the cut, is not packed.
    cut = ForecastBacktest(joined(*parts, example(101, 0.9, 0.9, 3)), 100, {})
    monkeypatch.setattr(packing, "backtests", lambda *_: iter([cut]))
    rows = packing.compute(NO_STORE, NO_TABLES, ForecastOptions(), no_report)
    found = {
        (row["forecaster"], row["rho"]): (row["tasks"], row["machines"], row["overload"])
        for row in rows
    }
    assert found["history", 0.1] == (3, 1, 0.5)
    # A mean of .4 and a deviation of .1: two tasks need .8 + 1.28 · .1 · √2, and use 1 together.
    assert found["future", 0.1] == (3, 2, 0.0)


def test_the_moments_of_an_hour_are_within_and_between_its_slots() -> None:
    forecasters = constant(np.tile([0.0, 0.2], 6), 0.3)
    later = joined(example(99, 0.3, {1: 0.6}), example(101, 0.3, 0.3, 1))
    mean, variance, used = packing.moments_at_cut(ForecastBacktest(later, 100, forecasters))[
        "constant"
    ]
    # Means of 0 and .2 in turn vary by .01, and .3² is within.
    assert mean == pytest.approx([0.1])
    assert variance == pytest.approx([0.1])
    # A task that ended uses nothing.
    assert used.tolist() == [[0.6] + [0.0] * 11]


def test_which_windows_count_for_a_slot() -> None:
    windows = [
        (300, 300, 0.9),  # ends as the trace begins
        (600, 300, 0.1),
        (899, 1, 0.4),  # a second of the same slot
        (1200, 300, NAN),
        (1500, 0, 0.9),
        (1800, 300, 0.3),
        (300 * (SLOTS + 1), 300, 0.2),  # the last slot that a key can tell
        (300 * (SLOTS + 2), 300, 0.9),
        (2100, 4e12, 0.5),  # without an end
    ]
    start, duration, value = np.array(windows).T
    found = UsageSeries.from_windows(np.zeros(9, np.int64), start, duration, value)
    assert found.key.tolist() == [0, 4, SLOTS - 1]
    assert found.value.tolist() == pytest.approx([(300 * 0.1 + 0.4) / 301, 0.3, 0.2])


def test_boosting_learns_every_slot_of_the_hour() -> None:
    known = joined(*(example(slot, 0.5, 0.5) for slot in range(1_000)))
    known.target[:, 0] = 0.7
    boosting = FORECASTERS["boosting"]()
    boosting.fit(known)
    assert boosting.predict(example(0, 0.5, 0.5), HORIZONS, LEVELS)[0].tolist() == pytest.approx(
        [0.7] + [0.5] * 11, abs=0.01
    )


def test_a_network_sees_an_hour_in_units_of_its_deviation() -> None:
    flat = example(0, 0.5, 0.5)
    varied = example(0, 0.5, 0.5)
    varied.usage[0, ::2] = 0.3
    past, scale = scaled_past(joined(flat, varied))
    assert scale.ravel().tolist() == pytest.approx([0.0001, 0.1001])
    assert past[0].tolist() == [0.0] * 12
    assert past[1].tolist() == pytest.approx([-0.2 / 0.1001, 0.0] * 6)


def test_of_tasks_that_never_vary_a_forecast_is_sure() -> None:
    known = joined(*(example(slot, 0.5, 0.5) for slot in range(10)))
    persistence = train(FORECASTERS["persistence"](), known)
    assert persistence.forecast(known).deviation.tolist() == [[0.0] * HORIZONS] * 10


def test_training_says_how_far_it_is() -> None:
    steps: list[tuple[str, int, int]] = []
    options = ForecastOptions(forecasters=("persistence", "seasonal"), folds=1)
    (found,) = backtests_of(
        noisy(3, slots=192),
        "this",
        "cpu",
        options,
        lambda *step: steps.append(step),
    )
    assert found.cut == 96
    # 30 tasks, from slot 11 on, whose twelve targets lie before slot 96: to slot 83.
    n = 30 * 73
    first = "cpu: training persistence"
    second = "cpu: training seasonal"
    assert steps == [
        (first, 0, 2 * n),
        (first, n, 2 * n),
        (second, n, 2 * n),
        (second, 2 * n, 2 * n),
    ]


def test_a_model_of_cpu_tells_nothing_of_memory(tmp_path: Path) -> None:
    saved = str(tmp_path / "model")
    series = noisy(3, slots=192)
    options = ForecastOptions(forecasters=("persistence",), save=saved)
    list(backtests_of(series, "this", "cpu", options, no_report))
    with pytest.raises(UsageError) as caught:
        list(backtests_of(series, "this", "memory", ForecastOptions(model=saved), no_report))
    assert str(caught.value) == "--resource: unknown name: expected cpu, got memory"


def test_options_at_their_ends() -> None:
    least = ForecastOptions(
        tasks=1,
        folds=1,
        examples=1,
        resources=("cpu", "memory"),
    )
    assert least.tasks == 1
    assert least.folds == 1
    assert least.examples == 1
    with pytest.raises(UsageError) as caught:
        ForecastOptions(resources=("disk",))
    assert str(caught.value) == "--resource: unknown name: expected cpu or memory, got disk"
