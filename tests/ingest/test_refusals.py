"""What is said of refused rows: file, line, column and value, of every format in every kind of file; and of files
that leave no row."""

from __future__ import annotations

import gzip
import io
import sqlite3
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace.errors import SchemaError, SourceError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.build.staging import stage
from borgtrace.ingest.find.recognition import classify
from borgtrace.store.layout import Layout
from borgtrace.store.refusals import lines_of_refusals, warning_of_share
from tests.ingest.own_data import AVERAGES
from tests.ingest.sample_files import (
    CAPACITY,
    DECLARATIONS,
    SampleTable,
    sample_dialects,
    sample_tables,
)

ODD = "abc"
NUMBERS = ("int64", "int32", "uint32", "float32", "float64")


def _odd_fields(sample: SampleTable) -> list[str]:
    """Return the fields in which a word is no value."""
    fields = []
    for field in sample.raw.fields:
        column = sample.column(field)
        if column is not None and column.type in NUMBERS:
            fields.append(field.name)
    return fields


def _names_in_file(sample: SampleTable, name: str) -> tuple[str, ...]:
    """Return what the file may call a field."""
    if sample.format == "kaggle" and sample.dialect.flattened:
        return (sample.dialect.flattened.renamed.get((sample.raw.name, name), name),)
    return (name,)


@pytest.mark.parametrize("name", sample_dialects())
def test_a_refused_value_is_named_with_its_column_and_line(tmp_path: Path, name: str) -> None:
    n_tables = 0
    for number, sample in enumerate(sample_tables(name)):
        fields = _odd_fields(sample)
        if not fields:
            continue
        n_tables += 1
        rows = [sample.row(place) for place in range(1, len(fields) + 3)]
        for row, field_name in zip(rows[1:], fields, strict=False):
            row[field_name] = ODD
        folder = tmp_path / str(number)
        folder.mkdir()
        path = folder / sample.file_name
        path.write_bytes(sample.content(rows))
        cell = "a" if sample.format == "kaggle" else ""
        entry = stage(classify(path, cell=cell, only=sample.dialect), folder / "staging")
        refused = []
        for part in (folder / "staging" / "quarantine").glob("*/*.parquet"):
            refused += pq.read_table(part).to_pylist()
        allowed = [name for field in fields for name in _names_in_file(sample, field)]
        assert sorted(row["column"] for row in refused) == sorted(allowed), sample
        assert sum(refusal.rows for refusal in entry.refusals) == len(refused)
        for row in refused:
            assert (row["file"], row["value"]) == (path.name, ODD)
            if sample.format in ("parquet", "prometheus"):
                assert row["line"] is None
            else:
                assert ODD in path.read_text().splitlines()[row["line"] - 1]
    assert n_tables


@pytest.mark.parametrize("name", sample_dialects())
def test_of_refused_rows_alone_no_store_is_made(tmp_path: Path, name: str) -> None:
    dialect = sample_dialects()[name]
    sample = next(sample for sample in sample_tables(name) if _odd_fields(sample))
    declaration = ""
    if name in DECLARATIONS:
        (tmp_path / "own.toml").write_text(DECLARATIONS[name])
        declaration = str(tmp_path / "own.toml")
    options = IngestOptions(
        jobs=1,
        capacity=CAPACITY if dialect.conversion else "",
        cell="a" if dialect.flattened else "",
        dialect=declaration,
    )
    rows = [sample.row(place) for place in range(1, 4)]
    for row in rows:
        row.update(dict.fromkeys(_odd_fields(sample), ODD))
    path = tmp_path / sample.file_name
    path.write_bytes(sample.content(rows))
    store = tmp_path / "store"
    with pytest.raises((SchemaError, SourceError)) as caught:
        ingest([path], store, options)
    if isinstance(caught.value, SchemaError):
        assert " rows were refused: " in caught.value.what
        assert f"'{ODD}'" in caught.value.what or f",{ODD}," in caught.value.what
    else:
        # Without a header a format is known by what its fields hold: a file with a word in each row may be of none.
        assert sample.raw.is_positional
    assert not store.exists()


HEADER = ("task", "time", "cpu")
ROWS = [("a", "0", "0.5"), ("a", "300", "250x"), ("b", "0", "0.5")]
Writer = Callable[[Path], Path]


