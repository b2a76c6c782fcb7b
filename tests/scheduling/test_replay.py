"""A replay of typed rows: who waits for whom, what is read of a store, and the rows of the table by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import borgtrace
from borgtrace.question import EngineTables, NotApplicable
from borgtrace.scheduling import COMPACT, SIMULATE, parse_policy
from borgtrace.scheduling.changes import CHANGED_SET, make_changes
from borgtrace.scheduling.machines import UNIT
from borgtrace.scheduling.plan import TaskPlan
from borgtrace.scheduling.replay import (
    ScheduleInput,
    calibrated,
    impossible,
    recorded,
    replayed,
    with_factor,
)
from borgtrace.scheduling.room import room_of
from borgtrace.scheduling.schedule_question import PolicyRun, SimulateOptions, rows_of_run
from borgtrace.scheduling.simulate import compute
from borgtrace.scheduling.state import (
    ALIVE,
    ATTEMPT,
    DONE,
    ENDED,
    OUTCOME,
    PREEMPTED,
    REMOVED,
    STARTED,
)
from borgtrace.scheduling.workload import KnownMachines, read_tasks
from tests.cli.test_compact import store
from tests.rows import chosen_columns
from tests.scheduling.traces import trace_of

FREE, OTHER, PRODUCTION = range(3)
ONE = "A" * 43 + "="
OTHER_NAME = "B" * 43 + "="
"""Names of attributes, hashed as in the trace."""


def submissions(
    trace: ScheduleInput, policy: str = "first-fit", factor: float = 1.0
) -> list[tuple[int, ...]]:
    """Job, submitted, started, ended, machine and kind of each submission."""
    rows = replayed(trace, parse_policy(policy), factor)
    return [(job_of(trace, row), *map(int, row[1:])) for row in rows]


def job_of(trace: ScheduleInput, row: np.ndarray) -> int:
    return int(trace.tasks.collection[row[ATTEMPT]])


def test_a_following_attempt_keeps_its_gap_to_the_end_of_the_one_before() -> None:
    # Job 1 runs twice, 100 µs each and 50 µs apart; job 2 holds the machine until 300.
    attempts = [
        (2, 0, 0, 0, 300, 1.0, FREE),
        (1, 0, 100, 100, 200, 1.0, FREE),
        (1, 1, 250, 250, 350, 1.0, FREE),
    ]
    assert submissions(trace_of(attempts)) == [
        (2, 0, 0, 300, 0, DONE),
        (1, 100, 300, 400, 0, DONE),
        (1, 450, 450, 550, 0, DONE),
    ]


def test_a_following_attempt_does_not_come_before_the_trace_has_it() -> None:
    attempts = [
        (1, 0, 100, 150, 200, 1.0, FREE),
        (1, 1, 250, 250, 350, 1.0, FREE),
    ]
    # It starts at once here and ends at 150; the next one comes at 250 all the same.
    assert submissions(trace_of(attempts))[1] == (1, 250, 250, 350, 0, DONE)


def test_what_follows_an_attempt_without_a_known_end_comes_on_its_own() -> None:
    attempts = [
        (1, 0, 100, 100, -1, 0.25, FREE),
        (1, 1, 250, 250, 350, 0.25, FREE),
    ]
    assert submissions(trace_of(attempts)) == [
        (1, 100, 100, -1, 0, ALIVE),
        (1, 250, 250, 350, 0, DONE),
    ]


def test_tasks_of_two_jobs_do_not_follow_each_other() -> None:
    attempts = [
        (1, 0, 100, 100, 200, 0.5, FREE),
        (2, 0, 100, 100, 200, 0.5, FREE),
    ]
    assert [row[1:3] for row in submissions(trace_of(attempts))] == [(100, 100), (100, 100)]


def test_what_never_ran_waits_until_it_was_withdrawn() -> None:
    attempts = [
        (1, 0, 0, 0, 900, 1.0, FREE),
        (2, 0, 100, -1, 400, 1.0, FREE),
        (3, 0, 100, -1, -1, 1.0, FREE),
    ]
    rows = submissions(trace_of(attempts))
    assert rows[1:] == [
        (2, 100, -1, 400, -1, DONE),
        (3, 100, 900, -1, 0, ALIVE),
    ]


def test_an_end_after_the_trace_is_none() -> None:
    attempts = [
        (1, 0, 100, 100, 1000, 1.0, FREE),
        (2, 0, 100, 100, 1001, 1.0, FREE),
    ]
    trace = trace_of(attempts, (1.0, 1.0))
    assert [row[3] for row in submissions(trace)] == [1000, -1]
    assert recorded(trace).tolist() == [
        [0, 100, 100, 1000, 0, DONE],
        [1, 100, 100, -1, 0, ALIVE],
    ]


def test_the_first_machine_is_the_lowest_id_whatever_its_capacity() -> None:
    attempts = [
        (1, 0, 0, 0, 900, 0.5, FREE),
        (2, 0, 1, 1, 900, 0.5, FREE),
        (3, 0, 2, 2, 900, 0.5, FREE),
    ]
    assert [row[4] for row in submissions(trace_of(attempts, (1.0, 0.25, 0.5)))] == [0, 0, 2]


def test_the_factor_is_the_largest_with_which_the_first_tasks_pack() -> None:
    # Beside the half of production a task of a whole machine fits by half of its request: 32/64.
    attempts = [
        (1, 0, 0, 0, 900, 0.5, PRODUCTION),
        (2, 0, 0, 0, 900, 1.0, FREE),
        (3, 0, 100, 100, 900, 1.0, FREE),
    ]
    trace = trace_of(attempts, (1.0, 1.0, 1.0))
    # The second machine comes later, the third is away when the trace begins: neither holds what runs then.
    trace.changes[1] = (100, 1, 1, 0)
    trace.changes[2] = (0, 2, 0, 0)
    assert calibrated(trace) == 32 / 64
    assert calibrated(trace_of(attempts, (1.0, 1.0))) == 1.0
    # What production leaves pending anyway is no reason for less.
    attempts[0] = (1, 0, 0, 0, 900, 2.0, PRODUCTION)
    assert calibrated(trace_of(attempts)) == 1.0
    attempts[1] = (2, 0, 0, 0, 900, 4.0, FREE)
    assert calibrated(trace_of(attempts)) == 16 / 64
    # Where production fills the machine, others take nothing.
    full = [
        (1, 0, 0, 0, 900, 1.0, PRODUCTION),
        (2, 0, 0, 0, 900, 0.5, FREE),
    ]
    assert calibrated(trace_of(full)) == 0.0
    # Nothing runs, or no machine is there, when the trace begins.
    assert calibrated(trace_of(attempts[2:])) == 1.0
    trace.changes[0, 0] = 100
    assert calibrated(trace) == 1.0


def test_a_task_is_impossible_where_no_machine_has_room_for_both() -> None:
    trace = trace_of([(job, 0, 0, -1, -1, 0.5, FREE) for job in range(4)], (0.5, 1.0))
    trace.machines.capacity[:] = np.array([[0.5, 1.0], [1.0, 0.5]]) * UNIT
    trace.tasks.sizes[:] = (
        np.array(
            [
                [0.5, 1.0],
                [1.0, 0.5],
                [1.0, 1.0],
                [0.5, 0.5],
            ]
        )
        * UNIT
    )
    assert impossible(trace).tolist() == [2]
    # The first set of constraints is met by the first machine alone, the second by none.
    allowed = np.array([[True, False], [False, False]])
    tasks = replace(trace.tasks, sets=np.array([1, 1, 0, 2]))
    assert impossible(replace(trace, tasks=tasks, allowed=allowed)).tolist() == [1, 2, 3]


def planned(
    trace: ScheduleInput,
    policy: str,
    mean: float,
    deviation: float,
) -> list[tuple[int, ...]]:
    """Job, start, end and kind of each submission where all tasks are planned alike, with z = 2."""
    sizes = np.full((len(trace.tasks), 2), round(mean * UNIT))
    plan = TaskPlan(
        "gpa",
        sizes,
        np.full_like(sizes, round(deviation * UNIT) ** 2),
        4.0,
        0,
        sizes,
    )
    rows = replayed(trace, parse_policy(policy), 1.0, plan=plan)
    columns = [STARTED, ENDED, OUTCOME]
    return [(job_of(trace, row), *map(int, row[columns])) for row in rows]


def test_who_varies_waits_for_room_beside_the_others() -> None:
    # As packed by hand elsewhere: three of mean 3/16 and deviation 1/8 fit a machine, whatever they ask for.
    attempts = [(job, 0, job, job, job + 100, 1.0, FREE) for job in range(5)]
    assert planned(trace_of(attempts), "best-fit", 3 / 16, 1 / 8) == [
        (0, 0, 100, DONE),
        (1, 1, 101, DONE),
        (2, 2, 102, DONE),
        (3, 100, 200, DONE),
        (4, 101, 201, DONE),
    ]
    # Planned by means alone all five fit.
    assert [row[1] for row in planned(trace_of(attempts), "best-fit", 3 / 16, 0.0)] == [
        0,
        1,
        2,
        3,
        4,
    ]


def test_production_evicts_until_the_variance_has_room_too() -> None:
    # The last of the lowest tier goes; that alone is enough, though means left room for two more before.
    attempts = [(job, 0, job, job, 900, 1.0, FREE) for job in range(3)] + [
        (9, 0, 10, 10, 900, 1.0, PRODUCTION)
    ]
    rows = planned(trace_of(attempts), "best-fit+preempt", 3 / 16, 1 / 8)
    assert rows[:4] == [
        (0, 0, 900, DONE),
        (1, 1, 900, DONE),
        (2, 2, 10, PREEMPTED),
        (9, 10, 900, DONE),
    ]
    # What was evicted runs once there is room again.
    assert rows[4] == (2, 900, -1, ALIVE)


def test_a_row_of_alike_arrivals_is_placed_as_each_by_itself() -> None:
    # Ten alike on machines of ½, 1 and ½, between them two that end, and a machine that goes and returns.
    alike = [(job, 0, 100 + 10 * job, 100 + 10 * job, 900, 0.25, FREE) for job in range(10)]
    others = [
        (20, 0, 0, 0, 125, 0.5, FREE),
        (21, 0, 115, 115, 135, 0.75, OTHER),
    ]
    trace = trace_of(sorted([*alike, *others], key=lambda row: row[2]), (0.5, 1.0, 0.5))
    changes = np.concatenate([trace.changes, np.array([(145, 2, 0, 0), (165, 2, 1, 0)])])
    rows = submissions(replace(trace, changes=changes), "best-fit")
    where = {job: (started, machine) for job, _, started, _, machine, _ in reversed(rows)}
    # 20 fills machine 0 until 125, 21 takes three quarters of machine 1 from 120 on, when 0 and 1 have been there.
    assert where[20] == (0, 0)
    assert where[0] == (100, 2)
    assert where[1] == (110, 2)
    assert where[21] == (115, 1)
    assert where[2] == (120, 1)
    # From 125 on machine 0 is empty: a half is left there, less than of machine 1, which 21 leaves at 135.
    assert where[3] == (130, 0)
    assert where[4] == (140, 0)
    # At 145 machine 2 goes, and both its tasks come again 7 µs later, after 5 and before 6.
    assert where[5] == (150, 1)
    assert rows[8:10] == [
        (0, 152, 152, 952, 1, DONE),
        (1, 152, 152, 942, 1, DONE),
    ]
    # Now all is full until machine 2 returns at 165, and then until 2 ends on machine 1, before 3 on machine 0.
    assert [where[job] for job in (6, 7, 8, 9)] == [
        (165, 2),
        (170, 2),
        (900, 1),
        (900, 0),
    ]


def test_constraints_that_a_machine_begins_and_ceases_to_meet() -> None:
    # The second machine has room from the start on; the first set is met there from 300 to 400 µs, the second from 400.
    attempts = [
        (1, 0, 0, 0, 900, 1.0, FREE),
        (2, 0, 100, 100, 150, 1.0, FREE),
        (3, 0, 380, 380, 405, 1.0, FREE),
        (4, 0, 390, 390, 410, 1.0, FREE),
    ]
    made = trace_of(attempts, (1.0, 1.0))
    later = np.array(
        [
            (300, 1, 1, 1),
            (400, 1, 0, 1),
            (400, 1, 1, 2),
        ]
    )
    trace = replace(
        made,
        tasks=replace(made.tasks, sets=np.array([0, 1, 1, 2])),
        allowed=np.zeros((2, 2), np.bool_),
        changes=np.concatenate([later, made.changes]),
    )
    assert submissions(trace) == [
        (1, 0, 0, 900, 0, DONE),
        (2, 100, 300, 350, 1, DONE),
        # It runs on where its constraints are no longer met, and the last one waits for it to end.
        (3, 380, 380, 405, 1, DONE),
        (4, 390, 405, 425, 1, DONE),
    ]
    assert impossible(trace).tolist() == []
    assert impossible(replace(trace, changes=made.changes)).tolist() == [1, 2, 3]


def test_rows_by_hand() -> None:
    second = 10**6
    attempts = [
        (1, 0, 0, 0, 90 * second, 0.6, FREE),
        (2, 0, 0, -1, -1, 0.1, FREE),
        (3, 0, 0, -1, -1, 3.0, FREE),
        (4, 0, 0, 0, -1, 0.5, PRODUCTION),
    ]
    trace = trace_of(attempts, (1.0, 1.0), until=100 * second)
    # The first is evicted after 10 s, goes with its machine, and runs from 40 to 90 s; the second waits for 5 s.
    rows = np.array(
        [
            (0, 0, 0, 10 * second, 0, PREEMPTED),
            (0, 10 * second, 12 * second, 20 * second, 0, REMOVED),
            (0, 20 * second, 40 * second, 90 * second, 1, DONE),
            (1, 0, 5 * second, -1, 0, ALIVE),
            (2, 0, -1, -1, -1, ALIVE),
            (3, 0, 0, -1, 1, ALIVE),
        ]
    )
    free, production = compute(
        trace,
        rows,
        "best-fit",
        with_factor(trace.tasks, 1 / 3),
        impossible(trace),
    )
    # Waits of 0, 2, 20 and 5 s; (10 + 8 + 50) s of .6 and 95 s of .1, of 100 s of two machines.
    used = pytest.approx((68 * 0.6 + 95 * 0.1) / 200, rel=1e-5)
    expected: dict[str, Any] = {
        "policy": "best-fit",
        "tier": "free",
        "submissions": 5,
        "starts": 4,
        "evicted": 1,
        "removed": 1,
        "wait_p50": 3.5,
        "wait_p90": pytest.approx(15.5),
        "wait_mean": 6.75,
        # A task that asks for a tenth is small.
        "wait_small": 5.0,
        "wait_large": pytest.approx(22 / 3),
        "running": pytest.approx(1.63),
        # 27 s of waits, and the 100 s of the one that never started.
        "waiting_hours": pytest.approx(127 / 3600),
        "running_end": 1,
        "pending_end": 1,
        "impossible": 1,
        "cpu": used,
        "memory": used,
        "factor": 0.333333,
    }
    assert {name: free[name] for name in expected} == expected
    expected_columns = {
        "tier": "production",
        "running": 1.0,
        "factor": 1.0,
        "wait_mean": 0.0,
        "running_end": 1,
        "pending_end": 0,
    }
    assert chosen_columns(production, expected_columns) == expected_columns


def test_impossible_is_only_who_still_waits() -> None:
    # Of four tasks as large as three machines one ran all the same, as recorded, one was withdrawn, two wait.
    trace = trace_of([(job, 0, 0, -1, -1, 3.0, FREE) for job in range(4)], until=100)
    found = [
        (0, 0, 0, -1, 0, ALIVE),
        (1, 0, -1, 50, -1, DONE),
        (2, 0, -1, -1, -1, ALIVE),
        (3, 0, -1, -1, -1, ALIVE),
    ]
    (row,) = compute(
        trace,
        np.array(found),
        "recorded",
        trace.tasks.sizes,
        impossible(trace),
    )
    expected = {
        "running_end": 1,
        "pending_end": 2,
        "impossible": 2,
    }
    assert chosen_columns(row, expected) == expected


def test_a_trace_of_one_microsecond() -> None:
    trace = trace_of([(1, 0, 0, 0, -1, 0.5, FREE)], until=1)
    rows = np.array([[0, 0, 0, -1, 0, ALIVE]])
    (row,) = compute(
        trace,
        rows,
        "recorded",
        trace.tasks.sizes,
        impossible(trace),
    )
    assert row["running"] == 1.0
    assert row["cpu"] == 0.5
    assert room_of(trace, rows, trace.tasks.sizes)["machines"] == 1.0


def test_shares_of_a_large_cell_over_a_long_time() -> None:
    """2²⁰ units for 10¹³ µs are more than 2⁶³."""
    trace = trace_of([(1, 0, 0, 0, -1, 0.5, FREE)], until=10**13)
    (row,) = compute(
        trace,
        replayed(trace, parse_policy("best-fit"), 1.0),
        "best-fit",
        trace.tasks.sizes,
        np.empty(0),
    )
    assert (row["cpu"], row["memory"]) == (0.5, 0.5)


def test_a_tier_that_never_starts_has_no_waits() -> None:
    trace = trace_of([(1, 0, 0, -1, -1, 2.0, FREE)])
    given = (
        np.array([[0, 0, -1, -1, -1, ALIVE]]),
        "best-fit",
        trace.tasks.sizes,
        impossible(trace),
    )
    (row,) = compute(trace, *given)
    assert row["wait_p50"] is None
    assert row["wait_p90"] is None
    assert row["wait_mean"] is None
    assert row["cpu"] == 0.0
    trace.tasks.tier[:] = -1
    (row,) = compute(trace, *given)
    assert row["tier"] == "unknown"


def event(
    time: int,
    job: int,
    type_: int,
    machine: object = "",
    priority: int = 0,
    size: float = 0.5,
) -> str:
    seconds = f"{time}000000" if time else "0"
    return f"{seconds},,{job},0,{machine},{type_},u,1,{priority},{size},{size},0,0"


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Jobs 1 to 3 are there when the trace begins, the first of them waiting; machines come, go and change.

    Machine 4 has one unit of memory, machine 5 none that is known.
    """
    begin = [event(0, 1, 0, priority=11)]
    begin += [
        event(
            0,
            2,
            type_,
            1 if type_ else "",
            9,
        )
        for type_ in (0, 1)
    ]
    begin += [event(0, 3, type_, 77 if type_ else "") for type_ in (0, 1)]
    later = [
        event(700, 4, 0),
        event(701, 4, 1, 1),
        event(900, 4, 4, 1),
    ]
    later += [
        event(700, 5, 0),
        event(700, 5, 1, 1),
        event(901, 5, 4, 1),
    ]
    later += [
        event(700, 6, 0, priority=9),
        event(900, 6, 1, 3, 9),
    ]
    machines = [
        "0,1,0,PLATFORM,0.5,0.5",
        "0,2,0,PLATFORM,1,1",
        "0,5,0,PLATFORM,0.5,",
        "700000000,1,2,PLATFORM,1,0.5",
        "900000000,2,1,PLATFORM,,",
        "900000000,3,0,PLATFORM,0.25,0.25",
        "901000000,4,0,PLATFORM,1,0.000001",
        f"{2**63 - 1},1,1,PLATFORM,,",
    ]
    demands = [f"700000000,4,0,0,{ONE},7", f"700000000,6,0,1,{OTHER_NAME},1"]
    tables = {
        "machine_events": machines,
        "task_events": [*begin, *later],
        "task_constraints": demands,
    }
    return store(tmp_path_factory.mktemp("replay"), **tables)


