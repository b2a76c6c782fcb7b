"""Forecasters that a user writes: judged as ours are, and refused in one sentence where they are none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import borgtrace
from borgtrace.errors import UsageError
from borgtrace.forecast import FORECAST, FORECASTERS, PACKED, Examples, Forecaster, ForecastOptions
from borgtrace.forecast.backtest import backtests_of
from borgtrace.kernels.arrays import Numbers
from borgtrace.question.store_question import no_report
from tests.forecast.test_by_hand import example, joined
from tests.forecast.test_forecast import cell, noisy

__all__ = ["cell"]


class LastValue(Forecaster):
    """What `persistence` is, written anew."""

    name = "last-value"
    about = "the newest value stays"

    def mean(self, seen: Examples) -> Numbers:
        return np.repeat(seen.past[:, -1:], 12, axis=1)


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


class Peeking(Forecaster):
    """Returns what it is judged by, as far as it is shown that."""

    name = "peeking"
    about = "the future itself"
    has_seen_targets = False

    def mean(self, seen: Examples) -> Numbers:
        type(self).has_seen_targets |= not np.isnan(seen.target).all()
        return np.where(np.isnan(seen.target), 0.0, seen.target)


def test_a_model_is_not_shown_what_it_is_judged_by() -> None:
    options = ForecastOptions(forecasters=(Peeking,), folds=1)
    (backtest,) = backtests_of(noisy(3, slots=192), "this", "cpu", options, no_report)
    assert (backtest.trained["peeking"].forecast(backtest.later) == 0).all()
    assert not Peeking.has_seen_targets


def test_each_cut_has_a_model_of_its_own() -> None:
    options = ForecastOptions(forecasters=(LastValue,), folds=2)
    cuts = list(backtests_of(noisy(3, slots=192), "this", "cpu", options, no_report))
    first, second = (each.trained["last-value"] for each in cuts)
    assert first is not second


def forecaster_that_returns(make: Callable[[Examples], object]) -> type[Forecaster]:
    class Wrong(Forecaster):
        name = "wrong"
        about = "returns something else"

        def mean(self, seen: Examples) -> Numbers:
            return make(seen)  # type: ignore[return-value]

    return Wrong


@pytest.mark.parametrize(
    ("make", "got"),
    [
        pytest.param(lambda seen: seen.past[:, -1], "float64 of shape (2,)", id="a row"),
        pytest.param(lambda seen: seen.past.T, "float64 of shape (12, 2)", id="turned round"),
        pytest.param(lambda _: None, "object of shape ()", id="nothing"),
        pytest.param(lambda seen: seen.past.astype(str), "<U32 of shape (2, 12)", id="texts"),
        pytest.param(lambda seen: seen.target, "24 that are NaN or infinite", id="targets"),
    ],
)
def test_forecasts_that_are_none_are_refused(make: Callable[[Examples], object], got: str) -> None:
    seen = joined(example(20, 0.5, 0.5), example(21, 0.5, 0.5))
    with pytest.raises(UsageError) as caught:
        forecaster_that_returns(make)().forecast(seen)
    assert str(caught.value) == (
        f"wrong: its method mean: expected numbers of shape (2, 12), got {got}"
    )


class Nameless(Forecaster):
    about = "has no name"

    def mean(self, seen: Examples) -> Numbers:
        return seen.past


class SecondPersistence(LastValue):
    name = "persistence"


OURS = ", ".join(FORECASTERS)
TAKEN = ", ".join(sorted(FORECASTERS))


@pytest.mark.parametrize(
    ("forecasters", "message"),
    [
        pytest.param(
            (LastValue(),),
            "forecasters: not a forecaster: expected names, and classes derived from"
            " borgtrace.forecast.Forecaster, got an object of the class LastValue; name its class",
            id="an object",
        ),
        pytest.param(
            (dict,),
            "forecasters: not a forecaster: expected names, and classes derived from"
            " borgtrace.forecast.Forecaster, got the class dict",
            id="another class",
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
            f"--forecaster: no such forecaster: expected {' or '.join(FORECASTERS)}, got nothing",
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
        f"--save: a file of forecasters holds numbers, and no code: expected some of {OURS},"
        " got last-value"
    )
