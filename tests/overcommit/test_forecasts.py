"""Forecasts as peaks: by hand, equal to what came where that can be told, and blind to the future."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

from borgtrace.cli import main
from borgtrace.errors import UsageError
from borgtrace.forecast import FORECAST, walks
from borgtrace.forecast.walk import QUICK, Walk
from borgtrace.overcommit import REPLAY, MachineBlock, Samples, oracle, parse_policy
from tests.forecast.test_forecast import DAY, cell, noisy  # noqa: F401 (the fixture)

NAMES = [kind.name for kind in QUICK]
FORECASTS = {kind.name: Walk(kind) for kind in QUICK}


def block(usage: np.ndarray, limit: float = 1.0) -> MachineBlock:
    """Tasks by slot, NaN where one is not on the machine."""
    task, slot = np.nonzero(~np.isnan(usage))
    samples = Samples(
        task,
        slot,
        usage[task, slot],
        np.full(len(task), limit),
    )
    n = len(samples)
    return MachineBlock(
        samples,
        np.ones(n, bool),
        np.zeros(n, np.int64),
        np.unique(task),
        usage.shape[1],
        np.ones(len(samples.slots)),
        pools=FORECASTS,
    )


@pytest.mark.parametrize("name", NAMES)
def test_what_never_varies_is_told_once_enough_was_seen(name: str) -> None:
    # Five tasks have one example each by slot 24, and 125 by slot 48: 100 are enough to learn from.
    level = 0.1 * np.arange(1, 6)
    usage = np.repeat(level[:, None], 60, axis=1)
    # The fourth comes in slot 40: its first hour ends with slot 51, the 52nd.
    usage[3, :40] = np.nan
    usage[4, 45] = np.nan
    usage = np.vstack([usage, usage[0]])
    prediction = parse_policy(f"forecast:by={name}").predict(block(usage))
    told = np.full(60, 0.1 + 0.2 + 0.3 + 0.1)
    told[51:] += 0.4
    told[40:51] += 1.0
    told[:47] = 5.0
    told[40:47] = 6.0
    # The fifth misses slot 45: until slot 57 it has no hour without a gap.
    told[45] -= 0.0 if told[45] < 5 else 1.0
    told[47:57] += 1.0
    told[57:] += 0.5
    np.testing.assert_allclose(prediction.peak, told, atol=1e-6)
    assert prediction.n_cold == 47 * 5 - 1 + 11 + 10 + (47 - 47)


def test_the_quantile_by_hand() -> None:
    class Told:
        def __call__(
            self,
            task: np.ndarray,
            slot: np.ndarray,
            usage: np.ndarray,
        ) -> tuple[np.ndarray, np.ndarray]:
            mean, deviation = np.full((2, len(task), 2), np.nan)
            mean[:2] = [[0.1, 0.3], [0.2, 0.1]]
            deviation[:2] = [[0.05, 0.0], [0.12, 0.0]]
            return mean, deviation

    z = NormalDist().inv_cdf(0.95)
    three = replace(block(np.full((3, 1), 0.1), limit=0.4), pools={"x": Told()})
    prediction = parse_policy("forecast:by=x,rho=0.05").predict(three)
    # Slots of .3 ± .13 and .4 ± 0; the third task counts its limit.
    assert prediction.peak.tolist() == pytest.approx([max(0.3 + z * 0.13, 0.4) + 0.4])
    assert prediction.n_cold == 1
    # At most the limits of both.
    assert parse_policy("forecast:by=x,rho=0.000001").predict(three).peak.tolist() == pytest.approx(
        [0.8 + 0.4]
    )


def test_a_rhythm_of_the_day_is_told_before_it_comes() -> None:
    slots = np.arange(3 * DAY)
    time_of_day = 2 * np.pi * slots / DAY
    phases = np.arange(4)[:, None] / 4
    usage = 0.3 + 0.2 * np.sin(time_of_day + phases)
    machine = block(usage)
    peaks = oracle(machine, 12)
    told = {
        name: parse_policy(f"forecast:by={name}").predict(machine).peak[: len(peaks)]
        for name in NAMES
    }
    # Trained for the last time at 384 slots, where the last fifth of the hours has a day before it.
    np.testing.assert_allclose(
        told["seasonal"][384:],
        peaks[384:],
        rtol=1e-5,
    )
    late = slice(384, None)
    errors = {name: np.abs(each[late] - peaks[late]).mean() for name, each in told.items()}
    assert errors["seasonal"] < errors["autoregression"] < errors["persistence"]


@pytest.mark.parametrize("name", NAMES)
def test_the_future_changes_no_prediction(name: str) -> None:
    """What comes is replaced, or cut off: before it all predictions stay the same to the last bit."""
    usage = noisy(7, tasks=6, slots=400).value.reshape(6, 400)
    usage[2, 60:75] = usage[5, :100] = np.nan
    policy = parse_policy(f"forecast:by={name},rho=0.02")
    expected = policy.predict(block(usage)).peak
    for cut in (48, 50, 97, 191, 192, 300, 399):
        planted = usage.copy()
        ended = usage.copy()
        planted[:, cut:] = 0.9 - 0.1 * np.arange(6)[:, None]
        ended[::2, cut:] = np.nan
        for other in (planted, ended, usage[:, :cut]):
            np.testing.assert_array_equal(policy.predict(block(other)).peak[:cut], expected[:cut])
    assert (expected[100:] < 0.9 * 6).all()


def test_intervals_hold_in_as_many_slots_as_they_say() -> None:
    """Autoregressive noise around levels: the next slot's sum lies above the quantile of 10 % in about 10 %."""
    usage = noisy(8, tasks=20, slots=2000).value.reshape(20, 2000)
    machine = block(usage)
    for name in NAMES:
        mean, deviation = FORECASTS[name](
            machine.all.task,
            machine.all.slot,
            machine.all.usage,
        )
        high = machine.all.sums(mean[:, 0]) + 1.2816 * np.sqrt(
            machine.all.sums(deviation[:, 0] ** 2)
        )
        above = usage.sum(axis=0)[801:] > high[800:-1]
        assert above.mean() == pytest.approx(0.1, abs=0.03), name


