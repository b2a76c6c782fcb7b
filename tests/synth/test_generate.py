"""A generated trace: its files, its determinism, its truth, and what ingest says of it."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace.errors import UsageError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.schema.raw2011 import RAW_2011
from borgtrace.synth import generate
from borgtrace.synth.parts import part_bounds

SUCCESSORS = {
    "START": {"SUBMIT"},
    "SUBMIT": {"SCHEDULE", "KILL", "EVICT", "FAIL", "LOST", "UPDATE_PENDING"},
    "UPDATE_PENDING": {"SCHEDULE", "KILL", "EVICT", "FAIL", "LOST", "UPDATE_PENDING"},
    "SCHEDULE": {"FINISH", "EVICT", "FAIL", "KILL", "LOST", "UPDATE_RUNNING"},
    "UPDATE_RUNNING": {"FINISH", "EVICT", "FAIL", "KILL", "LOST", "UPDATE_RUNNING"},
    **{key: {"SUBMIT"} for key in ("EVICT", "FAIL", "KILL", "FINISH", "LOST")},
}
"""Legal successors of task events in 2011 (format document, and the first 19.65 hours)."""


def _lines(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode().splitlines()


def _rows(folder: Path, table: str) -> list[list[str]]:
    parts = sorted(folder.glob(f"{table}/part-*"))
    return [row for path in parts for row in csv.reader(_lines(path))]


def _digests(folder: Path) -> dict[str, str]:
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.suffix != ".parquet")
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def test_parts_have_the_names_widths_and_order_of_the_real_ones(faulty: Any) -> None:
    parts = len(part_bounds(8)) - 1
    for table, raw in RAW_2011.items():
        number = 1 if raw.parts == 1 else parts
        names = sorted(p.name for p in (faulty.folder / table).iterdir())
        assert names == [f"part-{i:05d}-of-{number:05d}.csv.gz" for i in range(number)]
        rows = _rows(faulty.folder, table)
        assert {len(row) for row in rows} == {len(raw.fields)}
        times = [int(row[0]) for row in rows]
        assert times == sorted(times)
        assert len(rows) == faulty.truth["rows"][table]


def test_tables_are_cut_at_the_same_times(faulty: Any) -> None:
    bounds = faulty.truth["bounds"]
    for table in ("job_events", "task_events", "task_constraints", "task_usage"):
        for i, path in enumerate(sorted((faulty.folder / table).iterdir())):
            times = [int(line.split(",")[0]) for line in _lines(path)]
            low = 0 if i == 0 else bounds[i]
            assert all(low <= time < bounds[i + 1] for time in times)


def test_checksums_and_schema(faulty: Any) -> None:
    for line in (faulty.folder / "SHA256SUM").read_text().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((faulty.folder / name).read_bytes()).hexdigest() == digest


def test_schema_is_the_official_one(faulty: Any, trace: Path) -> None:
    official = (trace / "clusterdata-2011-2" / "schema.csv").read_text()
    assert (faulty.folder / "schema.csv").read_text() == official


def test_gzip_carries_no_time(faulty: Any) -> None:
    for path in faulty.folder.glob("*/*.gz"):
        assert path.read_bytes()[4:8] == b"\0\0\0\0"


@pytest.mark.parametrize("generation", ["2011", "2019"])
def test_same_seed_same_bytes_with_any_number_of_threads(tmp_path: Path, generation: str) -> None:
    made = [
        generate(tmp_path / name, generation, 10, 3, seed, jobs=jobs)
        for name, seed, jobs in (("a", 1, 1), ("b", 1, 3), ("c", 2, 1))
    ]
    a, b, c = map(_digests, made)
    assert a == b
    assert pq.read_table(made[0] / "truth.parquet").equals(pq.read_table(made[1] / "truth.parquet"))
    assert a.keys() == c.keys()
    assert not any(a[k] == c[k] for k in a if "usage" in k)


def test_event_counts_are_the_truth(faulty: Any) -> None:
    names = (
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
    counted = Counter((row[8], names[int(row[5])]) for row in _rows(faulty.folder, "task_events"))
    truth = {(p, k): n for p, kinds in faulty.truth["instance_events"].items() for k, n in kinds.items()}
    assert counted == truth
    jobs = Counter(names[int(row[3])] for row in _rows(faulty.folder, "job_events"))
    assert jobs == faulty.truth["collection_events"]


def test_every_task_lives_a_legal_life(faulty: Any) -> None:
    names = (
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
    state: dict[tuple[str, str], str] = {}
    transitions: Counter[str] = Counter()
    for row in _rows(faulty.folder, "task_events"):
        task, event = (row[2], row[3]), names[int(row[5])]
        before = state.get(task, "START")
        assert event in SUCCESSORS[before], (task, before, event)
        transitions[f"{before}>{event}"] += 1
        state[task] = event
    assert transitions == faulty.truth["transitions"]
    assert transitions["SUBMIT>SUBMIT"] == 0
    assert 1 <= transitions["SUBMIT>EVICT"] < 0.01 * transitions["SUBMIT>SCHEDULE"]


def test_tasks_run_where_there_is_a_machine_and_their_constraints_hold(clean: Any) -> None:
    machines = {row[1] for row in _rows(clean.folder, "machine_events")}
    values = {(r[1], r[2]): int(r[3]) for r in _rows(clean.folder, "machine_attributes") if r[3].isdigit()}
    holds = (int.__eq__, int.__ne__, int.__lt__, int.__gt__)
    constraints: dict[tuple[str, str], set[tuple[int, str, int]]] = {}
    for _, job, index, operator, name, value in _rows(clean.folder, "task_constraints"):
        constraints.setdefault((job, index), set()).add((int(operator), name, int(value)))
    placed = [row for row in _rows(clean.folder, "task_events") if row[5] == "1" and row[0] != "0"]
    assert placed
    for row in placed:
        assert row[4] in machines
        for operator, name, value in constraints.get((row[2], row[3]), ()):
            assert holds[operator](values[row[4], name], value)


def test_usage_stays_within_the_attempts_on_their_machine(clean: Any) -> None:
    runs: dict[tuple[str, str], list[tuple[int, int, str]]] = {}
    for row in _rows(clean.folder, "task_events"):
        if row[5] == "1":
            runs.setdefault((row[2], row[3]), []).append((int(row[0]), 2**62, row[4]))
        elif row[5] in "23456" and (row[2], row[3]) in runs and runs[row[2], row[3]][-1][1] == 2**62:
            start, _, machine = runs[row[2], row[3]][-1]
            runs[row[2], row[3]][-1] = (start, int(row[0]), machine)
    second = 1_000_000
    for row in _rows(clean.folder, "task_usage"):
        start, end = int(row[0]), int(row[1])
        assert 0 < end - start <= 300 * second
        assert start // (300 * second) == (end - 1) // (300 * second)
        assert any(
            start >= since - second and end <= until + 300 * second and row[4] == machine
            for since, until, machine in runs[row[2], row[3]]
        )


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
        np.testing.assert_allclose(both[name], both[f"{name}_stored"], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ["clean", "clean_2019"])
def test_a_trace_without_faults_raises_no_counter(name: str, request: pytest.FixtureRequest) -> None:
    made = request.getfixturevalue(name)
    manifest = borgtrace.open(made.path).manifest
    assert sum(source.quarantined for source in manifest.sources) == 0
    assert not [source.counters for source in manifest.sources if source.counters]
    assert not manifest.quality
    assert manifest.is_synthetic
    assert manifest.synthetic["seed"] == made.truth["seed"]


@pytest.mark.parametrize("name", ["faulty", "faulty_2019", "faulty_parquet"])
def test_planted_faults_are_found_and_nothing_else(name: str, request: pytest.FixtureRequest) -> None:
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
    assert sorted(unknown.machine_id.to_pyarrow().to_pylist()) == sorted(planted["machines_without_capacity"])
    jobs = t.collection_events.anti_join(events, "collection_id").collection_id.to_pyarrow().to_pylist()
    assert set(jobs) == set(planted["jobs_without_tasks"])
    assert planted["reused_job"] == (
        [6_253_771_429] if made.truth["parameters"]["generation"] == "2011" else []
    )
    usage = t.instance_usage
    bad = usage.filter(usage.cycles_per_instruction > 29).count().to_pyarrow().as_py()
    assert bad == planted["bad_counters"]
    rows = usage.count().to_pyarrow().as_py()
    assert rows == made.truth["usage_rows"]
    assert 0.002 < planted["missing_usage"] / rows < 0.01


def _places(rows: Any) -> list[tuple[int, int, int]]:
    found = rows.select("collection_id", "instance_index", "time").to_pyarrow().to_pylist()
    return sorted((row["collection_id"], row["instance_index"], row["time"]) for row in found)


def test_2019_writes_integers_as_strings_and_leaves_nulls_out(clean_2019: Any) -> None:
    folder = clean_2019.folder
    line = json.loads(_lines(folder / "instance_usage-000000000000.json.gz")[0])
    assert list(line)[:5] == ["start_time", "end_time", "collection_id", "instance_index", "machine_id"]
    assert all(isinstance(line[k], str) for k in list(line)[:8])
    assert len(line["cpu_usage_distribution"]) == 11
    assert len(line["tail_cpu_usage_distribution"]) == 9
    assert "memory" not in line["random_sample_usage"]
    events = [json.loads(x) for x in _lines(folder / "collection_events-000000000000.json.gz")]
    assert {"0", "2", "3"} <= {e["type"] for e in events}
    assert {e["collection_type"] for e in events} == {"0", "1"}
    assert None not in [value for e in events for value in e.values()]


def test_percentiles_rise_and_enclose_the_sample(clean_2019: Any) -> None:
    for path in clean_2019.folder.glob("instance_usage-*"):
        for text in _lines(path):
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
    raw = generate(tmp_path / "raw", "2019", 40, 10, 3, tables=("collection_events", "instance_events"))
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
    found = pairs.select("average_cpu", "average_cpu_alloc", "machine_id", "machine_id_alloc").to_pandas()
    assert len(found) > 100
    assert (found.average_cpu_alloc >= found.average_cpu).all()
    assert (found.machine_id == found.machine_id_alloc).all()


def test_parquet_holds_the_same_trace(clean_2019: Any, tmp_path: Path) -> None:
    raw = generate(tmp_path / "raw", "2019", 20, 6, 7, anomalies=False, file_format="parquet")
    ingest([raw], tmp_path / "store", IngestOptions(jobs=1))
    assert borgtrace.open(tmp_path / "store").digest == borgtrace.open(clean_2019.path).digest


def test_one_table_alone(tmp_path: Path) -> None:
    out = generate(tmp_path / "x", machines=3, hours=1, tables=("job_events",))
    assert sorted(p.name for p in out.iterdir()) == [
        "SHA256SUM",
        "job_events",
        "schema.csv",
        "truth.json",
        "truth.parquet",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"machines": 0}, "--machines: too small: expected at least 1, got 0"),
        ({"hours": -1}, "--hours: too short: expected at least one window (0.0834), got -1"),
        ({"generation": "2015"}, "--generation: unknown value: expected one of 2011, 2019, got '2015'"),
        ({"generation": "2019", "cell": "z"}, "--cell: unknown value: expected one of a, b, c, d, e, f, g, h, got 'z'"),
        ({"seed": -1}, "--seed: too small: expected at least 0, got -1"),
    ],
)  # fmt: skip
def test_bad_options_say_what_is_allowed_and_write_nothing(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        generate(tmp_path / "out", **options)
    assert str(caught.value) == message
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(UsageError, match="not an empty folder"):
        generate(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["note.txt"]


def test_what_a_killed_run_left_behind_is_cleared(tmp_path: Path) -> None:
    left = tmp_path / "out.incomplete"
    left.mkdir()
    (left / ".borgtrace-synth").touch()
    generate(tmp_path / "out", machines=2, hours=1)
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
