"""Rows of the table by hand: intervals, the front, and what the claims read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from borgtrace.errors import UsageError
from borgtrace.lifecycle.by_machine import MachineUsage
from borgtrace.lifecycle.by_machine.row_files import MACHINE_ROW
from borgtrace.lifecycle.by_machine.terms import TERM
from borgtrace.overcommit import REPLAY, MachineBlock, ReplayInput, ReplayOptions, parse_policy
from borgtrace.overcommit.metrics import SCORE, is_short
from borgtrace.overcommit.metrics import scores as scores_of
from borgtrace.overcommit.options import policies_by_tasks
from borgtrace.overcommit.priorities import priorities
from borgtrace.overcommit.rates import ratio
from borgtrace.overcommit.replay import Capacities, ReplayPart
from borgtrace.overcommit.replay_question import sample_machines, why_nothing_can_be_replayed
from borgtrace.overcommit.table import rows_of
from borgtrace.question import NotApplicable
from borgtrace.schema.dialects import dialect as find_dialect
from tests.overcommit.plain import Machine
from tests.overcommit.rows import assert_row

ALL = {
    "resource": "cpu",
    "tasks": "all",
    "shape": "all",
    "horizon": 1.0,
}
LIMIT = [parse_policy("limit")]


@pytest.mark.parametrize(
    ("parts", "wholes", "value", "error"),
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
    parts: tuple[int],
    wholes: tuple[int],
    value: float,
    error: float,
) -> None:
    expected = (value, value - error, value + error)
    assert ratio(np.array(parts), np.array(wholes)) == pytest.approx(expected, rel=1e-4)


def test_a_ratio_without_an_interval_or_without_anything() -> None:
    assert ratio(np.array([1]), np.array([4])) == (0.25, None, None)
    assert ratio(np.array([0, 0]), np.array([0, 0])) == (None, None, None)


def test_policies_of_high_priority_are_judged_on_that_alone() -> None:
    limit = parse_policy("limit")
    batch = parse_policy("koordinator-batch")
    both = ("limit", "koordinator-batch")
    options = ReplayOptions(tasks=("all", "high"), policies=both)
    assert policies_by_tasks(options) == {"all": [limit], "high": [limit, batch]}
    options = ReplayOptions(policies=both)
    assert policies_by_tasks(options) == {"all": [limit], "high": [batch]}
    options = ReplayOptions(policies=("koordinator-batch",))
    assert policies_by_tasks(options) == {"high": [batch]}


@pytest.mark.parametrize("target", [0.0, 1.0])
def test_a_target_is_a_rate_above_0_and_below_1(target: float) -> None:
    with pytest.raises(UsageError) as caught:
        ReplayOptions(target=target)
    expected = f"--target: out of range: expected above 0 and below 1, got {target:g}"
    assert str(caught.value) == expected


def scores(*machines: tuple[int, int, float, float]) -> np.ndarray:
    """Instants, violations, Σ limits and Σ predictions of machines."""
    out = np.zeros((len(machines), 1), SCORE)
    for score, (instants, violations, limit, peak) in zip(out[:, 0], machines, strict=True):
        score["instants"] = instants
        score["violations"] = violations
        score["limit"] = limit
        score["peak"] = peak
        score["severities"][0] = instants - violations
        score["severities"][250] = violations
    return out


def test_machines_without_judged_slots_do_not_count() -> None:
    policy = [parse_policy("nsigma:history=10h")]
    (row,) = rows_of(
        scores(
            (10, 1, 10, 5),
            (0, 0, 0, 0),
            (10, 3, 10, 7),
        ),
        policy,
        ALL,
    )
    assert_row(
        row,
        machines=2,
        instants=20,
        rate=0.2,
        savings=pytest.approx(0.4),
    )
    # Rates of .1 and .3; an interval never leaves 0 to 1.
    assert_row(
        row,
        rate_p50=pytest.approx(0.2),
        rate_p90=pytest.approx(0.28),
        rate_worst=pytest.approx(0.3),
        rate_low=0.0,
        rate_high=1.0,
        usable=pytest.approx(8 / 12),
        history=10.0,
        horizon=1.0,
        family="nsigma",
        kills=None,
        severity_p99=0.25,
    )
    assert rows_of(scores((0, 0, 0, 0)), policy, ALL) == []
    # One judged slot is enough.
    assert rows_of(scores((1, 0, 1, 1)), policy, ALL)[0]["machines"] == 1


def test_a_single_violation_has_a_severity() -> None:
    of_one = scores((10, 1, 0.5, 0.25))
    of_one["severity"] = 0.25
    of_one["excess"] = 0.125
    of_one["over"] = 1
    (row,) = rows_of(of_one, LIMIT, ALL)
    assert_row(
        row,
        severity_given=0.25,
        excess=0.125,
        savings=0.5,
        usable=1.0,
    )
    (row,) = rows_of(scores((10, 0, 0, 0)), LIMIT, ALL)
    for name in ("severity_given", "excess", "savings", "usable"):
        assert row[name] is None


def test_shares_of_samples_and_days() -> None:
    of_two = scores((10, 1, 10, 5), (10, 3, 10, 7))
    of_two["samples"] = [[6], [10]]
    of_two["cold"] = [[1], [3]]
    of_two["kills"] = 2
    of_two["judged_samples"] = [[4], [4]]
    of_two["pairs"] = 9
    of_two["changes"] = 3
    (row,) = rows_of(of_two, LIMIT, {**ALL, "resource": "memory"})
    assert_row(
        row,
        cold=4 / 16,
        kills=288 * 4 / 8,
        changes=288 * 6 / 18,
    )


def test_what_is_above_a_prediction_is_told_as_a_share_of_the_machine() -> None:
    block = Machine({0: {0: (0.1, 0.5)}, 1: {0: (0.4, 0.5)}}, 2).block()
    half = replace(block, capacity=np.full(2, 0.5))
    # Half of the limit is promised, .4 is used in the only slot that is judged: .15 of .5.
    (score,) = scores_of(half, 1, [parse_policy("borg:phi=0.5").predict(half)])
    assert_row(
        score,
        over=1,
        excess=pytest.approx(0.3),
    )


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
    trace: str,
    tasks: str,
    expected: tuple[int, int],
) -> None:
    assert priorities(find_dialect(trace), tasks) == expected


def test_a_block_of_priorities_has_both_ends() -> None:
    machine = Machine({0: dict.fromkeys(range(4), (0.1, 0.5))}, 1)
    block = machine.block(
        priority={
            0: 1,
            1: 2,
            2: 8,
            3: 9,
        }
    )
    assert block.of_priorities(2, 8).all.task.tolist() == [1, 2]


@pytest.mark.parametrize("policy", ["nsigma", "machine-percentile", "task-percentile", "gpa"])
def test_samples_are_cold_until_a_task_is_warm(policy: str) -> None:
    # One task is there for five slots, another for two: three samples make it warm.
    samples = {slot: {0: (0.1, 0.5)} for slot in range(5)}
    samples[0][1] = (0.1, 0.25)
    samples[1][1] = (0.1, 0.25)
    block = Machine({**samples}, 5).block()
    prediction = parse_policy(f"{policy}:history=1h,warmup=15m").predict(block)
    assert prediction.n_cold == 2 + 2


@dataclass(frozen=True, eq=False)
class EqualMachines(ReplayInput):
    """Machines that are all alike, of a store that is nowhere."""

    def block(self, place: int, resource: str) -> MachineBlock:
        return Machine({0: {0: (0.1, 0.5)}, 1: {0: (0.4, 0.5)}}, 2).block()


def equal_machines(**options: Any) -> EqualMachines:
    no_times = np.empty(0, np.int64)
    no_numbers = np.empty(0)
    return EqualMachines(
        usage=MachineUsage(Path("store")),
        capacities=Capacities(no_times, no_times, no_numbers, no_numbers, no_times == 0),
        dialect=find_dialect("2011"),
        **options,
    )


@pytest.mark.parametrize("is_literal", [False, True])
@pytest.mark.parametrize("is_capped", [False, True])
def test_policies_see_what_is_capped_and_what_the_simulator_remembers(
    *, is_capped: bool, is_literal: bool
) -> None:
    # A task misses slot 1, in which nothing ran: the simulator has no such slot.
    block = Machine({0: {0: (0.75, 0.5)}, 2: {0: (0.25, 0.5)}}, 3).block()
    replay_input = equal_machines(is_capped=is_capped, is_literal=is_literal)
    seen = replay_input.as_seen(block).all
    assert seen.usage.tolist() == [0.5 if is_capped else 0.75, 0.25]
    assert seen.task.tolist() == [0, 0]
    # Beside another task, which keeps slot 1 in the simulator, the first one is a new one after it.
    block = Machine(
        {0: {0: (0.75, 0.5)}, 1: {1: (0.25, 0.5)}, 2: {0: (0.25, 0.5)}},
        3,
    ).block({0: 9, 1: 0})
    assert replay_input.as_seen(block).all.task.tolist() == ([0, 1, 2] if is_literal else [0, 0, 1])
    # The other one is not there where only its priority is left out.
    alone = replay_input.as_seen(block.of_priorities(9, 9)).all
    assert alone.task.tolist() == [0, 0]
    assert alone.slot.tolist() == ([0, 1] if is_literal else [0, 2])


class RowsOfOneMachine(MachineUsage):
    """A task whose limit falls from .5 to .25 within slot 1, as Google's simulator has it; slot 3 has no value."""

    @property
    def facts(self) -> dict[str, int]:  # type: ignore[override]
        return {"n_slots": 4}

    @property
    def machines(self) -> np.ndarray:
        return np.array([7])

    @property
    def terms(self) -> np.ndarray:  # type: ignore[override]
        return np.array([(0, 0, 0.5, 0.5, 9), (0, 1, 0.25, 0.5, 9)], TERM)

    def rows(self, place: int) -> np.ndarray:
        rows = [(0, 1, 0.2, 0.1), (1, 1, 0.3, 0.1), (1, 3, np.nan, 0.1)]
        return np.array(rows, MACHINE_ROW)