def test_forecasts_of_a_store(
    cell: Path,  # noqa: F811
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = str(tmp_path / "model.npz")
    FORECAST.run(
        cell,
        forecasters=("boosting", "seasonal"),
        folds=1,
        save=path,
    )
    policies = [
        f"--policy=forecast:by={name}" for name in ("boosting", "seasonal", "autoregression")
    ]
    with pytest.raises(SystemExit) as caught:
        main(
            [
                "overcommit",
                str(cell),
                *policies,
                "--resource=cpu",
                "--horizon=1h",
                f"--model={path}",
                "--json",
            ]
        )
    printed = capsys.readouterr()
    assert caught.value.code == 0, printed.err
    rows = {row["policy"]: row for row in json.loads(printed.out)["rows"]}
    cold = {
        name: rows[f"forecast:by={name},rho=0.01"]["cold"]
        for name in ("boosting", "seasonal", "autoregression")
    }
    # 192 slots: what was saved knows 96 of them, and tells from the end of the last of these on.
    assert cold["boosting"] == cold["seasonal"] == pytest.approx(95 / 192)
    # Six tasks have 150 examples by slot 48.
    assert cold["autoregression"] == pytest.approx(47 / 192)
    assert all(row["savings"] > 0.2 for row in rows.values())
    with pytest.raises(SystemExit) as caught:
        main(
            [
                "overcommit",
                str(cell),
                "--policy=forecast",
                "--resource=cpu",
                "--explain=1",
                "--at=10h",
                "--json",
            ]
        )
    terms = {row["term"]: row["value"] for row in json.loads(capsys.readouterr().out)}
    assert 0 < terms["predicted peak"] < terms["sum of the limits"]


def test_a_forecaster_that_nobody_handed_over_is_refused(cell: Path) -> None:  # noqa: F811
    asked = {"policies": ("forecast:by=boosting",), "resources": ("cpu",)}
    with pytest.raises(UsageError) as caught:
        replace(REPLAY, forecasts=walks).run(cell, **asked)
    expected = "persistence or seasonal or autoregression"
    assert str(caught.value) == f"--policy: no such forecaster: expected {expected}, got boosting"
    with pytest.raises(UsageError) as caught:
        replace(REPLAY, forecasts=walks).run(cell, policies=("forecast",), is_literal=True)
    assert "got forecast:by=seasonal,rho=0.01; leave out" in str(caught.value)