def tables_of(cell: Path) -> EngineTables:
    return EngineTables.of(borgtrace.open(cell))


def test_the_order_of_arrival(cell: Path) -> None:
    trace = ScheduleInput.of(tables_of(cell), 901 * 10**6)
    # At the begin what runs goes before what waits, then the higher priority; later on the priority and the job.
    assert trace.tasks.collection.tolist() == [2, 3, 1, 6, 4, 5]
    assert trace.arrivals.tolist() == [
        0,
        0,
        0,
        *[700 * 10**6] * 3,
    ]
    assert trace.unknown_machine == 1
    assert trace.without_submit == 0
    assert trace.until == 901 * 10**6
    # Each machine with the first capacity that it had, and when it came and went.
    assert trace.machines.ids.tolist() == [1, 2, 3, 4]
    assert (trace.machines.capacity[:, 0] / UNIT).tolist() == [0.5, 1.0, 0.25, 1.0]
    assert trace.machines.without_capacity == 1
    comings = trace.changes[trace.changes[:, CHANGED_SET] == 0, :CHANGED_SET]
    assert (comings // (10**6, 1, 1)).tolist() == [
        [0, 0, 1],
        [0, 1, 1],
        [700, 0, 1],
        [900, 1, 0],
        [900, 2, 1],
        [901, 3, 1],
    ]


