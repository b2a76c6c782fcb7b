"""Content digests: what does not change them, what does, and one value worked out in plain Python."""

from __future__ import annotations

import hashlib
import struct
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
    "spread": [[0.25, 0.5], [], None, [None, 0.5]],
    "after": [None, [7], [-8, 9], []],
}


def write(path, rows=ROWS, **options):
    pq.write_table(pa.table(rows, schema=arrow_schema(TABLE)), path, **options)
    return path


def digest(tmp_path, rows=ROWS):
    return table_digest(TABLE, [write(tmp_path / "part.parquet", rows)])


GOLDEN, LOW = 0x9E3779B97F4A7C15, 2**64 - 1


def _mixed(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & LOW
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & LOW
    return z ^ (z >> 31)


def _text(value):
    data = value.encode()
    word = len(data)
    for byte in data:
        word = ((word ^ byte) * GOLDEN) & LOW
        word ^= word >> 32
    return _mixed(word)


def _bits(form, value):
    return 0x7FF8 << 48 if value != value else int.from_bytes(struct.pack(form, value + 0.0), "big")


WORDS = {
    **{
        type_: lambda value: int(value) & LOW for type_ in ("int64", "int32", "bool", "list<int64>")
    },
    **{type_: partial(_bits, ">f") for type_ in ("float32", "list<float32>")},
    "float64": partial(_bits, ">d"),
    "enum": _text,
}


def _expected(rows):
    sums = {}
    for column in TABLE.columns:
        items = []
        for row, value in enumerate(rows[column.name]):
            place = (row + 1) * GOLDEN & LOW
            if isinstance(value, list):
                items.append(place ^ len(value))
                items += [
                    (place + k * 0x94D049BB133111EB) & LOW ^ WORDS[column.type](element)
                    for k, element in enumerate(value, 1)
                    if element is not None
                ]
            elif value is not None:
                items.append(place ^ WORDS[column.type](value))
        mixed = [_mixed(item) for item in items]
        number = hashlib.blake2b(f"readings.{column.name}".encode(), digest_size=8).digest()
        sums[number] = (sum(mixed) & LOW, sum((z >> 32) * (z & 0xFFFFFFFF) for z in mixed) & LOW)
    text = b"".join(number + struct.pack(">QQ", *sums[number]) for number in sorted(sums))
    return hashlib.sha256(len(rows["id"]).to_bytes(8, "big") + text).hexdigest()


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


def noted(path, first, rows, says=None):
    """A file of some of the rows that notes what it holds, or something else."""
    held = pa.table(ROWS, schema=arrow_schema(TABLE)).slice(first, rows)
    sums = ContentSums(first)
    for batch in (held if says is None else says).to_batches():
        sums.add(batch)
    with pq.ParquetWriter(path, held.schema) as writer:
        writer.write_table(held)
        writer.add_key_value_metadata(sums.note())
    return path


def as_noted(parts):
    """The digest of a table, from what its files note of themselves where that is of their rows."""
    rows = [pq.read_metadata(path).num_rows for path in parts]
    sums = [file_sums(TABLE, path, sum(rows[:number])) for number, path in enumerate(parts)]
    return digest_of_sums(TABLE, sum(rows), sums)


@pytest.mark.parametrize("at_a_time", [1, 3, 65536])
def test_sums_noted_while_a_file_is_written_are_those_of_its_rows(tmp_path, monkeypatch, at_a_time):
    monkeypatch.setattr(content, "BATCH", at_a_time)
    parts = [noted(tmp_path / f"{first}.parquet", first, rows) for first, rows in ((0, 1), (1, 3))]
    assert as_noted(parts) == table_digest(TABLE, parts) == _expected(ROWS)


def test_a_note_is_believed_only_where_an_ingest_asks_and_the_rows_have_not_moved(tmp_path):
    first = noted(tmp_path / "first.parquet", 0, 2)
    other = pa.table({**ROWS, "id": [1, 2, 3, 4]}, schema=arrow_schema(TABLE)).slice(2)
    wrong = noted(tmp_path / "wrong.parquet", 2, 2, says=other)
    believed = _expected({**ROWS, "id": [7, 8, 3, 4]})
    assert as_noted([first, wrong]) == believed
    assert table_digest(TABLE, [first, wrong]) == _expected(ROWS)
    # One row before them, and their note speaks of other rows: they are read.
    moved = {name: [values[0], *values[2:]] for name, values in ROWS.items()}
    one = write(tmp_path / "one.parquet", {name: values[:1] for name, values in ROWS.items()})
    assert as_noted([one, wrong]) == _expected(moved)


def test_files_and_the_order_of_columns_do_not_matter(tmp_path):
    whole = pa.table(ROWS, schema=arrow_schema(TABLE))
    parts = [tmp_path / f"part-{k}.parquet" for k in range(3)]
    for part, (first, rows) in zip(parts, [(0, 1), (1, 2), (3, 1)], strict=True):
        pq.write_table(whole.slice(first, rows).select(list(reversed(whole.column_names))), part)
    assert table_digest(TABLE, parts) == digest(tmp_path)
    assert table_digest(TABLE, parts[::-1]) != digest(tmp_path)


def test_minus_zero_is_zero_and_every_nan_the_same(tmp_path):
    quiet, other = struct.unpack("<ff", struct.pack("<II", 0x7FC00000, 0xFFC00001))
    for a, b in ((0.0, -0.0), (quiet, other)):
        before, after = (
            {
                **ROWS,
                "value": [x, 1.0, 1.0, 1.0],
                "spread": [[x], [], [], []],
            }
            for x in (a, b)
        )
        assert digest(tmp_path, before) == digest(tmp_path, after)


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
        ("spread", [[0.5, 0.25], [], None, [None, 0.5]]),
        ("spread", [[0.25, 0.5], None, None, [None, 0.5]]),
        ("spread", [[0.25, 0.5], [], None, [0.5]]),
        ("spread", [[0.25, 0.5], [], None, [0.5, None]]),
        ("after", [None, [7, -8], [9], []]),
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
    assert digest(tmp_path, empty) == table_digest(TABLE, []) == ""
    assert (
        store_digest({"tasks": "a", "machine_events": ""})
        == store_digest({"tasks": "a"})
        != store_digest({})
    )


def test_a_renamed_column_keeps_its_number(tmp_path, monkeypatch):
    expected = digest(tmp_path)
    monkeypatch.setattr(evolution, "RENAMED", {"readings": {"reading": ("value",)}})
    columns = [
        Column("reading", c.type, c.unit, c.doc) if c.name == "value" else c for c in TABLE.columns
    ]
    renamed = Table(TABLE.name, TABLE.grain, TABLE.key, tuple(columns))
    assert table_digest(renamed, [tmp_path / "part.parquet"]) == expected
    pq.write_table(
        pa.table([*ROWS.values()], schema=arrow_schema(renamed)), tmp_path / "newer.parquet"
    )
    assert table_digest(renamed, [tmp_path / "newer.parquet"]) == expected
