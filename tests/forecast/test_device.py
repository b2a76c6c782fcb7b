"""The device of a back-test: named for all forecasters, and refused where it is not there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from borgtrace.errors import UsageError
from borgtrace.forecast import Examples, Forecaster, ForecastOptions, Past
from borgtrace.forecast.backtest import backtests_of
from borgtrace.forecast.series import UsageSeries
from tests.forecast.test_forecast import noisy

TRAINED_ON: list[str] = []


class Repeating(Forecaster):
    """Notes on which device it is trained."""

    name = "repeating"
    about = "the newest value"
    needs = "torch"

    def fit(self, train: Examples) -> None:
        TRAINED_ON.append(self.device)

    def predict(self, past: Past, horizon: int, quantiles: Sequence[float]) -> Any:
        return np.repeat(past.usage[:, -1:], horizon, axis=1)


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


def test_a_device_that_nobody_uses_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        ForecastOptions(forecasters=("persistence", "seasonal"), device="auto")
    assert str(caught.value) == (
        "--device: no forecaster here computes in PyTorch: expected lstm, anchors, adaptive-anchors, or one of "
        'yours with needs = "torch", got persistence and seasonal; leave out --device, or name such a forecaster'
    )


def test_a_device_that_one_uses_is_taken() -> None:
    assert ForecastOptions(forecasters=("persistence", "lstm"), device="auto").device == "auto"


def test_a_device_is_refused_where_no_saved_forecaster_uses_it(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = str(tmp_path / "model.npz")
    saving = ForecastOptions(forecasters=("persistence",), save=path, folds=1)
    list(backtests_of(noisy(0), "digest", "cpu", saving, lambda *_: None))
    judging = ForecastOptions(model=path, folds=1, device="auto")
    with pytest.raises(UsageError, match="no forecaster here computes in PyTorch"):
        list(backtests_of(noisy(0), "digest", "cpu", judging, lambda *_: None))