def test_each_set_of_constraints_is_that_of_its_tasks(cell: Path) -> None:
    tasks = ScheduleInput.of(tables_of(cell), 901 * 10**6).tasks
    named = {
        int(job): [constraint[0] for constraint in tasks.demanded[place - 1]]
        for job, place in zip(tasks.collection, tasks.sets, strict=True)
        if place
    }
    assert named == {4: [ONE], 6: [OTHER_NAME]}


def test_attempts_after_the_last_event_are_not_seen(cell: Path) -> None:
    assert ScheduleInput.of(tables_of(cell), 699 * 10**6).tasks.collection.tolist() == [2, 3, 1]
    assert len(ScheduleInput.of(tables_of(cell), 700 * 10**6).tasks) == 6
    with pytest.raises(NotApplicable) as caught:
        ScheduleInput.of(tables_of(cell), -1)
    assert str(caught.value) == "no attempt of a task has a beginning"


def test_what_runs_and_what_is_there_at_a_time(cell: Path) -> None:
    # Who starts at 900 s runs then, who ends at 900 s does not; the same of machines.
    assert read_tasks(tables_of(cell), at=900 * 10**6).collection.tolist() == [2, 3, 5, 6]
    machines = KnownMachines.at(tables_of(cell), 900 * 10**6)
    assert machines.ids.tolist() == [1, 3]
    assert (machines.capacity / UNIT).tolist() == [[1.0, 0.5], [0.25, 0.25]]
    assert machines.without_capacity == 1
    assert KnownMachines.at(tables_of(cell), 899 * 10**6).ids.tolist() == [1, 2]
    with pytest.raises(NotApplicable) as caught:
        KnownMachines.at(tables_of(cell), -1)
    assert str(caught.value) == "no machine is there at that time (machine_events)"


