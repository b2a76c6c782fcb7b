"""From ready to running, memory beside CPU, and tasks, of jobs made by hand; pandas finds the same."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from borgtrace.analyses.jobs import job_delay, job_sizes
from borgtrace.analyses.usage import job_memory
from tests.analyses.tiny import Row, answer, arrow, at, tiny, window


def _event(job: int, seconds: float, kind: str, **more: object) -> Row:
    return {
        "collection_id": job,
        "time": at(seconds),
        "type": kind,
        **more,
    }


def _cell() -> dict[str, list[Row]]:
    def task(job: int, index: int, submit: float, schedule: float, priority: int) -> list[Row]:
        of = {"instance_index": index, "priority": priority}
        return [_event(job, submit, "SUBMIT", **of), _event(job, schedule, "SCHEDULE", **of)]

    return {
        "collection_events": [
            # Queued for a minute, then enabled: ready at 60 s; enabled again later, which changes nothing.
            *(
                _event(1, s, kind)
                for s, kind in (
                    (0, "SUBMIT"),
                    (1, "QUEUE"),
                    (60, "ENABLE"),
                    (90, "ENABLE"),
                )
            ),
            *(_event(2, s, kind) for s, kind in ((10, "SUBMIT"), (10, "ENABLE"))),
            # Ready before the trace: what it waited is not known.
            {
                "collection_id": 3,
                "time": 0,
                "type": "ENABLE",
            },
            _event(3, 50, "ENABLE"),
            # Ran before it was ready, by its events.
            _event(4, 100, "ENABLE"),
            _event(5, 0, "ENABLE", collection_type="ALLOC_SET"),
            # Never runs.
            _event(6, 0, "ENABLE"),
        ],
        "instance_events": [
            *task(1, 0, 0, 75, 110),
            *task(1, 1, 0, 70, 110),
            *task(2, 0, 10, 12.5, 200),
            *task(3, 0, 50, 55, 200),
            *task(4, 0, 0, 50, 200),
        ],
    }


def test_a_job_waits_from_ready_to_its_first_running_task() -> None:
    rows = answer(job_delay.QUESTION, tiny("2019", **_cell()))
    medians = {
        row["tier"]: (row["seconds"], row["mean"], row["n"])
        for row in rows
        if row["percent"] == 50.0
    }
    # 10 s (70 − 60) and 2.5 s; the median of the two lies between.
    assert medians == {
        "all": (6.25, 6.25, 2),
        "beb": (10.0, 10.0, 1),
        "production": (2.5, 2.5, 1),
    }
    (claim,) = job_delay.QUESTION.claims
    assert claim.measure(job_delay.QUESTION.run(tiny("2019", **_cell())).table) == -7.5


def test_jobs_of_2011_are_ready_when_they_are_submitted() -> None:
    events = [_event(1, 5, "SUBMIT"), _event(1, 6, "SCHEDULE")]
    tasks = [_event(1, 5, "SUBMIT", priority=0), _event(1, 7.25, "SCHEDULE", priority=0)]
    rows = answer(job_delay.QUESTION, tiny("2011", collection_events=events, instance_events=tasks))
    assert {(row["tier"], row["seconds"]) for row in rows} == {("all", 2.25), ("free", 2.25)}


def test_no_job_that_starts_is_a_reason() -> None:
    tables = tiny(
        "2019", collection_events=[_event(1, 5, "ENABLE")], instance_events=[_event(1, 5, "SUBMIT")]
    )
    assert (
        job_delay.QUESTION.run(tables).not_applicable
        == "no job gets ready and runs within the trace"
    )


def test_memory_by_buckets_of_cpu() -> None:
    hour = 3600
    usage = [
        # .5 and .75 CPU-hours: bucket 0, memory .1 and .3; then 1 and 1.5 (bucket 1), and 4.
        *(
            window(job, 0, cpu, memory, length=hour)
            for job, cpu, memory in ((1, 0.5, 0.125), (2, 0.75, 0.375))
        ),
        *(
            window(job, 0, cpu, memory, length=hour)
            for job, cpu, memory in (
                (3, 1.0, 0.5),
                (4, 1.5, 1.0),
                (5, 1.75, 0.75),
            )
        ),
        window(6, 0, 1.0, 0.75, length=4 * hour),
    ]
    tables = tiny(instance_usage=usage)
    rows = answer(job_memory.QUESTION, tables)
    assert [tuple(row.values()) for row in rows] == [
        (0, 2, 0.25),
        (1, 3, 0.75),
        (4, 1, 3.0),
    ]
    # Means 5/3 and 4/3; Σ xy − n·x̄·ȳ = 12.75 − 20/3, over √(26/3 · (9.625 − 16/3)).
    expected = (12.75 - 20 / 3) / np.sqrt(26 / 3 * (9.625 - 16 / 3))
    (claim,) = job_memory.QUESTION.claims
    assert claim.measure(job_memory.QUESTION.run(tables).table) == pytest.approx(expected)


def test_pandas_finds_the_same_medians() -> None:
    rng = np.random.default_rng(3)
    usage = [
        window(int(job), 300.0 * k, float(cpu), float(cpu * rng.random()))
        for job in range(200)
        for k, cpu in enumerate(rng.pareto(1.0, 12))
    ]
    frame = arrow("instance_usage", usage).to_pandas()
    hours = frame[["average_cpu", "average_memory"]].mul(
        (frame.end_time - frame.start_time) / 3.6e9, axis=0
    )
    jobs = hours.groupby(frame.collection_id).sum()
    expected: pd.DataFrame = jobs.groupby(np.floor(jobs.average_cpu))["average_memory"].agg(
        ["size", "median"]
    )
    rows = answer(job_memory.QUESTION, tiny(instance_usage=usage))
    assert [row["bucket"] for row in rows] == expected.index.tolist()
    assert [row["n_jobs"] for row in rows] == expected["size"].tolist()
    np.testing.assert_allclose([row["memory"] for row in rows], expected["median"], rtol=1e-5)


def test_tasks_of_a_job_by_tier() -> None:
    """Best-effort jobs of 1, 2 and 4 tasks, one of them submitted twice; a production job of 1."""
    events = [
        _event(job, 1, "SUBMIT", instance_index=index, priority=110)
        for job, n_tasks in (
            (1, 1),
            (2, 2),
            (3, 4),
        )
        for index in range(n_tasks)
    ]
    events += [_event(2, 2, "SCHEDULE", priority=110), _event(2, 3, "EVICT", priority=110)]
    events += [_event(2, 4, "SUBMIT", priority=110), _event(4, 1, "SUBMIT", priority=200)]
    events += [_event(9, 1, "SUBMIT", priority=200, collection_type="ALLOC_SET")]
    rows = answer(job_sizes.QUESTION, tiny("2019", instance_events=events))
    n_tasks_by_key = {(row["tier"], row["percent"]): row["n_tasks"] for row in rows}
    # The median of 1, 1, 2, 4; the 80th percentile of 1, 2, 4 lies at 1.6: 2 + .6 · 2.
    assert n_tasks_by_key["all", 50.0] == 1.5
    assert n_tasks_by_key["all", 100.0] == 4.0
    assert n_tasks_by_key["beb", 50.0] == 2.0
    assert n_tasks_by_key["beb", 80.0] == pytest.approx(3.2)
    assert n_tasks_by_key["production", 95.0] == 1.0
    assert {(row["tier"], row["mean"], row["n"]) for row in rows} == {
        ("all", 2.0, 4),
        ("beb", 7 / 3, 3),
        ("production", 1.0, 1),
    }


def test_memory_that_nobody_measured_is_not_none() -> None:
    """Own usage may have CPU alone: 12 windows of a whole machine are an hour, and of its memory nothing is known."""
    usage = [window(1, 300 * number, 1.0) for number in range(12)]
    result = job_memory.QUESTION.run(tiny(instance_usage=usage))
    assert result.not_applicable == "no job used any memory"
