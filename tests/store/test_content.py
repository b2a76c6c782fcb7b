"""Content digests: what does not change them, what does, and one value worked out in plain Python."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import replace
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from borgtrace.schema import Column, Table, evolution
from borgtrace.schema.arrow import arrow_schema
from borgtrace.store import content
from borgtrace.store.content import (
    ContentSums,
    digest_of_sums,
    file_sums,
    store_digest,
    table_digest,
)

TABLE = Table(
    "readings",
    "reading",
    ("id",),
    (
        Column("id", "int64", "id", "Which.", nullable=False),
        Column("is_late", "bool", "1", "Whether it came late.", nullable=False),
        Column("part", "int32", "id", "From where."),
        Column("value", "float32", "fraction", "What was read."),
        Column("mean", "float64", "fraction", "What it came to."),
        Column("kind", "enum", "enum", "What it is."),
        Column("spread", "list<float32>", "fraction", "How it spreads."),
        Column("after", "list<int64>", "id", "What came before."),
    ),
)
ROWS = {
    "id": [7, 8, 9, 10],
    "is_late": [True, False, False, True],
    "part": [0, None, -1, 3],
    "value": [0.5, None, float("nan"), -1.25],
    "mean": [0.0, 2.5, None, 1e300],
    "kind": ["JOB", "é", None, "JOB"],
    "spread": [
        [0.25, 0.5],
        [],
        None,
        [None, 0.5],
    ],
    "after": [
        None,
        [7],
        [-8, 9],
        [],
    ],
}


def write(path, rows=ROWS, **options):
    pq.write_table(pa.table(rows, schema=arrow_schema(TABLE)), path, **options)
    return path


def digest(tmp_path, rows=ROWS):
    return table_digest(TABLE, [write(tmp_path / "part.parquet", rows)])


GOLDEN = 0x9E3779B97F4A7C15
MIX = 0x94D049BB133111EB
LOW = 2**64 - 1


def _mixed(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & LOW
    z = ((z ^ (z >> 27)) * MIX) & LOW
    return z ^ (z >> 31)


def _text(value):
    data = value.encode()
    word = len(data)
    for byte in data:
        word = ((word ^ byte) * GOLDEN) & LOW
        word ^= word >> 32
    return _mixed(word)


def _integer(value):
    return int(value) & LOW


def _bits(form, value):
    if value != value:
        return 0x7FF8 << 48
    # Adding 0 makes 0 of −0.
    return int.from_bytes(struct.pack(form, value + 0.0), "big")


WORDS = {
    "int64": _integer,
    "int32": _integer,
    "bool": _integer,
    "list<int64>": _integer,
    "float32": partial(_bits, ">f"),
    "list<float32>": partial(_bits, ">f"),
    "float64": partial(_bits, ">d"),
    "enum": _text,
}


def _hashes(type_, values):
    """What the values of a column add, each with its row."""
    word = WORDS[type_]
    for row, value in enumerate(values):
        place = (row + 1) * GOLDEN & LOW
        if isinstance(value, list):
            yield _mixed(place ^ len(value))
            for k, element in enumerate(value, 1):
                if element is not None:
                    yield _mixed((place + k * MIX) & LOW ^ word(element))
        elif value is not None:
            yield _mixed(place ^ word(value))


def _expected(rows):
    sums = {}
    for column in TABLE.columns:
        first = second = 0
        for z in _hashes(column.type, rows[column.name]):
            first += z
            second += (z >> 32) * (z & 0xFFFFFFFF)
        name = f"readings.{column.name}".encode()
        number = hashlib.blake2b(name, digest_size=8).digest()
        sums[number] = struct.pack(">QQ", first & LOW, second & LOW)
    digest = hashlib.sha256(len(rows["id"]).to_bytes(8, "big"))
    for number in sorted(sums):
        digest.update(number + sums[number])
    return digest.hexdigest()


def test_the_digest_is_what_its_page_says(tmp_path):
    assert digest(tmp_path) == _expected(ROWS)


@pytest.mark.parametrize(
    "options",
    [
        {"row_group_size": 1},
        {"row_group_size": 3, "compression": "none"},
        {"use_dictionary": False, "compression": "zstd"},
        {
            "use_dictionary": False,
            "column_encoding": {"kind": "DELTA_BYTE_ARRAY", "id": "DELTA_BINARY_PACKED"},
        },
        {"write_statistics": False, "data_page_version": "2.0"},
    ],
)
@pytest.mark.parametrize("threads", [1, 3])
def test_how_a_file_is_written_does_not_matter(tmp_path, options, threads):
    path = write(tmp_path / "other.parquet", **options)
    assert table_digest(TABLE, [path], threads) == digest(tmp_path)


def write_with_sums(path, first, n_rows, sums_of=None):
    """Write a file of some of the rows that records their sums, or those of other rows."""
    rows = pa.table(ROWS, schema=arrow_schema(TABLE)).slice(first, n_rows)
    sums = ContentSums(first)
    for batch in (rows if sums_of is None else sums_of).to_batches():
        sums.add(batch)
    with pq.ParquetWriter(path, rows.schema) as writer:
        writer.write_table(rows)
        writer.add_key_value_metadata(sums.note())
    return path


def recorded_digest(parts):
    """The digest of a table, from the sums that its files record where they are of their rows."""
    n_rows = 0
    sums = []
    for path in parts:
        sums.append(file_sums(TABLE, path, n_rows))
        n_rows += pq.read_metadata(path).num_rows
    return digest_of_sums(TABLE, n_rows, sums)


@pytest.mark.parametrize("at_a_time", [1, 3, 65536])
def test_sums_recorded_while_a_file_is_written_are_those_of_its_rows(
    tmp_path, monkeypatch, at_a_time
):
    monkeypatch.setattr(content, "BATCH", at_a_time)
    parts = [
        write_with_sums(tmp_path / "0.parquet", first=0, n_rows=1),
        write_with_sums(tmp_path / "1.parquet", first=1, n_rows=3),
    ]
    assert recorded_digest(parts) == _expected(ROWS)
    assert table_digest(TABLE, parts) == _expected(ROWS)


def test_recorded_sums_are_believed_only_by_an_ingest_and_where_rows_have_not_moved(tmp_path):
    first = write_with_sums(tmp_path / "first.parquet", first=0, n_rows=2)
    others = pa.table({**ROWS, "id": [1, 2, 3, 4]}, schema=arrow_schema(TABLE)).slice(2)
    wrong = write_with_sums(
        tmp_path / "wrong.parquet",
        first=2,
        n_rows=2,
        sums_of=others,
    )
    assert recorded_digest([first, wrong]) == _expected({**ROWS, "id": [7, 8, 3, 4]})
    assert table_digest(TABLE, [first, wrong]) == _expected(ROWS)
    # With one row before them, the sums are of other rows: the file is read.
    first_row = {name: values[:1] for name, values in ROWS.items()}
    one = write(tmp_path / "one.parquet", first_row)
    without_second = {name: [values[0], *values[2:]] for name, values in ROWS.items()}
    assert recorded_digest([one, wrong]) == _expected(without_second)


def test_files_and_the_order_of_columns_do_not_matter(tmp_path):
    table = pa.table(ROWS, schema=arrow_schema(TABLE))
    reversed_columns = table.select(table.column_names[::-1])
    parts = []
    for first, n_rows in ((0, 1), (1, 2), (3, 1)):
        parts.append(tmp_path / f"part-{first}.parquet")
        pq.write_table(reversed_columns.slice(first, n_rows), parts[-1])
    assert table_digest(TABLE, parts) == digest(tmp_path)
    assert table_digest(TABLE, parts[::-1]) != digest(tmp_path)


def test_minus_zero_is_zero_and_every_nan_the_same(tmp_path):
    def digest_with(value):
        rows = {
            **ROWS,
            "value": [value, 1.0, 1.0, 1.0],
            "spread": [
                [value],
                [],
                [],
                [],
            ],
        }
        return digest(tmp_path, rows)

    quiet, other = struct.unpack("<ff", struct.pack("<II", 0x7FC00000, 0xFFC00001))
    assert digest_with(0.0) == digest_with(-0.0)
    assert digest_with(quiet) == digest_with(other)


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("id", [7, 8, 9, 11]),
        ("is_late", [True, False, True, True]),
        ("part", [0, 0, -1, 3]),
        ("part", [None, 0, -1, 3]),
        ("value", [0.5, 0.0, float("nan"), -1.25]),
        ("value", [0.5, None, None, -1.25]),
        ("value", [-1.25, None, float("nan"), 0.5]),
        ("mean", [0.0, 2.5, None, 1.0000000000000002e300]),
        ("kind", ["JOB", "é", None, "JOBS"]),
        ("kind", ["JOB", "é", "", "JOB"]),
        (
            "spread",
            [
                [0.5, 0.25],
                [],
                None,
                [None, 0.5],
            ],
        ),
        ("spread", [[0.25, 0.5], None, None, [None, 0.5]]),
        (
            "spread",
            [
                [0.25, 0.5],
                [],
                None,
                [0.5],
            ],
        ),
        (
            "spread",
            [
                [0.25, 0.5],
                [],
                None,
                [0.5, None],
            ],
        ),
        (
            "after",
            [
                None,
                [7, -8],
                [9],
                [],
            ],
        ),
    ],
)
def test_what_a_table_holds_matters(tmp_path, column, values):
    assert digest(tmp_path, {**ROWS, column: values}) != digest(tmp_path)


def test_a_column_without_values_and_a_table_without_rows_do_not_count(tmp_path):
    without = {**ROWS, "after": [None] * 4}
    expected = digest(tmp_path, without)
    table = pa.table(without, schema=arrow_schema(TABLE)).drop_columns(["after"])
    pq.write_table(table, tmp_path / "older.parquet")
    assert table_digest(TABLE, [tmp_path / "older.parquet"]) == expected
    empty = {name: values[:0] for name, values in ROWS.items()}
    assert digest(tmp_path, empty) == ""
    assert table_digest(TABLE, []) == ""
    assert store_digest({"tasks": "a", "machine_events": ""}) == store_digest({"tasks": "a"})
    assert store_digest({"tasks": "a"}) != store_digest({})


def test_a_renamed_column_keeps_its_number(tmp_path, monkeypatch):
    expected = digest(tmp_path)
    monkeypatch.setattr(evolution, "RENAMED", {"readings": {"reading": ("value",)}})
    columns = list(TABLE.columns)
    place = TABLE.names.index("value")
    columns[place] = replace(columns[place], name="reading")
    renamed = replace(TABLE, columns=tuple(columns))
    assert table_digest(renamed, [tmp_path / "part.parquet"]) == expected
    newer = pa.table([*ROWS.values()], schema=arrow_schema(renamed))
    pq.write_table(newer, tmp_path / "newer.parquet")
    assert table_digest(renamed, [tmp_path / "newer.parquet"]) == expected
