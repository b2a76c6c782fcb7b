"""Usage is staged as records of codes: what is read back, what has no codes, damage, parts of earlier versions."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace.errors import StoreError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.build.coded_columns import collection_order
from borgtrace.ingest.build.coded_part import read_runs, write_run
from borgtrace.ingest.build.coded_rows import CodedParts, rows_of_run
from borgtrace.ingest.build.staged_writer import CodedWriter
from borgtrace.ingest.files.staged_part import StagedPart
from borgtrace.kernels.coding import MOST_CODES, TOO_MANY, code_rows, decode_rows
from borgtrace.schema import TABLES

USAGE = TABLES["instance_usage"]
STAGE = IngestOptions(jobs=1, stage_only=True)
ONE = IngestOptions(jobs=1)


def line(job: int, index: int, window: int, machine: str, cpu: str, cache: str, flag: str) -> str:
    """Write a row of task_usage; the fields that are not named are the same in all."""
    start = (600 + 300 * window) * 1_000_000
    times = f"{start},{start + 300_000_000}"
    return (
        f"{times},{job},{index},{machine},{cpu},0.25,0.5,,{cache},0.25,,,{cpu},,,,1,{flag},{cpu}\n"
    )


def write_raw(folder: Path, parts: int = 3, rows: int = 40) -> Path:
    """Write files of usage whose rows are in no order of jobs; some values are missing."""
    usage = folder / "task_usage"
    usage.mkdir(parents=True)
    for part in range(parts):
        text = ""
        for row in range(rows):
            cache = "" if row % 3 == 0 else f"0.{row}1"
            job = 7_000_000_000 - 11 * (row * 7 % 10)
            cpu = f"0.0{row % 5}{part}"
            text += line(job, row % 4, 50 * part + row, f"{5 + row % 6}", cpu, cache, str(row % 2))
        path = usage / f"part-{part:05d}-of-00500.csv.gz"
        path.write_bytes(gzip.compress(text.encode(), mtime=0))
    return folder


def staged_usage(store: Path) -> list[Path]:
    """Return the names of what is staged of usage."""
    return sorted((store / "staging" / "instance_usage").iterdir())


def usage_of(store: Path) -> list[dict[str, Any]]:
    """Return all rows of usage of a store, in their order."""
    parts = sorted((store / "instance_usage").glob("*.parquet"))
    return [row for part in parts for row in pq.read_table(part).to_pylist()]


def as_earlier_versions_did(part: Path) -> None:
    """Put Parquet in the place of a part of records, from what `write_raw` wrote and not from the part."""
    (part_number,) = [int(text) for text in part.stem.split("-") if text.isdigit()]
    raw = part.parents[3] / "raw" / "task_usage" / f"part-{part_number:05d}-of-00500.csv.gz"
    rows = [text.split(",") for text in gzip.decompress(raw.read_bytes()).decode().splitlines()]
    columns = list(zip(*rows, strict=True))

    def floats(place: int) -> pa.Array:
        return pa.array([float(text) if text else None for text in columns[place]], pa.float32())

    whole = {0: "start_time", 1: "end_time", 2: "collection_id", 4: "machine_id"}
    measured = {
        5: "average_cpu",
        6: "average_memory",
        7: "assigned_memory",
        8: "unmapped_page_cache_memory",
        9: "page_cache_memory",
        10: "maximum_memory",
        11: "mean_disk_io_time",
        12: "mean_disk_space",
        13: "maximum_cpu",
        14: "maximum_disk_io_time",
        15: "cycles_per_instruction",
        16: "memory_accesses_per_instruction",
        17: "sample_portion",
        19: "sampled_cpu",
    }
    table = {
        name: pa.array([int(text) for text in columns[place]]) for place, name in whole.items()
    }
    table["instance_index"] = pa.array([int(text) for text in columns[3]], pa.int32())
    table |= {name: floats(place) for place, name in measured.items()}
    table["aggregation_type"] = pa.array([text == "1" for text in columns[18]])
    table["source_row"] = pa.array(range(len(rows)), pa.int64())
    pq.write_table(pa.table(table), part.with_suffix(".parquet"))
    part.unlink()


def test_what_is_staged_is_what_the_store_holds(tmp_path: Path) -> None:
    raw = write_raw(tmp_path / "raw")
    store = tmp_path / "store"
    ingest([raw], store, STAGE)
    assert [path.suffix for path in staged_usage(store)] == [".runs"] * 3
    ingest([], store, ONE)
    rows = usage_of(store)
    assert len(rows) == 120
    # Row 38 of the second file, by hand: 38 · 7 % 10 = 6, 38 % 4 = 2, 38 % 6 = 2, 38 % 5 = 3.
    (row,) = [row for row in rows if (row["source_part"], row["source_row"]) == (1, 38)]
    expected = {
        "collection_id": 6_999_999_934,
        "instance_index": 2,
        "start_time": (600 + 300 * 88) * 1_000_000,
        "end_time": (600 + 300 * 89) * 1_000_000,
        "machine_id": 7,
        "average_cpu": float(np.float32(0.031)),
        "page_cache_memory": float(np.float32(0.381)),
        "mean_disk_io_time": None,
        "aggregation_type": False,
        "collection_type": "JOB",
        "is_on_dedicated_machine": False,
    }
    assert {name: row[name] for name in expected} == expected
    (missing,) = [row for row in rows if (row["source_part"], row["source_row"]) == (2, 39)]
    assert missing["page_cache_memory"] is None
    assert missing["aggregation_type"] is True


@pytest.mark.parametrize("earlier", [(0, 1, 2), (1,), (0, 2)])
def test_parts_that_an_earlier_version_staged_are_taken_as_they_are(
    tmp_path: Path, earlier: tuple[int, ...]
) -> None:
    raw = write_raw(tmp_path / "raw")
    ingest([raw], tmp_path / "new", ONE)
    store = tmp_path / "store"
    ingest([raw], store, STAGE)
    for number in earlier:
        as_earlier_versions_did(staged_usage(store)[number])
    result = ingest([raw], store, ONE)
    assert result.known == 3
    assert usage_of(store) == usage_of(tmp_path / "new")
    assert borgtrace.open(store).manifest.digest == borgtrace.open(tmp_path / "new").manifest.digest


def test_files_that_are_added_to_a_store_make_the_store_of_all_at_once(tmp_path: Path) -> None:
    raw = write_raw(tmp_path / "raw")
    parts = sorted((raw / "task_usage").iterdir())
    for part in parts[::-1]:
        ingest([part], tmp_path / "in_turn", ONE)
    ingest([raw], tmp_path / "at_once", ONE)
    assert usage_of(tmp_path / "in_turn") == usage_of(tmp_path / "at_once")
    digests = {borgtrace.open(tmp_path / name).manifest.digest for name in ("in_turn", "at_once")}
    assert len(digests) == 1


def table_of(values: np.ndarray[Any, Any], first_row: int = 0) -> pa.Table:
    """Return rows of usage of two jobs with these values of CPU."""
    n = len(values)
    numbers = np.arange(n)
    return pa.table(
        {
            "collection_id": pa.array(numbers % 2 + 10),
            "instance_index": pa.array(np.zeros(n, np.int32)),
            "start_time": pa.array(numbers * 1_000_000),
            "end_time": pa.array((numbers % 7 + 1) * 1_000_000),
            "machine_id": pa.array([None, *range(1, n)], pa.int64()),
            "average_cpu": pa.array(values.astype(np.float32)),
            "source_row": pa.array(numbers + first_row),
        }
    )


def test_a_column_with_more_values_than_codes_is_staged_as_parquet(tmp_path: Path) -> None:
    few = table_of(np.full(100, 0.5))
    many = table_of(np.arange(MOST_CODES + 1), 100).drop(["start_time"])
    many = many.append_column("start_time", pa.array(np.zeros(len(many), np.int64)))
    many = many.select(few.column_names)
    writer = CodedWriter(
        tmp_path / "part.parquet",
        USAGE.key,
        coded_path=tmp_path / "part.runs",
        table=USAGE,
        largest_run=0,
    )
    writer.write(few)
    writer.write(many)
    writer.finish()
    assert [path.name for path in tmp_path.iterdir()] == ["part.parquet"]
    staged = pq.read_table(tmp_path / "part.parquet").sort_by("source_row")
    assert staged.equals(pa.concat_tables([few, many]).combine_chunks())
    assert writer.rows == 100 + MOST_CODES + 1
    assert writer.columns == tuple(few.column_names)


def test_runs_of_a_part_are_read_together_in_the_order_of_their_key(tmp_path: Path) -> None:
    path = tmp_path / "part.runs"
    with path.open("wb") as file:
        write_run(file, table_of(np.array([0.5, 0.25, 0.5])), USAGE)
        write_run(file, table_of(np.array([0.125, -0.0, np.nan]), 3), USAGE)
    parts = CodedParts(USAGE, [StagedPart(path, 4)])
    ids, counts = parts.collections()
    assert (ids.tolist(), counts.tolist()) == ([10, 11], [4, 2])
    rows = pa.Table.from_batches(parts.sorted_batches(None, None, 4))
    # Of job 10 rows 0 and 2 of both runs, by time; of job 11 row 1 of both.
    assert rows.column("source_row").to_pylist() == [0, 3, 2, 5, 1, 4]
    assert rows.column("machine_id").to_pylist() == [None, None, 2, 2, 1, 1]
    cpu = rows.column("average_cpu").to_pylist()
    assert cpu[:3] == [0.5, 0.125, 0.5]
    assert np.isnan(cpu[3])
    assert np.signbit(cpu[5])
    assert rows.column("source_part").to_pylist() == [4] * 6
    in_range = pa.Table.from_batches(parts.sorted_batches(11, None, 4))
    assert in_range.column("source_row").to_pylist() == [1, 4]
    assert list(parts.sorted_batches(12, 20, 4)) == []


def test_rows_of_a_range_are_handed_to_duckdb_with_all_columns(tmp_path: Path) -> None:
    path = tmp_path / "part.runs"
    with path.open("wb") as file:
        write_run(file, table_of(np.array([0.5, 0.25, 0.5])), USAGE)
    rows = CodedParts(USAGE, [StagedPart(path, 4)]).reader(10, 11).read_all()
    assert rows.column_names == list(USAGE.names)
    assert rows.column("source_row").to_pylist() == [0, 2]
    assert rows.column("collection_type").to_pylist() == ["JOB", "JOB"]
    assert rows.column("maximum_cpu").null_count == 2


def test_ids_beyond_six_bytes_are_staged_as_parquet(tmp_path: Path) -> None:
    rows = table_of(np.zeros(3)).drop(["machine_id"])
    rows = rows.append_column("machine_id", pa.array([1, 2**48 - 1, 3]))
    writer = CodedWriter(
        tmp_path / "part.parquet", USAGE.key, coded_path=tmp_path / "part.runs", table=USAGE
    )
    writer.write(rows)
    writer.finish()
    staged = pq.read_table(tmp_path / "part.parquet")
    assert sorted(staged.column("machine_id").to_pylist()) == [1, 3, 2**48 - 1]


def test_an_abandoned_part_leaves_nothing(tmp_path: Path) -> None:
    writer = CodedWriter(
        tmp_path / "part.parquet", USAGE.key, coded_path=tmp_path / "part.runs", table=USAGE
    )
    writer.write(table_of(np.zeros(3)))
    writer.abandon()
    assert list(tmp_path.iterdir()) == []
    writer.write(table_of(np.zeros(2)))
    writer.finish()
    (run,) = read_runs(tmp_path / "part.runs", USAGE)
    assert rows_of_run(run, USAGE).num_rows == writer.rows == 2


def cut_short(content: bytes) -> bytes:
    return content[:-1]


def emptied(content: bytes) -> bytes:
    return b""


def of_zeros(content: bytes) -> bytes:
    return bytes(len(content))


def with_foreign_codes(content: bytes) -> bytes:
    """Give the last rows codes that stand for no value."""
    return content[:-64] + b"\xff" * 64


@pytest.mark.parametrize("damage", [cut_short, emptied, of_zeros, with_foreign_codes])
def test_a_damaged_part_is_refused_and_the_store_stays_as_it_was(
    tmp_path: Path, damage: Any
) -> None:
    raw = write_raw(tmp_path / "raw", rows=4)
    store = tmp_path / "store"
    ingest([raw], store, STAGE)
    part = staged_usage(store)[1]
    part.write_bytes(damage(part.read_bytes()))
    with pytest.raises(StoreError) as caught:
        ingest([], store, ONE)
    where = part.parent if damage is with_foreign_codes else part
    assert str(caught.value) == (
        f"{where}: what is staged is damaged; remove {store / 'staging'} and ingest the files again"
    )
    assert not (store / "manifest.json").exists()


def test_codes_are_numbered_as_values_come_and_end_where_room_ends() -> None:
    values = np.array([9, 7, 9, 8, 7], np.uint32)
    valid = np.array([0b11101], np.uint8)
    slots = np.zeros(8, np.uint16)
    distinct = np.zeros(3, np.uint32)
    codes = np.zeros(5, np.uint16)
    # Row 1 is missing; a table of eight is a quarter full with two values, so that the third (7) waits for a larger.
    assert code_rows(values, valid, (0, 5), slots, distinct, 0, codes) == (4, 2)
    assert codes[:4].tolist() == [1, 0, 1, 2]
    larger = np.zeros(32, np.uint16)
    assert code_rows(values, valid, (0, 5), larger, distinct, 0, codes) == (5, 3)
    assert codes.tolist() == [1, 0, 1, 2, 3]
    assert distinct.tolist() == [9, 8, 7]
    others = np.array([6], np.uint32)
    assert code_rows(others, valid, (0, 1), larger, distinct, 3, codes) == (TOO_MANY, 3)


def test_a_code_without_a_value_is_not_decoded() -> None:
    bits = np.zeros(2, np.uint32)
    valid = np.full(1, 0xFF, np.uint8)
    runs = np.zeros(2, np.int32)
    starts = np.array([0, 1])
    distinct = np.array([5], np.uint32)
    codes = np.array([1, 0], np.uint16)
    assert decode_rows(codes, runs, starts, distinct, bits, valid, 0)
    assert (bits.tolist(), valid.tolist()) == ([5, 0], [0b11111101])
    assert not decode_rows(np.array([2], np.uint16), runs, starts, distinct, bits, valid, 0)


@pytest.mark.parametrize("n_collections", [1, 50, 3000, 100_000])
def test_rows_of_one_collection_stay_in_their_order(n_collections: int) -> None:
    random = np.random.default_rng(n_collections)
    collections = random.integers(0, n_collections, 150_000) * 77_777
    order = collection_order(collections)
    assert order.tolist() == sorted(range(len(collections)), key=lambda row: collections[row])
