"""Production by its limits, the rest by reservations that decay: queues by hand, and what holds at every instant."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from borgtrace.errors import UsageError
from borgtrace.question import NotApplicable
from borgtrace.scheduling import parse_policy
from borgtrace.scheduling.compact import CompactOptions
from borgtrace.scheduling.machines import NOTHING
from borgtrace.scheduling.plan import TaskPlan, parse_plan, plan_of
from borgtrace.scheduling.replay import ScheduleInput, replayed
from borgtrace.scheduling.workload import read_tasks
from tests.analyses.tiny import at, tiny, window
from tests.scheduling.traces import Attempt, trace_of

FREE, OTHER, PRODUCTION = range(3)
SECOND = 10**6
FIRM = 300 * SECOND


def reclaimed(trace: ScheduleInput) -> TaskPlan:
    """Return the plan in which every task uses half of what it asks for, and no margin is kept."""
    sizes = trace.tasks.sizes
    limits = np.where(trace.tasks.is_production[:, None], sizes, 0)
    return TaskPlan(
        "reclaimed 0",
        sizes,
        NOTHING,
        0.0,
        0,
        sizes // 2,
        limits,
    )


def seconds_of(attempts: list[Attempt]) -> list[Attempt]:
    """Return attempts whose times are written in seconds, in µs."""

    def in_microseconds(time: int) -> int:
        return time * SECOND if time > 0 else time

    rows: list[Attempt] = []
    for job, attempt, arrival, start, end, size, tier in attempts:
        times = map(in_microseconds, (arrival, start, end))
        rows.append((job, attempt, *times, size, tier))
    return rows


def starts(attempts: list[Attempt], policy: str = "best-fit") -> list[float]:
    """When each submission starts, in seconds; −1: never."""
    trace = trace_of(seconds_of(attempts), until=10_000 * SECOND)
    rows = replayed(trace, parse_policy(policy), 1.0, plan=reclaimed(trace))
    return [start / SECOND if start >= 0 else -1.0 for start in rows[:, 2]]


def test_room_is_reclaimed_step_by_step() -> None:
    # Of .8 that is .8 until 300 s, then .6, from 600 s on .5, from 900 s on .45, and from 1,200 s on .4.
    first = (1, 0, 0, 0, 9000, 0.8, FREE)
    for size, begin in (
        (0.2, 1),
        (0.375, 300),
        (0.4375, 600),
        (0.53, 900),
        (0.59375, 1200),
        (0.625, 9000),
    ):
        assert starts([first, (2, 0, 1, 1, 2, size, FREE)]) == [0, begin], size


def test_production_never_relies_on_what_is_reclaimed() -> None:
    two = [
        (1, 0, 0, 0, 9000, 0.6, PRODUCTION),
        (2, 0, 2000, 2000, 2001, 0.6, PRODUCTION),
    ]
    # .3 is reserved for the first; what is free does not help production, and helps others.
    assert starts(two) == [0, 9000]
    assert starts([two[0], (*two[1][:-1], FREE)]) == [0, 2000]
    assert starts([two[0], (*two[1][:5], 0.4, PRODUCTION)]) == [0, 2000]


def test_production_evicts_where_reservations_leave_no_room() -> None:
    held = (1, 0, 0, 0, 9000, 0.8, FREE)
    # At 2,000 s .4 is reserved: production of .6 fits beside it, and one of .7 does not; at 100 s neither.
    assert starts([held, (2, 0, 2000, 2000, 2001, 0.6, PRODUCTION)], "best-fit+preempt") == [
        0,
        2000,
    ]
    evicted = starts([held, (2, 0, 2000, 2000, 2001, 0.7, PRODUCTION)], "best-fit+preempt")
    assert evicted == [0, 2000, 2001]
    # What was evicted is reserved in full again: another waits until its reservation has decayed anew.
    third = (3, 0, 2002, 2002, 2003, 0.5, FREE)
    again = starts([held, (2, 0, 2000, 2000, 2001, 0.7, PRODUCTION), third], "best-fit+preempt")
    assert again == [0, 2000, 2001, 2001 + 600]
    # Nor is production evicted, whose promise is kept.
    both = [
        (1, 0, 0, 0, 9000, 0.6, PRODUCTION),
        (2, 0, 2000, 2000, 2001, 0.6, PRODUCTION),
    ]
    assert starts(both, "best-fit+preempt") == [0, 9000]


def reservation(size: int, last: int, age: int) -> int:
    for step in range(1, min(age // FIRM, 4) + 1):
        size = last if step == 4 else (size + last) // 2
    return size


@pytest.mark.parametrize(
    "policy", ["best-fit", "least-stranded+preempt", "random:k=2+preempt", "whole jobs"]
)
@pytest.mark.parametrize("seed", range(4))
def test_promises_and_reservations_fit_at_every_instant(policy: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    machines = rng.choice([0.5, 1.0], int(rng.integers(1, 4))).tolist()
    attempts = []
    for job in range(60):
        begin = int(rng.integers(0, 4000))
        tier = int(rng.integers(0, 3))
        size = float(rng.choice([0.1, 0.25, 0.3, 0.45]))
        end = begin + int(rng.integers(1, 3000))
        n_tasks = int(rng.integers(1, 3))
        attempts += [(job, 0, begin, begin, end, size, tier)] * n_tasks
    trace = trace_of(
        seconds_of(sorted(attempts, key=lambda row: row[2])),
        machines,
        until=9_000 * SECOND,
    )
    trace.tasks.instance[:] = np.arange(len(trace.tasks))
    rule, is_whole = ("best-fit", True) if policy == "whole jobs" else (policy, False)
    rows = replayed(
        trace,
        parse_policy(rule),
        1.0,
        plan=reclaimed(trace),
        whole_jobs=is_whole,
    )
    ran = rows[rows[:, 2] >= 0]
    sizes = trace.tasks.sizes[ran[:, 0], 0]
    capacity = trace.machines.capacity[:, 0]
    ends = np.where(
        ran[:, 3] >= 0,
        ran[:, 3],
        2**62,
    )
    is_production = trace.tasks.is_production[ran[:, 0]]
    used_more = False
    for time in np.unique(ran[:, 2]):
        there = np.flatnonzero((ran[:, 2] <= time) & (time < ends))
        # What is given up at this very instant is given up after the arrivals.
        reserved = [
            reservation(
                int(sizes[at]),
                int(sizes[at]) // 2,
                int(time - ran[at, 2]),
            )
            for at in there
        ]
        where = ran[there, 4]
        promised = np.where(is_production[there], sizes[there], 0)
        assert (np.bincount(where, reserved, len(capacity)) <= capacity).all()
        assert (np.bincount(where, promised, len(capacity)) <= capacity).all()
        used_more |= bool((np.bincount(where, sizes[there], len(capacity)) > capacity).any())
    # The case is one: more is asked for than there is, and some wait.
    assert used_more
    assert (ran[:, 2] > ran[:, 1]).any()


def store(usage: list[dict[str, object]]) -> TaskPlan:
    """Plan four tasks; the first two run when the trace begins, the second and the last are of production."""
    events = [
        {
            "collection_id": id_,
            "time": time,
            "type": type_,
            "machine_id": 7,
            "cpu_request": 0.5,
        }
        | {"memory_request": 0.25, "priority": 9 if id_ % 2 == 0 else 0}
        for id_ in (1, 2, 3, 4)
        for time, type_ in (
            (0 if id_ < 3 else at(0), "SUBMIT"),
            (0 if id_ < 3 else at(1), "SCHEDULE"),
        )
    ]
    tasks = [{"collection_id": id_, "instance_index": 0} for id_ in (1, 2, 3, 4)]
    tables = tiny(
        "2011",
        instance_events=events,
        collection_events=[],
        tasks=tasks,
        instance_usage=usage,
    )
    return plan_of(parse_plan("reclaimed:1"), tables, read_tasks(tables))


def test_what_runs_when_the_trace_begins_is_reserved_by_usage() -> None:
    plan = store([window(id_, 0, 0.125, 0.25) for id_ in (1, 2, 3, 4)])
    # Twice what they use, at most what they ask for.
    assert (plan.lasting / 2**20).tolist() == [[0.25, 0.25]] * 4
    assert (plan.sizes / 2**20).tolist() == [[0.25, 0.25]] * 2 + [[0.5, 0.25]] * 2
    assert (plan.limits / 2**20).tolist() == [[0, 0], [0.5, 0.25]] * 2
    with pytest.raises(NotApplicable, match="needs usage of nine tasks in ten"):
        store([window(id_, 0, 0.125, 0.25) for id_ in (1, 2, 3)])


def test_one_moment_reclaims_otherwise(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"--plan: nothing decays in one moment.*try --what-if reclaimed"
    ):
        CompactOptions(plan="reclaimed:0.25")
    with pytest.raises(UsageError, match="expected reclaimed:SHARE, 0 to 1,000"):
        parse_plan("reclaimed:x")
