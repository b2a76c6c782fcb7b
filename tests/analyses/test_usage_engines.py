"""Questions of utilization, change, measures, quality and dependencies: equal on DuckDB and on Spark."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from borgtrace.analyses.changes import change_sketch, hourly_change, window_change
from borgtrace.analyses.dependencies import (
    alloc_sets,
    parents,
    placement_limits,
    queueing,
    schedulers,
    start_after,
    vertical_scaling,
)
from borgtrace.analyses.interference import interference, over_request
from borgtrace.analyses.quality import data_quality
from borgtrace.analyses.reservations import reservation, sampling_period
from borgtrace.analyses.submissions import task_totals
from borgtrace.analyses.usage import (
    cpu_by_duration,
    machine_utilization,
    peak_to_request,
    trace_lengths,
    utilization,
)
from borgtrace.question import Question, Tables
from tests.analyses.tiny import at, on, tiny, window
from tests.wide import SPARK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUESTIONS: tuple[Question, ...] = tuple(
    module.QUESTION
    for module in (
        alloc_sets,
        change_sketch,
        cpu_by_duration,
        data_quality,
        hourly_change,
        interference,
        machine_utilization,
        over_request,
        parents,
        peak_to_request,
        placement_limits,
        queueing,
        reservation,
        sampling_period,
        schedulers,
        start_after,
        task_totals,
        trace_lengths,
        utilization,
        vertical_scaling,
        window_change,
    )
)
PRIORITIES = {"2011": (0, 2, 9), "2019": (25, 103, 200, 360)}
NULLS = (None, 0.0, 0.1, 0.2, 0.3, 0.5, 0.7)


def cell(generation: str, seed: int = 1) -> dict[str, list[dict[str, Any]]]:
    """Return a small cell with a bit of everything: NULLs, ties, gaps, alloc sets, dependencies."""
    rng = random.Random(seed)
    is_new = generation == "2019"
    tables: dict[str, list[dict[str, Any]]] = {
        "machine_events": [
            {
                "time": 0,
                "machine_id": m,
                "type": "ADD",
                "switch_id": str(m % 2),
                "cpu_capacity": 0.5 + 0.25 * (m % 3),
                "memory_capacity": rng.choice((0.5, None, 1.0)),
            }
            for m in range(1, 5)
        ],
        "collection_events": [],
        "instance_events": [],
        "instance_usage": [],
        "tasks": [],
    }
    for job in range(1, 25):
        is_set = is_new and job in (1, 2)
        inside = {"alloc_collection_id": rng.choice((1, 2))} if is_new and job in (5, 6, 7) else {}
        kind = {"collection_type": "ALLOC_SET" if is_set else "JOB", **inside}
        priority = rng.choice(PRIORITIES[generation])
        machine = rng.randint(1, 4)
        requests = {
            "cpu_request": rng.choice((0.125, 0.25, None)),
            "memory_request": rng.choice((0.25, 0.5)),
        }
        first = rng.choice((-600, 0, 300, 3000))
        about = {
            "collection_id": job,
            "priority": priority,
            **kind,
        }
        new = (
            {
                "max_per_machine": rng.choice((None, 1)),
                "max_per_switch": rng.choice((None, 1, 2)),
                "parent_collection_id": rng.choice((None, job - 1)),
                "vertical_scaling": rng.choice(("OFF", None)),
                "scheduler": rng.choice(("DEFAULT", "BATCH")),
                "start_after_collection_ids": rng.choice(([], [job - 1])),
            }
            if is_new
            else {}
        )
        steps = ("SUBMIT", *(("QUEUE", "ENABLE") if is_new else ()), "SCHEDULE")
        end = rng.choice(("FINISH", "KILL", "FAIL", ""))
        length = rng.randint(1, 20) * 300 + rng.choice((0, 0, 100))
        for number, step in enumerate((*steps, end)):
            when = max(0, at(first)) if number < len(steps) else at(max(first, 0) + length)
            if step:
                tables["collection_events"].append(
                    {
                        **about,
                        **new,
                        "time": when,
                        "type": step,
                    }
                )
        for index in range(rng.choice((1, 2))):
            task = {**about, "instance_index": index}
            flag = {} if is_new else {"needs_different_machine": rng.choice((True, None))}
            for number, step in enumerate((*steps, end)):
                when = max(0, at(first)) if number < len(steps) else at(max(first, 0) + length)
                where = {"machine_id": machine} if number >= len(steps) - 1 else {}
                if step:
                    tables["instance_events"].append(
                        {
                            **task,
                            **requests,
                            **flag,
                            **where,
                            "time": when,
                            "type": step,
                        }
                    )
            starts = range(max(0, first), max(0, first) + length, 300)
            for start in starts:
                usage = {
                    "collection_type": kind["collection_type"],
                    **inside,
                    "instance_index": index,
                    "machine_id": rng.choice((machine, machine, None)),
                    "maximum_cpu": rng.choice(NULLS),
                    "maximum_memory": rng.choice(NULLS),
                    "sampled_cpu": rng.choice(NULLS),
                    "cycles_per_instruction": rng.choice((None, 1.0, 1.7, 99.0)),
                    "memory_accesses_per_instruction": rng.choice((None, 0.01, 0.02)),
                    "length": rng.choice((300, 300, 75)),
                }
                if is_new and rng.random() < 0.5:
                    usage["cpu_usage_distribution"] = sorted(rng.random() for _ in range(11))
                    usage["tail_cpu_usage_distribution"] = sorted(rng.random() for _ in range(9))
                tables["instance_usage"].append(
                    {**window(job, start, rng.choice(NULLS), rng.choice(NULLS), **usage)}
                )
            tables["tasks"].append(
                {
                    **{
                        name: task[name] for name in ("collection_id", "instance_index", "priority")
                    },
                    **requests,
                    "collection_type": kind["collection_type"],
                    "n_windows": len(starts),
                    "seconds": float(length),
                    "weighted_mean_average_cpu": rng.choice((None, 0.3)),
                }
            )
    return tables


def close(left: pa.Table, right: pa.Table) -> bool:
    """Whether two answers agree: exactly, and floats within 1e-9 of each other."""
    if left.schema != right.schema or left.num_rows != right.num_rows:
        return False
    return all(
        a == b
        or (isinstance(a, float) and isinstance(b, float) and a == pytest.approx(b, rel=1e-9))
        for x, y in zip(left.to_pylist(), right.to_pylist(), strict=True)
        for a, b in zip(x.values(), y.values(), strict=True)
    )


@pytest.fixture(scope="module", params=["2011", pytest.param("2019", marks=pytest.mark.scale)])
def engines(request: pytest.FixtureRequest, spark: SparkSession) -> tuple[Tables, Tables]:
    tables = cell(request.param)
    return on("duckdb", request.param, **tables), on(SPARK, request.param, **tables)


IN_WORKERS = ("sampling_period",)
"""A question whose kernel runs inside Spark's workers; the others wait for the scale run."""


