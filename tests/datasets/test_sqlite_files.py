"""Database files that are built page by page: SQLite finds them whole, with every row, and uses their index."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from borgtrace.datasets.jobs import JobsLayout, export_jobs, files, sqlite
from borgtrace.datasets.jobs.sqlite import SqliteFiles
from borgtrace.store import Store

EDGES = [0, 1, -1, 127, 128, -128, -129, 2**15, 2**23, -(2**23) - 1, 2**31, 2**47, -(2**47) - 1, 2**63 - 1, -(2**63)]
Row = tuple[object, ...]


def _write(folder: Path, sizes: list[int], layout: JobsLayout, columns: dict[str, pa.Array]) -> list[Path]:
    batch = pa.record_batch([columns[name] for name in layout.columns], list(layout.columns))
    paths = [folder / f"{k}.sqlite3" for k in range(len(sizes))]
    with SqliteFiles(layout) as writer:
        assert writer.write(batch, np.cumsum([0, *sizes]), paths) == len(paths)
    return paths


def _columns(rows: int) -> dict[str, pa.Array]:
    rng = np.random.default_rng(rows)
    rates = rng.random(rows)
    return {
        "start_time": pa.array(rng.integers(0, 2**41, rows)),
        "collection_id": pa.array(rng.integers(0, 2**33, rows)),
        "instance_index": pa.array(np.sort(rng.integers(0, 200, rows)).astype(np.int32)),
        "machine_id": pa.array([None if k % 3 else EDGES[k // 3 % len(EDGES)] for k in range(rows)], pa.int64()),
        "average_cpu": pa.array(np.where(rates < 0.1, np.nan, rates).astype(np.float32), from_pandas=True),
    }


def _rows(layout: JobsLayout, columns: dict[str, pa.Array], first: int, last: int) -> list[Row]:
    taken = (columns[name].slice(first, last - first).to_pylist() for name in layout.columns)
    return list(zip(*taken, strict=True))


def _check(path: Path, layout: JobsLayout, expected: list[Row]) -> None:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("SELECT * FROM task_usage").fetchall() == expected
        assert connection.execute("PRAGMA page_count").fetchone() == (path.stat().st_size // 4096,)
        if "start_time" in layout.columns:
            plan = connection.execute("EXPLAIN QUERY PLAN SELECT count(*) FROM task_usage ORDER BY `start time`")
            assert "task_usage_index" in plan.fetchone()[3]


COLUMNS = ("start_time", "collection_id", "instance_index", "machine_id", "average_cpu")


@pytest.mark.parametrize("columns", [COLUMNS, ("start_time", "average_cpu"), ("machine_id",)])
def test_files_of_every_small_size_are_whole(tmp_path: Path, columns: tuple[str, ...]) -> None:
    sizes = [*range(1, 60), *range(60, 400, 7)]
    layout = JobsLayout("sqlite", columns)
    values = _columns(sum(sizes))
    if "instance_index" in columns:  # the store keeps tasks, and their times, in order
        values |= _sorted(sizes, values)
    ends = np.cumsum(sizes)
    for path, first, last in zip(_write(tmp_path, sizes, layout, values), ends - sizes, ends, strict=True):
        _check(path, layout, _rows(layout, values, first, last))


def _sorted(sizes: list[int], values: dict[str, pa.Array]) -> dict[str, pa.Array]:
    file = np.repeat(np.arange(len(sizes)), sizes)
    task, time = (values[name].to_numpy() for name in ("instance_index", "start_time"))
    order = np.lexsort((time, task, file))
    return {"instance_index": pa.array(task[order]), "start_time": pa.array(time[order])}


def test_a_file_of_three_levels_is_whole_and_its_index_finds(tmp_path: Path) -> None:
    rows = 200_000
    layout = JobsLayout("sqlite", COLUMNS)
    values = _columns(rows)
    values |= _sorted([rows], values)
    (path,) = _write(tmp_path, [rows], layout, values)
    expected = _rows(layout, values, 0, rows)
    _check(path, layout, expected)
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT * FROM task_usage WHERE `task index` = ? ORDER BY `start time`"
        for task in (0, 71, 199):
            assert connection.execute(query, (task,)).fetchall() == [row for row in expected if row[2] == task]
        connection.execute("INSERT INTO task_usage SELECT * FROM task_usage LIMIT 1000")
        connection.execute("DELETE FROM task_usage WHERE rowid % 3 = 0")
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_files_above_the_largest_are_inserted_and_hold_the_same(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = export_jobs(store, tmp_path / "built", JobsLayout("sqlite"), workers=1)
    for module in (files, sqlite):
        monkeypatch.setattr(module, "LARGEST", 50)
    monkeypatch.setattr(files, "ROWS", 33)
    assert export_jobs(store, tmp_path / "inserted", JobsLayout("sqlite"), workers=1).files == whole.files
    sizes = set()
    for path in (tmp_path / "built").glob("*/*.sqlite3"):
        other = tmp_path / "inserted" / path.relative_to(tmp_path / "built")
        with closing(sqlite3.connect(path)) as a, closing(sqlite3.connect(other)) as b:
            rows = a.execute("SELECT * FROM task_usage").fetchall()
            assert rows == b.execute("SELECT * FROM task_usage").fetchall()
            assert list(a.iterdump()) == list(b.iterdump())
            sizes.add(len(rows) > 50)
    assert sizes == {True, False}
