"""One file per job: the layout of 2017, row by row, whatever the cuts between batches and processes."""

from __future__ import annotations

import csv
import hashlib
import os
import sqlite3
from collections import defaultdict
from contextlib import closing
from itertools import groupby, pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace.errors import StoreError, UsageError
from borgtrace.export import JobsLayout, export_jobs
from borgtrace.export.jobs import exporting, files
from borgtrace.export.jobs.file_rows import FileRows
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.schema import evolution
from borgtrace.store import Store
from borgtrace.synth import generate
from tests.datasets.test_build import digest

Row = tuple[object, ...]


def usage_rows(
    store: Store, columns: str = "start_time, collection_id, instance_index, average_cpu"
) -> list[Row]:
    table = store.sql(
        f"select {columns} from instance_usage order by collection_id, instance_index, start_time, "
        "source_part, source_row"
    )
    values = [column.to_pylist() for column in table.columns]
    return list(zip(*values, strict=True))


def rows_by_job(store: Store) -> dict[object, list[Row]]:
    by_job: dict[object, list[Row]] = defaultdict(list)
    for row in usage_rows(store):
        _, job, _, _ = row
        by_job[job].append(row)
    return by_job


def folder_of(text: object, digits: int = 2) -> str:
    """Return the first digits of the MD5, as hashlib computes it."""
    return hashlib.md5(str(text).encode()).hexdigest()[:digits]


def nearly(value: float | None) -> object:
    """Expect a number to about the precision of a float32."""
    return None if value is None else pytest.approx(value, rel=1e-7)


def test_sqlite_files_have_schema_rows_and_index_of_2017(store: Store, tmp_path: Path) -> None:
    out = tmp_path / "out"
    exported = export_jobs(store, out, JobsLayout("sqlite"), workers=1)
    by_job = rows_by_job(store)
    assert exported.files == len(by_job)
    for job, rows in by_job.items():
        path = out / folder_of(job) / f"{job}.sqlite3"
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("SELECT * FROM `task_usage`").fetchall() == rows
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            columns = connection.execute("PRAGMA table_info(`task_usage`)").fetchall()
            schema = dict(connection.execute("SELECT type, sql FROM sqlite_schema"))
        assert columns == [
            (0, "start time", "INTEGER", 1, None, 0),
            (1, "job ID", "INTEGER", 1, None, 0),
            (2, "task index", "INTEGER", 1, None, 0),
            (3, "CPU rate", "REAL", 0, None, 0),
        ]
        assert schema["index"].endswith("(`task index`, `start time`)")


def test_csv_files_hold_the_rows_without_header(store: Store, tmp_path: Path) -> None:
    out = tmp_path / "out"
    export_jobs(store, out, JobsLayout("csv"), workers=1)
    for job, rows in rows_by_job(store).items():
        path = out / folder_of(job) / f"{job}.csv"
        with path.open() as file:
            lines = list(csv.reader(file))
        assert len(lines) == len(rows)
        for line, row in zip(lines, rows, strict=True):
            *keys, cpu = line
            assert list(map(int, keys)) == list(row[:3])
            assert (float(cpu) if cpu else None) == nearly(row[3])


def owners_of_jobs(store: Store) -> dict[int, tuple[str, str]]:
    """Return the numbers of user and application of each job that was submitted, by first appearance."""
    submits = store.sql(
        'select collection_id as job, "user", collection_logical_name as app from collection_events '
        "where type = 'SUBMIT' order by collection_id, time"
    )
    users: dict[str, int] = {}
    apps: dict[str, int] = {}
    owners: dict[int, tuple[str, str]] = {}
    for row in submits.to_pylist():
        user = users.setdefault(row["user"], len(users))
        app = apps.setdefault(row["app"], len(apps))
        owners.setdefault(row["job"], (str(user), str(app)))
    return owners


TASKS = """
    SELECT `job ID`, `task index`, COUNT(*), MAX(`CPU rate`)
    FROM `task_usage`
    GROUP BY 1, 2
    ORDER BY 1, 2
"""


