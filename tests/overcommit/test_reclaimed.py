"""Best-effort work in reclaimed resources: a machine by hand, random ones against plain Python, and the rules."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from borgtrace.errors import UsageError
from borgtrace.lifecycle.by_machine import MachineUsage
from borgtrace.overcommit import (
    RECLAIMED,
    MachineBlock,
    ReplayInput,
    ReplayOptions,
    Samples,
    parse_policy,
)
from borgtrace.overcommit.policies import Limit, PeakPolicy, Reservation
from borgtrace.overcommit.reclaimed import (
    ADMITTED,
    CAPACITY,
    EVICTIONS,
    EXCEEDED,
    LIMITS,
    N_SUMS,
    POLICIES,
    REQUESTED,
    RESERVED,
    SLOTS,
    TASK_SLOTS,
    admit_best_effort,
    most_saved,
    trade_off,
)
from borgtrace.overcommit.replay import Capacities, ReplayPart
from borgtrace.question import NotApplicable
from borgtrace.schema.dialects import dialect
from tests.overcommit.rows import assert_row

PRODUCTION = 9
EAGER = Reservation(margin=0.0, half_life=1)
Task = tuple[int, float, dict[int, float | None]]
"""Priority, limit, and usage by slot: None where it was not measured."""


def machine(
    tasks: list[Task],
    n_slots: int,
    capacity: float = 1.0,
) -> MachineBlock:
    rows = []
    for k, (priority, limit, usage) in enumerate(tasks):
        for slot, used in usage.items():
            is_known = used is not None
            rows.append((k, slot, used or 0.0, limit, is_known, priority))
    task, slots, usages, limits, known, priorities = map(np.array, zip(*rows, strict=True))
    return MachineBlock(
        all=Samples(
            task,
            slots,
            usages,
            limits.astype(np.float64),
        ),
        is_known=known,
        priority=priorities,
        identity=np.arange(len(tasks)),
        n_slots=n_slots,
        capacity=np.full(len(np.unique(slots)), capacity),
    )


judge = partial(
    admit_best_effort,
    horizon=1,
    predictions=(),
    lowest=PRODUCTION,
)


def test_a_machine_by_hand() -> None:
    """Production of limit .8 uses .2, and .6 in slot 3: it reserves .8, .5, .35, .275 and then .6."""
    production = (PRODUCTION, 0.8, dict(enumerate([0.2, 0.2, 0.2, 0.6, 0.6])))
    low = (0, 0.2, dict.fromkeys(range(5), 0.2))
    high = (1, 0.5, dict.fromkeys(range(1, 5), 0.5))
    by_limit, eager = judge(machine([production, low, high], 5), policies=(Limit(), EAGER))
    # Under the limit there is room for the low one alone.  Else the high one fits beside it in slot 3; there usage is
    # 1.3, both are evicted, and the low one returns in slot 4.
    assert by_limit == pytest.approx([5, 5, 4, 4.0, 0, 3, 1.0, 5, 0])
    assert eager == pytest.approx([5, 5, 4, 2.525, 1, 3, 0.8, 4, 2])


def test_what_comes_first_and_what_goes_first() -> None:
    """Of two with one priority the one longer there is admitted; where production grows, the youngest goes."""
    production = (PRODUCTION, 0.7, dict(enumerate([0.0, 0.0, 0.7, 0.7])))
    first = (0, 0.3, dict.fromkeys(range(4), 0.0))
    second = (0, 0.3, dict.fromkeys(range(1, 4), 0.0))
    (sums,) = judge(machine([second, first, production], 4), policies=(EAGER,))
    # Slot 0: reserved .7, the first enters.  Slot 1: .35, the second too.  Slot 2: .175.  Slot 3: .7, one must go.
    assert sums[ADMITTED] == pytest.approx(0.3 * (1 + 2 + 2 + 1))
    assert sums[TASK_SLOTS] == 6
    assert sums[EVICTIONS] == 1


def test_usage_that_was_not_measured_counts_as_the_limit() -> None:
    production = (PRODUCTION, 0.8, {0: None, 1: 0.0})
    best_effort = (0, 0.1, {0: 0.0, 1: 0.0})
    (sums,) = judge(machine([production, best_effort], 2), policies=(EAGER,))
    assert sums[RESERVED] == pytest.approx(1.6)


def test_a_machine_without_a_known_capacity_is_not_judged() -> None:
    sums = judge(machine([(0, 0.1, {0: 0.1})], 1, np.nan), policies=(EAGER,))
    assert not sums.any()


class PlainMachine:
    """The same over dictionaries of tasks, slot by slot."""

    def __init__(self, tasks: list[Task], policy: PeakPolicy) -> None:
        self.priority = [priority for priority, _, _ in tasks]
        self.limit = [limit for _, limit, _ in tasks]
        self.usage_by_slot = [usage for _, _, usage in tasks]
        self.policy = policy
        self.forget()

    def forget(self) -> None:
        self.reserved: dict[int, float] = {}
        self.admitted: set[int] = set()
        self.since: dict[int, int] = {}

    def limits(self, tasks: set[int]) -> float:
        return sum(self.limit[k] for k in tasks)

    def evict_one(self) -> None:
        def order(k: int) -> tuple[int, int, int]:
            return (self.priority[k], -self.since[k], -k)

        self.admitted.remove(min(self.admitted, key=order))

    def admit(self, candidates: set[int], room: float) -> None:
        def order(k: int) -> tuple[int, int, int]:
            return (-self.priority[k], self.since[k], k)

        for k in sorted(candidates, key=order):
            if self.limits(self.admitted) + self.limit[k] <= room + 1e-9:
                self.admitted.add(k)

    def reserve(self, production: set[int], usage: dict[int, float]) -> None:
        reserved = {}
        if isinstance(self.policy, Reservation):
            decay = 0.5 ** (1 / self.policy.half_life)
            for k in production:
                target = usage[k] * (1 + self.policy.margin)
                before = self.reserved.get(k, self.limit[k])
                decayed = target + (before - target) * decay
                reserved[k] = min(self.limit[k], max(target, decayed))
        self.reserved = reserved

    def step(self, slot: int) -> list[float]:
        """Return what a slot adds to the sums."""
        usage = {}
        for k, by_slot in enumerate(self.usage_by_slot):
            if slot in by_slot:
                used = by_slot[slot]
                usage[k] = self.limit[k] if used is None else used
        if not usage:
            self.forget()
            return [0.0] * N_SUMS
        production = {k for k in usage if self.priority[k] >= PRODUCTION}
        best_effort = usage.keys() - production
        self.since = {k: self.since.get(k, slot) for k in best_effort}
        self.admitted &= best_effort
        admitted_before = set(self.admitted)
        reserved = sum(self.reserved.get(k, self.limit[k]) for k in production)
        room = 1.0 - reserved
        n_evicted = 0
        while self.admitted and self.limits(self.admitted) > room + 1e-9:
            self.evict_one()
            n_evicted += 1
        self.admit(best_effort - admitted_before, room)
        used = sum(usage[k] for k in production)
        while self.admitted and used + sum(usage[k] for k in self.admitted) > 1 + 1e-9:
            self.evict_one()
            n_evicted += 1
        self.reserve(production, usage)
        sums = [0.0] * N_SUMS
        sums[SLOTS] = 1
        sums[CAPACITY] = 1
        sums[LIMITS] = self.limits(production)
        sums[RESERVED] = reserved
        sums[EXCEEDED] = used > reserved * (1 + 1e-9)
        sums[REQUESTED] = self.limits(best_effort)
        sums[ADMITTED] = self.limits(self.admitted)
        sums[TASK_SLOTS] = len(self.admitted)
        sums[EVICTIONS] = n_evicted
        return sums


@pytest.mark.parametrize("seed", range(8))
def test_random_machines_are_as_in_plain_python(seed: int) -> None:
    draw = np.random.default_rng(seed)
    tasks: list[Task] = []
    for _ in range(12):
        present = np.flatnonzero(draw.random(40) < draw.uniform(0.3, 1))
        used = draw.uniform(0, 0.3, 40)
        usage: dict[int, float | None] = {}
        for slot in present.tolist():
            usage[slot] = None if draw.random() < 0.1 else float(used[slot])
        priority = int(draw.choice([0, 1, 9, 10]))
        limit = float(draw.uniform(0.02, 0.3))
        tasks.append((priority, limit, usage))
    policies = (Limit(), EAGER, Reservation(margin=0.3, half_life=5))
    sums_by_policy = judge(machine(tasks, 40), policies=policies)
    for sums, policy in zip(sums_by_policy, policies, strict=True):
        plain = PlainMachine(tasks, policy)
        expected = np.sum([plain.step(slot) for slot in range(40)], axis=0)
        assert sums == pytest.approx(expected, abs=1e-9)


def test_rows_are_the_sums_of_machines() -> None:
    """Two machines of capacity .5 for ten slots: .1 more admitted in each slot of each is .4 machines."""
    sums = np.zeros((2, len(POLICIES), N_SUMS))
    sums[..., SLOTS] = 10
    sums[..., CAPACITY] = 5
    sums[..., LIMITS] = 4
    sums[..., RESERVED] = 4
    sums[..., REQUESTED] = 3
    sums[..., ADMITTED] = 1
    sums[..., TASK_SLOTS] = 5
    sums[:, 1, RESERVED] = 2
    sums[:, 1, EXCEEDED] = 1
    sums[:, 1, ADMITTED] = 2
    sums[:, 1, EVICTIONS] = 1
    limit, first, *_ = trade_off(sums, "cpu")
    assert_row(
        limit,
        policy="limit",
        saved=0,
        reclaimed=0,
        admitted=pytest.approx(1 / 3),
    )
    assert_row(
        first,
        reclaimed=pytest.approx(0.4),
        exceeded=pytest.approx(0.1),
        saved=pytest.approx(2 / 10 * 2),
        evictions=pytest.approx(288 / 5),
    )
    assert most_saved(pa.Table.from_pylist([limit, first])) == (
        f"cpu: of 2 machines, room for best-effort work of 0.4 machines ({first['policy']}: production uses more "
        "than it reserves in 10 % of the slots, 57.6 evictions per task and day)."
    )
    assert trade_off(np.zeros((1, len(POLICIES), N_SUMS)), "cpu") == []
    assert RECLAIMED.chart is not None
    assert RECLAIMED.chart(pa.Table.from_pylist([limit, first]))


def test_one_window_cannot_be_judged() -> None:
    """What is reserved in a window follows from the one before: of one alone, no saving can be found or excluded."""
    sums = np.zeros((2, len(POLICIES), N_SUMS))
    sums[..., [SLOTS, CAPACITY, LIMITS, RESERVED, REQUESTED, ADMITTED]] = 1
    with pytest.raises(NotApplicable) as caught:
        trade_off(sums, "cpu")
    assert str(caught.value) == (
        "no machine has usage of more than one window: what production reserves follows from its usage in the window "
        "before, so this takes a trace of at least two"
    )


@pytest.mark.parametrize(
    ("requested", "admitted", "sentence"),
    [
        (0, 0, "cpu: no best-effort task ran, so none could use what production leaves."),
        (
            3,
            3,
            "cpu: all best-effort tasks that ran fit beside the limits of production, "
            "so reserving usage instead admits no more of them.",
        ),
        (
            3,
            1,
            "cpu: reserving usage instead of limits admitted no more best-effort tasks in this trace.",
        ),
    ],
)
def test_why_nothing_is_saved(requested: float, admitted: float, sentence: str) -> None:
    sums = np.zeros((1, len(POLICIES), N_SUMS))
    sums[..., SLOTS] = 10
    sums[..., CAPACITY] = 5
    sums[..., REQUESTED] = requested
    sums[..., ADMITTED] = admitted
    answer = pa.Table.from_pylist(trade_off(sums, "cpu"))
    assert most_saved(answer) == sentence


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
    assert str(error.value) == "--policy: margin out of range: expected 0 to 1,000, got -1"


def test_without_production_nothing_is_best_effort() -> None:
    no_times = np.empty(0, np.int64)
    no_numbers = np.empty(0)
    without_tiers = ReplayInput(
        usage=MachineUsage(Path("store")),
        capacities=Capacities(no_times, no_times, no_numbers, no_numbers, no_times == 0),
        dialect=dialect("swf"),
    )
    part = ReplayPart(
        input=without_tiers,
        tasks="all",
        resource="cpu",
        places=(),
        jobs=1,
        report=lambda *step: None,
    )
    reason = "the trace has no tier production, so nothing in it is best effort"
    with pytest.raises(NotApplicable, match=reason):
        RECLAIMED.compute(part, (), ReplayOptions())
