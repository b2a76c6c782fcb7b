"""Stores of other versions: one that format 1.0 wrote, and what becomes of columns that come, go or change.

``data/store-1.0.zip`` is a synthetic cell (``synth --machines 2 --hours 1 --seed 8``) ingested by the last version
that wrote format 1.0; the answers below are those of that version.
"""

from __future__ import annotations

import json
import re
import shutil
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace.errors import StoreError, StoreNotice
from borgtrace.ingest.subset import subset
from borgtrace.question import EngineTables
from borgtrace.schema import evolution
from borgtrace.store.content import content_digests, store_digest
from borgtrace.store.criteria import Criteria
from borgtrace.store.verify import verify

ROWS = {
    "machine_events": 2,
    "machine_attributes": 85,
    "collection_events": 61,
    "instance_events": 58,
    "instance_constraints": 13,
    "instance_usage": 281,
    "tasks": 26,
}
CONTENT = "8f825b426a04c2e5cc636665b43a6b432f3454061d92ae0854396df62d6680c7"


@pytest.fixture
def old(tmp_path):
    with zipfile.ZipFile(Path(__file__).parent / "data" / "store-1.0.zip") as archive:
        archive.extractall(tmp_path / "old")
    return tmp_path / "old"


def rewrite_usage(store, change):
    part = store / "instance_usage" / "part-00000.parquet"
    pq.write_table(change(pq.read_table(part)), part)


def change_manifest(store, **facts):
    path = store / "manifest.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps({**manifest, **facts}))


def failed_checks(store):
    return [check.name for check in verify(store) if not check.holds]


def test_a_store_of_format_1_0_opens_answers_and_verifies(old):
    store = borgtrace.open(old)
    assert store.manifest.format_version == "1.0"
    assert store.manifest.tables == ROWS
    assert store.digest == "265a2d3811e372d123952a6118a9c43b3345af2cc6de7976d5257e94021d0480"
    for name, rows in ROWS.items():
        assert store.sql(f"select count(*) as n from {name}").to_pylist() == [{"n": rows}]
    trace = store.trace(3460999, 0)
    assert trace["start_time"].tolist() == [*range(600, 4200, 300)]
    last_cpu = np.array([0.03055, 0.000206, 0.03845], np.float32)
    np.testing.assert_array_equal(trace["average_cpu"][-3:], last_cpu)
    used = store.tasks.filter(store.tasks.n_windows > 0)
    answer = EngineTables.of(store).fetch(used.count().as_table())
    assert answer.num_rows == 1
    assert failed_checks(old) == []
    found = {check.name: check.found for check in verify(old)}
    assert found["files"] == store.digest
    assert "tasks: content" not in found


def test_the_numbers_of_its_columns_never_change(old, tmp_path):
    assert store_digest(content_digests(old)) == CONTENT
    manifest = subset(old, tmp_path / "new", Criteria(fraction=1.0))
    assert manifest.digest == CONTENT
    assert failed_checks(tmp_path / "new") == []


def test_a_table_that_a_store_lacks_is_no_table_of_its_subset(old, tmp_path):
    shutil.rmtree(old / "machine_attributes")
    without = dict(ROWS)
    del without["machine_attributes"]
    change_manifest(old, tables=without)
    manifest = subset(old, tmp_path / "new", Criteria(fraction=1.0))
    assert manifest.tables == {**ROWS, "machine_attributes": 0}


def test_a_column_that_a_store_lacks_reads_as_null_with_one_notice(old):
    lacking = ["maximum_memory", "cycles_per_instruction"]
    rewrite_usage(old, lambda table: table.drop_columns(lacking))
    with pytest.warns(StoreNotice) as notices:
        store = borgtrace.open(old)
    (notice,) = {str(notice.message) for notice in notices}
    assert notice.startswith(f"{old}: made by borgtrace 0.1.0, without ")
    words = re.split(r"[, ]+", notice)
    for name in lacking:
        assert f"instance_usage.{name}" in words
    assert notice.endswith(
        f" (NULL here); to have them: borgtrace ingest SRC --store {old} --rebuild"
    )
    query = "select count(*) as n, count(maximum_memory) as known from instance_usage"
    assert store.sql(query).to_pylist() == [{"n": 281, "known": 0}]
    assert EngineTables.of(store).instance_usage.maximum_memory.count().execute() == 0
    assert np.isnan(store.traces(columns=["maximum_memory"]).maximum_memory).all()
    assert store.traces(columns=["maximum_cpu"]).maximum_cpu.size == 281


