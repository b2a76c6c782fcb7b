"""The worked learning session runs at toy size, and its numbers hold together."""

from __future__ import annotations

import csv
import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from borgtrace import datasets
from borgtrace.datasets import DatasetOptions, Selection, Split, build

from .stores import array_store

_SCRIPT = Path(__file__).parents[2] / "examples" / "forecast" / "forecast.py"


@pytest.fixture(scope="module")
def forecast() -> ModuleType:
    pytest.importorskip("torch")
    spec = importlib.util.spec_from_file_location("forecast", _SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.wide
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_session_runs_and_ranks(
    forecast: ModuleType,
    synthetic_store: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    forecast.main(
        [
            str(tmp_path),
            "--store",
            str(synthetic_store),
            "--epochs",
            "2",
        ]
    )
    with (tmp_path / "errors.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["forecaster"] for row in rows[::4]] == ["persistence", "linear AR(4)", "LSTM"]
    assert all(np.isfinite(float(row["MSE (scaled)"])) for row in rows)
    assert len({row["points"] for row in rows}) == 1
    one_ahead = {row["forecaster"]: float(row["MSE (scaled)"]) for row in rows[::4]}
    assert one_ahead["linear AR(4)"] < one_ahead["persistence"]
    assert (tmp_path / "errors.svg").read_text().startswith("<svg")
    said = capsys.readouterr().out
    assert "testing: 0 of " in said
    assert "root mean squared error" in said


def test_persistence_and_autoregression_on_a_ramp(forecast: ModuleType, tmp_path: Path) -> None:
    store = array_store([12, 9])
    store.arrays["average_cpu"][:] = [*range(12), *range(100, 109)]
    options = DatasetOptions(
        selection=Selection(max_length=None),
        split=Split((1.0,)),
        scale="none",
        format="npz",
    )
    build(store, tmp_path / "d", options)
    past, future = forecast.windows(datasets.open(tmp_path / "d"), "training")
    assert len(past) == (12 - 7) + (9 - 7)
    np.testing.assert_array_equal(
        future - forecast.persistence(past), np.tile([1, 2, 3, 4], (len(past), 1))
    )
    weights = forecast.autoregression(past, future)
    told = np.hstack([past, np.ones((len(past), 1))]) @ weights
    np.testing.assert_allclose(told, future, atol=1e-3)
