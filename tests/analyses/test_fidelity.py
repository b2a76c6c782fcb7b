"""The comparison of a synthetic trace with published numbers, and what it says of Google's own trace."""

from __future__ import annotations

import numpy as np
import pytest

from borgtrace.analyses._fidelity import ended_within
from borgtrace.analyses.fidelity import RECIPE
from borgtrace.schema.time import BEFORE_TRACE
from tests.analyses.tiny import at, tiny

SUBMIT, SCHEDULE, FINISH = "SUBMIT", "SCHEDULE", "FINISH"


def one_task(*, is_synthetic: bool):  # type: ignore[no-untyped-def]
    """One machine; one production task that runs from the start, one that comes, and finishes after 200 s."""
    alive = {"collection_id": 1, "priority": 9, "cpu_request": 0.25, "memory_request": 0.125, "machine_id": 7}
    new = {"collection_id": 2, "priority": 9, "cpu_request": 0.5, "memory_request": 0.25, "machine_id": 7}
    tables = tiny(
        machine_events=[
            {"time": BEFORE_TRACE, "machine_id": 7, "type": "ADD", "cpu_capacity": 0.5, "memory_capacity": 0.5}
        ],
        machine_attributes=[],
        collection_events=[{"time": at(100), "collection_id": 2, "type": SUBMIT, "scheduling_class": 2}],
        instance_events=[
            {**alive, "time": BEFORE_TRACE, "type": SUBMIT},
            {**alive, "time": BEFORE_TRACE, "type": SCHEDULE},
            {**new, "time": at(100), "type": SUBMIT},
            {**new, "time": at(102), "type": SCHEDULE},
            {**new, "time": at(302), "type": FINISH},
        ],
        instance_constraints=[],
        instance_usage=[],
        tasks=[],
    )
    tables.synthetic = is_synthetic
    return tables


def test_of_googles_trace_there_is_nothing_to_ask() -> None:
    result = RECIPE.run(one_task(is_synthetic=False))
    assert result.not_applicable == "the store holds Google's trace"
    assert result.table.num_rows == 0
    assert [(f.verdict, f.reason) for f in result.findings] == [("not applicable", "the store holds Google's trace")]


@pytest.mark.parametrize(
    ("measure", "tier", "expected"),
    [
        ("running_per_machine", "production", 1.0),
        ("running_per_machine", "free", 0.0),
        ("cpu_requested_of_capacity", "production", 0.5),
        ("memory_requested_of_capacity", "production", 0.25),
        ("run_within_300s", "production", 1.0),
        ("delay_p50", "production", 2.0),
        ("jobs_of_class_2", "all", 1.0),
        ("single_task_jobs", "all", 1.0),
        ("machines_0.5_0.5", "machines", 1.0),
    ],
)
def test_a_synthetic_trace_is_measured(measure: str, tier: str, expected: float) -> None:
    rows = RECIPE.run(one_task(is_synthetic=True), resamples=5).table.to_pylist()
    found = {(row["measure"], row["tier"]): row["measured"] for row in rows}
    assert found[measure, tier] == pytest.approx(expected)


@pytest.mark.parametrize("has_ended", [[True, False, False], [False, True, False]])
def test_a_run_lost_at_the_time_of_an_end_is_at_risk_there(has_ended: list[bool]) -> None:
    # One of the three at risk at 300 s ends there, in whatever order the rows come.
    measure = ended_within(np.array([300.0, 300.0, 900.0]), np.array(has_ended), np.arange(3), 300.0)
    assert measure(np.ones(3)) == pytest.approx(1 / 3)
