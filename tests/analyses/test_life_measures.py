"""What the fidelity report measures of lives, by hand on a cell of two machines over ten hours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from borgtrace.analyses.fidelity.event_measures import read_events
from borgtrace.analyses.fidelity.life_measures import life_measures, read_lives
from borgtrace.analyses.fidelity.weighted_measures import Units
from borgtrace.schema.time import BEFORE_TRACE
from tests.analyses.tiny import at, tiny

FREE, OTHER, PRODUCTION = 0, 4, 9
BEFORE = -1.0


def when(seconds: float) -> int:
    return BEFORE_TRACE if seconds == BEFORE else at(seconds)


def machine(id_: int, cpu: float) -> dict[str, Any]:
    return {
        "machine_id": id_,
        "time": BEFORE_TRACE,
        "type": "ADD",
        "cpu_capacity": cpu,
        "memory_capacity": 1.0,
    }


def job(id_: int, *steps: tuple[float, str]) -> list[dict[str, Any]]:
    return [{"collection_id": id_, "time": when(time), "type": type_} for time, type_ in steps]


def task(
    job_id: int, index: int, priority: int, cpu: float, *steps: tuple[float, str]
) -> list[dict[str, Any]]:
    key = {"collection_id": job_id, "instance_index": index}
    asked = {"priority": priority, "cpu_request": cpu, "memory_request": cpu}
    return [
        {
            **key,
            **asked,
            "time": when(time),
            "type": type_,
            "machine_id": None if type_ in ("SUBMIT", "FAIL") else 1,
            "missing_type": "SNAPSHOT_BUT_NO_TRANSITION" if time == 36_100 else None,
        }
        for time, type_ in steps
    ]


def usage(job_id: int, index: int, n_windows: int, n_fail: int = 0) -> dict[str, Any]:
    return {
        "collection_id": job_id,
        "instance_index": index,
        "n_windows": n_windows,
        "n_fail": n_fail,
    }


CELL = {
    "machine_events": [machine(1, 0.5), machine(2, 1.0)],
    "collection_events": [
        *job(10, (BEFORE, "SUBMIT"), (BEFORE, "SCHEDULE")),
        *job(1, (1, "SUBMIT"), (1, "SCHEDULE"), (36_000, "FINISH")),
        *job(2, (36_000, "SUBMIT"), (36_100, "KILL")),
        *job(3, (200, "SUBMIT"), (200, "SCHEDULE"), (300, "FINISH")),
    ],
    "instance_events": [
        *task(10, 0, PRODUCTION, 0.3, (BEFORE, "SUBMIT"), (BEFORE, "SCHEDULE")),
        *task(1, 0, FREE, 0.1, (1, "SUBMIT"), (10, "SCHEDULE"), (100, "FAIL")),
        *task(1, 0, FREE, 0.1, (101, "SUBMIT"), (110, "SCHEDULE"), (36_000, "FINISH")),
        *task(1, 1, FREE, 0.1, (1, "SUBMIT"), (1.5, "SCHEDULE"), (100, "FINISH")),
        *task(2, 0, OTHER, 0.1, (36_000, "SUBMIT"), (36_100, "KILL")),
        *task(3, 0, FREE, 0.1, (200, "SUBMIT"), (201, "SCHEDULE"), (300, "FINISH")),
    ],
    "tasks": [usage(10, 0, 100), usage(1, 0, 120, 1), usage(1, 1, 1), usage(3, 0, 5)],
}


@pytest.fixture(scope="module")
def measured() -> dict[tuple[str, str], float]:
    tables = tiny(**CELL)
    units = Units.of(tables)
    lives = read_lives(tables, read_events(tables))
    weights = np.ones(len(units))
    return {key: measure(weights) for key, measure in life_measures(lives, units).items()}


@pytest.mark.parametrize(
    ("measure", "tier", "expected"),
    [
        # Two machines for ten hours, up to the last submission; five tasks with 16 events and 226 usage rows.
        ("tasks_per_machine_hour", "all", 5 / 20),
        ("events_per_machine_hour", "all", 16 / 20),
        ("windows_per_machine_hour", "all", 226 / 20),
        # Of five SCHEDULEs, three FINISHes and a FAIL the last says not where.
        ("events_naming_machine", "all", 8 / 9),
        ("events_with_missing_info", "all", 1 / 16),
        ("submissions_per_task", "all", 6 / 5),
        ("schedulings_per_task", "all", 5 / 5),
        ("completions_per_task", "all", 3 / 5),
        ("failures_of_top_10_jobs", "all", 1.0),
        ("fail_per_submission", "free", 1 / 4),
        ("finish_per_submission", "free", 3 / 4),
        ("kill_per_submission", "other", 1.0),
        ("evict_per_submission", "production", 0.0),
        # From hours 4.5 to 5.5 and 9 to 10 two tasks run, of .3 and .1 CPU; the cell has 1.5.
        ("running_per_machine_middle", "all", 2 / 2),
        ("running_per_machine_end", "production", 1 / 2),
        ("cpu_requested_of_capacity_middle", "all", 0.4 / 1.5),
        ("cpu_requested_of_capacity_end", "production", 0.3 / 1.5),
        # One of the two new jobs that ever ran lasts 100 s, the other ten hours.
        ("jobs_within_180s", "all", 0.5),
        ("jobs_within_7200s", "all", 0.5),
        ("jobs_ending_in_KILL", "all", 1 / 3),
        ("jobs_ending_in_FINISH", "all", 2 / 3),
        # Of the three tasks that never failed one has 100 rows.
        ("short_tasks", "tasks that end well", 2 / 3),
        ("traces_of_5_to_50", "all", 1 / 4),
    ],
)
def test_lives_of_a_small_cell(measured: Any, measure: str, tier: str, expected: float) -> None:
    assert measured[measure, tier] == pytest.approx(expected)


def test_ten_jobs_of_eleven_do_not_make_all_failures() -> None:
    failing = [
        row
        for number in range(11)
        for row in task(number, 0, FREE, 0.1, (1, "SUBMIT"), (2, "SCHEDULE"), (3, "FAIL"))
    ]
    tables = tiny(**{**CELL, "instance_events": failing})
    units = Units.of(tables)
    measures = life_measures(read_lives(tables, read_events(tables)), units)
    share = measures["failures_of_top_10_jobs", "all"]
    assert share(np.ones(len(units))) == pytest.approx(10 / 11)