def test_progress_counts_what_is_asked_for(cell: Path) -> None:
    steps: list[tuple[str, int, int]] = []
    report = lambda *step: steps.append(step)  # noqa: E731
    replace(SIMULATE, report=report).run(cell, policies=("recorded", "best-fit", "worst-fit"))
    assert steps == [
        ("reading", 0, 3),
        ("recorded", 0, 3),
        ("best-fit", 1, 3),
        ("worst-fit", 2, 3),
    ]
    steps.clear()
    # Compared with reclaimed, and that with limits: both are compacted too.
    replace(COMPACT, report=report).run(
        cell,
        at=0,
        what_ifs=("reclaimed-segregated",),
        seeds=1,
    )
    assert steps == [
        ("limits", 0, 3),
        ("reclaimed", 1, 3),
        ("reclaimed-segregated", 2, 3),
    ]


def test_a_trace_without_a_tier_production_has_nobody_above_the_others() -> None:
    attempts = [
        (1, 0, 0, 0, 500, 1.0, 0),
        (2, 0, 100, 100, 200, 1.0, 2),
    ]
    made = trace_of(attempts)
    trace = replace(made, tasks=replace(made.tasks, tiers=("free", "other", "mid")))
    assert trace.tasks.is_production.tolist() == [False, False]
    assert submissions(trace) == [
        (1, 0, 0, 500, 0, DONE),
        (2, 100, 500, 600, 0, DONE),
    ]