def _csv() -> str:
    return "".join(",".join(row) + "\n" for row in (HEADER, *ROWS))


def _write(name: str, content: bytes) -> Writer:
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    return write


def _zip(folder: Path) -> Path:
    with zipfile.ZipFile(folder / "week.zip", "w") as archive:
        archive.writestr("day1/usage.csv", _csv())
    return folder / "week.zip"


def _tar(folder: Path) -> Path:
    content = _csv().encode()
    with tarfile.open(folder / "week.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("usage.csv")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return folder / "week.tar.gz"


def _table() -> pa.Table:
    return pa.table({name: [row[place] for row in ROWS] for place, name in enumerate(HEADER)})


def _parquet(folder: Path) -> Path:
    pq.write_table(_table(), folder / "usage.parquet")
    return folder / "usage.parquet"


def _feather(folder: Path) -> Path:
    pyarrow.feather.write_feather(_table(), str(folder / "usage.feather"))
    return folder / "usage.feather"


def _sqlite(folder: Path) -> Path:
    with sqlite3.connect(folder / "usage.db") as database:
        database.execute("CREATE TABLE usage (task TEXT, time TEXT, cpu TEXT)")
        database.executemany("INSERT INTO usage VALUES (?, ?, ?)", ROWS)
    database.close()
    return folder / "usage.db"


_JSON = "".join(
    f'{{"task": "{task}", "time": {time}, "cpu": "{cpu}"}}\n' for task, time, cpu in ROWS
)
CONTAINERS: list[tuple[str, Writer]] = [
    ("usage.csv line 3", _write("usage.csv", _csv().encode())),
    ("usage.csv line 3", _write("usage.csv", _csv().replace(",", ";").encode())),
    ("usage.csv line 3", _write("usage.csv", _csv().encode("utf-16"))),
    ("usage.csv.gz line 3", _write("usage.csv.gz", gzip.compress(_csv().encode()))),
    ("week.zip: day1/usage.csv line 3", _zip),
    ("week.tar.gz: usage.csv line 3", _tar),
    ("usage.json line 2", _write("usage.json", _JSON.encode())),
    ("usage.parquet row 2", _parquet),
    ("usage.feather row 2", _feather),
    ("usage.db row 2", _sqlite),
]


@pytest.mark.parametrize(("place", "write"), CONTAINERS, ids=range(len(CONTAINERS)))
def test_a_refused_value_is_found_in_every_kind_of_file(
    tmp_path: Path, place: str, write: Writer
) -> None:
    (tmp_path / "own.toml").write_text(AVERAGES)
    options = IngestOptions(jobs=1, dialect=str(tmp_path / "own.toml"), capacity="8cores")
    result = ingest([write(tmp_path)], tmp_path / "store", options)
    assert lines_of_refusals(result.staged) == [
        f"unparsable_value: 1 row, column cpu: {place}: expected a number such as 0.25, got '250x'"
    ]
    quarantine = Layout(tmp_path / "store").quarantine
    assert warning_of_share(result.staged, quarantine) == (
        f"33.3 % of the rows were refused (1 of 3): look at them in {quarantine} "
        "(Parquet: file, line, column, value, reason)"
    )


def _ingest_own(folder: Path, usage: str, declaration: str = AVERAGES) -> None:
    (folder / "own.toml").write_text(declaration)
    (folder / "usage.csv").write_text(usage)
    options = IngestOptions(jobs=1, dialect=str(folder / "own.toml"), capacity="8cores")
    ingest([folder / "usage.csv"], folder / "store", options)


WAY_OUT = (
    "correct the rows, or say how they are written "
    "(borgtrace dialect sniff FILE > own.toml, and --dialect own.toml); nothing was stored"
)


@pytest.mark.parametrize(
    ("usage", "message"),
    [
        (
            "task,time,cpu\na,0,250m\nb,0,1\x1b[2Jx\n",
            "usage.csv: all 2 rows were refused: unparsable_value: 2 rows, column cpu: usage.csv line 2: "
            f"expected a number such as 0.25, got '250m'; {WAY_OUT}",
        ),
        (
            "task,time,cpu\na,0\n",
            "usage.csv: the only row was refused: wrong_column_count: 1 row: usage.csv line 2: "
            f"expected 3 fields, got 'a,0'; {WAY_OUT}",
        ),
        (
            "task,time,cpu\na,,1\na,0,-1\na,0,1e10\na,1.5h,1\n,0,1\n",
            "usage.csv: all 5 rows were refused: "
            "amount_out_of_range: 1 row, column cpu: usage.csv line 4: "
            "expected at most 1,000,000,000 cores, got '1e10'; "
            "negative_resource: 1 row, column cpu: usage.csv line 3: expected at least 0, got '-1'; "
            "null_in_mandatory_field: 1 row, column task: usage.csv line 6: expected a value, got nothing; "
            "null_in_mandatory_field: 1 row, column time: usage.csv line 2: expected a value, got nothing; "
            "unparsable_value: 1 row, column time: usage.csv line 5: expected a number, got '1.5h'; "
            f"{WAY_OUT}",
        ),
        (
            "task,time,cpu\n",
            "usage.csv: no rows: expected at least one row; name files with rows; nothing was stored",
        ),
    ],
)
def test_files_that_leave_no_row_are_refused(tmp_path: Path, usage: str, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        _ingest_own(tmp_path, usage)
    assert str(caught.value) == message
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("name", ["usage.csv", "usage.csv.gz", "usage.parquet", "usage.feather"])
def test_a_guessed_file_without_rows_is_refused_as_that(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    match name.removeprefix("usage"):
        case ".csv":
            path.write_text("task,time,cpu\n\n")
        case ".csv.gz":
            path.write_bytes(gzip.compress(b"task,time,cpu\n"))
        case ".parquet":
            pq.write_table(_table().slice(0, 0), path)
        case ".feather":
            pyarrow.feather.write_feather(_table().slice(0, 0), str(path))
    with pytest.raises(SchemaError) as caught:
        ingest([path], tmp_path / "store", IngestOptions(jobs=1))
    assert str(caught.value) == (
        f"{path}: no rows: expected at least one row; name files with rows; nothing was stored"
    )
    assert not (tmp_path / "store").exists()


def test_a_corrected_file_is_ingested_by_the_same_command(tmp_path: Path) -> None:
    with pytest.raises(SchemaError):
        _ingest_own(tmp_path, "task,time,cpu\na,0,x\n")
    _ingest_own(tmp_path, "task,time,cpu\na,0,1\n")
    assert borgtrace.open(tmp_path / "store").manifest.tables["instance_usage"] == 1


def test_the_five_most_frequent_reasons_are_named(tmp_path: Path) -> None:
    lines = ["task,time,cpu", "a,0,1"]
    lines += ["a,0,x"] * 3 + ["a,,1"] * 2 + [",0,1"] * 2 + ["a,y,1", "a,0,-1", "a,0,1e10", "a,0"]
    _ingest_own(tmp_path, "\n".join(lines) + "\n")
    entries = borgtrace.open(tmp_path / "store").manifest.sources
    said = lines_of_refusals(entries)
    assert [line.split(": usage.csv")[0] for line in said] == [
        "unparsable_value: 3 rows, column cpu",
        "null_in_mandatory_field: 2 rows, column task",
        "null_in_mandatory_field: 2 rows, column time",
        "amount_out_of_range: 1 row, column cpu",
        "negative_resource: 1 row, column cpu",
        "for other reasons or in other columns: 2 rows",
    ]


def test_a_store_stays_as_it_was_where_nothing_can_be_added(tmp_path: Path) -> None:
    sample = next(table for table in sample_tables("2011") if table.raw.name == "machine_events")
    sound, odd = sample.row(1), sample.row(2)
    odd["CPUs"] = "-1"
    store = tmp_path / "store"
    for number, row in enumerate((sound, odd)):
        folder = tmp_path / str(number) / "machine_events"
        folder.mkdir(parents=True)
        (folder / f"part-0000{number}-of-00002.csv").write_bytes(sample.content([row]))
    ingest([tmp_path / "0"], store, IngestOptions(jobs=1))
    before = {path: path.read_bytes() for path in sorted(store.rglob("*")) if path.is_file()}
    with pytest.raises(SchemaError) as caught:
        ingest([tmp_path / "1"], store, IngestOptions(jobs=1))
    assert caught.value.where == "part-00001-of-00002.csv"
    after = {path: path.read_bytes() for path in sorted(store.rglob("*")) if path.is_file()}
    assert after == before
