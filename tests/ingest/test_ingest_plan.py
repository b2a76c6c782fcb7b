"""What is said before an ingest: time, disk, tables."""

from __future__ import annotations

import gzip
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from borgtrace.cli.ingestion import needs
from borgtrace.ingest import ingest_plan
from borgtrace.ingest.find.discovery import Discovery, discover
from borgtrace.ingest.find.raw_files import find_raw_files
from borgtrace.schema import DIALECTS
from borgtrace.schema.dialects import GOOGLE_2019
from borgtrace.storage import as_path, can_free_blocks
from tests.ingest.cluster_samples import packing_database
from tests.ingest.own_data import AVERAGES
from tests.ingest.raw import source_of


def test_the_time_of_a_plan_is_measured_on_the_largest_file(tmp_path, monkeypatch):
    """Decompressing 2 MB takes 0.01 s by this clock: staging takes 5 times that, the whole ingest 2.1 times as much."""
    small, large = (tmp_path / f"part-0000{i}-of-00500.csv.gz" for i in range(2))
    small.write_bytes(b"never read")
    large.write_bytes(gzip.compress(np.random.default_rng(0).bytes(2_000_000), compresslevel=1))
    clock = iter((7.0, 7.01))
    monkeypatch.setattr(ingest_plan.time, "perf_counter", lambda: next(clock))
    sources = [
        replace(source_of("small", "task_usage", 10), path=small),
        replace(source_of("large", "task_usage", large.stat().st_size), path=large),
    ]
    planned = ingest_plan.estimate(Discovery(sources), tmp_path, 2)
    bytes_ = large.stat().st_size + 10
    assert planned.seconds == pytest.approx(2.1 * 5.0 * 0.01 * bytes_ / large.stat().st_size / 2)


MEBIBYTE = 2**20


@pytest.mark.parametrize(
    ("size", "rows"),
    [
        (MEBIBYTE, 7),
        (MEBIBYTE - 1, (MEBIBYTE - 1) / 40),
    ],
)
def test_files_from_a_mebibyte_tell_the_length_of_their_lines(tmp_path, size, rows):
    """Of a smaller one, 40 bytes of gzip are taken for a line."""
    path = tmp_path / "part-00000-of-00500.csv.gz"
    # Stored as it is, so that each byte more is one more; the header and the marks of blocks come to this much.
    packing = len(gzip.compress(bytes(size), compresslevel=0)) - size
    path.write_bytes(gzip.compress(b"\n" * 7 + bytes(size - packing - 7), compresslevel=0))
    assert path.stat().st_size == size
    planned = ingest_plan.estimate(
        Discovery([replace(source_of("x", "task_usage", size), path=path)]),
        tmp_path,
        1,
    )
    # A row waits as 46 bytes: 18 codes of two, an id of six, and its number of four.
    assert planned.disk_needed == int(0.4 * size + (20 + 46) * rows)


def test_the_plan_of_two_tables(tmp_path, monkeypatch):
    monkeypatch.setattr(ingest_plan.shutil, "disk_usage", lambda _: SimpleNamespace(free=5_000))
    found = Discovery(
        [
            source_of("part-00001-of-00500.csv.gz", "task_usage", 4_000),
            # not compressed: three bytes of text are one of gzip
            source_of(
                "part-00003-of-00500.csv",
                "task_usage",
                12_000,
                packing="",
            ),
            source_of("part-00000-of-00001.csv.gz", "machine_events", 1_000),
        ]
    )
    planned = ingest_plan.estimate(found, tmp_path / "a" / "b", 3)
    # 9,000 bytes of gzip in all; 8,000 of usage are 200 rows of 40 bytes, which wait as 46 and have 20 of arrays
    assert planned.disk_needed == int(0.54 * 1_000 + 0.4 * 9_000 + (46 + 20) * 200)
    assert planned.seconds == pytest.approx(2.1 * 9_000 / 36e6 / 3)
    assert (planned.generation, planned.cell, planned.disk_free) == ("2011", "", 5_000)
    assert (planned.files, planned.size) == (3, 17_000)
    machines, usage = planned.tables
    assert (machines.table, machines.files, machines.size) == ("machine_events", 1, 1_000)
    assert (usage.table, usage.files, usage.size, usage.parts) == (
        "task_usage",
        2,
        16_000,
        "1, 3 of 500",
    )
    assert machines.columns == (
        "time",
        "machine_id",
        "type",
        "platform_id",
        "cpu_capacity",
        "memory_capacity",
    )


RECORD, STORED = 46, 16 + 20
"""Bytes of a row that waits as a record, and of one in the store, in Parquet and arrays."""


@pytest.mark.parametrize(
    ("rows", "jobs", "frees_rows", "megabytes"),
    [
        # A fifth more than the records; of files of 4,194,304 rows, two are being made.
        (10**8, 2, True, 1.2 * 4600 + 3600 * 0.08388608),
        # Of four files one is being made.
        (6 * 10**6, 1, True, 1.2 * 276 + 0.25 * 216),
        # All four, so that nothing is gained.
        (6 * 10**6, 9, True, 276 + 216),
        (6 * 10**6, 2, False, 276 + 216),
        # Below 256 MiB of records all stays.
        (5 * 10**6, 2, True, 230 + 180),
    ],
)
def test_rows_that_are_freed_are_not_needed_twice(tmp_path, rows, jobs, frees_rows, megabytes):
    if not can_free_blocks(tmp_path):
        pytest.skip("needs a file system that frees parts of a file: ext4, XFS, Btrfs, tmpfs")
    usage = Discovery([source_of("usage", "task_usage", 40 * rows)])
    store = tmp_path / "store"
    planned = ingest_plan.estimate(usage, store, jobs, frees_rows=frees_rows)
    assert planned.disk_needed == pytest.approx(megabytes * 1e6)
    # Rows that are added to a store stay to the end.
    store.mkdir()
    (store / "manifest.json").touch()
    planned = ingest_plan.estimate(usage, store, jobs, frees_rows=frees_rows)
    assert planned.disk_needed == pytest.approx((RECORD + STORED) * rows)


