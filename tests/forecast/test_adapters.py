"""Models of others as forecasters: a function, scikit-learn, PyTorch and statsforecast."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import borgtrace
from borgtrace.errors import EngineError
from borgtrace.forecast import FORECAST, Forecaster, Past, adapters
from borgtrace.forecast.registry import untrained
from borgtrace.forecast.series import examples
from borgtrace.forecast.trained import LEVELS, train
from borgtrace.kernels.arrays import Numbers
from borgtrace.testing import check_forecaster
from tests.forecast.test_by_hand import NAN, example, joined
from tests.forecast.test_forecast import cell, noisy

__all__ = ["cell"]


def newest(past: Past, horizon: int, quantiles: Sequence[float]) -> Numbers:
    return past.usage[:, -1:].repeat(horizon, axis=1)


def mean_error(forecaster: Forecaster) -> float:
    """Return how much a forecaster errs an hour ahead, on an autoregression."""
    known = examples(noisy(2), 0, 450, 10**6, 0)
    later = examples(noisy(2), 449, 600, 10**6, 0)
    forecasts = train(untrained(forecaster), known).forecast(later)
    return float(np.abs(forecasts.mean - later.target)[:, -1].mean())


def test_a_function_is_judged_as_the_forecaster_that_it_is(cell: Path) -> None:
    forecasters = ("persistence", adapters.from_function("own", newest))
    rows = borgtrace.open(cell).ask(FORECAST, forecasters=forecasters).table.to_pylist()
    by_name: dict[str, list[Any]] = {}
    for row in rows:
        by_name.setdefault(row.pop("forecaster"), []).append(row)
    assert by_name["own"] == by_name["persistence"]


def test_a_function_keeps_the_contract() -> None:
    check_forecaster(adapters.from_function("own", newest))


@pytest.mark.wide
def test_regressors_of_scikit_learn_learn() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    ensemble = pytest.importorskip("sklearn.ensemble")
    persistence = mean_error(adapters.from_function("own", newest))
    for model in (
        linear_model.Ridge(alpha=1e-3),
        # One output: it is fitted once for each slot.
        ensemble.GradientBoostingRegressor(n_estimators=5, learning_rate=0.3),
    ):
        assert mean_error(adapters.from_scikit_learn("own", model)) < 0.9 * persistence


def test_least_squares_of_scikit_learn_are_ours() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    from borgtrace.forecast import FORECASTERS

    known = examples(noisy(2), 0, 450, 10**6, 0)
    later = examples(noisy(2), 449, 600, 10**6, 0)
    model = adapters.from_scikit_learn("own", linear_model.LinearRegression())
    ours = train(FORECASTERS["autoregression"](), known).forecast(later)
    theirs = train(untrained(model), known).forecast(later)
    assert theirs.mean == pytest.approx(ours.mean, abs=1e-9)


def test_a_regressor_of_one_output_learns_from_what_is_known() -> None:
    tree = pytest.importorskip("sklearn.ensemble")
    known = joined(*(example(slot, 0.5, {1: 0.7}) for slot in range(10)), example(10, 0.5, 0.4))
    model = tree.GradientBoostingRegressor(n_estimators=1, learning_rate=1.0)
    forecaster = untrained(adapters.from_scikit_learn("own", model))
    forecaster.fit(known)
    (means,) = forecaster.predict(example(0, 0.5, NAN), 12, LEVELS)
    # Eleven values one slot ahead, ten of .7; of the other slots one is known.
    assert means.tolist() == pytest.approx([(10 * 0.7 + 0.4) / 11] + [0.4] * 11)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_regressor_gets_the_seed_and_stays_as_it_is(seed: int) -> None:
    ensemble = pytest.importorskip("sklearn.ensemble")
    model = ensemble.RandomForestRegressor(2)
    forecaster: Any = untrained(adapters.from_scikit_learn("own", model))
    forecaster.seed = seed
    forecaster.fit(joined(*(example(slot, 0.5, 0.5) for slot in range(10))))
    assert forecaster.fitted[0].random_state == seed
    assert model.random_state is None
    assert not hasattr(model, "estimators_")


def test_a_regressor_keeps_the_contract() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    check_forecaster(adapters.from_scikit_learn("own", linear_model.Ridge()))


@pytest.mark.wide
def test_a_module_of_torch_learns_and_keeps_the_contract() -> None:
    torch = pytest.importorskip("torch")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module = torch.nn.Linear(12, 12)
    before = module.weight.detach().clone()
    forecaster = adapters.from_torch("own", module, epochs=20, learning_rate=0.01)
    check_forecaster(forecaster)
    assert mean_error(forecaster) < 0.9 * mean_error(adapters.from_function("own", newest))
    # Each cut begins with what it held.
    assert torch.equal(module.weight, before)


def test_without_torch_it_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    forecaster = adapters.from_torch("own", object())
    with pytest.raises(EngineError) as caught:
        forecaster.fit(example(0, 0.5, 0.5))
    assert str(caught.value) == "forecaster own: needs torch; pip install torch"


def test_models_of_statsforecast_give_quantiles() -> None:
    models = pytest.importorskip(
        "statsforecast.models", reason="statsforecast needs pandas 2, the tests have pandas 3"
    )
    forecaster = adapters.from_statsforecast("own", models.Naive())
    check_forecaster(forecaster)
    forecasts = train(untrained(forecaster), examples(noisy(2), 0, 60, 50, 0)).forecast(
        example(20, 0.5, 0.5)
    )
    assert forecasts.own_quantiles is not None
    assert forecasts.mean == pytest.approx(np.full((1, 12), 0.5))


class FakeModel:
    """Answers as a model of statsforecast does: a mean, and intervals of so many percent."""

    def forecast(self, y: Numbers, h: int, level: Sequence[int]) -> dict[str, Numbers]:
        answer = {"mean": np.full(h, y[-1])}
        for each in level:
            answer[f"lo-{each}"] = np.full(h, y[-1] - each / 1000)
            answer[f"hi-{each}"] = np.full(h, y[-1] + each / 1000)
        return answer


def test_intervals_become_quantiles() -> None:
    forecaster = adapters.from_statsforecast("own", FakeModel())
    quantiles = forecaster.predict(example(20, 0.5, 0.5), 12, LEVELS)
    # The interval of 90 % lies between the quantiles of 5 % and 95 %, and .5 ± .09 here; that of 0 % is the middle.
    assert quantiles.shape == (1, 12, 19)
    assert quantiles[0, 0, [0, 1, 9, 17, 18]].tolist() == pytest.approx(
        [0.41, 0.42, 0.5, 0.58, 0.59]
    )