def test_the_index_is_that_of_2017(store: Store, tmp_path: Path) -> None:
    out = tmp_path / "out"
    layout = JobsLayout("sqlite")
    export_jobs(store, out, layout, has_header=False, workers=1)
    with (out / "index.csv").open() as file:
        index = list(csv.reader(file))
    lines = iter(index)
    owners = owners_of_jobs(store)
    n_tasks = 0
    for path in sorted(out.glob("*/*.sqlite3")):
        with closing(sqlite3.connect(path)) as connection:
            tasks = connection.execute(TASKS).fetchall()
        for job, task, length, largest in tasks:
            n_tasks += 1
            line_path, user, app, *numbers, maximum = next(lines)
            assert line_path == f"{path.parent.name}/{path.name}"
            assert list(map(int, numbers)) == [job, task, length]
            if job in owners:
                assert (user, app) == owners[job]
            assert (float(maximum) if maximum else None) == nearly(largest)
    assert len(index) == n_tasks > 200


def test_a_file_for_each_task(store: Store, tmp_path: Path) -> None:
    exported = export_jobs(
        store,
        tmp_path / "out",
        JobsLayout("csv", key="task", granularity=1),
        workers=1,
    )
    with (tmp_path / "out" / "index.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert exported.files == exported.tasks == len(rows)
    paths = [row["path"] for row in rows]
    assert paths == sorted(paths)
    for row in rows:
        digits = folder_of(f"{row['job']},{row['task']}", 1)
        assert row["path"] == f"{digits}/{row['job']}-{row['task']}.csv"
        assert len((tmp_path / "out" / row["path"]).read_text().splitlines()) == int(row["length"])


@pytest.mark.parametrize("output_format", ["csv", "sqlite"])
def test_neither_processes_nor_batches_change_a_byte(
    store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    output_format: str,
) -> None:
    layout = JobsLayout(output_format)  # type: ignore[arg-type]
    export_jobs(
        store,
        tmp_path / "a",
        layout,
        workers=1,
    )
    monkeypatch.setattr(exporting, "ROWS_PER_CALL", 1000)
    export_jobs(
        store,
        tmp_path / "b",
        layout,
        workers=2,
    )
    assert digest(tmp_path / "a") == digest(tmp_path / "b")
    monkeypatch.setattr(files, "ROWS", 7)
    export_jobs(
        store,
        tmp_path / "c",
        layout,
        workers=1,
    )
    assert digest(tmp_path / "a") == digest(tmp_path / "c")


def test_only_the_files_asked_for_are_written(store: Store, tmp_path: Path) -> None:
    parts = [str(part) for part in store.layout.parts("instance_usage")]
    rows = usage_rows(store)
    asked = [FileRows("a/x.csv", 5, 9), FileRows("b/y.csv", 20, 21)]
    (tmp_path / "a").mkdir()
    assert (
        files.write_files(
            parts,
            asked,
            out=tmp_path,
            layout=JobsLayout(columns=("start_time",)),
        )
        == asked
    )
    written = {
        str(path.relative_to(tmp_path)): path.read_text().split() for path in tmp_path.glob("*/*")
    }
    assert written == {
        "a/x.csv": [str(row[0]) for row in rows[5:9]],
        "b/y.csv": [str(row[0]) for row in rows[20:21]],
    }


def test_columns_are_chosen_and_named(store: Store, tmp_path: Path) -> None:
    layout = JobsLayout("sqlite", ("collection_id", "machine_id", "maximum_cpu", "source_row"))
    export_jobs(
        store,
        tmp_path / "out",
        layout,
        workers=1,
    )
    path = next((tmp_path / "out").glob("*/*.sqlite3"))
    with closing(sqlite3.connect(path)) as connection:
        cursor = connection.execute("SELECT * FROM `task_usage`")
        assert [entry[0] for entry in cursor.description] == [
            "job ID",
            "machine ID",
            "maximum CPU rate",
            "source row",
        ]
        rows = cursor.fetchall()
    assert rows == [
        row
        for row in usage_rows(store, "collection_id, machine_id, maximum_cpu, source_row")
        if str(row[0]) == path.stem
    ]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: JobsLayout("tsv"), "--format: unknown name: expected csv or sqlite, got tsv"),
        (lambda: JobsLayout(key="user"), "--key: unknown name: expected job or task, got user"),
        (
            lambda: JobsLayout(granularity=9),
            "--granularity: out of range: expected 0 to 8, got 9",
        ),
        (
            lambda: JobsLayout(columns=("average_cpu", "average_cpu")),
            "--columns: a column is missing or given twice: got average_cpu,average_cpu",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(make: object, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        make()  # type: ignore[operator]
    assert str(caught.value) == message


def test_an_unknown_column_is_named() -> None:
    with pytest.raises(
        UsageError, match=r"^--columns: unknown column: expected .*average_cpu.*, got speed$"
    ):
        JobsLayout(columns=("speed",))


def test_a_second_export_into_one_folder_refuses(store: Store, tmp_path: Path) -> None:
    export_jobs(store, tmp_path / "out", workers=1)
    with pytest.raises(UsageError, match=r"holds something else: expected a new folder"):
        export_jobs(store, tmp_path / "out", workers=1)
    import fcntl

    with (tmp_path / ".new.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(StoreError, match="another process is writing here"):
            export_jobs(store, tmp_path / "new", workers=1)


def test_a_store_of_an_earlier_version_is_exported_by_the_present_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It calls average_cpu otherwise, and lacks maximum_cpu."""
    monkeypatch.setattr(evolution, "RENAMED", {"instance_usage": {"average_cpu": ("speed",)}})
    part = tmp_path / "part-00000.parquet"
    pq.write_table(
        pa.table({"speed": pa.array([0.5, None], pa.float32()), "collection_id": [7, 7]}), part
    )
    layout = JobsLayout(columns=("collection_id", "average_cpu", "maximum_cpu"))
    files.write_files(
        [str(part)],
        [FileRows("7.csv", 0, 2)],
        out=tmp_path,
        layout=layout,
    )
    assert (tmp_path / "7.csv").read_text() == "7,0.5,\n7,,\n"


def test_batches_hold_the_rows_that_are_asked_for_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten and four rows in groups of four; three rows are held at a time."""
    monkeypatch.setattr(files, "ROWS", 3)
    parts = [tmp_path / f"{k}.parquet" for k in range(2)]
    for part, rows in zip(parts, (range(10), range(10, 14)), strict=True):
        pq.write_table(pa.table({"collection_id": list(rows)}), part, row_group_size=4)

    def found(
        first: int,
        last: int,
    ) -> list[tuple[int, list[int]]]:
        batches = files.read_batches(
            [str(part) for part in parts],
            first,
            last,
            JobsLayout(columns=("collection_id",)),
        )
        return [(start, batch["collection_id"].to_pylist()) for start, batch in batches]

    assert found(2, 12) == [
        (2, [2, 3]),
        (4, [4, 5, 6]),
        (7, [7]),
        (8, [8, 9]),
        (10, [10, 11]),
    ]
    assert found(4, 5) == [(4, [4])]
    assert found(8, 8) == []
    assert found(13, 14) == [(13, [13])]


COLUMNS = ("collection_type", "p20", "cpu_usage_distribution", "p99")
DECILES = [0.0, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
DECILES_TEXT = "[0,0.1,0.2,0.25,0.3,0.4,0.5,0.6,0.7,0.8,0.9]"


@pytest.fixture
def part(tmp_path: Path) -> Path:
    """One window with percentiles, one with an empty list, one without; no tail: an earlier version wrote it."""
    kinds = pa.array(["JOB", "JOB", "ALLOC_SET"])
    columns = {
        "collection_id": [7] * 3,
        "collection_type": kinds.dictionary_encode(),
        "cpu_usage_distribution": pa.array([DECILES, [], None], pa.list_(pa.float32())),
    }
    path = tmp_path / "part-00000.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def write_part(part: Path, output_format: str) -> Path:
    """Export the part to one file with `COLUMNS`; return its path."""
    layout = JobsLayout(output_format, COLUMNS)
    files.write_files([str(part)], [FileRows("7", 0, 3)], out=part.parent, layout=layout)
    return part.parent / "7"


def test_names_lists_and_percentiles_are_text_in_csv(part: Path) -> None:
    with write_part(part, "csv").open(newline="") as file:
        lines = list(csv.reader(file))
    # 0.2 is the float32 nearest to it.
    assert lines == [
        ["JOB", "0.2", DECILES_TEXT, ""],
        ["JOB", "", "[]", ""],
        ["ALLOC_SET", "", "", ""],
    ]


def test_names_lists_and_percentiles_are_columns_in_sqlite(part: Path) -> None:
    with closing(sqlite3.connect(write_part(part, "sqlite"))) as connection:
        rows = connection.execute("SELECT * FROM `task_usage`").fetchall()
        columns = connection.execute("PRAGMA table_info(`task_usage`)").fetchall()
    assert rows == [
        ("JOB", pytest.approx(0.2), DECILES_TEXT, None),
        ("JOB", None, "[]", None),
        ("ALLOC_SET", None, None, None),
    ]
    assert [kind for _, _, kind, *_ in columns] == ["TEXT", "REAL", "TEXT", "REAL"]


def test_work_is_cut_at_files(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    (whole,) = exporting.plan_calls(store, JobsLayout("csv"))
    assert [(file.first, file.last) for file in whole] == list(
        pairwise([0, *(file.last for file in whole)])
    )
    assert whole[-1].last == store.usage_rows()
    # The last file begins where a piece of work could.
    for size in (2, whole[-1].first):
        monkeypatch.setattr(exporting, "ROWS_PER_CALL", size)
        cut = [list(files) for _, files in groupby(whole, lambda file, n=size: file.first // n)]
        assert list(exporting.plan_calls(store, JobsLayout("csv"))) == cut


@pytest.mark.parametrize(
    ("rows_per_call", "workers", "cores", "expected"),
    [
        (10**6, 3, 8, 1),
        (1, 3, 8, 3),
        (1, None, 8, 8),
        (1, None, None, 1),
    ],
)
def test_processes_are_those_that_have_work_to_do(
    rows_per_call: int,
    workers: int | None,
    cores: int | None,
    expected: int,
    store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen, told = [], []

    def serial(write, calls, workers, place):  # type: ignore[no-untyped-def]
        seen.append(workers)
        return map(write, calls)

    monkeypatch.setattr(exporting, "ROWS_PER_CALL", rows_per_call)
    monkeypatch.setattr(exporting, "map_processes", serial)
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    layout = JobsLayout("csv")
    export_jobs(
        store,
        tmp_path / "out",
        layout,
        workers=workers,
        progress=lambda *step: told.append(step),
    )
    assert seen == [expected]
    upto = [files[-1].last for files in exporting.plan_calls(store, layout)]
    assert told == [("write", rows, store.usage_rows()) for rows in upto]


@pytest.mark.parametrize("generation", ["2011", "2019"])
def test_the_printed_total_is_that_of_the_files(generation: str, tmp_path: Path) -> None:
    generate(tmp_path / "raw", generation, 8, 2.0, 1)
    ingest([tmp_path / "raw"], tmp_path / "store", IngestOptions(jobs=1))
    store = borgtrace.open(tmp_path / "store")
    steps: list[tuple[int, int]] = []
    exported = export_jobs(
        store,
        tmp_path / "out",
        JobsLayout("csv"),
        workers=1,
        progress=lambda step, done, total: steps.append((done, total)),
    )
    n_lines = sum(len(path.read_text().splitlines()) for path in tmp_path.glob("out/*/*.csv"))
    assert exported.rows == n_lines > 0
    # Windows of alloc instances hold what their tasks used, once more; 2011 has none.
    allocs = "select count(*) from instance_usage where collection_type = 'ALLOC_SET'"
    [n_of_allocs] = store.sql(allocs)[0].to_pylist()
    assert exported.rows_left_out == n_of_allocs
    assert (n_of_allocs > 0) == (generation == "2019")
    assert exported.rows + n_of_allocs == store.usage_rows()
    assert steps[-1] == (n_lines, n_lines)
