"""The advice: a walk-forward by hand, and cells with a planted rhythm on which it keeps what is asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from borgtrace.overcommit import MachineBlock, Samples, parse_policy
from borgtrace.overcommit.advice import ADVICE, rows_of_periods
from borgtrace.overcommit.metrics import scores
from borgtrace.overcommit.policies import PeakPolicy
from borgtrace.overcommit.walk_forward import SUMS, sum_by_period
from tests.cli.test_compact import store
from tests.overcommit.rows import assert_row

DAY = 288


def machine(
    seed: int,
    days: int,
    spread: float = 0.15,
) -> MachineBlock:
    """Twenty tasks of limit .1 for some days: a rhythm of the day, and noise that is remembered from slot to slot."""
    draw = np.random.default_rng(seed)
    n_slots = days * DAY
    clock = 1 + 0.4 * np.sin(2 * np.pi * np.arange(n_slots) / DAY)
    noise = np.zeros((20, n_slots))
    shocks = draw.normal(0, spread, (20, n_slots))
    for slot in range(1, n_slots):
        remembered = 0.9 * noise[:, slot - 1]
        noise[:, slot] = remembered + np.sqrt(1 - 0.81) * shocks[:, slot]
    usage = np.clip(0.04 * clock * (1 + noise), 0, 0.1).ravel()
    task = np.repeat(np.arange(20), n_slots)
    slot = np.tile(np.arange(n_slots), 20)
    return MachineBlock(
        all=Samples(
            task,
            slot,
            usage,
            np.full(len(task), 0.1),
        ),
        is_known=np.ones(len(task), np.bool_),
        priority=np.zeros(len(task), np.int64),
        identity=np.arange(20),
        n_slots=n_slots,
        capacity=np.ones(n_slots),
    )


def by_hand(instants: int) -> tuple[list[PeakPolicy], np.ndarray]:
    """Two machines, three policies, four days of as many instants."""
    policies = [parse_policy(text) for text in ("limit", "borg:phi=0.9", "borg:phi=0.5")]
    sums = np.zeros((2, 3, 4), SUMS)
    sums["instants"] = instants
    sums["limit"] = 100
    for k, phi in enumerate((1.0, 0.9, 0.5)):
        sums["peak"][:, k] = 100 * phi
    return policies, sums


def test_a_walk_by_hand() -> None:
    """The horizon is an hour, so that a day is known late; 3,600 instants are 300 trials, just enough for 1 %."""
    policies, sums = by_hand(1_800)
    # The second policy fails on day 1, and from then on no interval of it is within 1 %; the third fails always.
    sums["violations"][0, 1, 1] = 360
    sums["violations"][:, 2] = 900
    first, second = rows_of_periods(sums, policies, 12, 0.01)
    # Day 2 knows day 0 alone: the instants of day 1 reach into it.
    assert (first["day"], first["policy"]) == (2, "borg:phi=0.9")
    assert (first["rate"], first["is_kept"]) == (0.0, True)
    assert (second["day"], second["policy"]) == (3, "limit")
    assert (second["rate"], second["is_kept"]) == (0.0, True)
    assert first["savings"] == pytest.approx(0.1)
    assert second["savings"] == pytest.approx(0.0)
    assert_row(
        first,
        learned=0.0,
        learned_high=pytest.approx(0.01),
    )


def test_no_violation_in_too_few_trials_is_no_promise() -> None:
    """One instant less, and the second policy could violate more than 1 %: 3 x 12 / 3,599 = .010003."""
    policies, sums = by_hand(1_800)
    sums["instants"][0, :, 0] -= 1
    assert rows_of_periods(sums, policies, 12, 0.01)[0]["policy"] == "limit"


def test_the_limits_alone_are_advised_where_nothing_else_is_asked_for() -> None:
    policies, sums = by_hand(10)
    first, _ = rows_of_periods(
        sums[:, :1],
        policies[:1],
        12,
        0.01,
    )
    # 20 instants are fewer than two trials: any rate may go unseen, and none is above 1.
    assert_row(
        first,
        policy="limit",
        learned=0.0,
        learned_high=1.0,
        rate_high=1.0,
    )


@pytest.mark.parametrize(
    ("violations", "rate", "is_kept"),
    [
        # 3 x 12 / 3,600: three hundred trials without a violation keep 1 %.
        ((0, 0), 0.0, True),
        # On one of two machines: Student's t of one degree of freedom reaches from below 0 to above .1.
        ((36, 0), 0.01, None),
        # Both alike: no spread, so that the interval is the rate.
        ((18, 18), 0.01, True),
        ((19, 19), 19 / 1_800, False),
    ],
)
def test_a_day_keeps_the_target_by_its_interval(
    violations: tuple[int, int], rate: float, *, is_kept: bool | None
) -> None:
    policies, sums = by_hand(1_800)
    sums["violations"][:, 2, 2] = violations
    row = rows_of_periods(sums, policies, 12, 0.01)[0]
    assert_row(
        row,
        policy="borg:phi=0.5",
        rate=pytest.approx(rate),
        is_kept=is_kept,
    )


def test_where_even_the_limits_are_exceeded_nothing_is_advised() -> None:
    """Usage above its limit is seen with --uncapped."""
    policies, sums = by_hand(1_800)
    sums["violations"][0, :, 0] = 1
    first, second = rows_of_periods(sums, policies, 12, 0.0001)
    unknown = ("policy", "learned", "learned_high", "rate", "rate_low", "rate_high", "savings")
    for row in (first, second):
        assert {row[name] for name in (*unknown, "is_kept")} == {None}
        assert row["instants"] == 3_600
    # Exceeded within the target, they keep it as any policy does: 1 % ± 12.7062 x 36 / 3,600.
    sums["violations"][0, :, 0] = 36
    (first, _) = rows_of_periods(sums, policies, 12, 0.14)
    assert first["policy"] == "borg:phi=0.5"
    assert first["learned_high"] <= 0.14


def test_a_day_without_instants_teaches_nothing_and_is_not_judged() -> None:
    for empty_day, judged_day in ((3, 2), (0, 3)):
        policies, sums = by_hand(1_800)
        sums[:, :, empty_day] = 0
        (row,) = rows_of_periods(sums, policies, 12, 0.01)
        assert row["day"] == judged_day


def test_the_advice_on_a_store(tmp_path: Path) -> None:
    """A task of limit .5 uses .1 in ten slots of the first day, and .4 in three of the third."""
    second = 10**6
    day = 86_400
    zeros = ",".join("0" * 12)

    def window(begin: int, cpu: float) -> str:
        return f"{begin * second},{(begin + 300) * second},1,0,1,{cpu},0.1,{zeros},0"

    def event(
        time: int,
        machine: int | str,
        kind: int,
    ) -> str:
        return f"{time * second},,1,0,{machine},{kind},u,1,9,0.5,0.5,0,0"

    third_day = 600 + 2 * day
    usage = [window(600 + 300 * slot, 0.1) for slot in range(10)]
    usage += [window(third_day + 300 * slot, 0.4) for slot in range(3)]
    cell = store(
        tmp_path,
        machine_events=["0,1,0,PLATFORM,1,1"],
        task_events=[
            event(600, "", 0),
            event(600, 1, 1),
            event(third_day + 900, 1, 4),
        ],
        task_usage=usage,
    )
    result = ADVICE.run(
        cell,
        policies=("limit", "borg:phi=0.5"),
        resources=("cpu",),
        horizon=300 * second,
        target=0.5,
    )
    (row,) = result.table.to_pylist()
    # Slots between two windows are not measured: nothing is used in them, and the limits are promised all the same.
    assert_row(
        row,
        day=2,
        policy="borg:phi=0.5",
        learned=0.0,
    )
    # .4 is more than the half that is promised, after each of the two slots that have one after them.
    assert_row(
        row,
        instants=2,
        rate=1.0,
        savings=pytest.approx(0.5),
        is_kept=None,
    )


@pytest.fixture(scope="module")
def cell() -> list[MachineBlock]:
    return [machine(seed, 6) for seed in range(6)]


@pytest.mark.parametrize(
    "family",
    [
        [f"nsigma:history=1d,n={n}" for n in (5, 3, 2, 1, 0.5)],
        [f"gpa:history=1d,rho={rho}" for rho in (1e-6, 1e-3, 0.01, 0.1)],
        [f"borg:phi={phi}" for phi in (0.9, 0.7, 0.6, 0.5)],
    ],
)
def test_savings_and_violations_grow_together_along_a_family(
    cell: list[MachineBlock], family: list[str]
) -> None:
    policies = [parse_policy(text) for text in family]
    violations = np.zeros(len(family))
    saved = np.zeros(len(family))
    for block in cell:
        predictions = [policy.predict(block) for policy in policies]
        judged = scores(block, DAY // 2, predictions)
        violations += judged["violations"]
        saved += judged["limit"] - judged["peak"]
    assert (np.diff(violations) >= 0).all()
    assert (np.diff(saved) >= 0).all()
    assert violations[-1] > violations[0]


@pytest.mark.parametrize("target", [0.02, 0.1])
def test_the_advice_keeps_the_rate_on_the_following_days(
    cell: list[MachineBlock], target: float
) -> None:
    texts = ["limit", "gpa:history=1d", "average"]
    texts += [f"borg:phi={phi}" for phi in (0.5, 0.55, 0.6, 0.65, 0.7, 0.8)]
    policies = [parse_policy(text) for text in texts]
    # Six machines for a day are 288 trials of half an hour: a rate of .0104 can be told from 0.
    horizon = 6
    sums = []
    for block in cell:
        predictions = [policy.predict(block) for policy in policies]
        sums.append(
            sum_by_period(
                block,
                horizon,
                predictions,
                slots_per_period=DAY,
            )
        )
    rows = rows_of_periods(
        np.stack(sums),
        policies,
        horizon,
        target,
    )
    assert [row["day"] for row in rows] == [2, 3, 4, 5]
    violations = sum(row["rate"] * row["instants"] for row in rows)
    instants = sum(row["instants"] for row in rows)
    assert violations / instants <= target
    for row in rows:
        # It does not keep it by promising nothing: the rhythm leaves a third of the limits.
        assert row["savings"] > 0.25
        assert row["rate_low"] <= row["rate"] <= row["rate_high"]
