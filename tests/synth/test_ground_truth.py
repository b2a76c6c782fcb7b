"""The truth of a trace, and what ingest says of it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import borgtrace


def test_true_moments_are_what_the_store_holds(faulty: Any) -> None:
    truth = pq.read_table(faulty.folder / "truth.parquet").to_pandas()
    store = borgtrace.open(faulty.path)
    tasks = store.tables.tasks.filter(store.tables.tasks.n_windows > 0).to_pandas()
    both = truth.merge(tasks, on=["collection_id", "instance_index"], suffixes=("", "_stored"))
    assert len(both) == len(truth) == len(tasks)
    assert (both.n_windows == both.n_windows_stored).all()
    for name in (
        "mean_average_cpu",
        "std_average_cpu",
        "mean_sampled_cpu",
        "std_sampled_cpu",
        "mean_average_memory",
    ):
        np.testing.assert_allclose(
            both[name],
            both[f"{name}_stored"],
            rtol=1e-6,
            atol=1e-8,
        )


@pytest.mark.parametrize("name", ["clean", "clean_2019"])
def test_a_trace_without_faults_raises_no_counter(
    name: str, request: pytest.FixtureRequest
) -> None:
    made = request.getfixturevalue(name)
    manifest = borgtrace.open(made.path).manifest
    assert sum(source.quarantined for source in manifest.sources) == 0
    assert not [source.counters for source in manifest.sources if source.counters]
    assert not manifest.quality
    assert manifest.is_synthetic
    assert manifest.synthetic["seed"] == made.truth["seed"]


@pytest.mark.parametrize("name", ["faulty", "faulty_2019", "faulty_parquet"])
def test_planted_faults_are_found_and_nothing_else(
    name: str, request: pytest.FixtureRequest
) -> None:
    made = request.getfixturevalue(name)
    store = borgtrace.open(made.path)
    planted, t = made.truth["planted"], store.tables
    counters: Counter[str] = Counter()
    for source in store.manifest.sources:
        counters.update(source.counters)
        assert source.quarantined == 0
    assert set(counters) <= {"cpu_above_1"}
    assert counters["cpu_above_1"] == planted["above_one"]
    events = t.instance_events
    assert _places(events.filter(events.missing_type == "SNAPSHOT_BUT_NO_TRANSITION")) == sorted(
        map(tuple, planted["made_up_events"])
    )
    without = events.filter(events.cpu_request.isnull())
    assert _places(without) == sorted(map(tuple, planted["tasks_without_requests"]))
    assert set(without.missing_type.to_pyarrow().to_pylist()) == {"EXISTS_BUT_NO_CREATION"}
    unknown = t.machine_events.filter(t.machine_events.cpu_capacity.isnull())
    assert sorted(unknown.machine_id.to_pyarrow().to_pylist()) == sorted(
        planted["machines_without_capacity"]
    )
    jobs = (
        t.collection_events.anti_join(events, "collection_id")
        .collection_id.to_pyarrow()
        .to_pylist()
    )
    assert set(jobs) == set(planted["jobs_without_tasks"])
    assert planted["reused_job"] == (
        [6_253_771_429] if made.truth["parameters"]["generation"] == "2011" else []
    )
    usage = t.instance_usage
    bad = usage.filter(usage.cycles_per_instruction > 29).count().to_pyarrow().as_py()
    assert bad == planted["bad_counters"]
    unassigned = usage.filter(usage.assigned_memory == 0.0).count().to_pyarrow().as_py()
    assert unassigned == planted["no_assigned"]
    rows = usage.count().to_pyarrow().as_py()
    assert rows == made.truth["usage_rows"]
    assert 0.002 < planted["missing_usage"] / rows < 0.01


def _places(rows: Any) -> list[tuple[int, int, int]]:
    found = rows.select("collection_id", "instance_index", "time").to_pyarrow().to_pylist()
    return sorted((row["collection_id"], row["instance_index"], row["time"]) for row in found)