@pytest.mark.wide
def test_a_column_that_the_index_lacks_is_null_where_the_index_is_read(old):
    store = borgtrace.open(old)
    tasks = store.task_columns(["n_windows", "namespace", "owner_kind"])
    assert tasks.num_rows == 26
    assert tasks.column("n_windows").null_count == 0
    assert tasks.column("namespace").null_count == 26
    assert str(tasks.schema.field("owner_kind").type) == "string"
    advice = borgtrace.advise(old)
    assert len(advice.workloads.to_pandas()) > 0


def test_a_renamed_column_is_found_under_its_former_name(old, monkeypatch):
    expected = borgtrace.open(old).sql("select maximum_cpu from instance_usage")
    rewrite_usage(old, lambda table: table.rename_columns({"maximum_cpu": "peak_cpu"}))
    renamed = {"instance_usage": {"maximum_cpu": ("peak_cpu", "largest_cpu")}}
    monkeypatch.setattr(evolution, "RENAMED", renamed)
    store = borgtrace.open(old)
    assert store.sql("select maximum_cpu from instance_usage").equals(expected)
    traces = store.traces(columns=["maximum_cpu"])
    assert traces.maximum_cpu.tolist() == expected.column(0).to_pylist()
    assert EngineTables.of(store).instance_usage.maximum_cpu.count().execute() == 281
    assert failed_checks(old) == ["files"]


def add_watts(table):
    return table.append_column("watts", pa.nulls(281, pa.float32()))


def with_wide_cpu(table):
    place = table.column_names.index("average_cpu")
    return table.set_column(place, "average_cpu", table["average_cpu"].cast(pa.float64()))


def without_start(table):
    return table.drop_columns(["start_time"])


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (add_watts, "watts is no longer a column"),
        (with_wide_cpu, "average_cpu is float64, not float32"),
        (without_start, "start_time is missing"),
    ],
)
def test_a_removed_or_retyped_column_needs_a_rebuild(old, change, fault):
    rewrite_usage(old, change)
    with pytest.raises(StoreError) as error:
        borgtrace.open(old)
    assert str(error.value) == (
        f"{old}: its tables are those of another version: expected the columns of `borgtrace info --schema`, "
        f"got instance_usage.{fault}; build it again: borgtrace ingest SRC --store {old} --rebuild"
    )


def test_what_a_later_minor_version_wrote_is_left_alone(old, tmp_path):
    rewrite_usage(old, add_watts)
    change_manifest(
        old,
        format_version="1.99",
        schema="later",
        energy={"unit": "J"},
    )
    with warnings.catch_warnings(record=True) as notices:
        manifest = subset(old, tmp_path / "new", Criteria(fraction=1.0))
        # The file is not the one that the manifest lists, nor is the manifest sealed; columns are as they should be.
        assert failed_checks(old) == ["files", "seal"]
    assert not notices
    assert manifest.unknown == {"energy": {"unit": "J"}}
    written = json.loads((tmp_path / "new" / "manifest.json").read_text())
    assert written["energy"] == {"unit": "J"}
    assert "unknown" not in written
    assert borgtrace.open(tmp_path / "new").manifest.unknown == {"energy": {"unit": "J"}}


@pytest.mark.parametrize("text", ["", '{"format_version": "1.0"}', "[1]"])
def test_a_damaged_manifest_is_one_line(old, text):
    (old / "manifest.json").write_text(text)
    message = r"manifest.json is damaged.*; build it again: .* --rebuild"
    with pytest.raises(StoreError, match=message):
        borgtrace.open(old)
