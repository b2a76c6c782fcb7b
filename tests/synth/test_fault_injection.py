"""Rare faults of 2011, planted often: job ends that are lost, made-up rows, scheduling records that are missing."""

from __future__ import annotations

from typing import Any

import pytest

import borgtrace
from borgtrace.catalog import find
from borgtrace.question import EngineTables
from borgtrace.synth.model.fault_rates import NO_FAULTS, PUBLISHED
from tests.synth.conftest import Trace
from tests.synth.reading import read_rows
from tests.synth.test_task_lifecycle import SUCCESSORS

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


@pytest.fixture(scope="module")
def often(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """30 machines, 6 hours, no faults but these, each a hundred times as often as published."""
    rates = NO_FAULTS._replace(
        no_schedule=0.02,
        lost_jobs=0.3,
        made_up_collections=0.05,
        made_up_updates=1.0,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PUBLISHED, "2011", rates)
        patch.setattr("borgtrace.synth.model.outcomes.UPDATED", 0.05)
        return Trace(
            tmp_path_factory.mktemp("often"),
            machines=30,
            hours=6,
            seed=4,
        )


def places(often: Trace, name: str) -> list[tuple[int, ...]]:
    return sorted(map(tuple, often.truth["planted"][name]))


def test_each_of_them_occurs(often: Trace) -> None:
    for name in ("missing_schedules", "finished_without_schedule", "lost_jobs", "made_up_events"):
        assert len(places(often, name)) > 2, name
    assert places(often, "made_up_collections")


def test_lives_are_legal_but_where_a_scheduling_record_is_missing(often: Trace) -> None:
    state: dict[tuple[int, int], str] = {}
    broken: list[tuple[int, ...]] = []
    transitions: dict[str, int] = {}
    for row in read_rows(often.folder, "task_events"):
        task, event = (int(row[2]), int(row[3])), EVENTS[int(row[5])]
        before = state.get(task, "START")
        transitions[f"{before}>{event}"] = transitions.get(f"{before}>{event}", 0) + 1
        if event not in SUCCESSORS[before]:
            broken.append((*task, int(row[0])))
        state[task] = event
    assert transitions == often.truth["transitions"]
    assert broken
    assert _tasks(broken) <= _tasks(places(often, "missing_schedules"))
    assert _tasks(places(often, "finished_without_schedule")) <= _tasks(broken)


def test_the_store_holds_exactly_the_planted_rows(often: Trace) -> None:
    tables = borgtrace.open(often.path).tables
    events, jobs = tables.instance_events, tables.collection_events
    made_up = events.filter(events.missing_type == "SNAPSHOT_BUT_NO_TRANSITION")
    assert _rows(made_up, "collection_id", "instance_index", "time") == places(
        often, "made_up_events"
    )
    assert set(made_up.type.to_pyarrow().to_pylist()) == {"UPDATE_RUNNING"}
    lost = jobs.filter(jobs.missing_type == "NO_SNAPSHOT_OR_TRANSITION")
    assert _rows(lost, "collection_id", "time") == places(often, "lost_jobs")
    assert set(lost.type.to_pyarrow().to_pylist()) == {"LOST"}
    assert jobs.filter(jobs.type == "LOST").count().to_pyarrow().as_py() == len(
        places(often, "lost_jobs")
    )
    made_up = jobs.filter(jobs.missing_type == "SNAPSHOT_BUT_NO_TRANSITION")
    assert _rows(made_up, "collection_id", "time") == places(often, "made_up_collections")


def test_attempts_that_finish_unscheduled_are_the_planted_ones(often: Trace) -> None:
    attempts = EngineTables.of(often.path).instance_attempts
    found = attempts.filter(attempts.schedule_time.isnull() & (attempts.end_type == "FINISH"))
    assert _rows(found, "collection_id", "instance_index", "end_time") == places(
        often, "finished_without_schedule"
    )


def test_data_quality_counts_them(often: Trace) -> None:
    rows = {row["anomaly"]: row for row in find("data_quality").run(often.path).table.to_pylist()}
    assert rows["schedule_missing"]["n"] == len(places(often, "finished_without_schedule"))
    assert rows["missing_info_is_update"]["n"] == len(places(often, "made_up_events"))
    assert rows["missing_info_is_update"]["verdict"] == "as documented"
    missing = len(places(often, "lost_jobs")) + len(places(often, "made_up_collections"))
    assert rows["missing_info_collections"]["n"] == missing


def test_ingest_refuses_nothing_of_it(often: Trace) -> None:
    manifest = borgtrace.open(often.path).manifest
    assert sum(source.quarantined for source in manifest.sources) == 0
    assert not manifest.counters


def _tasks(rows: list[tuple[int, ...]]) -> set[tuple[int, ...]]:
    return {row[:2] for row in rows}


def _rows(table: Any, *columns: str) -> list[tuple[int, ...]]:
    return sorted(tuple(row.values()) for row in table.select(*columns).to_pyarrow().to_pylist())


def test_2019_has_rates_of_its_own() -> None:
    # Of a sample of real rows: 29 % without CPI, 25 % with an assigned memory of 0; of the machine events of all
    # cells: 1.6 % without a capacity.  None of them is a rate of 2011.
    rates = PUBLISHED["2019"]
    assert (rates.no_counters, rates.no_assigned, rates.no_capacity) == (0.29, 0.25, 0.016)
    assert (PUBLISHED["2011"].no_assigned, PUBLISHED["2011"].no_capacity) == (0.0, 32 / 21_443)
