"""Forecasters that a user writes: judged as ours are, and refused in one sentence where they are none."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import borgtrace
from borgtrace.errors import UsageError
from borgtrace.forecast import (
    FORECAST,
    PACKED,
    Examples,
    Forecaster,
    ForecastOptions,
    Past,
)
from borgtrace.forecast.adapters import from_function
from borgtrace.forecast.backtest import backtests_of
from borgtrace.forecast.registry import OURS, SAVABLE
from borgtrace.forecast.trained import TrainedForecaster
from borgtrace.kernels.arrays import Numbers
from borgtrace.question.store_question import no_report
from tests.forecast.test_by_hand import example, joined
from tests.forecast.test_forecast import cell, noisy

__all__ = ["cell"]


class LastValue(Forecaster):
    """What `persistence` is, written anew."""

    name = "last-value"
    about = "the newest value stays"

    def predict(self, past: Past, horizon: int, quantiles: Sequence[float]) -> Numbers:
        return np.repeat(past.usage[:, -1:], horizon, axis=1)


def test_a_class_of_ones_own_is_judged_as_ours_are(cell: Path) -> None:
    """The same model under two names gets the same numbers, on the same folds."""
    opened = borgtrace.open(cell)
    answer = opened.ask(FORECAST, forecasters=("persistence", LastValue))
    rows_by_name: dict[str, list[dict[str, object]]] = {}
    for row in answer.table.to_pylist():
        rows_by_name.setdefault(row.pop("forecaster"), []).append(row)
    assert set(rows_by_name) == {"last-value", "persistence"}
    assert rows_by_name["last-value"] == rows_by_name["persistence"]
    parameters = json.dumps(dict(answer.provenance.parameters))
    assert '"forecasters": ["persistence", "last-value"]' in parameters


def test_tasks_are_packed_by_a_model_of_ones_own(cell: Path) -> None:
    rows = borgtrace.open(cell).ask(PACKED, forecasters=(LastValue, "persistence")).table
    machines: dict[str, list[int]] = {}
    for row in rows.to_pylist():
        machines.setdefault(row["forecaster"], []).append(row["machines"])
    assert machines["last-value"] == machines["persistence"]


class Noting(LastValue):
    """Notes what it is shown."""

    name = "noting"
    slots: list[int] = []
    targets: list[object] = []

    def predict(self, past: Past, horizon: int, quantiles: Sequence[float]) -> Numbers:
        type(self).targets.append(getattr(past, "target", None))
        (slot,) = set(past.slot.tolist())
        type(self).slots.append(slot)
        return super().predict(past, horizon, quantiles)


def test_a_model_is_shown_one_slot_after_the_other_and_no_target() -> None:
    """A row of a later slot holds what an earlier row is judged by."""
    Noting.slots.clear()
    Noting.targets.clear()
    options = ForecastOptions(forecasters=(Noting,), folds=1)
    (backtest,) = backtests_of(noisy(3, slots=192), "this", "cpu", options, no_report)
    Noting.slots.clear()
    backtest.trained["noting"].forecast(backtest.later)
    # Cut at 96 of 192 slots: from slot 95 on, with twelve targets before the end.
    assert Noting.slots == list(range(95, 180))
    assert set(Noting.targets) == {None}


class Level(LastValue):
    """The same of every task."""

    name = "level"

    def __init__(self, level: float) -> None:
        self.level = level
        self.n_trainings = 0

    def fit(self, train: Examples) -> None:
        self.n_trainings += 1

    def predict(self, past: Past, horizon: int, quantiles: Sequence[float]) -> Numbers:
        return np.full((len(past), horizon), self.level)


def test_an_object_is_copied_for_each_cut() -> None:
    level = Level(0.25)
    options = ForecastOptions(forecasters=(level, "persistence"), folds=2)
    cuts = list(backtests_of(noisy(3, slots=192), "this", "cpu", options, no_report))
    trained = [each.trained["level"].forecaster for each in cuts]
    assert len(trained) == 2
    for forecaster in trained:
        assert isinstance(forecaster, Level)
        assert (forecaster.level, forecaster.n_trainings) == (0.25, 1)
    assert level.n_trainings == 0


class Neighbour(LastValue):
    """Says that rows are forecast alone, and answers with the rows behind."""

    name = "neighbour"
    is_row_by_row = True

    def predict(self, past: Past, horizon: int, quantiles: Sequence[float]) -> Numbers:
        return np.repeat(past.usage[::-1, -1:], horizon, axis=1)


def test_a_model_that_looks_at_later_rows_is_refused() -> None:
    options = ForecastOptions(forecasters=(Neighbour,), folds=1)
    with pytest.raises(UsageError) as caught:
        list(backtests_of(noisy(3, slots=192), "this", "cpu", options, no_report))
    assert str(caught.value) == (
        "forecaster neighbour: what it forecasts of a row depends on other rows: expected each row "
        "by itself, since is_row_by_row is True; leave is_row_by_row out: it then gets one slot "
        "after the other"
    )


class Changing(LastValue):
    """Changes all that it is given."""

    name = "changing"

    def fit(self, train: Examples) -> None:
        train.usage[:] = train.target[:] = 7.0

    def predict(self, past: Past, horizon: int, quantiles: Sequence[float]) -> Numbers:
        newest = super().predict(past, horizon, quantiles)
        past.usage[:] = 7.0
        return newest


def test_a_model_that_changes_its_input_spoils_no_other(cell: Path) -> None:
    answer = borgtrace.open(cell).ask(FORECAST, forecasters=(Changing, "persistence"))
    alone = borgtrace.open(cell).ask(FORECAST, forecasters=("persistence",))
    rows = [row for row in answer.table.to_pylist() if row["forecaster"] == "persistence"]
    assert rows == alone.table.to_pylist()


def test_each_cut_has_a_model_of_its_own() -> None:
    options = ForecastOptions(forecasters=(LastValue,), folds=2)
    cuts = list(backtests_of(noisy(3, slots=192), "this", "cpu", options, no_report))
    first, second = (each.trained["last-value"] for each in cuts)
    assert first is not second


def ascending(past: Past, horizon: int, quantiles: Sequence[float]) -> Numbers:
    """Quantiles that ascend by as much as their probabilities."""
    return past.usage[:, -1:, None] + np.zeros((1, horizon, 1)) + np.array(quantiles)


SHAPE = "expected numbers of shape (2, 12), or (2, 12, 19) for quantiles, got "


@pytest.mark.parametrize(
    ("make", "refused"),
    [
        pytest.param(
            lambda past, *_: past.usage[:, -1], f"{SHAPE}float64 of shape (2,)", id="a row"
        ),
        pytest.param(
            lambda past, *_: past.usage.T, f"{SHAPE}float64 of shape (12, 2)", id="turned round"
        ),
        pytest.param(lambda *_: None, f"{SHAPE}object of shape ()", id="nothing"),
        pytest.param(
            lambda past, *_: past.usage.astype(str), f"{SHAPE}<U32 of shape (2, 12)", id="texts"
        ),
        pytest.param(
            lambda past, *_: past.usage * np.nan,
            "expected finite numbers, got 24 of 24 that are NaN or infinite",
            id="missing",
        ),
        pytest.param(
            lambda *given: ascending(*given)[:, :, :3],
            f"{SHAPE}float64 of shape (2, 12, 3)",
            id="other quantiles",
        ),
        pytest.param(
            lambda *given: ascending(*given)[:, :, ::-1],
            "expected quantiles that ascend, got 432 that lie below the one before; "
            "np.sort(…, axis=2) puts them in order",
            id="crossing",
        ),
    ],
)
def test_forecasts_that_are_none_are_refused(make: Callable[..., Any], refused: str) -> None:
    seen = joined(example(20, 0.5, 0.5), example(20, 0.5, 0.5))
    wrong = TrainedForecaster(from_function("wrong", make), np.ones(12), 0.0)
    with pytest.raises(UsageError) as caught:
        wrong.forecast(seen)
    assert str(caught.value) == f"forecaster wrong: what predict returns: {refused}"


def test_means_now_and_quantiles_then_are_refused() -> None:
    def mixed(past: Past, horizon: int, quantiles: Sequence[float]) -> Numbers:
        is_first = past.slot[0] == 20
        return past.usage if is_first else ascending(past, horizon, quantiles)

    seen = joined(example(20, 0.5, 0.5), example(21, 0.5, 0.5))
    with pytest.raises(UsageError) as caught:
        TrainedForecaster(from_function("mixed", mixed), np.ones(12), 0.0).forecast(seen)
    assert str(caught.value) == (
        "forecaster mixed: what predict returns: expected means always, or quantiles always, got both"
    )


class Nameless(Forecaster):
    about = "has no name"

    def predict(self, past: Past, horizon: int, quantiles: Sequence[float]) -> Numbers:
        return past.usage


class Unfinished(Forecaster):
    name = "unfinished"
    about = "has no predict"


class Demanding(LastValue):
    name = "demanding"

    def __init__(self, weight: float) -> None:
        self.weight = weight


class SecondPersistence(LastValue):
    name = "persistence"


ALL_OF_OURS = ", ".join(OURS)
TAKEN = ", ".join(sorted(OURS))


@pytest.mark.parametrize(
    ("forecasters", "message"),
    [
        pytest.param(
            (dict,),
            "forecasters: not a forecaster: expected names, or a class derived from "
            "borgtrace.Forecaster, or an object of one, got the class dict; "
            "borgtrace.forecast.adapters makes one of a function or a model",
            id="another class",
        ),
        pytest.param(
            (Unfinished,),
            "forecasters: the class Unfinished is not complete: expected a method predict",
            id="without predict",
        ),
        pytest.param(
            (Demanding,),
            "forecaster demanding: the class Demanding needs arguments: got missing a required "
            "argument: 'weight'; give them defaults, or pass an object: Demanding(…)",
            id="with arguments",
        ),
        pytest.param(
            (Nameless,),
            f"forecasters: name of the class Nameless: expected a text other than {TAKEN},"
            " got none",
            id="without a name",
        ),
        pytest.param(
            (SecondPersistence,),
            f"forecasters: name of the class SecondPersistence: expected a text other than {TAKEN},"
            " got persistence",
            id="a name of ours",
        ),
        pytest.param(
            ("nothing",),
            f"--forecaster: no such forecaster: expected one of {ALL_OF_OURS}, got nothing; "
            "one of your own: name its file with --from",
            id="an unknown name",
        ),
    ],
)
def test_what_is_no_forecaster_is_refused(forecasters: tuple[object, ...], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        ForecastOptions(forecasters=forecasters)  # type: ignore[arg-type]
    assert str(caught.value) == message


def test_a_class_of_ones_own_is_not_saved() -> None:
    with pytest.raises(UsageError) as caught:
        ForecastOptions(forecasters=(LastValue,), save="model.npz")
    assert str(caught.value) == (
        f"--save: a file of forecasters holds numbers, and no code: expected some of {', '.join(SAVABLE)},"
        " got last-value; leave out --save, or --forecaster last-value"
    )