def test_the_simulators_slots_have_the_largest_usage_and_limit_and_zero_for_none() -> None:
    replay_input = replace(equal_machines(is_literal=True), usage=RowsOfOneMachine(Path("store")))
    block = ReplayInput.block(replay_input, 0, "cpu")
    assert block.all.slot.tolist() == [1, 3]
    assert block.all.usage.tolist() == pytest.approx([0.3, 0.0])
    assert block.all.limit.tolist() == [0.5, 0.25]
    assert block.is_known.all()
    assert block.priority.tolist() == [9, 9]
    assert block.is_literal


def test_a_sample_has_no_machine_twice_and_a_large_one_is_all() -> None:
    for seed in range(20):
        places = sample_machines(6, 5, seed)
        assert places == sorted(set(places))
        assert len(places) == 5
        assert set(places) <= set(range(6))
    for size in (0, 6, 7):
        assert sample_machines(6, size, 1) == [0, 1, 2, 3, 4, 5]


def test_a_replay_says_how_many_machines_are_done() -> None:
    steps: list[tuple[str, int, int]] = []
    part = ReplayPart(
        input=equal_machines(),
        tasks="all",
        resource="cpu",
        places=range(10),
        jobs=1,
        report=lambda *step: steps.append(step),
    )
    judged = part.replay(LIMIT, 1)
    assert judged["instants"].tolist() == [[1]] * 10
    assert steps == [("replaying cpu of all tasks", 8, 10), ("replaying cpu of all tasks", 10, 10)]


