"""The comparison of a synthetic trace with published numbers, and what it says of Google's own trace."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from borgtrace.analyses.fidelity import weighted_measures as weighted
from borgtrace.analyses.fidelity.event_measures import event_measures, read_events
from borgtrace.analyses.fidelity.fidelity import QUESTION, measure_with_interval
from borgtrace.analyses.fidelity.weighted_measures import (
    Units,
    ended_within,
    hill,
    quantile,
    rank_slope,
    ratio,
    times,
    top_share,
)
from borgtrace.kernels.arrays import Numbers
from borgtrace.schema.time import AFTER_TRACE, BEFORE_TRACE
from tests.analyses.tiny import at, tiny

SUBMIT = "SUBMIT"
SCHEDULE = "SCHEDULE"
FINISH = "FINISH"


def one_task(*, is_synthetic: bool):  # type: ignore[no-untyped-def]
    """One machine; one production task that runs from the start, one that comes, and finishes after 200 s."""
    alive = {
        "collection_id": 1,
        "priority": 9,
        "cpu_request": 0.25,
        "memory_request": 0.125,
        "machine_id": 7,
    }
    new = {
        "collection_id": 2,
        "priority": 9,
        "cpu_request": 0.5,
        "memory_request": 0.25,
        "machine_id": 7,
    }
    tables = tiny(
        machine_events=[
            {
                "time": BEFORE_TRACE,
                "machine_id": 7,
                "type": "ADD",
                "cpu_capacity": 0.5,
                "memory_capacity": 0.5,
            }
        ],
        machine_attributes=[],
        collection_events=[
            {
                "time": at(100),
                "collection_id": 2,
                "type": SUBMIT,
                "scheduling_class": 2,
            }
        ],
        instance_events=[
            {
                **alive,
                "time": BEFORE_TRACE,
                "type": SUBMIT,
            },
            {
                **alive,
                "time": BEFORE_TRACE,
                "type": SCHEDULE,
            },
            {
                **new,
                "time": at(100),
                "type": SUBMIT,
            },
            {
                **new,
                "time": at(102),
                "type": SCHEDULE,
            },
            {
                **new,
                "time": at(302),
                "type": FINISH,
            },
        ],
        instance_constraints=[],
        instance_usage=[],
        tasks=[],
    )
    tables.synthetic = is_synthetic
    return tables


def test_of_googles_trace_there_is_nothing_to_ask() -> None:
    result = QUESTION.run(one_task(is_synthetic=False))
    assert result.not_applicable == "the store holds no synthetic trace"
    assert result.table.num_rows == 0
    assert [(f.verdict, f.reason) for f in result.findings] == [
        ("not applicable", "the store holds no synthetic trace")
    ]


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
    rows = QUESTION.run(one_task(is_synthetic=True), resamples=5).table.to_pylist()
    measured_by_key = {(row["measure"], row["tier"]): row["measured"] for row in rows}
    assert measured_by_key[measure, tier] == pytest.approx(expected)


@pytest.mark.parametrize("has_ended", [[True, False, False], [False, True, False]])
def test_a_run_lost_at_the_time_of_an_end_is_at_risk_there(has_ended: list[bool]) -> None:
    # One of the three at risk at 300 s ends there, in whatever order the rows come.
    measure = ended_within(
        np.array([300.0, 300.0, 900.0]), np.array(has_ended), np.arange(3), 300.0
    )
    assert measure(np.ones(3)) == pytest.approx(1 / 3)


def test_after_the_trace_is_no_time() -> None:
    values = times(pa.table({"end_time": [None, 0, at(1), AFTER_TRACE]}), "end_time")
    assert np.array_equal(values, [np.nan, 0.0, float(at(1)), np.nan], equal_nan=True)


def test_what_ends_after_the_trace_has_not_ended_within_it() -> None:
    task = {
        "collection_id": 1,
        "priority": 9,
        "machine_id": 7,
    }
    tables = tiny(
        machine_events=[
            {
                "time": BEFORE_TRACE,
                "machine_id": 7,
                "type": "ADD",
            }
        ],
        collection_events=[],
        instance_events=[
            {
                **task,
                "time": at(0),
                "type": SUBMIT,
            },
            {
                **task,
                "time": at(0),
                "type": SCHEDULE,
            },
            {
                **task,
                "time": AFTER_TRACE,
                "type": FINISH,
            },
            {
                **task,
                "instance_index": 1,
                "time": at(100),
                "type": SUBMIT,
            },
            {
                **task,
                "instance_index": 1,
                "time": at(200),
                "type": SCHEDULE,
            },
        ],
    )
    units = Units.of(tables)
    measures = event_measures(read_events(tables), units)
    assert measures["run_within_300s", "production"](np.ones(len(units))) == 0.0
    assert measures["delay_p90", "production"](np.ones(len(units))) == 100.0


ROWS = np.arange(4)
"""Four rows of four jobs."""


def test_a_ratio_is_weighted() -> None:
    measure = ratio(np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 2.0, 2.0, 4.0]), ROWS)
    assert measure(np.ones(4)) == 1.0
    assert measure(np.array([1.0, 0.0, 0.0, 2.0])) == 0.9
    assert np.isnan(measure(np.zeros(4)))
    assert ratio(np.array([1.0, 2.0, 3.0, 4.0]), 4.0, ROWS)(np.ones(4)) == 2.5


def test_a_quantile_is_the_smallest_value_that_reaches_the_share() -> None:
    values = np.array([30.0, np.nan, 10.0, 20.0])
    assert [quantile(values, ROWS, q)(np.ones(4)) for q in (0.0, 1 / 3, 0.34, 1.0)] == [
        10.0,
        10.0,
        20.0,
        30.0,
    ]
    assert quantile(values, ROWS, 0.5)(np.array([5.0, 99.0, 1.0, 1.0])) == 30.0
    assert np.isnan(quantile(values, ROWS, 0.5)(np.zeros(4)))
    assert np.isnan(quantile(values[1:2], ROWS[1:2], 0.5)(np.ones(4)))


def test_owners_by_their_jobs() -> None:
    owner = np.repeat([0, 1, 2, 3], [40, 20, 10, 4])
    job = np.arange(len(owner))
    # Owners with fewer than five jobs have no rank; 40, 20, 10 fall about as a power of the rank.
    slope = np.polyfit(np.log([1, 2, 3]), np.log([40, 20, 10]), 1)[0]
    assert rank_slope(owner, job, 200)(np.ones(74)) == pytest.approx(slope)
    assert np.isnan(rank_slope(owner, job, 2)(np.ones(74)))
    assert top_share(owner, job, 2)(np.ones(74)) == pytest.approx(60 / 74)
    assert np.isnan(top_share(owner, job, 2)(np.zeros(74)))


def test_a_tail_begins_at_its_least_value() -> None:
    # Logarithms of 1, 2 and 4 over the least: 0, 1 and 2 times ln 2; three values over their sum.
    assert hill(np.array([10.0, 20.0, 40.0, 9.0]), ROWS, 10.0)(np.ones(4)) == pytest.approx(
        1 / np.log(2)
    )


def test_the_interval_is_of_the_finite_resamples_and_needs_a_measurement() -> None:
    def measure(weights: Numbers) -> float:
        """Return the one weight, if there is one."""
        return float(weights[0]) if weights[0] else float("nan")

    # Resamples measure 1, 2 … 101; each second one holds nothing to measure.
    resamples = [np.array([weight]) for n in range(1, 102) for weight in (float(n), 0.0)]
    assert measure_with_interval(measure, np.array([7.0]), resamples) == (7.0, 3.5, 98.5)
    assert measure_with_interval(measure, np.array([0.0]), resamples) == (None, None, None)


def test_slopes_are_fitted_up_to_the_published_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    ranks: list[int] = []
    monkeypatch.setattr(weighted, "rank_slope", lambda owner, unit, upto: ranks.append(upto))
    tables = one_task(is_synthetic=True)
    event_measures(read_events(tables), Units.of(tables))
    assert ranks == [200, 1000]  # FACTS: ranks 1 to 200 of users, 1 to 1,000 of logical names