@pytest.mark.parametrize(
    "question",
    [
        pytest.param(
            question,
            id=question.name,
            marks=[] if question.name in IN_WORKERS else pytest.mark.scale,
        )
        for question in QUESTIONS
    ],
)
def test_spark_gives_the_same_answer(question: Question, engines: tuple[Tables, Tables]) -> None:
    here, there = (question.run(tables) for tables in engines)
    assert here.not_applicable == there.not_applicable
    assert close(here.table, there.table)
    assert here.not_applicable or here.table.num_rows > 0


@pytest.fixture(scope="module", params=["2011", "2019"])
def in_two_orders(request: pytest.FixtureRequest) -> tuple[Tables, Tables]:
    """The cell as it is, and its rows shuffled; questions share what they derive of each."""
    tables = cell(request.param)
    for rows in tables.values():
        for number, row in enumerate(rows):
            row["source_row"] = number
    for row in tables["tasks"]:
        del row["source_row"]
    shuffled = {name: random.Random(7).sample(rows, len(rows)) for name, rows in tables.items()}
    return tiny(request.param, **tables), tiny(request.param, **shuffled)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_rows_in_any_order_give_the_same_bytes(
    question: Question, in_two_orders: tuple[Tables, Tables]
) -> None:
    here, there = (question.run(tables) for tables in in_two_orders)
    assert there.table.equals(here.table)


@pytest.fixture(scope="module", params=["2011", "2019"])
def usage_alone(request: pytest.FixtureRequest) -> Tables:
    return tiny(request.param, instance_usage=cell(request.param)["instance_usage"])


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_usage_alone_is_answered_or_not_applicable(question: Question, usage_alone: Tables) -> None:
    result = question.run(usage_alone)
    assert (result.not_applicable is None) == (result.table.num_rows > 0)
    assert result.not_applicable != ""
    assert all(finding.reason for finding in result.findings if finding.verdict == "not applicable")
