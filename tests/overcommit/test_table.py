"""Rows of the table by hand: intervals, the front, and what the claims read."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

from borgtrace.errors import UsageError
from borgtrace.overcommit import REPLAY, parse_policy
from borgtrace.overcommit.metrics import SCORE, is_short
from borgtrace.overcommit.metrics import scores as scores_of
from borgtrace.overcommit.priorities import priorities
from borgtrace.overcommit.replay import ReplayInput, ReplayPart
from borgtrace.overcommit.study import ReplayOptions, _by_tasks, _nothing, sample
from borgtrace.overcommit.table import ratio, rows_of
from borgtrace.question import NotApplicable
from borgtrace.schema.dialects import dialect as find_dialect
from tests.overcommit.plain import Machine

ALL = {
    "resource": "cpu",
    "tasks": "all",
    "shape": "all",
    "horizon": 12,
}


@pytest.mark.parametrize(
    ("parts", "wholes", "found", "error"),
    [
        # Residuals −1 and 1: √(2/1 · 2) / 4 = .5, times Student's 12.706.
        ((1, 3), (2, 2), 1.0, 0.5 * 12.7062),
        # Residuals −1, 0 and 1: √(3/2 · 2) / 6, times 4.3027.
        ((0, 1, 2), (2, 2, 2), 0.5, 3**0.5 / 6 * 4.30265),
        # The wholes vary too: 4/8, residuals 1, −1 and 0 in 2, 4 and 2.
        ((2, 1, 1), (2, 4, 2), 0.5, 3**0.5 / 8 * 4.30265),
    ],
)
def test_the_interval_of_a_ratio(
    parts: tuple[int], wholes: tuple[int], found: float, error: float
) -> None:
    expected = (found, found - error, found + error)
    assert ratio(np.array(parts), np.array(wholes)) == pytest.approx(expected, rel=1e-4)


def test_a_ratio_without_an_interval_or_without_anything() -> None:
    assert ratio(np.array([1]), np.array([4])) == (0.25, None, None)
    assert ratio(np.array([0, 0]), np.array([0, 0])) == (None, None, None)


def test_policies_of_high_priority_are_judged_on_that_alone() -> None:
    limit = parse_policy("limit")
    batch = parse_policy("koordinator-batch")
    assert _by_tasks(("all", "high"), [limit, batch]) == {"all": [limit], "high": [limit, batch]}
    assert _by_tasks(("all",), [limit, batch]) == {"all": [limit], "high": [batch]}
    assert _by_tasks(("all",), [batch]) == {"high": [batch]}


@pytest.mark.parametrize("target", [0.0, 1.0])
def test_a_target_is_a_rate_above_0_and_below_1(target: float) -> None:
    with pytest.raises(UsageError) as caught:
        ReplayOptions(target=target)
    assert (
        str(caught.value) == f"--target: not a rate: expected above 0 and below 1, got {target:g}"
    )


def scores(*machines: tuple[int, int, float, float]) -> np.ndarray:
    """Instants, violations, Σ limits and Σ predictions of machines."""
    found = np.zeros((len(machines), 1), SCORE)
    for score, values in zip(found[:, 0], machines, strict=True):
        for name, value in zip(("instants", "violations", "limit", "peak"), values, strict=True):
            score[name] = value
        score["severities"][0] = values[0] - values[1]
        score["severities"][250] = values[1]
    return found


def test_machines_without_judged_slots_do_not_count() -> None:
    policy = [parse_policy("nsigma:history=10h")]
    (row,) = rows_of(scores((10, 1, 10, 5), (0, 0, 0, 0), (10, 3, 10, 7)), policy, ALL)
    assert (row["machines"], row["instants"], row["rate"], row["savings"]) == (
        2,
        20,
        0.2,
        pytest.approx(0.4),
    )
    # Rates of .1 and .3; an interval never leaves 0 to 1.
    assert (row["rate_p50"], row["rate_p90"], row["rate_worst"]) == pytest.approx((0.2, 0.28, 0.3))
    assert (row["rate_low"], row["rate_high"]) == (0.0, 1.0)
    assert (row["usable"], row["history"], row["horizon"]) == (pytest.approx(8 / 12), 10.0, 1.0)
    assert (row["family"], row["kills"], row["severity_p99"]) == ("nsigma", None, 0.25)
    assert rows_of(scores((0, 0, 0, 0)), policy, ALL) == []
    # One judged slot is enough.
    assert rows_of(scores((1, 0, 1, 1)), policy, ALL)[0]["machines"] == 1


def test_a_single_violation_has_a_severity() -> None:
    found = scores((10, 1, 0.5, 0.25))
    found["severity"] = 0.25
    found["excess"] = 0.125
    found["over"] = 1
    (row,) = rows_of(found, [parse_policy("limit")], ALL)
    assert (row["severity_given"], row["excess"], row["savings"], row["usable"]) == (
        0.25,
        0.125,
        0.5,
        1.0,
    )
    (row,) = rows_of(scores((10, 0, 0, 0)), [parse_policy("limit")], ALL)
    assert [row[name] for name in ("severity_given", "excess", "savings", "usable")] == [None] * 4


def test_shares_of_samples_and_days() -> None:
    found = scores((10, 1, 10, 5), (10, 3, 10, 7))
    found["samples"] = [[6], [10]]
    found["cold"] = [[1], [3]]
    found["kills"] = 2
    found["pairs"] = 9
    found["changes"] = 3
    (row,) = rows_of(found, [parse_policy("limit")], {**ALL, "resource": "memory"})
    assert (row["cold"], row["kills"], row["changes"]) == (4 / 16, 288 * 4 / 16, 288 * 6 / 18)


def test_what_is_above_a_prediction_is_told_as_a_share_of_the_machine() -> None:
    block = Machine({0: {0: (0.1, 0.5)}, 1: {0: (0.4, 0.5)}}, 2).block()
    half = replace(block, capacity=np.full(2, 0.5))
    # Half of the limit is promised, .4 is used in the only slot that is judged: .15 of .5.
    (score,) = scores_of(half, 1, [parse_policy("borg:phi=0.5").predict(half)])
    assert (score["over"], score["excess"]) == (1, pytest.approx(0.3))


@pytest.mark.parametrize(
    ("trace", "tasks", "expected"),
    [
        ("2011", "all", (-1, 2**31)),
        ("2011", "other", (2, 8)),
        ("2011", "production", (9, 11)),
        ("2011", "high", (9, 2**31)),
        ("2019", "high", (116, 2**31)),
    ],
)
def test_the_priorities_of_a_choice_of_tasks(
    trace: str, tasks: str, expected: tuple[int, int]
) -> None:
    assert priorities(find_dialect(trace), tasks) == expected


def test_a_block_of_priorities_has_both_ends() -> None:
    block = Machine({0: dict.fromkeys(range(4), (0.1, 0.5))}, 1).block(
        {
            0: 1,
            1: 2,
            2: 8,
            3: 9,
        }
    )
    assert block.of_priorities(2, 8).all.task.tolist() == [1, 2]


@pytest.mark.parametrize(
    "policy",
    [
        "nsigma",
        "machine-percentile",
        "task-percentile",
        "gpa",
    ],
)
def test_samples_are_cold_until_a_task_is_warm(policy: str) -> None:
    # One task is there for five slots, another for two: three samples make it warm.
    rows = {slot: {0: (0.1, 0.5)} | ({1: (0.1, 0.25)} if slot < 2 else {}) for slot in range(5)}
    found = parse_policy(f"{policy}:history=1h,warmup=15m").predict(Machine({**rows}, 5).block())
    assert found.n_cold == 2 + 2


@pytest.mark.parametrize("is_literal", [False, True])
@pytest.mark.parametrize("is_capped", [False, True])
def test_policies_see_what_is_capped_and_what_the_simulator_remembers(
    *, is_capped: bool, is_literal: bool
) -> None:
    # A task misses slot 1: the simulator has another one in slot 2.
    block = Machine({0: {0: (0.75, 0.5)}, 2: {0: (0.25, 0.5)}}, 3).block()
    cell = ReplayInput(
        *cast(tuple[Any, Any, Any], (None, None, None)), is_capped=is_capped, is_literal=is_literal
    )
    seen = cell.seen(block).all
    assert seen.usage.tolist() == [0.5 if is_capped else 0.75, 0.25]
    assert seen.task.tolist() == ([0, 1] if is_literal else [0, 0])


def test_a_sample_has_no_machine_twice_and_a_large_one_is_all() -> None:
    for seed in range(20):
        found = sample(6, 5, seed)
        assert found == sorted(set(found))
        assert len(found) == 5
        assert set(found) <= set(range(6))
    assert sample(6, 0, 1) == sample(6, 6, 1) == sample(6, 7, 1) == [0, 1, 2, 3, 4, 5]


def test_a_replay_says_how_many_machines_are_done() -> None:
    machine = Machine({0: {0: (0.1, 0.5)}, 1: {0: (0.4, 0.5)}}, 2)
    cell = SimpleNamespace(
        usage=SimpleNamespace(folder="store"),
        dialect=find_dialect("2011"),
        block=lambda place, resource: machine.block(),
        seen=lambda block: block,
    )
    steps: list[tuple[str, int, int]] = []
    part = ReplayPart(cast(ReplayInput, cell), "all", "cpu", range(10), 1, lambda *step: steps.append(step))
    found = part.replay([parse_policy("limit")], 1)
    assert found["instants"].tolist() == [[1]] * 10
    assert steps == [("replaying cpu of all tasks", 8, 10), ("replaying cpu of all tasks", 10, 10)]


def test_the_last_metric_that_is_named_of_a_resource_is_taken() -> None:
    setting = ReplayOptions(metrics=("average_cpu", "maximum_cpu"))
    google = find_dialect("2011")
    assert [setting.metric(google, name).name for name in ("cpu", "memory")] == [
        "maximum_cpu",
        "average_memory",
    ]


def test_the_front_is_who_saves_as_much_with_fewer_violations() -> None:
    given = [
        (10, 2, 10, 5),
        (10, 2, 10, 6),
        (10, 3, 10, 5),
        (10, 1, 10, 7),
        (10, 2, 10, 5),
        (10, 0, 10, 10),
    ]
    found = np.concatenate([scores(each) for each in given], axis=1)
    rows = rows_of(found, [parse_policy("limit")] * len(given), ALL)
    # The second saves less than the first, the third violates more often; the last two are as good as any.
    assert [row["is_on_front"] for row in rows] == [True, False, False, True, True, True]
    # Without limits nothing is saved, and nothing is better than it.
    rows = rows_of(
        np.concatenate([scores((10, 0, 0, 0)), scores((10, 1, 0, 0))], axis=1),
        [parse_policy("limit")] * 2,
        ALL,
    )
    assert [(row["savings"], row["is_on_front"]) for row in rows] == [(None, True), (None, True)]


def test_only_what_is_above_rounding_is_a_violation() -> None:
    # Bounds of 1 less a ten-billionth and less a hundred-millionth.
    assert is_short(np.ones(3), np.array([1.0, 1 - 1e-10, 1 - 1e-8])).tolist() == [
        False,
        False,
        True,
    ]


def test_claims_read_their_policy_on_all_tasks_and_machines() -> None:
    usable, clipped = REPLAY.claims
    paper = "nsigma:n=5,history=2h,warmup=2h"
    other = paper + "+" + parse_policy("task-percentile").label
    base = {
        "tasks": "all",
        "shape": "all",
        "resource": "cpu",
        "usable": 9.0,
        "clipped": 9.0,
    }
    rows = [
        *(
            {
                **base,
                "policy": policy,
                **change,
            }
            for policy in (paper, other)
            for change in ({"tasks": "high"}, {"shape": "x"})
        ),
        *(
            {
                **base,
                "policy": policy,
                "resource": "memory",
            }
            for policy in (paper, other)
        ),
        {
            **base,
            "policy": paper,
            "clipped": 0.94,
        },
        {
            **base,
            "policy": other,
            "usable": 0.12,
        },
    ]
    assert (
        usable.measure(pa.Table.from_pylist(rows)),
        clipped.measure(pa.Table.from_pylist(rows)),
    ) == (0.12, 0.94)
    with pytest.raises(NotApplicable) as caught:
        clipped.measure(pa.Table.from_pylist(rows[:-2]))
    assert str(caught.value) == "the policy of the claim was not replayed"


def test_what_is_said_where_no_usage_has_a_machine_or_a_limit() -> None:
    assert _nothing({"without_machine": 2000, "without_limit": 1}) == (
        "no usage can be replayed: 2,000 windows name no machine (column machine_id) or belong to tasks of an "
        "alloc set, 1 are of tasks without requests"
    )