def test_the_last_metric_that_is_named_of_a_resource_is_taken() -> None:
    options = ReplayOptions(metrics=("average_cpu", "maximum_cpu"))
    google = find_dialect("2011")
    assert options.metric(google, "cpu").name == "maximum_cpu"
    assert options.metric(google, "memory").name == "average_memory"


def test_the_front_is_who_saves_as_much_with_fewer_violations() -> None:
    policies = [
        (10, 2, 10, 5),
        (10, 2, 10, 6),
        (10, 3, 10, 5),
        (10, 1, 10, 7),
        (10, 2, 10, 5),
        (10, 0, 10, 10),
    ]
    of_one_machine = np.concatenate([scores(policy) for policy in policies], axis=1)
    rows = rows_of(of_one_machine, LIMIT * len(policies), ALL)
    # The second saves less than the first, the third violates more often; the last two are as good as any.
    assert [row["is_on_front"] for row in rows] == [True, False, False, True, True, True]


def test_without_limits_nothing_is_saved_and_nothing_is_better() -> None:
    without_limits = [scores((10, 0, 0, 0)), scores((10, 1, 0, 0))]
    rows = rows_of(
        np.concatenate(without_limits, axis=1),
        LIMIT * 2,
        ALL,
    )
    assert [row["savings"] for row in rows] == [None, None]
    assert [row["is_on_front"] for row in rows] == [True, True]


