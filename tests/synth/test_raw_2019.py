"""The files of 2019, and what its jobs have that those of 2011 have not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import borgtrace
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.schema.dialects import RawField, dialect
from borgtrace.synth import generate
from borgtrace.synth.write.usage_text import json_layout
from tests.synth.reading import read_lines


def test_2019_writes_integers_as_strings_and_leaves_nulls_out(clean_2019: Any) -> None:
    folder = clean_2019.folder
    line = json.loads(read_lines(folder / "instance_usage-000000000000.json.gz")[0])
    assert list(line)[:5] == [
        "start_time",
        "end_time",
        "collection_id",
        "instance_index",
        "machine_id",
    ]
    assert all(isinstance(line[k], str) for k in list(line)[:8])
    assert len(line["cpu_usage_distribution"]) == 11
    assert len(line["tail_cpu_usage_distribution"]) == 9
    assert "memory" not in line["random_sample_usage"]
    events = [json.loads(x) for x in read_lines(folder / "collection_events-000000000000.json.gz")]
    assert {"0", "2", "3"} <= {e["type"] for e in events}
    assert {e["collection_type"] for e in events} == {"0", "1"}
    assert None not in [value for e in events for value in e.values()]


def test_usage_columns_that_are_not_simulated_are_left_out() -> None:
    usage = dialect("2019").tables["instance_usage"]
    for name in ("energy", "average_usage.energy"):
        more = replace(
            usage, fields=(*usage.fields[:9], RawField(name, "energy"), *usage.fields[9:])
        )
        assert json_layout(more) == json_layout(usage)


def test_percentiles_rise_and_enclose_the_sample(clean_2019: Any) -> None:
    for path in clean_2019.folder.glob("instance_usage-*"):
        for text in read_lines(path):
            row = json.loads(text)
            d, tail = row["cpu_usage_distribution"], row["tail_cpu_usage_distribution"]
            assert d == sorted(d)
            assert tail == sorted(tail)
            assert d[9] <= tail[0]
            assert tail[-1] <= d[10]
            assert d[0] <= row["random_sample_usage"]["cpus"] <= row["maximum_usage"]["cpus"]
            assert row["average_usage"]["cpus"] <= row["maximum_usage"]["cpus"]


def test_2019_has_what_2011_has_not(tmp_path: Path) -> None:
    """Queue, parents, predecessors, alloc sets with tasks inside, scaling, schedulers, constraints."""
    raw = generate(
        tmp_path / "raw",
        "2019",
        40,
        10,
        7,
        tables=("collection_events", "instance_events"),
    )
    ingest([raw], tmp_path / "store", IngestOptions(jobs=1))
    t = borgtrace.open(tmp_path / "store").tables
    events = t.collection_events.to_pyarrow().to_pandas()
    assert {"SUBMIT", "QUEUE", "ENABLE", "SCHEDULE", "FINISH", "KILL"} <= set(events.type)
    assert set(events.collection_type) == {"JOB", "ALLOC_SET"}
    assert set(events.scheduler.dropna()) == {"DEFAULT", "BATCH"}
    assert {"OFF", "CONSTRAINED", "FULLY_AUTOMATED"} <= set(events.vertical_scaling.dropna())
    ids = set(events.collection_id)
    parents = set(events.parent_collection_id.dropna())
    hosts = set(events.alloc_collection_id.dropna())
    after = {i for row in events.start_after_collection_ids if row is not None for i in row}
    assert parents
    assert after
    assert hosts
    assert parents | hosts | after <= ids
    assert hosts <= set(events.collection_id[events.collection_type == "ALLOC_SET"])
    held = set(events.collection_id[events.type == "QUEUE"])
    released = events[(events.type == "ENABLE") & events.collection_id.isin(held)]
    assert len(released)
    assert set(events.scheduler[events.collection_id.isin(held)]) == {"BATCH"}
    relations = set(t.instance_constraints.relation.to_pyarrow().to_pylist())
    assert {"EQUAL", "NOT_EQUAL", "LESS_THAN", "GREATER_THAN"} >= relations
    assert relations


def test_an_alloc_instance_uses_at_least_what_its_task_does(clean_2019: Any) -> None:
    usage = borgtrace.open(clean_2019.path).tables.instance_usage
    allocs = usage.filter(usage.collection_type == "ALLOC_SET")
    inside = usage.filter(usage.alloc_collection_id.notnull())
    pairs = inside.inner_join(
        allocs,
        [
            inside.alloc_collection_id == allocs.collection_id,
            inside.alloc_instance_index == allocs.instance_index,
            inside.start_time == allocs.start_time,
        ],
        rname="{name}_alloc",
    )
    found = pairs.select(
        "average_cpu", "average_cpu_alloc", "machine_id", "machine_id_alloc"
    ).to_pandas()
    assert len(found) > 100
    assert (found.average_cpu_alloc >= found.average_cpu).all()
    assert (found.machine_id == found.machine_id_alloc).all()


def test_parquet_holds_the_same_trace(faulty_2019: Any, faulty_parquet: Any) -> None:
    json_store, parquet_store = (
        borgtrace.open(made.path) for made in (faulty_2019, faulty_parquet)
    )
    assert parquet_store.digest == json_store.digest


def test_rows_of_2019_are_short_empty_and_sampled_less_as_often_as_the_real_ones(
    tmp_path: Path,
) -> None:
    raw = generate(tmp_path / "raw", "2019", 12, 3, 7, file_format="parquet")
    ingest([raw], tmp_path / "store", IngestOptions(jobs=1))
    usage = borgtrace.open(tmp_path / "store").tables.instance_usage.to_pyarrow()
    seconds = (usage["end_time"].to_numpy() - usage["start_time"].to_numpy()) // 1_000_000
    # 66 % of 354,953 real rows last for 300 s, 10 % for up to 2 s; 1.75 % have no percentiles, all of a second.
    assert (seconds == 300).mean() == pytest.approx(0.66, abs=0.04)
    assert np.quantile(seconds, 0.1) <= 3
    n_percentiles = usage["cpu_usage_distribution"].combine_chunks().value_lengths()
    is_empty = n_percentiles.fill_null(0).to_numpy() == 0
    truth = json.loads((raw / "truth.json").read_text())
    assert is_empty.sum() == truth["planted"]["no_percentiles"]
    assert is_empty.mean() == pytest.approx(0.0175, abs=0.006)
    assert set(seconds[is_empty]) == {1}
    assert (usage["sample_rate"].to_numpy() < 0.99).mean() == pytest.approx(0.0127, abs=0.004)
