"""``borgtrace simulate``: cells whose answer is known, and what is said of bad input."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import borgtrace
from borgtrace.cli import main
from borgtrace.errors import UsageError
from borgtrace.lifecycle.occupancy import occupancy
from borgtrace.question import EngineTables
from borgtrace.report.holdings import trace_name
from borgtrace.scheduling import SIMULATE
from borgtrace.scheduling.replay import ScheduleInput, recorded
from tests.cli.test_compact import store, used
from tests.scheduling.traces import levels

SECOND = 10**6
FREE, OTHER, PRODUCTION = 0, 4, 9


def life(
    job: int,
    priority: int,
    begin: int,
    length: int,
    size: str = "0.6",
) -> list[str]:
    """A task that is submitted and starts at once, on machine 1, and finishes; times in seconds."""
    events = ((begin, 0, ""), (begin, 1, 1), (begin + length, 4, 1))
    return [
        f"{time * SECOND},,{job},0,{where},{type_},u,1,{priority},{size},{size},0,0"
        for time, type_, where in events
    ]


LATE = life(99, FREE, 2000, 1, "0.1")
"""Until when the trace lasts."""


def simulate(
    capsys: pytest.CaptureFixture[str], path: Path, *arguments: object
) -> tuple[dict[tuple[str, str], dict[str, Any]], str]:
    with pytest.raises(SystemExit) as caught:
        main(
            [
                "simulate",
                str(path),
                *map(str, arguments),
                "--json",
            ]
        )
    printed = capsys.readouterr()
    assert not caught.value.code, printed.err
    return {
        (row["policy"], row["tier"]): row for row in json.loads(printed.out)["rows"]
    }, printed.err


def ones(*machines: int) -> list[str]:
    return [f"0,{machine},0,PLATFORM,1,1" for machine in machines]


QUEUE = [
    *life(1, FREE, 700, 100),
    *life(2, FREE, 710, 100),
    *life(3, FREE, 720, 100),
    *LATE,
]


def test_without_contention_nobody_waits_and_nobody_is_evicted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cell = store(tmp_path, machine_events=ones(1, 2, 3), task_events=QUEUE)
    policies = ("recorded", "best-fit+preempt", "worst-fit", "random:k=1")
    rows, _ = simulate(
        capsys, cell, *(part for policy in policies for part in ("--policy", policy))
    )
    for policy in policies:
        row = rows[policy, "free"]
        assert (row["submissions"], row["starts"], row["wait_mean"], row["evicted"]) == (
            4,
            4,
            0.0,
            0,
        )
        # 301 seconds of 2001.
        assert row["running"] == pytest.approx(301 / 2001)
        assert row["factor"] == 1.0


def test_with_a_machine_too_few_the_queue_is_that_by_hand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # One machine, one task at a time: starts at 700, 800 and 900 s, waits of 0, 90 and 180 s, and 0 of the late one.
    cell = store(tmp_path, machine_events=ones(1), task_events=QUEUE)
    rows, _ = simulate(capsys, cell, "--policy", "first-fit", "--factor", 1)
    row = rows["first-fit", "free"]
    assert (row["starts"], row["wait_p50"], row["wait_mean"], row["pending_end"]) == (
        4,
        45.0,
        67.5,
        0,
    )
    # By half of their requests all three fit.
    rows, _ = simulate(capsys, cell, "--policy", "first-fit", "--factor", 0.5)
    assert rows["first-fit", "free"]["wait_mean"] == 0.0


def test_an_eviction_chain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # The free task starts at 700 s and is evicted at 710 s by the other, that at 720 s by production, which ends at
    # 820 s; then the other runs again, and from 920 s on the free one.
    events = [
        *life(1, FREE, 700, 100),
        *life(2, OTHER, 710, 100),
        *life(3, PRODUCTION, 720, 100),
        *LATE,
    ]
    cell = store(tmp_path, machine_events=ones(1), task_events=events)
    rows, _ = simulate(
        capsys, cell, "--policy", "best-fit", "--policy", "best-fit+preempt", "--factor", 1
    )
    name = "best-fit+preempt"
    assert {tier: rows[name, tier]["evicted"] for tier in ("free", "other", "production")} == {
        **{
            "free": 1,
            "other": 1,
            "production": 0,
        }
    }
    waits = {tier: rows[name, tier]["wait_mean"] for tier in ("free", "other", "production")}
    # Each is submitted again 7 µs after its eviction: (0 + 210 + 0) / 3, (0 + 100) / 2.
    assert waits == pytest.approx(
        {
            "free": 70.0,
            "other": 50.0,
            "production": 0.0,
        },
        abs=1e-5,
    )
    # Without preemption production waits for the free task, and goes before the other.
    plain = {tier: rows["best-fit", tier]["wait_mean"] for tier in ("free", "other", "production")}
    assert plain == pytest.approx(
        {
            "free": 0.0,
            "other": 190.0,
            "production": 80.0,
        }
    )


def test_production_never_evicts_production(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = [
        *life(1, 9, 700, 100),
        *life(2, 11, 710, 100),
        *LATE,
    ]
    cell = store(tmp_path, machine_events=ones(1), task_events=events)
    rows, _ = simulate(capsys, cell, "--policy", "best-fit+preempt")
    row = rows["best-fit+preempt", "production"]
    assert (row["evicted"], row["wait_mean"]) == (0, 45.0)


def test_a_machine_that_goes_takes_its_tasks_along(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Away from 750 to 760 s: the task of 700 s runs again from 760 s on.
    machines = [
        *ones(1),
        f"{750 * SECOND},1,1,PLATFORM,,",
        f"{760 * SECOND},1,0,PLATFORM,1,1",
    ]
    cell = store(tmp_path, machine_events=machines, task_events=[*life(1, FREE, 700, 100), *LATE])
    rows, _ = simulate(capsys, cell, "--policy", "recorded", "--policy", "best-fit")
    row = rows["best-fit", "free"]
    assert (row["submissions"], row["removed"], row["pending_end"]) == (3, 1, 0)
    assert row["wait_mean"] == pytest.approx(10 / 3, abs=1e-5)
    assert rows["recorded", "free"]["removed"] == 0


def test_an_impossible_task_waits_for_ever_and_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    demands = [f"{700 * SECOND},5,0,0,70s3v5qRyCO/1PCdI6fVXnrW8FU/w+5CKRSa72xgcIo=,7"]
    large = [f"0,{machine},0,PLATFORM,0.5,0.5" for machine in (1, 2)]
    events = [
        *life(5, FREE, 700, 100, "0.1"),
        *life(6, FREE, 700, 100, "0.6"),
        *LATE,
    ]
    cell = store(
        tmp_path,
        machine_events=large,
        task_events=events,
        task_constraints=demands,
    )
    rows, err = simulate(capsys, cell, "--policy", "least-stranded", "--factor", 1)
    row = rows["least-stranded", "free"]
    assert (row["starts"], row["pending_end"], row["impossible"]) == (1, 2, 2)
    assert "2 that fit no machine (5/0, 6/0 …); 2 machines\n" in err


DEMANDED = "70s3v5qRyCO/1PCdI6fVXnrW8FU/w+5CKRSa72xgcIo="


def test_machines_and_attributes_that_come_later_meet_constraints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Machine 1 has 8 from 900 s on, and 6 up to 750 s; machine 2 comes at 800 s and has 7.
    attributes = [
        f"0,1,{DEMANDED},6,0",
        f"{750 * SECOND},1,{DEMANDED},,1",
        f"{900 * SECOND},1,{DEMANDED},8,0",
    ]
    attributes.append(f"{800 * SECOND},2,{DEMANDED},7,0")
    wanted = {
        5: (700, 7),
        6: (710, 8),
        7: (740, 6),
        8: (760, 6),
    }
    demands = [
        f"{begin * SECOND},{job},0,0,{DEMANDED},{value}" for job, (begin, value) in wanted.items()
    ]
    events = [
        line for job, (begin, _) in wanted.items() for line in life(job, FREE, begin, 50, "0.1")
    ]
    machines = [*ones(1), f"{800 * SECOND},2,0,PLATFORM,1,1"]
    tables = {
        "machine_events": machines,
        "machine_attributes": attributes,
        "task_constraints": demands,
    }
    cell = store(tmp_path, **tables, task_events=[*events, *LATE])
    rows, err = simulate(
        capsys,
        cell,
        "--policy",
        "best-fit",
        "--factor",
        1,
        "--event-log",
        tmp_path / "log",
    )
    starts = """
        select collection_id, time // 1000000, machine_id
        from instance_events
        where type = 'SCHEDULE'
        order by collection_id
    """
    assert rows_of(tmp_path / "log", starts) == [
        (5, 800, 2),
        (6, 900, 1),
        (7, 740, 1),
        (99, 2000, 1),
    ]
    row = rows["best-fit", "free"]
    # Nothing has 6 when the last one comes; some machine had it, so that it is not impossible.
    assert (row["pending_end"], row["impossible"], row["waiting_hours"] * 3600) == (
        1,
        0,
        pytest.approx(100 + 190 + 1241),
    )
    assert "that fit no machine" not in err


def test_what_constraints_cost_is_said_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Both wait from 700 s to the end of 2001 s: one for the attribute, one for a machine that is large enough.
    demands = [f"{700 * SECOND},5,0,0,{DEMANDED},7"]
    events = [
        *life(5, FREE, 700, 100, "0.1"),
        *life(6, FREE, 700, 100, "0.6"),
        *LATE,
    ]
    machines = ["0,1,0,PLATFORM,0.5,0.5"]
    cell = store(
        tmp_path,
        machine_events=machines,
        task_events=events,
        task_constraints=demands,
    )
    options = ("--policy", "recorded", "--policy", "best-fit", "--factor", 1, "--each-constraint")
    rows, err = simulate(
        capsys,
        cell,
        *options,
        "--add-machines",
        "1:1:0.75",
    )
    names = ("recorded", "best-fit", f"best-fit without {DEMANDED}", "best-fit + 1:1:0.75")
    assert [policy for policy, _ in rows] == sorted(names)
    hours = {name: rows[name, "free"]["waiting_hours"] * 3600 for name in names[1:]}
    assert hours == pytest.approx(
        {
            names[1]: 2602,
            names[2]: 1301,
            names[3]: 0,
        },
        abs=1e-6,
    )
    assert [rows[name, "free"]["impossible"] for name in names[1:]] == [2, 1, 0]
    sentence = f"constraints on {DEMANDED} cost the most waiting, 0.36 of 0.72 task-hours"
    assert f"best-fit (simulated): of 1 attributes, {sentence}" in " ".join(err.split())


def test_added_machines_shorten_the_queue(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cell = store(tmp_path, machine_events=ones(7), task_events=QUEUE)
    options = (
        "--policy",
        "first-fit",
        "--factor",
        1,
        "--add-machines",
        "1:1:1",
        "--add-machines",
        "2:1:1",
    )
    rows, err = simulate(capsys, cell, *options, "--each-constraint")
    # With two machines only the third waits, from 720 to 800 s; with three nobody.
    waits = [
        rows[f"first-fit{added}", "free"]["wait_mean"] for added in ("", " + 1:1:1", " + 2:1:1")
    ]
    assert waits == [67.5, 20.0, 0.0]
    # A third of the CPU that one machine had.
    used = [rows[f"first-fit{added}", "free"]["cpu"] for added in ("", " + 2:1:1")]
    assert used[1] == pytest.approx(used[0] / 3)
    assert "attributes" not in err


def test_other_machines_and_usage_instead_of_requests(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    usage = [used(job, 1, 0.3) for job in (1, 2, 3)]
    cell = store(
        tmp_path,
        machine_events=["0,7,0,PLATFORM,0.5,1"],
        task_events=QUEUE,
        task_usage=usage,
    )
    options = ("--policy", "recorded", "--policy", "first-fit", "--upgrade-machines", "0.5:1=1:1")
    rows, _ = simulate(
        capsys,
        cell,
        *options,
        "--factor",
        1,
    )
    # None of .6 fits a half; on a whole machine the queue is the known one.
    names = [("first-fit", "free"), ("first-fit upgraded 0.5:1=1:1", "free")]
    assert [(rows[name]["starts"], rows[name]["impossible"]) for name in names] == [(1, 3), (4, 0)]
    assert (
        rows[names[1]]["wait_mean"],
        rows[names[1]]["wait_small"],
        rows[names[1]]["wait_large"],
    ) == (
        67.5,
        0.0,
        90.0,
    )
    # By usage one fits a half at a time, and all three a whole one; the late task of .1 has no usage.
    rows, err = simulate(
        capsys,
        cell,
        *options,
        "--plan",
        "average:1",
    )
    assert [rows[name]["wait_mean"] for name in names] == [67.5, 0.0]
    assert [rows[name]["factor"] for name in names] == pytest.approx([1.0 / 1.9] * 2, rel=1e-5)
    assert "average 1: 1 attempts without usage take what they ask for" in " ".join(err.split())
    assert rows["recorded", "free"]["factor"] == 1.0


@pytest.mark.parametrize(
    "text", ["0.5:1", "0.5:1=1", "0.5:1=1:1=1:1", "a:1=1:1", "0:1=1:1", "0.5:1=1:1.5"]
)
def test_upgrades_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        SIMULATE.run("nowhere", upgrade_machines=(text,))
    assert str(caught.value) == (
        "--upgrade-machines: no shapes: expected CPU:MEMORY=CPU:MEMORY, above 0 and at most 1, the largest machine, "
        f"got {text}; try 0.5:0.25=0.5:0.5"
    )


@pytest.mark.parametrize("text", ["gpa:0.6", "convolution:0.01"])
def test_a_plan_that_is_no_room_test_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        SIMULATE.run("nowhere", plan=text)
    expected = (
        "average, cantelli, percentile, request, reservation, reclaimed, share:CPU,MEMORY, "
        "overcommit:POLICY, or gpa up to 0.5"
    )
    assert (
        str(caught.value) == f"--plan: no room test of a scheduler: expected {expected}, got {text}"
    )
    for margin in ("-0.1", "inf", "nan", "a", ""):
        with pytest.raises(UsageError) as caught:
            SIMULATE.run("nowhere", plan=f"reservation:{margin}")
        assert (
            str(caught.value)
            == f"--plan: no margin: expected reservation:SHARE, 0 to 1,000, got reservation:{margin}"
        )
    with pytest.raises(UsageError) as caught:
        SIMULATE.run("nowhere", plan="gpa:0.01", factor=0.5)
    assert (
        str(caught.value)
        == "--factor: not beside --plan: expected one of the two, got --plan gpa:0.01 --factor 0.5"
    )


@pytest.mark.parametrize("text", ["2:1", "0:1:1", "-1:1:1", "2:1.5:1", "2:1:0", "2:a:1", "2:1:1:1"])
def test_added_machines_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        SIMULATE.run("nowhere", add_machines=(text,))
    assert str(caught.value) == (
        "--add-machines: no machines: expected N:CPU:MEMORY, N from 1 to 1,000,000, the others above 0 and at most 1, "
        f"the largest machine, got {text}; try 100:0.5:0.5"
    )


def test_tasks_without_half_of_their_events_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Two of four have no SUBMIT: they arrive when they were scheduled, and the queue is the same.
    events = [
        *life(1, FREE, 700, 100)[1:],
        *life(2, FREE, 710, 100)[1:],
        *life(3, FREE, 720, 100),
        *LATE,
    ]
    cell = store(tmp_path, machine_events=[*ones(1), "0,2,0,PLATFORM,,"], task_events=events)
    rows, err = simulate(capsys, cell, "--policy", "first-fit", "--factor", 1)
    assert rows["first-fit", "free"]["wait_mean"] == 67.5
    assert " ".join(err.split()).startswith(
        "4 attempts: 2 without SUBMIT; 1 machine, 1 others without a capacity"
    )


def test_recorded_is_the_trace(tmp_path: Path) -> None:
    # One is killed while it waits, one has no SUBMIT and an unknown machine, one is evicted and returns.
    def event(
        time: int,
        job: int,
        type_: int,
        machine: object = "",
        priority: int = FREE,
    ) -> str:
        return f"{time * SECOND},,{job},0,{machine},{type_},u,1,{priority},0.1,0.1,0,0"

    more = [
        event(800, 10, 0),
        event(900, 10, 5),
        event(800, 11, 1, 77, PRODUCTION),
    ]
    again = [
        event(700, 12, 0),
        event(701, 12, 1, 1),
        event(750, 12, 2, 1),
        event(751, 12, 0),
        event(760, 12, 1, 1),
    ]
    cell = store(
        tmp_path,
        machine_events=ones(1),
        task_events=[
            *QUEUE,
            *more,
            *again,
        ],
    )
    opened = borgtrace.open(cell)
    tables = EngineTables.of(opened)
    trace = ScheduleInput.of(tables, opened.manifest.time_range["instance_events"][1])
    assert (trace.unknown_machine, trace.without_submit) == (1, 1)
    for place, (_, low, high) in enumerate(tables.dialect.tiers):
        attempts = tables.instance_attempts
        of_tier = occupancy(attempts.filter(attempts.priority.between(low, high)))
        expected = tables.fetch(of_tier.order_by("time"))
        replayed = levels(trace, recorded(trace), place)
        for name, values in zip(("time", "pending", "running"), replayed, strict=True):
            assert np.array_equal(values, expected[name].to_numpy()), name


@pytest.mark.wide
def test_policies_side_by_side_are_as_one_after_the_other(tmp_path: Path) -> None:
    cell = store(tmp_path, machine_events=ones(1), task_events=QUEUE)
    options = {"policies": ("recorded", "best-fit", "random:k=1"), "add_machines": ("1:1:1",)}
    by_one_process = SIMULATE.run(cell, **options, jobs=1).table
    by_two_processes = SIMULATE.run(cell, **options, jobs=2).table
    assert by_one_process.num_rows == 5
    assert by_one_process.equals(by_two_processes)


def test_room_has_colors_of_its_own(tmp_path: Path) -> None:
    cell = store(tmp_path, machine_events=ones(1), task_events=QUEUE)
    drawn = SIMULATE.run(cell, policies=("best-fit",)).plot().to_dict()
    colors = [panel["encoding"]["color"]["field"] for panel in drawn["hconcat"]]
    assert (colors, drawn["resolve"]["scale"]) == (["tier", "series"], {"color": "independent"})


def job_events(id_: int, *events: tuple[int, int]) -> list[str]:
    """Raw events of a job: seconds and type of each."""
    return [f"{time * SECOND},,{id_},{type_},u,1,job,logical" for time, type_ in events]


@pytest.fixture
def event_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The schedule of the queue on one machine, with a task of .9 that never starts."""
    cell = store(
        tmp_path,
        machine_events=["0,7,0,PLATFORM,0.75,0.75"],
        task_events=[*QUEUE, *life(8, PRODUCTION, 705, 10, "0.9")],
        job_events=[
            *job_events(3, (720, 0), (720, 1), (820, 4)),
            *job_events(8, (705, 0), (705, 1), (715, 4)),
        ],
    )
    out = tmp_path / "simulated"
    simulate(capsys, cell, "--policy", "first-fit", "--factor", 1, "--event-log", out)
    return out


