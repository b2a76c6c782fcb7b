"""Whose rows an ingest takes, what it foresees, and what it leaves when it fails half-way."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from types import SimpleNamespace

import duckdb
import pyarrow.parquet as pq
import pytest

from borgtrace.errors import StoreError
from borgtrace.ingest import IngestOptions, ingest, ingest_plan
from borgtrace.ingest.build import flattened, staging
from borgtrace.ingest.build.pending import find_pending
from borgtrace.ingest.convert.canonical import canonical_chunk
from borgtrace.ingest.files.raw_layout import Field, RawLayout
from borgtrace.ingest.find.discovery import discover
from borgtrace.ingest.find.recognition import classify
from borgtrace.ingest.progress import Progress
from borgtrace.ingest.read.text_fields import cross_tests
from borgtrace.ingest.subset import subset
from borgtrace.schema import TABLES, Column
from borgtrace.schema.checks import ColumnCheck
from borgtrace.schema.dialects import GOOGLE_2011, RawField
from borgtrace.store.coverage import DECLARED_WHOLE, coverage
from borgtrace.store.criteria import Criteria
from borgtrace.store.digest import file_digest
from borgtrace.store.manifest import read_manifest
from borgtrace.synth import generate
from tests.ingest.raw import USAGE, write_cell, write_part

ONE = IngestOptions(jobs=1)


@pytest.fixture
def raw(tmp_path):
    return write_cell(tmp_path / "raw")


def test_a_single_file_of_a_synthetic_trace_is_known_for_one(tmp_path):
    path = write_part(tmp_path / "raw", "task_usage", USAGE)
    (tmp_path / "raw" / "truth.json").write_text(
        json.dumps(
            {
                "seed": 7,
                "version": "1",
                "parameters": {},
            }
        )
    )
    manifest = ingest([path], tmp_path / "store", ONE).manifest
    assert manifest.synthetic == {
        "seed": 7,
        "version": "1",
        "parameters": {},
    }


def test_a_synthetic_trace_leaves_the_number_of_its_files(tmp_path):
    generate(tmp_path / "raw", "2019", 3, 1.0, 1)
    shards = tmp_path / "raw" / "instance_usage-000000000000.json.gz"
    manifest = ingest([shards], tmp_path / "store", ONE).manifest
    assert manifest.synthetic["parts"] == {
        "collection_events": 1,
        "instance_events": 2,
        "instance_usage": 2,
        "machine_attributes": 1,
        "machine_events": 1,
    }
    assert coverage(manifest).tables["instance_usage"].of == 2
    assert not coverage(manifest).tables["instance_usage"].is_whole


def test_a_store_is_declared_whole_at_any_ingest_and_stays_so(raw, tmp_path):
    store = tmp_path / "store"
    assert ingest([raw], store, ONE).manifest.notes == ()
    whole = IngestOptions(jobs=1, whole=True)
    assert ingest([raw], store, whole).manifest.notes == (DECLARED_WHOLE,)
    more = write_part(tmp_path / "more", "task_usage", USAGE, 499)
    ingest([more], store, whole)
    assert read_manifest(store).notes == (DECLARED_WHOLE,)


def test_no_files_are_added_to_part_of_a_store(raw, tmp_path):
    ingest([raw], tmp_path / "store", ONE)
    subset(tmp_path / "store", tmp_path / "part", Criteria(jobs=(10,)))
    more = write_part(tmp_path / "more", "task_usage", USAGE, 499)
    with pytest.raises(
        StoreError,
        match=r"no files can be added to part of a store: .* got subset of .* by 1 job",
    ):
        ingest([more], tmp_path / "part", ONE)
    assert not (tmp_path / "part" / "staging").exists()


def test_nothing_new_needs_no_disk(raw, tmp_path, monkeypatch):
    before = ingest([raw], tmp_path / "store", ONE).manifest
    monkeypatch.setattr(ingest_plan.shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    assert ingest([raw], tmp_path / "store", ONE).manifest == before
    more = write_part(tmp_path / "more", "task_usage", USAGE, 499)
    with pytest.raises(StoreError, match="not enough free disk"):
        ingest([more], tmp_path / "store", ONE)


def test_a_whole_ingest_takes_as_long_as_was_measured(tmp_path):
    path = write_part(tmp_path / "raw", "task_usage", USAGE)
    # 2.1 times the staging, which takes a second for 36 MB of gzip; two processes halve it
    planned = ingest_plan.estimate(discover([path]), tmp_path / "store", 2)
    assert planned.seconds == pytest.approx(2.1 * path.stat().st_size / 36e6 / 2)


def test_the_ledger_knows_the_content_that_was_there_before_parsing(tmp_path, monkeypatch):
    path = write_part(tmp_path / "raw", "task_usage", USAGE)
    before = file_digest(path)

    def change(layout, chunk):
        path.write_bytes(path.read_bytes() + b"more")
        return canonical_chunk(layout, chunk)

    monkeypatch.setattr(staging, "canonical_chunk", change)
    assert staging.stage(classify(path), tmp_path / "staging").sha256 == before


FLATTENED = {
    "cluster": "1",
    "time": "600000000",
    "instance_events_type": "3",
    "collections_events_type": "3",
    "collection_id": "7",
    "instance_index": "0",
    "collection_type": "0",
    "start_time": "600000000",
    "end_time": "900000000",
}


def test_a_list_with_nan_of_a_flattened_file_is_refused_and_a_record_with_nan_is_not(tmp_path):
    whole = str([n / 16 for n in range(11)])
    lists = [
        whole,
        whole.replace("0.5", "nan"),
        whole.replace(",", "").replace("0.5", "nan"),
        "[]",
    ]
    rows = [
        {
            **FLATTENED,
            "start_time": str(600_000_000 + n),
            "cpu_usage_distribution": text,
            "average_usage": "{'cpus': nan}",
        }
        for n, text in enumerate(lists)
    ]
    with (tmp_path / "sample.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    entry = staging.stage(classify(tmp_path / "sample.csv"), tmp_path / "staging")
    assert (entry.rows_in, entry.stored, entry.quarantined) == (4, 2, 2)
    assert entry.counters["unparsable_value"] == 2
    (kept,) = (tmp_path / "staging" / "instance_usage").glob("*.parquet")
    table = pq.read_table(kept)
    assert table.column("source_row").to_pylist() == [0, 3]
    assert table.column("average_cpu").to_pylist() == [None, None]
    assert [len(found) for found in table.column("cpu_usage_distribution").to_pylist()] == [11, 0]


def test_a_flattened_file_that_fails_half_way_leaves_nothing(tmp_path, monkeypatch):
    path = tmp_path / "sample.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, FLATTENED)
        writer.writeheader()
        writer.writerow(FLATTENED)
    outputs = []

    def second_fails(rows, layout):
        outputs.append(layout)
        if len(outputs) == 2:
            raise KeyboardInterrupt
        return rows

    monkeypatch.setattr(flattened, "first_of_each", second_fails)
    with pytest.raises(KeyboardInterrupt):
        staging.stage(classify(path), tmp_path / "staging")
    assert [entry.name for entry in (tmp_path / "staging").rglob("*") if entry.is_file()] == []


@pytest.mark.parametrize(
    ("check", "broken"),
    [
        (
            ColumnCheck("end_before_start", "at_least", minus="start_time"),
            [False, False, True, False],
        ),
        (
            ColumnCheck("end_before_start", "at_least", 5, minus="start_time"),
            [True, False, True, False],
        ),
        # an end after the trace gives no length to judge
        (
            ColumnCheck("end_before_start", "at_most", 5, minus="start_time"),
            [False, True, False, False],
        ),
    ],
)
def test_checks_of_two_columns_keep_their_rule_and_bound(check, broken):
    column = Column(
        "end_time",
        "int64",
        "us",
        "An end.",
        checks=(check,),
    )
    field = Field(RawField("end time", "end_time"), column, GOOGLE_2011, 2)
    start = replace(field, column=replace(column, name="start_time", checks=()), place=1)
    layout = RawLayout(GOOGLE_2011.tables["task_usage"], GOOGLE_2011, (start, field), 2)
    ((test,),) = [tests for tests in cross_tests(layout).values() if tests]
    rows = f"(VALUES (10, 10), (10, 16), (10, 9), (10, {2**63 - 1})) AS rows(start_time, end_time)"
    found = duckdb.sql(f"SELECT coalesce({test.condition_sql}, false) FROM {rows}").fetchall()
    assert (test.reason, [row[0] for row in found]) == ("end_before_start", broken)


def test_an_end_without_a_start_in_its_file_is_not_compared():
    column = TABLES["instance_usage"].column("end_time")
    field = Field(RawField("end time", "end_time"), column, GOOGLE_2011, 1)
    layout = RawLayout(GOOGLE_2011.tables["task_usage"], GOOGLE_2011, (field,), 1)
    assert not any(cross_tests(layout).values())


def test_a_part_given_twice_does_not_hide_those_after_it(tmp_path):
    first = write_part(tmp_path / "a", "task_usage", USAGE, 1)
    copy = write_part(tmp_path / "b", "task_usage", USAGE, 1)
    last = write_part(tmp_path / "a", "task_usage", USAGE, 2)
    sources = [classify(path) for path in (first, copy, last)]
    pending = find_pending(
        sources,
        (),
        tmp_path / "staging",
        replace=False,
    )
    assert [source.path for source in pending.new] == [first, last]


def test_what_is_staged_is_not_read_again(tmp_path):
    source = classify(write_part(tmp_path, "task_usage", USAGE))
    entry = staging.stage(source, tmp_path / "staging")
    source.path.unlink()
    assert staging.stage(source, tmp_path / "staging") == entry


def test_progress_of_staging_counts_bytes_of_each_table(raw, tmp_path):
    told = []

    class Told(Progress):
        def begin(self, label, total, unit):
            told.append((label, total, unit))

        def advance(self, label, amount):
            told.append((label, amount))

    more = write_part(raw, "task_usage", USAGE * 2, 1)
    ingest([raw / "task_usage"], tmp_path / "store", IngestOptions(jobs=1, stage_only=True), Told())
    sizes = [path.stat().st_size for path in sorted(more.parent.iterdir())]
    label = "stage task_usage"
    assert told == [(label, sum(sizes), "bytes"), *((label, size) for size in sizes)]


def test_what_is_staged_is_clustered_later_without_its_raw_files(raw, tmp_path):
    ingest([raw], tmp_path / "store", IngestOptions(jobs=1, stage_only=True))
    unfinished = [tmp_path / "store" / name for name in ("next.incomplete", "spill.incomplete")]
    for folder in unfinished:
        folder.mkdir()
    half = tmp_path / "store" / "staging" / "instance_usage" / "x.parquet.1.incomplete"
    half.write_bytes(b"half")
    assert ingest([], tmp_path / "store", ONE).manifest.tables["instance_usage"] == 1
    assert not any(path.exists() for path in (*unfinished, half))
