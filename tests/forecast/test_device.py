"""The device of a back-test: named for all forecasters, and refused where it is not there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from borgtrace.errors import UsageError
from borgtrace.forecast import Examples, Forecaster, ForecastOptions
from borgtrace.forecast.backtest import backtests_of
from borgtrace.forecast.series import HORIZONS, UsageSeries
from tests.forecast.test_forecast import noisy

TRAINED_ON: list[str] = []


class Repeating(Forecaster):
    """Notes on which device it is trained."""

    name = "repeating"
    about = "the newest value"

    def fit(self, known: Examples, seed: int) -> None:
        TRAINED_ON.append(self.device)

    def mean(self, seen: Examples) -> Any:
        return np.repeat(seen.past[:, -1:], HORIZONS, axis=1)


def run(series: UsageSeries, **options: Any) -> int:
    chosen = ForecastOptions(forecasters=(Repeating,), folds=1, **options)
    return len(list(backtests_of(series, "digest", "cpu", chosen, lambda *_: None)))


def test_forecasters_of_ones_own_are_told_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    TRAINED_ON.clear()
    assert run(noisy(0)) == run(noisy(0), device="cuda:1") == 1
    assert TRAINED_ON == ["cpu", "cuda:1"]


def test_a_name_that_is_no_device_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        ForecastOptions(device="gpu")
    assert str(caught.value) == (
        "--device: no such device: expected auto, cpu, cuda, cuda:0, … or mps, got gpu"
    )


def test_a_device_that_is_not_there_is_refused_before_anything_is_trained(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    TRAINED_ON.clear()
    with pytest.raises(UsageError) as caught:
        run(noisy(0), device="cuda")
    assert str(caught.value) == (
        "--device: PyTorch finds no such device: expected cpu, got cuda; auto takes the fastest that there is"
    )
    assert TRAINED_ON == []
