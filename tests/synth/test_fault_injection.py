"""Rare faults of 2011, planted often: job ends that are lost, made-up rows, scheduling records that are missing."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import borgtrace
from borgtrace.catalog import find
from borgtrace.question import EngineTables
from borgtrace.synth.model.fault_rates import NO_FAULTS, PUBLISHED
from borgtrace.synth.model.outcomes import Outcomes
from tests.synth.conftest import Trace
from tests.synth.test_task_lifecycle import SUCCESSORS, task_events


@pytest.fixture(scope="module")
def often(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """30 machines, 6 hours, no faults but these, each at least a hundred times as often as published."""
    rates = NO_FAULTS._replace(
        no_schedule=0.08,
        lost_jobs=0.3,
        made_up_collections=0.05,
        made_up_updates=1.0,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PUBLISHED, "2011", rates)
        patch.setattr(Outcomes, "is_updated", lambda self, job: self.random.random() < 0.05)
        return Trace(
            tmp_path_factory.mktemp("often"),
            machines=30,
            hours=6,
            seed=5,
        )


def planted(
    trace: Trace,
    name: str,
) -> list[tuple[int, ...]]:
    return sorted(map(tuple, trace.truth["planted"][name]))


def values_of(table: Any, *columns: str) -> list[tuple[int, ...]]:
    rows = table.select(*columns).to_pyarrow().to_pylist()
    return sorted(tuple(row.values()) for row in rows)


@pytest.mark.parametrize(
    "name",
    [
        "missing_schedules",
        "finished_without_schedule",
        "lost_jobs",
        "made_up_events",
    ],
)
def test_each_of_them_occurs(often: Trace, name: str) -> None:
    assert len(planted(often, name)) > 2


def test_lives_are_legal_except_where_a_scheduling_record_is_missing(often: Trace) -> None:
    state: dict[tuple[str, str], str] = {}
    illegal_tasks = set()
    transitions: Counter[str] = Counter()
    for event in task_events(often):
        before = state.get(event.task, "START")
        transitions[f"{before}>{event.type}"] += 1
        if event.type not in SUCCESSORS[before]:
            job, index = event.task
            illegal_tasks.add((int(job), int(index)))
        state[event.task] = event.type
    assert transitions == often.truth["transitions"]
    assert illegal_tasks
    assert illegal_tasks <= {place[:2] for place in planted(often, "missing_schedules")}
    assert {place[:2] for place in planted(often, "finished_without_schedule")} <= illegal_tasks


def test_the_store_has_exactly_the_made_up_events(often: Trace) -> None:
    events = borgtrace.open(often.path).tables.instance_events
    made_up = events.filter(events.missing_type == "SNAPSHOT_BUT_NO_TRANSITION")
    places = values_of(made_up, "collection_id", "instance_index", "time")
    assert places == planted(often, "made_up_events")
    assert set(values_of(made_up, "type")) == {("UPDATE_RUNNING",)}


def test_the_store_has_exactly_the_lost_jobs(often: Trace) -> None:
    jobs = borgtrace.open(often.path).tables.collection_events
    without_info = jobs.filter(jobs.missing_type == "NO_SNAPSHOT_OR_TRANSITION")
    places = values_of(without_info, "collection_id", "time")
    assert places == planted(often, "lost_jobs")
    lost = jobs.filter(jobs.type == "LOST")
    assert values_of(lost, "collection_id", "time") == places


def test_the_store_has_exactly_the_made_up_events_of_jobs(often: Trace) -> None:
    jobs = borgtrace.open(often.path).tables.collection_events
    made_up = jobs.filter(jobs.missing_type == "SNAPSHOT_BUT_NO_TRANSITION")
    places = values_of(made_up, "collection_id", "time")
    assert places
    assert places == planted(often, "made_up_collections")


def test_attempts_that_finish_unscheduled_are_the_planted_ones(often: Trace) -> None:
    attempts = EngineTables.of(often.path).instance_attempts
    is_unscheduled = attempts.schedule_time.isnull() & (attempts.end_type == "FINISH")
    places = values_of(
        attempts.filter(is_unscheduled),
        "collection_id",
        "instance_index",
        "end_time",
    )
    assert places == planted(often, "finished_without_schedule")


def test_data_quality_counts_them(often: Trace) -> None:
    answer = find("data_quality").run(often.path).table.to_pylist()
    anomalies = {row["anomaly"]: row for row in answer}
    unscheduled = planted(often, "finished_without_schedule")
    assert anomalies["schedule_missing"]["n"] == len(unscheduled)
    updates = anomalies["missing_info_is_update"]
    assert updates["n"] == len(planted(often, "made_up_events"))
    # All of them, though six hours are too short for a verdict.
    assert updates["n"] == updates["of"]
    of_jobs = planted(often, "lost_jobs") + planted(often, "made_up_collections")
    assert anomalies["missing_info_collections"]["n"] == len(of_jobs)


def test_ingest_refuses_nothing_of_it(often: Trace) -> None:
    manifest = borgtrace.open(often.path).manifest
    assert not [source for source in manifest.sources if source.quarantined]
    assert not manifest.counters


def test_2019_has_rates_of_its_own() -> None:
    # Of a sample of real rows: 29 % without CPI, 25 % with an assigned memory of 0; of the machine events of all
    # cells: 1.6 % without a capacity.  None of them is a rate of 2011.
    rates = PUBLISHED["2019"]
    assert rates.no_counters == 0.29
    assert rates.no_assigned == 0.25
    assert rates.no_capacity == 0.016
    assert PUBLISHED["2011"].no_assigned == 0.0
    assert PUBLISHED["2011"].no_capacity == 32 / 21_443