def test_rows_of_other_tables_stay_beside_those_that_are_freed(tmp_path):
    if not can_free_blocks(tmp_path):
        pytest.skip("needs a file system that frees parts of a file: ext4, XFS, Btrfs, tmpfs")
    usage = source_of("usage", "task_usage", 40 * 10**8)
    events = source_of("events", "task_events", 10**9)
    planned = ingest_plan.estimate(Discovery([usage, events]), tmp_path, 1)
    stored = 3600 + 400
    assert planned.disk_needed == pytest.approx((1.2 * 4600 + stored * 0.04194304 + 540) * 1e6)


@pytest.mark.parametrize(("has_store", "megabytes"), [(False, 0.2 * 300 + 10), (True, 300 + 10)])
def test_records_that_are_staged_already_take_little_more(tmp_path, has_store, megabytes):
    if not can_free_blocks(tmp_path):
        pytest.skip("needs a file system that frees parts of a file: ext4, XFS, Btrfs, tmpfs")
    for name, size in (("a.runs", 300), ("b.parquet", 10)):
        with (tmp_path / name).open("wb") as file:
            file.truncate(size * 10**6)
    if has_store:
        (tmp_path / "manifest.json").touch()
    for free, fits in ((megabytes * 1e6 + 101, True), (megabytes * 1e6 + 99, False)):
        planned = ingest_plan.IngestPlan("2011", "", (), 0, 0, 100, int(free), 1.0)
        if fits:
            ingest_plan.require_disk(planned, tmp_path)
        else:
            with pytest.raises(ingest_plan.StoreError, match="not enough free disk"):
                ingest_plan.require_disk(planned, tmp_path)


@pytest.mark.parametrize(("free", "fits"), [(100, True), (99, False)])
def test_what_is_needed_must_be_free(tmp_path, free, fits):
    planned = ingest_plan.IngestPlan("2011", "", (), 0, 0, 100, free, 1.0)
    if fits:
        ingest_plan.require_disk(planned, tmp_path)
    else:
        with pytest.raises(
            ingest_plan.StoreError,
            match=r"not enough free disk: expected about 0\.0 GB, got 0\.0 GB",
        ):
            ingest_plan.require_disk(planned, tmp_path)


def test_of_a_bucket_nobody_knows_what_is_free(tmp_path):
    shard = source_of(
        "machine_events-000000000000.json.gz",
        "machine_events",
        1 << 60,
        GOOGLE_2019,
        "json",
        cell="a",
    )
    planned = ingest_plan.estimate(Discovery([shard]), as_path("s3://cells/store"), 1)
    assert planned.disk_free is None
    ingest_plan.require_disk(planned, tmp_path)
    assert (
        needs(replace(planned, disk_needed=94, seconds=3))
        == "needs about 94 bytes of disk, about 3 s"
    )


def test_columns_of_a_plan_are_canonical_and_published(tmp_path):
    shard = source_of(
        "machine_events-000000000000.json.gz",
        "machine_events",
        1,
        GOOGLE_2019,
        "json",
        cell="a",
    )
    (table,) = ingest_plan.estimate(Discovery([shard]), tmp_path, 1).tables
    assert table.columns == (
        "time",
        "machine_id",
        "type",
        "switch_id",
        "platform_id",
        "cpu_capacity",
        "memory_capacity",
        "missing_data_reason",
    )


def test_a_file_of_several_tables_has_no_columns_of_its_own(tmp_path):
    flat = source_of("borg_traces_data.csv", "kaggle", 1, DIALECTS["kaggle-2019"], "kaggle")
    (table,) = ingest_plan.estimate(Discovery([flat]), tmp_path, 1).tables
    assert (table.table, table.columns) == ("kaggle", ())


def test_a_file_that_is_read_for_two_sections_counts_once(tmp_path):
    own = tmp_path / "own.csv"
    own.write_text("task,time,cpu,request\nweb,0,1,2\n")
    (tmp_path / "own.toml").write_text(
        AVERAGES + '[tasks]\ntask = "task"\ncpu_request = { column = "request", unit = "cores" }\n'
    )
    found = find_raw_files([own], format=str(tmp_path / "own.toml")).discovery
    planned = ingest_plan.estimate(found, tmp_path / "store", 1)
    assert [(table.table, table.files) for table in planned.tables] == [("tasks", 1), ("usage", 1)]
    assert (planned.files, planned.size) == (1, own.stat().st_size)


def test_a_database_of_two_tables_counts_once(tmp_path):
    path = tmp_path / "packing.sqlite"
    path.write_bytes(packing_database())
    planned = ingest_plan.estimate(discover([path]), tmp_path / "store", 1)
    assert len(planned.tables) == 2
    assert (planned.files, planned.size) == (1, path.stat().st_size)