def rows_of(folder: Path, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query over a store."""
    return [tuple(row.values()) for row in borgtrace.open(folder).sql(query).to_pylist()]


def test_an_event_log_is_a_store_that_tells_the_schedule(event_log: Path) -> None:
    # One after the other on the machine, where the trace ran all at once.
    expected = [
        (1, 700, "SUBMIT", None, FREE),
        (1, 700, "SCHEDULE", 7, FREE),
        (1, 800, "FINISH", 7, FREE),
        (2, 710, "SUBMIT", None, FREE),
        (2, 800, "SCHEDULE", 7, FREE),
        (2, 900, "FINISH", 7, FREE),
        (3, 720, "SUBMIT", None, FREE),
        (3, 900, "SCHEDULE", 7, FREE),
        (3, 1000, "FINISH", 7, FREE),
        (8, 705, "SUBMIT", None, PRODUCTION),
        (99, 2000, "SUBMIT", None, FREE),
        (99, 2000, "SCHEDULE", 7, FREE),
        (99, 2001, "FINISH", 7, FREE),
    ]
    query = f"""
        select collection_id, time // {SECOND}, type, machine_id, priority
        from instance_events
        order by collection_id, time, source_row
    """
    assert rows_of(event_log, query) == expected


def test_an_event_log_has_the_events_of_jobs(event_log: Path) -> None:
    query = f"""
        select collection_id, time // {SECOND}, type
        from collection_events
        order by collection_id, time, source_row
    """
    assert rows_of(event_log, query) == [
        (3, 720, "SUBMIT"),
        (3, 900, "SCHEDULE"),
        (3, 1000, "FINISH"),
        (8, 705, "SUBMIT"),
    ]


def test_an_event_log_replayed_as_it_was_recorded_is_the_schedule(
    event_log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, _ = simulate(capsys, event_log, "--policy", "recorded")
    recorded_row = rows["recorded", "free"]
    assert recorded_row["starts"] == 4
    assert recorded_row["wait_mean"] == 67.5


def test_an_event_log_says_that_it_is_simulated(event_log: Path) -> None:
    opened = borgtrace.open(event_log)
    name = "Simulated cell in the format of Google cluster trace 2011"
    assert trace_name(opened.manifest) == name
    n_rows = sum(opened.manifest.tables.values())
    assert repr(opened) == f"<Store {event_log} (simulated, 2011, {n_rows} rows)>"
    assert opened.manifest.notes[-1].startswith("simulated with first-fit, seed 0, from ")
    origin = f"store {event_log} (2011, simulated, {opened.digest[:12]})"
    assert origin in str(EngineTables.of(opened).origin)
    with pytest.raises(SystemExit) as caught:
        main(["verify", str(event_log)])
    assert not caught.value.code


def test_evictions_are_events_of_the_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = [
        *life(1, FREE, 700, 100),
        *life(3, PRODUCTION, 720, 100),
        *LATE,
    ]
    cell = store(tmp_path, machine_events=ones(1), task_events=events)
    out = tmp_path / "simulated"
    simulate(capsys, cell, "--policy", "best-fit+preempt", "--factor", 1, "--event-log", out)
    found = borgtrace.open(out).sql(
        "select time, type, cpu_request from instance_events where collection_id = 1"
    )
    rows = sorted((row["time"], row["type"]) for row in found.to_pylist())
    at = 720 * SECOND
    assert rows[2:] == [
        (at, "EVICT"),
        (at + 7, "SUBMIT"),
        (820 * SECOND, "SCHEDULE"),
        (920 * SECOND, "FINISH"),
    ]


@pytest.mark.parametrize("policies", [("recorded",), ("best-fit", "worst-fit")])
def test_an_event_log_is_of_one_schedule(policies: tuple[str, ...]) -> None:
    with pytest.raises(UsageError) as caught:
        SIMULATE.run("nowhere", policies=policies, event_log="log")
    got = ", ".join(policies)
    assert (
        str(caught.value)
        == f"--event-log: not one schedule: expected one --policy, not recorded, got {got}"
    )


def test_a_factor_that_is_no_share_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        SIMULATE.run("nowhere", factor=2.0)
    assert str(caught.value) == "--factor: out of range: expected 0 to 1, got 2"


def test_no_machines_and_lists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cell = store(tmp_path, task_events=QUEUE)
    rows, err = simulate(capsys, cell)
    assert not rows
    assert "simulation: not applicable: the store holds no rows of machine_events" in err
    bare = store(tmp_path / "bare", machine_events=["0,1,0,PLATFORM,,"], task_events=QUEUE)
    assert (
        "simulation: not applicable: no machine has a published capacity"
        in simulate(capsys, bare)[1]
    )
    with pytest.raises(SystemExit):
        main(
            [
                "simulate",
                str(cell),
                "--list",
            ]
        )
    assert capsys.readouterr().out.startswith("least-stranded")


@pytest.mark.wide
def test_empty_machines_beside_those_of_best_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Two tasks of 0.6: the trace has both on the first of two machines, best fit one on each.
    events = [*life(1, PRODUCTION, 0, 7200), *life(2, PRODUCTION, 3600, 7200)]
    events += [f"{14400 * SECOND},,3,0,,0,u,1,{PRODUCTION},0.6,0.6,0,0"]
    machines = ["0,1,0,a,1,1", "0,2,0,a,1,1"]
    path = store(tmp_path, task_events=events, machine_events=machines)
    arguments = ["simulate", str(path), "--empty-machines", "--factor", "1", "--json"]
    for policy in ("recorded", "best-fit", "nilas:lifetimes=oracle"):
        arguments += ["--policy", policy]
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    printed = capsys.readouterr()
    assert not caught.value.code, printed.err
    rows = {row["policy"]: row for row in json.loads(printed.out)["rows"]}
    # By hours: ½ ½ ½ 1 of the machines as recorded, ½ 0 ½ 1 with best fit.
    assert rows["recorded"]["empty"] == pytest.approx(0.625)
    assert rows["best-fit"]["empty"] == pytest.approx(0.5)
    assert rows["recorded"]["gain"] == pytest.approx(0.125)
    assert rows["nilas:lifetimes=oracle"]["gain"] == pytest.approx(0)


def test_a_table_is_by_hour_or_of_empty_machines(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["simulate", "store", "--by-hour", "--empty-machines"])
    assert caught.value.code == 2
    assert capsys.readouterr().err == (
        "borgtrace: --by-hour: not beside --empty-machines: expected one of the two\n"
    )
