"""Best-effort work in reclaimed resources: a machine by hand, random ones against plain Python, and the rules."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from types import SimpleNamespace
from typing import cast

import numpy as np
import pyarrow as pa
import pytest

from borgtrace.errors import UsageError
from borgtrace.overcommit import RECLAIMED, MachineBlock, ReplayInput, Samples, ReplayOptions, parse_policy
from borgtrace.overcommit.policies import Limit, PeakPolicy, Reservation
from borgtrace.overcommit.reclaimed import POLICIES, priced, trade_off
from borgtrace.overcommit.replay import ReplayPart
from borgtrace.question import NotApplicable
from borgtrace.schema.dialects import dialect

PRODUCTION = 9
EAGER = Reservation(margin=0.0, half_life=1)
Task = tuple[int, float, dict[int, float | None]]
"""Priority, limit, and usage by slot: None where it was not measured."""


def machine(tasks: list[Task], n_slots: int, capacity: float = 1.0) -> MachineBlock:
    rows = [
        (k, slot, used, limit, p)
        for k, (p, limit, usage) in enumerate(tasks)
        for slot, used in usage.items()
    ]
    task, slot, used, limit, priority = (np.array(column) for column in zip(*rows, strict=True))
    known = np.array([value is not None for value in used])
    usage = np.array([0.0 if value is None else value for value in used])
    samples = Samples(task.astype(np.int64), slot.astype(np.int64), usage, limit.astype(np.float64))
    slots = np.unique(slot)
    numbers = np.arange(len(tasks))
    return MachineBlock(
        samples, known, priority.astype(np.int64), numbers, n_slots, np.full(len(slots), capacity)
    )


judge = partial(priced, horizon=1, predictions=(), lowest=PRODUCTION)


def test_a_machine_by_hand() -> None:
    """Production of limit .8 uses .2, and .6 in slot 3: it reserves .8, .5, .35, .275 and then .6."""
    production = (
        PRODUCTION,
        0.8,
        {
            0: 0.2,
            1: 0.2,
            2: 0.2,
            3: 0.6,
            4: 0.6,
        },
    )
    low = (0, 0.2, dict.fromkeys(range(5), 0.2))
    high = (1, 0.5, dict.fromkeys(range(1, 5), 0.5))
    found = judge(machine([production, low, high], 5), policies=(Limit(), EAGER))
    # Under the limit there is room for the low one alone.  Else the high one fits beside it in slot 3; there usage is
    # 1.3, both are evicted, and the low one returns in slot 4.
    assert found == pytest.approx(
        np.array([[5, 5, 4, 4.0, 0, 3, 1.0, 5, 0], [5, 5, 4, 2.525, 1, 3, 0.8, 4, 2]], dtype=float)
    )


def test_what_comes_first_and_what_goes_first() -> None:
    """Of two with one priority the one longer there is admitted; where production grows, the youngest goes."""
    production = (
        PRODUCTION,
        0.7,
        {
            0: 0.0,
            1: 0.0,
            2: 0.7,
            3: 0.7,
        },
    )
    first = (0, 0.3, dict.fromkeys(range(4), 0.0))
    second = (0, 0.3, dict.fromkeys(range(1, 4), 0.0))
    found = judge(machine([second, first, production], 4), policies=(EAGER,))[0]
    # Slot 0: reserved .7, the first enters.  Slot 1: .35, the second too.  Slot 2: .175.  Slot 3: .7, one must go.
    assert found[6:] == pytest.approx([0.3 * (1 + 2 + 2 + 1), 6, 1])


def test_usage_that_was_not_measured_counts_as_the_limit() -> None:
    production = (PRODUCTION, 0.8, {0: None, 1: 0.0})
    found = judge(machine([production, (0, 0.1, {0: 0.0, 1: 0.0})], 2), policies=(EAGER,))[0]
    assert found[3] == pytest.approx(1.6)


def test_a_machine_without_a_known_capacity_is_not_judged() -> None:
    found = judge(machine([(0, 0.1, {0: 0.1})], 1, np.nan), policies=(EAGER,))
    assert not found.any()


def first_out(inside: set[int], tasks: list[Task], since: dict[int, int]) -> int:
    return min(inside, key=lambda k: (tasks[k][0], -since[k], -k))


def plain(tasks: list[Task], n_slots: int, policy: PeakPolicy) -> list[float]:
    """The same over a dict of samples."""
    reserved: dict[int, float] = {}
    inside: set[int] = set()
    since: dict[int, int] = {}
    sums: dict[str, float] = defaultdict(float)
    for slot in range(n_slots):
        there = {k for k, (_, _, usage) in enumerate(tasks) if slot in usage}
        if not there:
            reserved = {}
            inside = set()
            since = {}
            continue
        high = {k for k in there if tasks[k][0] >= PRODUCTION}
        in_force = {k: min(tasks[k][1], reserved.get(k, tasks[k][1])) for k in high}
        since = {k: since.get(k, slot) for k in there - high}
        inside &= there
        before = set(inside)
        room = 1.0 - sum(in_force.values())
        usage = {k: tasks[k][1] if (value := tasks[k][2][slot]) is None else value for k in there}
        gone = 0

        while inside and sum(tasks[k][1] for k in inside) > room + 1e-9:
            inside.remove(first_out(inside, tasks, since))
            gone += 1
        for k in sorted(there - high - before, key=lambda k: (-tasks[k][0], since[k], k)):
            if sum(tasks[i][1] for i in inside) + tasks[k][1] <= room + 1e-9:
                inside.add(k)
        used = sum(usage[k] for k in high)
        while inside and used + sum(usage[k] for k in inside) > 1 + 1e-9:
            inside.remove(first_out(inside, tasks, since))
            gone += 1
        if isinstance(policy, Reservation):
            for k in high:
                target = usage[k] * (1 + policy.margin)
                start = reserved.get(k, tasks[k][1])
                sunk = target + (start - target) * 0.5 ** (1 / policy.half_life)
                reserved[k] = min(tasks[k][1], max(target, sunk))
        reserved = {k: value for k, value in reserved.items() if k in high}
        for name, value in {
            "slots": 1,
            "capacity": 1,
            "limits": sum(tasks[k][1] for k in high),
            "reserved": sum(in_force.values()),
            "exceeded": used > sum(in_force.values()) * (1 + 1e-9),
            "asked": sum(tasks[k][1] for k in there - high),
            "admitted": sum(tasks[k][1] for k in inside),
            "task_slots": len(inside),
            "evictions": gone,
        }.items():
            sums[name] += value
    return list(sums.values())


@pytest.mark.parametrize("seed", range(8))
def test_random_machines_are_as_in_plain_python(seed: int) -> None:
    draw = np.random.default_rng(seed)
    tasks: list[Task] = []
    for _ in range(12):
        present = np.flatnonzero(draw.random(40) < draw.uniform(0.3, 1))
        used = draw.uniform(0, 0.3, 40)
        usage = {int(slot): None if draw.random() < 0.1 else float(used[slot]) for slot in present}
        tasks.append((int(draw.choice([0, 1, 9, 10])), float(draw.uniform(0.02, 0.3)), usage))
    policies = (Limit(), EAGER, Reservation(margin=0.3, half_life=5))
    found = judge(machine(tasks, 40), policies=policies)
    for sums, policy in zip(found, policies, strict=True):
        assert sums == pytest.approx(plain(tasks, 40, policy), abs=1e-9)


def test_rows_are_the_sums_of_machines() -> None:
    """Two machines of capacity .5 for ten slots: .1 more admitted in each slot of each is .4 machines."""
    found = np.zeros((2, len(POLICIES), 9))
    found[:, :, :4] = 10, 5, 4, 4
    found[:, :, 5:8] = 3, 1, 5
    found[:, 1, 3] = 2
    found[:, 1, 4] = 1
    found[:, 1, 6] = 2
    found[:, 1, 8] = 1
    limit, first, *_ = trade_off(found, "cpu")
    assert (limit["policy"], limit["saved"], limit["reclaimed"], limit["admitted"]) == (
        "limit",
        0,
        0,
        pytest.approx(1 / 3),
    )
    assert first["reclaimed"] == pytest.approx(0.4)
    assert first["exceeded"] == pytest.approx(0.1)
    assert first["saved"] == pytest.approx(2 / 10 * 2)
    assert first["evictions"] == pytest.approx(288 / 5)
    assert trade_off(np.zeros((1, len(POLICIES), 9)), "cpu") == []
    assert RECLAIMED.plot(pa.Table.from_pylist([limit, first]))


def test_the_reservation_is_a_policy_of_the_table() -> None:
    """Limit .8, usage .2: .5 after the first slot, as by hand; a new task is reserved its limit."""
    block = machine(
        [
            (
                PRODUCTION,
                0.8,
                {
                    0: 0.2,
                    1: 0.2,
                    3: 0.9,
                },
            )
        ],
        4,
    )
    policy = parse_policy("reservation:margin=0,half_life=5m")
    assert policy.predict(block).peak == pytest.approx([0.5, 0.35, 0.8])


def test_a_negative_margin_is_refused() -> None:
    with pytest.raises(UsageError) as error:
        parse_policy("reservation:margin=-1")
    assert str(error.value) == "--policy: margin out of range: expected 0 or more, got -1"


def test_without_production_nothing_is_best_effort() -> None:
    cell = cast("Cell", SimpleNamespace(dialect=dialect("swf")))
    with pytest.raises(
        NotApplicable, match="the trace has no tier production, so nothing in it is best effort"
    ):
        RECLAIMED.rows(ReplayPart(cell, "all", "cpu", (), 1, lambda *step: None), (), ReplayOptions())
