"""Database files of any size: SQLite finds them whole, with every row, and uses their index."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from borgtrace.export import JobsLayout
from borgtrace.export.jobs import sqlite
from borgtrace.export.jobs.file_rows import FileRows
from borgtrace.schema import PERCENTILES, TABLES

INTEGERS = [
    None,
    0,
    1,
    -1,
    127,
    -129,
    2**31,
    2**47,
    2**63 - 1,
    -(2**63),
]
COLUMNS = ("start_time", "instance_index", "machine_id", "average_cpu")
Row = tuple[object, ...]


def _batch(rows: int) -> pa.RecordBatch:
    rates = np.random.default_rng(rows).random(rows)
    return pa.record_batch(
        {
            "start_time": np.tile(np.arange(1000), -(-rows // 1000))[:rows] * 300_000_000,
            "instance_index": (np.arange(rows) // 1000).astype(np.int32),
            "machine_id": pa.array([INTEGERS[k % len(INTEGERS)] for k in range(rows)], pa.int64()),
            "average_cpu": pa.array(
                np.where(rates < 0.1, np.nan, rates).astype(np.float32), from_pandas=True
            ),
        }
    )


def _write(
    folder: Path,
    sizes: list[int],
    batches: list[int],
) -> pa.RecordBatch:
    """Write files 0.sqlite3 … of so many rows, given to the writer in batches of so many."""
    whole, ends = _batch(sum(sizes)), np.cumsum([0, *sizes]).tolist()
    files = [FileRows(f"{k}.sqlite3", ends[k], ends[k + 1]) for k in range(len(sizes))]
    with closing(sqlite.SqliteFiles(folder, JobsLayout("sqlite", COLUMNS).titles)) as writer:
        for start, size in zip(np.cumsum([0, *batches]).tolist(), batches, strict=False):
            touched = [file for file in files if file.first < start + size and file.last > start]
            writer.write(start, whole.slice(start, size), touched)
    return whole


def _check(path: Path, expected: pa.RecordBatch) -> None:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        rows = connection.execute("SELECT * FROM task_usage").fetchall()
        assert rows == list(zip(*(column.to_pylist() for column in expected.columns), strict=True))
        plan = connection.execute(
            "EXPLAIN QUERY PLAN SELECT * FROM task_usage WHERE `task index` = 1"
        )
        assert "task_usage_index" in plan.fetchone()[3]
        wanted = [row for row in rows if row[1] == 1]
        assert (
            connection.execute("SELECT * FROM task_usage WHERE `task index` = 1").fetchall()
            == wanted
        )


@pytest.mark.parametrize(
    "batches",
    [
        [3260],
        [1, 2, 96, 3161],
        [1760, 1500],
    ],
)
@pytest.mark.parametrize("largest", [1 << 20, 99], ids=["in memory", "the last on disk"])
def test_files_are_whole_whatever_the_batches(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    batches: list[int],
    largest: int,
) -> None:
    monkeypatch.setattr(sqlite, "LARGEST", largest)
    # Around what one statement inserts: nothing is left over, one row, all but one.
    sizes = [1, 2, 31, 32, 33, 64, 97, 3000]
    whole = _write(tmp_path, sizes, batches)
    for k, (first, size) in enumerate(zip(np.cumsum([0, *sizes]).tolist(), sizes, strict=False)):
        _check(tmp_path / f"{k}.sqlite3", whole.slice(first, size))


def test_a_file_on_disk_says_the_same_as_one_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dumps = []
    for largest in (100, 99):
        monkeypatch.setattr(sqlite, "LARGEST", largest)
        (tmp_path / str(largest)).mkdir()
        _write(tmp_path / str(largest), [100], [100])
        with closing(sqlite3.connect(tmp_path / str(largest) / "0.sqlite3")) as connection:
            dumps.append(
                [*connection.iterdump(), connection.execute("PRAGMA page_size").fetchone()]
            )
    assert dumps[0] == dumps[1]


def test_a_file_on_disk_is_written_without_a_journal(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite3"
    path.write_bytes(sqlite.empty_database({"machine_id": "machine ID"}))
    with closing(sqlite.connect(path)) as connection:
        connection.execute("BEGIN")
        connection.execute("INSERT INTO `task_usage` VALUES (7)")
        assert list(tmp_path.iterdir()) == [path]
        connection.execute("COMMIT")
        # Nor is the disk waited for: the folder gets its name when all files are whole.
        assert connection.execute("PRAGMA synchronous").fetchone() == (0,)


def test_a_table_of_every_column_is_whole(tmp_path: Path) -> None:
    # So many columns that a statement of 32 rows would have more values than SQLite of before 2020 takes.
    floats = [
        column.name for column in TABLES["instance_usage"].columns if column.type == "float32"
    ]
    columns = (*COLUMNS[:3], *floats, *PERCENTILES)
    assert 32 * len(columns) > 999
    batch = _batch(70)
    batch = pa.record_batch({name: batch[name if name in COLUMNS else 3] for name in columns})
    with closing(sqlite.SqliteFiles(tmp_path, JobsLayout("sqlite", columns).titles)) as writer:
        writer.write(0, batch, [FileRows("x.sqlite3", 0, 70)])
    _check(tmp_path / "x.sqlite3", batch)


def test_a_table_without_task_and_time_has_no_index(tmp_path: Path) -> None:
    with closing(
        sqlite.SqliteFiles(tmp_path, JobsLayout("sqlite", ("machine_id",)).titles)
    ) as writer:
        writer.write(0, _batch(3).select(["machine_id"]), [FileRows("x.sqlite3", 0, 3)])
    with closing(sqlite3.connect(tmp_path / "x.sqlite3")) as connection:
        assert connection.execute("SELECT name, sql FROM sqlite_schema").fetchall() == [
            ("task_usage", "CREATE TABLE `task_usage` (`machine ID` INTEGER)")
        ]


def test_only_a_file_of_more_rows_than_the_largest_is_written_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, connect = [], sqlite.connect
    monkeypatch.setattr(sqlite, "connect", lambda path: (opened.append(path), connect(path))[1])
    monkeypatch.setattr(sqlite, "LARGEST", 100)
    _write(tmp_path, [99, 100, 101, 7], [307])
    assert [path for path in opened if path != ":memory:"] == [tmp_path / "2.sqlite3"]
