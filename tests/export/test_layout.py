"""Tables of an export's layout and index: tasks in, lines out."""

from __future__ import annotations

import hashlib
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from borgtrace.export import JobsLayout
from borgtrace.export.jobs.file_rows import FileRows
from borgtrace.export.jobs.index import write_index
from tests.datasets.stores import ArrayStore, array_store


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        (JobsLayout(), "{job_md5[:2]}/12.csv"),
        (JobsLayout("sqlite", granularity=0), "12.sqlite3"),
        (JobsLayout(granularity=1), "{job_md5[:1]}/12.csv"),
        (JobsLayout(granularity=8, key="task"), "{task_md5[:8]}/12-3.csv"),
    ],
)
def test_paths_of_a_task(layout: JobsLayout, expected: str) -> None:
    job_md5, task_md5 = (hashlib.md5(text).hexdigest() for text in (b"12", b"12,3"))
    for digits in (1, 2, 8):
        expected = expected.replace(f"{{job_md5[:{digits}]}}", job_md5[:digits])
        expected = expected.replace(f"{{task_md5[:{digits}]}}", task_md5[:digits])
    query = f"select {layout.path_sql} from (select 12 as collection_id, 3 as instance_index)"
    assert duckdb.sql(query).fetchall() == [(expected,)]


@pytest.mark.parametrize(
    ("start", "count", "expected"),
    [
        (0, 8, (8, 8)),
        (0, 9, (8, 9)),
        (8, 12, (0, 12)),
        (10, 5, (0, 5)),
        (19, 5, (0, 1)),
        (20, 5, (0, 0)),
    ],
)
def test_rows_of_a_file_in_a_batch(
    start: int,
    count: int,
    expected: tuple[int, int],
) -> None:
    assert FileRows("x.csv", 8, 20).within(start, count) == expected


class _Events(ArrayStore):
    """A store with events of collections: those of job 30 come first in time, job 20 was never submitted."""

    def stream(self, query: str) -> list[pa.RecordBatch]:
        rows = [
            (30, 5, "SUBMIT", "late", "web"),
            (10, 9, "SUBMIT", "first", "web"),
            (10, 12, "SUBMIT", "second", "db"),
            (40, 6, "SUBMIT", None, "db"),
            (20, 1, "FINISH", "ended", "web"),
        ]
        names = ("collection_id", "time", "type", "user", "collection_logical_name")
        events = pa.table(dict(zip(names, zip(*rows, strict=True), strict=True)))
        zeros = pa.array(np.zeros(len(rows), np.int64))
        events = events.append_column("source_part", zeros).append_column("source_row", zeros)
        with duckdb.connect() as connection:
            connection.register("tasks", self.tasks)
            connection.register("collection_events", events)
            return connection.sql(query).to_arrow_table().to_batches()


def test_lines_of_the_index(tmp_path: Path) -> None:
    tasks = array_store(
        [5, 0, 7, 8, 9, 3],
        collection_id=np.array([10, 10, 20, 30, 40, 50]),
        instance_index=np.array([10, 1, 0, 0, 0, 0], np.int32),
        collection_type=["JOB"] * 5 + ["ALLOC_SET"],
        user=["x", "x", "nobody", "x", "x", "x"],
        collection_logical_name=["x", "x", "db", "x", "x", "x"],
    ).tasks
    tasks = tasks.append_column("max_average_cpu", pa.array([0.5, None, None, 0.25, 1.0, 1.0]))
    store = _Events(tasks, {"start_time": np.zeros(1)})
    count = write_index(
        store,
        tmp_path / "i.csv",
        JobsLayout(granularity=0),
        has_header=True,
    )  # type: ignore[arg-type]
    # Users and names are numbered over the first SUBMIT of each job, in order of job: 10 first/web, 30 late/web,
    # 40 ""/db; then those never submitted: 20 nobody/db.  Tasks without usage and alloc instances have no line.
    assert (tmp_path / "i.csv").read_text().splitlines() == [
        "path,user,app,job,task,length,maximum",
        "10.csv,0,0,10,10,5,0.5",
        "20.csv,3,1,20,0,7,",
        "30.csv,1,0,30,0,8,0.25",
        "40.csv,2,1,40,0,9,1",
    ]
    assert count == 4
    write_index(
        store,
        tmp_path / "j.csv",
        JobsLayout(granularity=0),
        has_header=False,
    )  # type: ignore[arg-type]
    assert (tmp_path / "j.csv").read_text().splitlines() == (
        tmp_path / "i.csv"
    ).read_text().splitlines()[1:]
