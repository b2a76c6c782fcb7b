"""The lives of tasks: legal, counted, on machines that they may use, with usage while they run."""

from __future__ import annotations

from collections import Counter
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
SUCCESSORS = {
    "START": {"SUBMIT"},
    "SUBMIT": {"SCHEDULE", "KILL", "EVICT", "FAIL", "LOST", "UPDATE_PENDING"},
    "UPDATE_PENDING": {"SCHEDULE", "KILL", "EVICT", "FAIL", "LOST", "UPDATE_PENDING"},
    "SCHEDULE": {"FINISH", "EVICT", "FAIL", "KILL", "LOST", "UPDATE_RUNNING"},
    "UPDATE_RUNNING": {"FINISH", "EVICT", "FAIL", "KILL", "LOST", "UPDATE_RUNNING"},
    **{key: {"SUBMIT"} for key in ("EVICT", "FAIL", "KILL", "FINISH", "LOST")},
}
"""Legal successors of task events in 2011 (format document, and the first 19.65 hours)."""


def test_event_counts_are_the_truth(faulty: Any) -> None:
    counted = Counter(
        (row[8], EVENTS[int(row[5])]) for row in read_rows(faulty.folder, "task_events")
    )
    truth = {
        (p, k): n for p, kinds in faulty.truth["instance_events"].items() for k, n in kinds.items()
    }
    assert counted == truth
    jobs = Counter(EVENTS[int(row[3])] for row in read_rows(faulty.folder, "job_events"))
    assert jobs == faulty.truth["collection_events"]


def test_every_task_lives_a_legal_life(faulty: Any) -> None:
    state: dict[tuple[str, str], str] = {}
    transitions: Counter[str] = Counter()
    unscheduled = {
        (str(job), str(index)) for job, index, _ in faulty.truth["planted"]["missing_schedules"]
    }
    for row in read_rows(faulty.folder, "task_events"):
        task, event = (row[2], row[3]), EVENTS[int(row[5])]
        before = state.get(task, "START")
        if task not in unscheduled:
            assert event in SUCCESSORS[before], (task, before, event)
        transitions[f"{before}>{event}"] += 1
        state[task] = event
    assert transitions == faulty.truth["transitions"]
    assert transitions["SUBMIT>SUBMIT"] == 0
    assert 1 <= transitions["SUBMIT>EVICT"] < 0.01 * transitions["SUBMIT>SCHEDULE"]


def test_tasks_run_where_there_is_a_machine_and_their_constraints_hold(clean: Any) -> None:
    machines = {row[1] for row in read_rows(clean.folder, "machine_events")}
    values = {
        (r[1], r[2]): int(r[3])
        for r in read_rows(clean.folder, "machine_attributes")
        if r[3].isdigit()
    }
    holds = (int.__eq__, int.__ne__, int.__lt__, int.__gt__)
    constraints: dict[tuple[str, str], set[tuple[int, str, int]]] = {}
    for _, job, index, operator, name, value in read_rows(clean.folder, "task_constraints"):
        constraints.setdefault((job, index), set()).add((int(operator), name, int(value)))
    placed = [
        row for row in read_rows(clean.folder, "task_events") if row[5] == "1" and row[0] != "0"
    ]
    assert placed
    for row in placed:
        assert row[4] in machines
        for operator, name, value in constraints.get((row[2], row[3]), ()):
            assert holds[operator](values[row[4], name], value)


def test_usage_stays_within_the_attempts_on_their_machine(clean: Any) -> None:
    runs: dict[tuple[str, str], list[tuple[int, int, str]]] = {}
    for row in read_rows(clean.folder, "task_events"):
        if row[5] == "1":
            runs.setdefault((row[2], row[3]), []).append((int(row[0]), 2**62, row[4]))
        elif (
            row[5] in "23456" and (row[2], row[3]) in runs and runs[row[2], row[3]][-1][1] == 2**62
        ):
            start, _, machine = runs[row[2], row[3]][-1]
            runs[row[2], row[3]][-1] = (start, int(row[0]), machine)
    second = 1_000_000
    for row in read_rows(clean.folder, "task_usage"):
        start, end = int(row[0]), int(row[1])
        assert 0 < end - start <= 300 * second
        assert start // (300 * second) == (end - 1) // (300 * second)
        assert any(
            start >= since - second and end <= until + 300 * second and row[4] == machine
            for since, until, machine in runs[row[2], row[3]]
        )