def test_only_what_is_above_rounding_is_a_violation() -> None:
    # Bounds of 1 less a ten-billionth and less a hundred-millionth.
    promised = np.array([1.0, 1 - 1e-10, 1 - 1e-8])
    assert is_short(np.ones(3), promised).tolist() == [False, False, True]


def test_claims_read_their_policy_on_all_tasks_and_machines() -> None:
    usable, clipped = REPLAY.claims
    paper = "nsigma:n=5,history=2h,warmup=1h50m"
    other = paper + "+" + parse_policy("task-percentile").label
    base = {
        "tasks": "all",
        "shape": "all",
        "resource": "cpu",
        "usable": 9.0,
        "clipped": 9.0,
    }
    rows = []
    for policy in (paper, other):
        rows.append(
            {
                **base,
                "policy": policy,
                "tasks": "high",
            }
        )
        rows.append(
            {
                **base,
                "policy": policy,
                "shape": "x",
            }
        )
        rows.append(
            {
                **base,
                "policy": policy,
                "resource": "memory",
            }
        )
    not_replayed = pa.Table.from_pylist(rows)
    rows.append(
        {
            **base,
            "policy": paper,
            "clipped": 0.94,
        }
    )
    rows.append(
        {
            **base,
            "policy": other,
            "usable": 0.12,
        }
    )
    answer = pa.Table.from_pylist(rows)
    assert usable.measure(answer) == 0.12
    assert clipped.measure(answer) == 0.94
    with pytest.raises(NotApplicable) as caught:
        clipped.measure(not_replayed)
    assert str(caught.value) == "the policy of the claim was not replayed"


@pytest.mark.parametrize(
    ("without_machine", "without_limit", "reasons"),
    [
        (
            2000,
            1,
            "2,000 windows without a machine (column machine_id) or inside an alloc set, "
            "1 window of tasks without requests",
        ),
        (1, 0, "1 window without a machine (column machine_id) or inside an alloc set"),
        (0, 7, "7 windows of tasks without requests"),
        (0, 0, "there is none"),
    ],
)
def test_what_is_said_where_no_usage_has_a_machine_or_a_limit(
    without_machine: int, without_limit: int, reasons: str
) -> None:
    facts = {"without_machine": without_machine, "without_limit": without_limit}
    assert why_nothing_can_be_replayed(facts) == f"no usage can be replayed: {reasons}"
