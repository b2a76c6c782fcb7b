"""The lives of tasks: legal, counted, on machines that they may use, with usage while they run."""

from __future__ import annotations

import operator
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

from tests.synth.reading import read_rows

EVENTS = (
    "SUBMIT",
    "SCHEDULE",
    "EVICT",
    "FAIL",
    "FINISH",
    "KILL",
    "LOST",
    "UPDATE_PENDING",
    "UPDATE_RUNNING",
)
"""By their codes in 2011 (format document)."""
_ENDS_WHILE_WAITING = {"SCHEDULE", "KILL", "EVICT", "FAIL", "LOST", "UPDATE_PENDING"}
_ENDS_WHILE_RUNNING = {"FINISH", "EVICT", "FAIL", "KILL", "LOST", "UPDATE_RUNNING"}
SUCCESSORS = {
    "START": {"SUBMIT"},
    "SUBMIT": _ENDS_WHILE_WAITING,
    "UPDATE_PENDING": _ENDS_WHILE_WAITING,
    "SCHEDULE": _ENDS_WHILE_RUNNING,
    "UPDATE_RUNNING": _ENDS_WHILE_RUNNING,
    "EVICT": {"SUBMIT"},
    "FAIL": {"SUBMIT"},
    "KILL": {"SUBMIT"},
    "FINISH": {"SUBMIT"},
    "LOST": {"SUBMIT"},
}
"""Legal successors of task events in 2011 (format document, and the first 19.65 hours)."""
SECOND = 1_000_000
WINDOW = 300 * SECOND
NEVER = 2**62
ENDS = ("EVICT", "FAIL", "FINISH", "KILL", "LOST")


@dataclass(frozen=True)
class TaskEvent:
    """A row of task_events."""

    time: int
    task: tuple[str, str]
    machine: str
    type: str
    priority: str


def task_events(trace: Any) -> list[TaskEvent]:
    events = []
    for row in read_rows(trace.folder, "task_events"):
        time, _, job, index, machine, kind, _, _, priority = row[:9]
        event = TaskEvent(
            time=int(time),
            task=(job, index),
            machine=machine,
            type=EVENTS[int(kind)],
            priority=priority,
        )
        events.append(event)
    return events


def test_event_counts_are_the_truth(faulty: Any) -> None:
    truth: dict[tuple[str, str], int] = {}
    for priority, counts in faulty.truth["instance_events"].items():
        for kind, count in counts.items():
            truth[priority, kind] = count
    assert Counter((event.priority, event.type) for event in task_events(faulty)) == truth
    job_rows = read_rows(faulty.folder, "job_events")
    job_counts = Counter(EVENTS[int(row[3])] for row in job_rows)
    assert job_counts == faulty.truth["collection_events"]


def test_every_task_lives_a_legal_life(faulty: Any) -> None:
    state: dict[tuple[str, str], str] = {}
    transitions: Counter[str] = Counter()
    missing = faulty.truth["planted"]["missing_schedules"]
    unscheduled = {(str(job), str(index)) for job, index, _ in missing}
    for event in task_events(faulty):
        before = state.get(event.task, "START")
        if event.task not in unscheduled:
            assert event.type in SUCCESSORS[before], (event, before)
        transitions[f"{before}>{event.type}"] += 1
        state[event.task] = event.type
    assert transitions == faulty.truth["transitions"]
    assert transitions["SUBMIT>SUBMIT"] == 0
    assert 1 <= transitions["SUBMIT>EVICT"] < 0.01 * transitions["SUBMIT>SCHEDULE"]


def test_tasks_run_where_there_is_a_machine_and_their_constraints_hold(clean: Any) -> None:
    machines = {row[1] for row in read_rows(clean.folder, "machine_events")}
    values: dict[tuple[str, str], int] = {}
    for _, machine, name, value, _ in read_rows(clean.folder, "machine_attributes"):
        if value.isdigit():
            values[machine, name] = int(value)
    # By their codes in 2011.
    comparisons = (operator.eq, operator.ne, operator.lt, operator.gt)
    constraints = defaultdict(set)
    for _, job, index, code, name, value in read_rows(clean.folder, "task_constraints"):
        constraints[job, index].add((comparisons[int(code)], name, int(value)))
    placed = [event for event in task_events(clean) if event.type == "SCHEDULE" and event.time]
    assert placed
    for event in placed:
        assert event.machine in machines
        for holds, name, value in constraints[event.task]:
            assert holds(values[event.machine, name], value)


@dataclass
class Run:
    """A run of a task on a machine; its end is far away as long as it is not known."""

    start: int
    machine: str
    end: int = NEVER


def runs_by_task(trace: Any) -> dict[tuple[str, str], list[Run]]:
    runs: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for event in task_events(trace):
        own = runs[event.task]
        if event.type == "SCHEDULE":
            own.append(Run(event.time, event.machine))
        elif event.type in ENDS and own:
            # A task that waits may end, too, long after its last run.
            own[-1].end = min(own[-1].end, event.time)
    return runs


def test_usage_stays_within_the_attempts_on_their_machine(clean: Any) -> None:
    runs = runs_by_task(clean)
    for row in read_rows(clean.folder, "task_usage"):
        start = int(row[0])
        end = int(row[1])
        assert 0 < end - start <= WINDOW
        assert start // WINDOW == (end - 1) // WINDOW
        on_machine = [run for run in runs[row[2], row[3]] if run.machine == row[4]]
        assert any(start >= run.start - SECOND and end <= run.end + WINDOW for run in on_machine)
