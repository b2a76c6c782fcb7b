"""The truth of a trace, and what ingest says of it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace.store import Store

MOMENTS = (
    "mean_average_cpu",
    "std_average_cpu",
    "mean_sampled_cpu",
    "std_sampled_cpu",
    "mean_average_memory",
)


def test_true_moments_are_what_the_store_holds(faulty: Any) -> None:
    truth = pq.read_table(faulty.folder / "truth.parquet").to_pandas()
    tasks = borgtrace.open(faulty.path).tables.tasks
    with_usage = tasks.filter(tasks.n_windows > 0).to_pandas()
    both = truth.merge(
        with_usage,
        on=["collection_id", "instance_index"],
        suffixes=("", "_stored"),
    )
    assert len(both) == len(truth) == len(with_usage)
    assert (both.n_windows == both.n_windows_stored).all()
    for name in MOMENTS:
        stored = both[f"{name}_stored"]
        np.testing.assert_allclose(both[name], stored, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ["clean", "clean_2019"])
def test_a_trace_without_faults_raises_no_counter(
    name: str, request: pytest.FixtureRequest
) -> None:
    trace = request.getfixturevalue(name)
    manifest = borgtrace.open(trace.path).manifest
    assert not [source for source in manifest.sources if source.quarantined]
    assert not [source for source in manifest.sources if source.counters]
    assert not manifest.quality
    assert manifest.is_synthetic
    assert manifest.synthetic["seed"] == trace.truth["seed"]


@pytest.fixture(params=["faulty", "faulty_2019", "faulty_parquet"])
def trace_with_faults(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


@pytest.fixture
def store(trace_with_faults: Any) -> Store:
    return borgtrace.open(trace_with_faults.path)


@pytest.fixture
def planted(trace_with_faults: Any) -> dict[str, Any]:
    return trace_with_faults.truth["planted"]


def test_ingest_counts_averages_above_one_and_empty_lists_and_nothing_else(
    store: Store, planted: dict[str, Any]
) -> None:
    counters: Counter[str] = Counter()
    for source in store.manifest.sources:
        counters.update(source.counters)
        assert source.quarantined == 0
    assert set(counters) <= {"cpu_above_1", "percentiles_empty"}
    assert counters["cpu_above_1"] == planted["above_one"]
    assert counters["percentiles_empty"] == 2 * planted["no_percentiles"]


def test_made_up_events_and_tasks_without_requests_are_the_planted_ones(
    store: Store, planted: dict[str, Any]
) -> None:
    events = store.tables.instance_events
    made_up = events.filter(events.missing_type == "SNAPSHOT_BUT_NO_TRANSITION")
    assert places_of(made_up) == sorted(map(tuple, planted["made_up_events"]))
    without_request = events.filter(events.cpu_request.isnull())
    assert places_of(without_request) == sorted(map(tuple, planted["tasks_without_requests"]))
    assert set(values_of(without_request.missing_type)) == {"EXISTS_BUT_NO_CREATION"}


def test_machines_without_capacity_are_the_planted_ones(
    store: Store, planted: dict[str, Any]
) -> None:
    events = store.tables.machine_events
    unknown = events.filter(events.cpu_capacity.isnull())
    assert sorted(values_of(unknown.machine_id)) == sorted(planted["machines_without_capacity"])


def test_jobs_without_tasks_are_the_planted_ones(
    store: Store,
    planted: dict[str, Any],
    trace_with_faults: Any,
) -> None:
    tables = store.tables
    jobs = tables.collection_events.anti_join(tables.instance_events, "collection_id")
    assert set(values_of(jobs.collection_id)) == set(planted["jobs_without_tasks"])
    is_2011 = trace_with_faults.truth["parameters"]["generation"] == "2011"
    assert planted["reused_job"] == ([6_253_771_429] if is_2011 else [])


def test_faults_of_usage_are_the_planted_ones(
    store: Store,
    planted: dict[str, Any],
    trace_with_faults: Any,
) -> None:
    usage = store.tables.instance_usage
    bad_counters = usage.filter(usage.cycles_per_instruction > 29)
    assert rows_of(bad_counters) == planted["bad_counters"]
    unassigned = usage.filter(usage.assigned_memory == 0.0)
    assert rows_of(unassigned) == planted["no_assigned"]
    assert rows_of(usage) == trace_with_faults.truth["usage_rows"]
    assert 0.002 < planted["missing_usage"] / rows_of(usage) < 0.01


def rows_of(table: Any) -> int:
    return table.count().to_pyarrow().as_py()


def values_of(column: Any) -> list[Any]:
    return column.to_pyarrow().to_pylist()


def places_of(events: Any) -> list[tuple[int, int, int]]:
    rows = events.select("collection_id", "instance_index", "time").to_pyarrow()
    return sorted(tuple(row.values()) for row in rows.to_pylist())
