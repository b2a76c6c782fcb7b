"""An event at 2⁶³−1 happened after the trace: what it ends was alive at the end, as if its end were unknown."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from borgtrace.catalog import find
from borgtrace.question import Tables
from borgtrace.schema.time import AFTER_TRACE
from tests.analyses.tiny import at, tiny
from tests.lifecycle.lives import ENDS, life

FIVE_MINUTES = at(300) - at(0)
QUESTIONS = [
    ("2011", "queue_length"),
    ("2011", "load_and_times"),
    ("2011", "resubmission_gaps"),
    ("2011", "run_times"),
    ("2011", "hazards"),
    ("2011", "crash_loops"),
    ("2011", "job_durations"),
    ("2019", "parents"),
    ("2019", "schedulers"),
]


@cache
def cell(generation: str, *, is_end_written: bool) -> Tables:
    """Ten jobs of one task; five end within the trace, and five, in every way, after it."""
    events = []
    collections = []
    tasks = []
    for job in range(1, 11):
        start = at(300 * job)
        end = ENDS[job % len(ENDS)]
        text = f"SUBMIT {start} SCHEDULE {start + FIVE_MINUTES}"
        if job > 5:
            text += f" {end} {start + 2 * FIVE_MINUTES}"
        elif is_end_written:
            text += f" {end} {AFTER_TRACE}"
        events += life(text, job)
        # A job of 2019 has its parent, and a scheduler.
        more = (
            {"parent_collection_id": job - 1, "scheduler": "BATCH"} if generation == "2019" else {}
        )
        of_job = life(text, job, **more)
        collections += [
            {name: value for name, value in event.items() if name != "instance_index"}
            for event in of_job
        ]
        words = text.split()
        counts = {f"n_{name.lower()}": words.count(name) for name in ("SUBMIT", "SCHEDULE", *ENDS)}
        tasks.append({"collection_id": job, "instance_index": 0, "priority": 0, **counts})
    return tiny(generation, instance_events=events, collection_events=collections, tasks=tasks)


@pytest.mark.parametrize(("generation", "name"), QUESTIONS)
def test_an_end_after_the_trace_is_no_end(generation: str, name: str) -> None:
    with_ends, without_ends = (
        find(name).run(cell(generation, is_end_written=is_written)) for is_written in (True, False)
    )
    assert with_ends.not_applicable is None
    assert with_ends.table.equals(without_ends.table)


def test_what_ends_after_the_trace_is_alive_and_its_events_are_counted() -> None:
    rows: list[dict[str, Any]] = (
        find("task_totals").run(cell("2011", is_end_written=True)).table.to_pylist()
    )
    (row,) = (row for row in rows if row["tier"] == "all")
    assert row["n_submit"] == 10
    assert sum(row[f"n_{name.lower()}"] for name in ENDS) == 10
    assert row["n_alive"] == 5