def test_an_attempt_that_is_withdrawn_at_the_first_instant_is_followed_by_the_next() -> None:
    # Job 1 is withdrawn at 0 and comes again at once; in the trace the attempt that follows stands first.
    attempts = [
        (1, 1, 0, 0, 900, 1.0, FREE),
        (2, 0, 0, 0, 50, 1.0, FREE),
        (1, 0, 0, -1, 0, 1.0, FREE),
    ]
    assert submissions(trace_of(attempts)) == [
        (2, 0, 0, 50, 0, DONE),
        (1, 0, -1, 0, -1, DONE),
        (1, 0, 50, 950, 0, DONE),
    ]


def test_one_task_is_submitted_again_as_often_as_its_machine_goes() -> None:
    # It goes at 100, 200, … and is back 10 µs later; the task comes again after 7 µs and starts with the machine.
    often = 1100
    made = trace_of([(1, 0, 0, 0, 10**6, 0.5, FREE)], until=2 * 10**6)
    times = 100 * np.arange(1, often + 1)
    goes = make_changes(times, 0, False, 0)
    returns = make_changes(times + 10, 0, True, 0)
    rows = submissions(replace(made, changes=np.concatenate([made.changes, goes, returns])))
    expected = [(1, 0, 0, 100, 0, REMOVED)]
    for time in times[:-1].tolist():
        expected.append((1, time + 7, time + 10, time + 100, 0, REMOVED))
    last = 100 * often
    expected.append((1, last + 7, last + 10, last + 10 + 10**6, 0, DONE))
    assert rows == expected


