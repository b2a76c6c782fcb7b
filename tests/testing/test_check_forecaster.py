"""The contract check of forecasters names each fault in one sentence; ours keep the contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from borgtrace.extensions import import_source
from borgtrace.forecast import FORECASTERS
from borgtrace.testing import ContractError, check_forecaster
from tests.extensions.own_code import write

FEW = "on a few tasks"
SHAPE = "expected numbers of shape (1, 12), or (1, 12, 19) for quantiles"
NEWEST = "newest = past.usage[:, -1:].repeat(horizon, axis=1)\n"
FAULTS = {
    "a value for each row": (
        "return past.usage[:, -1]",
        f"{FEW}, what predict returns: {SHAPE}, got float64 of shape (1,)",
    ),
    "nothing": ("pass", f"{FEW}, what predict returns: {SHAPE}, got object of shape ()"),
    "missing": (
        "return past.usage * np.nan",
        f"{FEW}, what predict returns: expected finite numbers, got 12 of 12 that are NaN or infinite",
    ),
    "division by 0": (
        "with np.errstate(all='ignore'):\n    return past.usage / past.usage.max(axis=1, keepdims=True) * 0.05",
        "on tasks that use nothing, what predict returns: expected finite numbers, got 12 of 12 that "
        "are NaN or infinite",
    ),
    "crossing": (
        NEWEST + "return newest[:, :, None] - np.array(quantiles) / 100",
        f"{FEW}, what predict returns: expected quantiles that ascend, got 216 that lie below the one "
        "before; np.sort(…, axis=2) puts them in order",
    ),
    "state": (
        NEWEST + "self.last = getattr(self, 'last', 0) + newest.mean()\nreturn newest + self.last",
        f"{FEW}, it forecasts something else when it is asked again: use self.seed",
    ),
    "state between tasks": (
        NEWEST + "Own.most = max(Own.most, newest.max())\nreturn 0 * newest + Own.most",
        "what it forecasts depends on what it was asked before: keep no state",
    ),
    "input": (
        "past.usage[:, 0] = 0.01\nreturn past.usage",
        "it changes its input: work on a copy",
    ),
    "exception": (
        "return past.nothing",
        f"{FEW}, it raises AttributeError in {{file}}:14: 'Past' object has no attribute 'nothing'",
    ),
    "the future": (
        "return past.target",
        f"{FEW}, it raises AttributeError in {{file}}:14: 'Past' object has no attribute 'target'",
    ),
    "printing": (
        NEWEST + "print('hello')\nreturn newest",
        "it prints to stdout ('hello'), which is for data: print to stderr",
    ),
    "percent": (
        NEWEST + "return 100 * newest",
        "it forecasts ",
    ),
    "chance": (
        "return np.random.default_rng().random(past.usage.shape)",
        f"{FEW}, it forecasts something else when it is asked again: use self.seed",
    ),
}


def text_of(predict: str, *, fit: str = "", attributes: str = "") -> str:
    body = "\n".join(f"        {line}" for line in predict.splitlines())
    text = f"""import numpy as np
from borgtrace import Forecaster


class Own(Forecaster):
    name = "own"
    about = "a forecaster of a test"
    {attributes}

    most = 0.0


    def predict(self, past, horizon, quantiles):
{body}
"""
    if fit:
        lines = "\n".join(f"        {line}" for line in fit.splitlines())
        text += f"\n    def fit(self, train):\n{lines}\n"
    return text


def failures_of(folder: Path, text: str) -> tuple[tuple[str, ...], Path]:
    file = write(folder, "own.py", text)
    own = import_source(str(file)).Own
    with pytest.raises(ContractError) as raised:
        check_forecaster(own)
    return raised.value.failures, file


@pytest.mark.parametrize("name", FORECASTERS)
def test_ours_keep_the_contract(name: str) -> None:
    if name == "lstm":
        pytest.importorskip("torch")
    check_forecaster(FORECASTERS[name])


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named(tmp_path: Path, fault: str) -> None:
    predict, sentence = FAULTS[fault]
    failures, file = failures_of(tmp_path, text_of(predict))
    expected = sentence.format(file=file)
    assert [failure for failure in failures if failure.startswith(expected)]


def test_percent_is_said_by_how_much(tmp_path: Path) -> None:
    failures, _ = failures_of(
        tmp_path, text_of(NEWEST + "return 0 * newest + 100 * np.median(newest)")
    )
    (failure,) = failures
    # Of one row, the median of a hundred times what the task used, over the median of its hour.
    assert failure.endswith(
        "times what tasks use: forecasts are fractions of the largest machine, as usage is"
    )
    assert 50 < float(failure.split()[2]) < 200


def test_a_row_that_tells_of_the_future_of_another(tmp_path: Path) -> None:
    text = text_of(
        "return np.full(past.usage.shape, past.usage.mean())", attributes="is_row_by_row = True"
    )
    failures, _ = failures_of(tmp_path, text)
    (failure,) = failures
    assert failure == (
        f"{FEW}, what it forecasts of a row depends on other rows: expected each row by itself, since "
        "is_row_by_row is True; leave is_row_by_row out: it then gets one slot after the other"
    )


def test_training_by_chance(tmp_path: Path) -> None:
    text = text_of(
        NEWEST + "return newest * self.factor",
        fit="self.factor = 0.5 + np.random.default_rng().random()",
    )
    failures, _ = failures_of(tmp_path, text)
    assert failures == (
        "trained again on the same tasks, it forecasts something else: use self.seed, and keep no "
        "state outside self",
    )


def test_training_by_the_seed_keeps_the_contract(tmp_path: Path) -> None:
    text = text_of(
        NEWEST + "return newest * self.factor",
        fit="self.factor = np.random.default_rng(self.seed).random()",
    )
    check_forecaster(import_source(str(write(tmp_path, "own.py", text))).Own)


def test_training_that_changes_its_input(tmp_path: Path) -> None:
    text = text_of(NEWEST + "return newest", fit="train.target[np.isnan(train.target)] = 0")
    failures, _ = failures_of(tmp_path, text)
    assert failures == ("it changes its input: work on a copy",)


def test_a_model_that_cannot_take_what_is_missing(tmp_path: Path) -> None:
    text = text_of(
        NEWEST + "return newest",
        fit="if np.isnan(train.target).any():\n    raise ValueError('Input y contains NaN.')",
    )
    failures, file = failures_of(tmp_path, text)
    assert failures == (
        f"on tasks of which some end, it raises ValueError in {file}:19: Input y contains NaN.",
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "class Own: name = 'own'; about = 'x'",
            "it is not a class derived from borgtrace.Forecaster",
        ),
        (
            "from borgtrace import Forecaster\nclass Own(Forecaster): name = 'own'; about = 'x'",
            "it has no method predict",
        ),
        (
            text_of(NEWEST + "return newest").replace('"own"', '"My Model"'),
            "its name is 'My Model': write small letters and hyphens, such as peak-of-hour",
        ),
        (
            text_of(NEWEST + "return newest") + "\n    def __init__(self, weight):\n        pass\n",
            "made without arguments, the class Own needs arguments: got missing a required argument: "
            "'weight'; give them defaults, or pass an object: Own(…)",
        ),
    ],
)
def test_what_is_no_forecaster(tmp_path: Path, text: str, sentence: str) -> None:
    failures, _ = failures_of(tmp_path, text)
    assert failures == (sentence,)
