"""The advice: a walk-forward by hand, and cells with a planted rhythm on which it keeps what is asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from borgtrace.overcommit import MachineBlock, Samples, parse_policy
from borgtrace.overcommit.advice import ADVICE, daily, walk
from borgtrace.overcommit.metrics import scores
from borgtrace.overcommit.policies import PeakPolicy
from tests.cli.test_compact import store

DAY = 288


def machine(seed: int, days: int, spread: float = 0.15) -> MachineBlock:
    """Twenty tasks of limit .1 for some days: a rhythm of the day, and noise that is remembered from slot to slot."""
    draw = np.random.default_rng(seed)
    n_slots = days * DAY
    clock = 1 + 0.4 * np.sin(2 * np.pi * np.arange(n_slots) / DAY)
    noise = np.zeros((20, n_slots))
    shocks = draw.normal(0, spread, (20, n_slots))
    for slot in range(1, n_slots):
        noise[:, slot] = 0.9 * noise[:, slot - 1] + np.sqrt(1 - 0.81) * shocks[:, slot]
    usage = np.clip(0.04 * clock * (1 + noise), 0, 0.1).ravel()
    task = np.repeat(np.arange(20), n_slots)
    slot = np.tile(np.arange(n_slots), 20)
    samples = Samples(task, slot, usage, np.full(len(task), 0.1))
    known = np.ones(len(task), np.bool_)
    return MachineBlock(
        samples, known, np.zeros(len(task), np.int64), np.arange(20), n_slots, np.ones(n_slots)
    )


def by_hand(instants: int) -> tuple[list[PeakPolicy], np.ndarray]:
    """Two machines, three policies, four days of as many instants."""
    policies = [parse_policy(text) for text in ("limit", "borg:phi=0.9", "borg:phi=0.5")]
    found = np.zeros((2, 3, 4, 4))
    found[..., 0] = instants
    found[..., 2] = 100
    for k, phi in enumerate((1.0, 0.9, 0.5)):
        found[:, k, :, 3] = 100 * phi
    return policies, found


def test_a_walk_by_hand() -> None:
    """The horizon is an hour, so that a day is known late; 3,600 instants are 300 trials, just enough for 1 %."""
    policies, found = by_hand(1_800)
    # The second policy fails on day 1, and from then on no interval of it is within 1 %; the third fails always.
    found[0, 1, 1, 1] = 360
    found[:, 2, :, 1] = 900
    rows = walk(found, policies, 12, 0.01)
    # Day 2 knows day 0 alone: the instants of day 1 reach into it.
    assert [(row["day"], row["policy"], row["rate"], row["is_kept"]) for row in rows] == [
        (2, "borg:phi=0.9", 0.0, True),
        (3, "limit", 0.0, True),
    ]
    assert [row["savings"] for row in rows] == pytest.approx([0.1, 0.0])
    assert (rows[0]["learned"], rows[0]["learned_high"]) == (0.0, pytest.approx(0.01))


def test_no_violation_in_too_few_trials_is_no_promise() -> None:
    """One instant less, and the second policy could violate more than 1 %: 3 x 12 / 3,599 = .010003."""
    policies, found = by_hand(1_800)
    found[0, :, 0, 0] -= 1
    assert walk(found, policies, 12, 0.01)[0]["policy"] == "limit"


def test_the_limits_alone_are_advised_where_nothing_else_is_asked_for() -> None:
    policies, found = by_hand(10)
    first, _ = walk(found[:, :1], policies[:1], 12, 0.01)
    # 20 instants are fewer than two trials: any rate may go unseen, and none is above 1.
    assert (first["policy"], first["learned"], first["learned_high"], first["rate_high"]) == (
        "limit",
        0.0,
        1.0,
        1.0,
    )


@pytest.mark.parametrize(("violations", "is_kept"), [(36, True), (37, False)])
def test_a_rate_that_is_the_target_keeps_it(violations: int, *, is_kept: bool) -> None:
    policies, found = by_hand(1_800)
    found[0, 2, 2, 1] = violations
    row = walk(found, policies, 12, 0.01)[0]
    assert (row["policy"], row["rate"], row["is_kept"]) == (
        "borg:phi=0.5",
        violations / 3_600,
        is_kept,
    )


def test_a_day_without_instants_teaches_nothing_and_is_not_judged() -> None:
    policies, found = by_hand(1_800)
    found[:, :, 3] = 0
    assert [row["day"] for row in walk(found, policies, 12, 0.01)] == [2]
    policies, found = by_hand(1_800)
    found[:, :, 0] = 0
    assert [row["day"] for row in walk(found, policies, 12, 0.01)] == [3]


def test_the_advice_on_a_store(tmp_path: Path) -> None:
    """A task of limit .5 uses .1 in ten slots of the first day, and .4 in three of the third."""
    second = 10**6
    day = 86_400
    begins = [600 + 300 * slot for slot in range(10)] + [
        600 + 2 * day + 300 * slot for slot in range(3)
    ]
    used = [0.1] * 10 + [0.4] * 3
    usage = [
        f"{begin * second},{(begin + 300) * second},1,0,1,{value},0.1,{','.join('0' * 12)},0"
        for begin, value in zip(begins, used, strict=True)
    ]
    events = [
        f"{600 * second},,1,0,{where},{kind},u,1,9,0.5,0.5,0,0" for kind, where in ((0, ""), (1, 1))
    ]
    events.append(f"{(600 + 2 * day + 900) * second},,1,0,1,4,u,1,9,0.5,0.5,0,0")
    cell = store(
        tmp_path, machine_events=["0,1,0,PLATFORM,1,1"], task_events=events, task_usage=usage
    )
    asked = {
        "policies": ("limit", "borg:phi=0.5"),
        "resources": ("cpu",),
        "horizon": 300 * second,
        "target": 0.5,
    }
    (row,) = ADVICE.run(cell, **asked).table.to_pylist()
    # Slots between two windows are not measured: nothing is used in them, and the limits are promised all the same.
    assert (row["day"], row["policy"], row["learned"]) == (2, "borg:phi=0.5", 0.0)
    # .4 is more than the half that is promised, after each of the two slots that have one after them.
    assert (row["instants"], row["rate"], row["savings"], row["is_kept"]) == (
        2,
        1.0,
        pytest.approx(0.5),
        False,
    )


@pytest.fixture(scope="module")
def cell() -> list[MachineBlock]:
    return [machine(seed, 6) for seed in range(6)]


def test_savings_and_violations_grow_together_along_a_family(cell: list[MachineBlock]) -> None:
    for family in ("nsigma:history=1d,n={}", "gpa:history=1d,rho={}", "borg:phi={}"):
        steps = {
            "nsigma": (5, 3, 2, 1, 0.5),
            "gpa": (1e-6, 1e-3, 0.01, 0.1),
            "borg": (0.9, 0.7, 0.6, 0.5),
        }
        policies = [parse_policy(family.format(value)) for value in steps[family.partition(":")[0]]]
        found = sum(
            np.array(
                [
                    (score["violations"], score["limit"] - score["peak"])
                    for score in scores(
                        block, DAY // 2, [policy.predict(block) for policy in policies]
                    )
                ]
            )
            for block in cell
        )
        assert (np.diff(found, axis=0) >= 0).all(), family
        assert found[-1, 0] > found[0, 0]


@pytest.mark.parametrize("target", [0.02, 0.1])
def test_the_advice_keeps_the_rate_on_the_following_days(cell: list[MachineBlock], target: float) -> None:
    texts = [
        "limit",
        *(f"borg:phi={phi}" for phi in (0.5, 0.55, 0.6, 0.65, 0.7, 0.8)),
        "gpa:history=1d",
        "average",
    ]
    policies = [parse_policy(text) for text in texts]
    # Six machines for a day are 288 trials of half an hour: a rate of .0104 can be told from 0.
    horizon = 6
    found = np.stack(
        [daily(block, horizon, [policy.predict(block) for policy in policies]) for block in cell]
    )
    rows = walk(found, policies, horizon, target)
    assert [row["day"] for row in rows] == [2, 3, 4, 5]
    instants = np.array([row["instants"] for row in rows])
    rate = (np.array([row["rate"] for row in rows]) * instants).sum() / instants.sum()
    assert rate <= target
    # It does not keep it by promising nothing: the rhythm leaves a third of the limits.
    assert min(row["savings"] for row in rows) > 0.25
    assert all(row["rate_low"] <= row["rate"] <= row["rate_high"] for row in rows)