def test_cpu_and_memory_of_the_cell_are_each_their_own() -> None:
    trace = trace_of([(1, 0, 0, 0, -1, 0.5, FREE)], until=100)
    trace.tasks.sizes[:] = (UNIT // 2, UNIT // 4)
    (row,) = compute(
        trace,
        np.array([[0, 0, 0, -1, 0, ALIVE]]),
        "p",
        trace.tasks.sizes,
        np.empty(0),
    )
    assert (row["cpu"], row["memory"]) == (0.5, 0.25)


def test_with_a_plan_a_task_is_impossible_by_what_is_planned() -> None:
    # What asks for half of a machine and is planned with two of them: nothing takes that, whatever was recorded.
    trace = trace_of([(1, 0, 0, -1, -1, 0.5, FREE)])
    sizes = np.full((1, 2), 2 * UNIT)
    plan = TaskPlan(
        "average",
        sizes,
        np.zeros_like(sizes),
        0.0,
        0,
        sizes,
    )
    found = {}
    for name, policy in (("recorded", None), ("best-fit", parse_policy("best-fit"))):
        (row,) = rows_of_run(
            PolicyRun(name, policy, trace, is_logged=False),
            options=SimulateOptions(),
            plan=plan,
            factor=1.0,
            compute=compute,
            labels=None,
        ).rows
        found[row["policy"]] = row["pending_end"], row["impossible"], row["factor"]
    assert found == {"recorded": (1, 0, 1.0), "best-fit": (1, 1, 4.0)}
