"""Tables in a bucket on each engine, and what Spark reads of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from borgtrace import engine
from borgtrace.engine.spark import frame, spark_session
from borgtrace.errors import EngineError
from borgtrace.schema import TABLES
from tests.bucket import Bucket, known_to, serving
from tests.engine.conftest import on_spark, sample

# Here, not in a test: scripts/mutants.py sees what is called of modules that are loaded by then.
source = pytest.importorskip("borgtrace.engine.bucket_source", reason="pyspark is not installed")
TABLE = TABLES["machine_events"]
ROWS = sample(TABLE.name)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bucket]:
    with (
        pytest.MonkeyPatch.context() as patch,
        serving(tmp_path_factory.mktemp("s3"), "cells", patch) as made,
    ):
        yield made


@pytest.fixture
def bucket(con: Any, server: Bucket, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """A bucket, known to the workers of the engine."""
    if con.name == "pyspark":
        known_to(spark_session(con), monkeypatch)
    return server


def put(bucket: Bucket, name: str, rows: pa.Table) -> str:
    """Write a file, each row a row group, and return its URL."""
    pq.write_table(rows, bucket.root / name, row_group_size=1)
    return f"{bucket.url}/{name}"


def rows_of(table: Any) -> list[dict[str, Any]]:
    return sorted(engine.to_arrow(table).to_pylist(), key=repr)


def expected(rows: pa.Table) -> list[dict[str, Any]]:
    return sorted(rows.to_pylist(), key=repr)


def test_a_table_in_a_bucket_reads_as_one_here_and_the_last_one_of_a_name_counts(
    con: Any,
    bucket: Bucket,
    tmp_path: Path,
) -> None:
    first, second = (
        put(bucket, "a.parquet", ROWS.slice(0, 2)),
        put(bucket, "b.parquet", ROWS.slice(2)),
    )
    engine.read_table(con, TABLE, [first])
    assert rows_of(engine.read_table(con, TABLE, [first, second])) == expected(ROWS)
    here = tmp_path / "here.parquet"
    pq.write_table(ROWS.slice(0, 1), here)
    assert rows_of(engine.read_table(con, TABLE, [str(here)])) == expected(ROWS.slice(0, 1))


def test_a_table_in_a_bucket_is_joined_with_one_here_and_lacks_no_column(
    con: Any,
    bucket: Bucket,
) -> None:
    url = put(bucket, "old.parquet", ROWS.drop_columns(["platform_id"]))
    far = engine.read_table(
        con,
        TABLE,
        [url],
        name="far",
    )
    near = engine.put_table(
        con,
        "near",
        pa.table({"machine_id": [ROWS["machine_id"][1].as_py()], "n": [7]}),
    )
    joined = far.join(near, "machine_id").select("time", "platform_id", "n")
    times = [
        row["time"]
        for row in ROWS.to_pylist()
        if row["machine_id"] == ROWS["machine_id"][1].as_py()
    ]
    assert rows_of(joined) == sorted(
        (
            {
                "time": t,
                "platform_id": None,
                "n": 7,
            }
            for t in times
        ),
        key=repr,
    )


def test_tasks_of_spark_read_some_columns_in_pieces(server: Bucket) -> None:
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    urls = [put(server, name, ROWS) for name in ("a.parquet", "b.parquet")]
    kinds = {
        "platform": StringType(),
        "machine_id": LongType(),
        "later": LongType(),
    }
    names = {
        "platform": "platform_id",
        "machine_id": "machine_id",
        "later": None,
    }
    schema = StructType([StructField(name, kind) for name, kind in kinds.items()])
    reader = source.BucketSource({"made_of": json.dumps([urls, names, 2])}).reader(schema)
    pieces = reader.partitions()
    assert [piece.value for piece in pieces] == [(url, piece) for url in urls for piece in (0, 1)]
    wanted = pa.table(
        {
            "platform": ROWS["platform_id"].cast(pa.string()),
            "machine_id": ROWS["machine_id"],
            "later": pa.nulls(len(ROWS), pa.int64()),
        }
    )
    for piece, begin in zip(pieces, (0, 1, 0, 1), strict=True):
        found = pa.Table.from_batches(reader.read(piece))
        assert found.schema == wanted.schema
        assert found.to_pydict() == wanted.take(list(range(begin, len(ROWS), 2))).to_pydict()


@pytest.mark.scale
@on_spark
def test_spark_reads_of_a_bucket_the_columns_of_a_question_alone(con: Any, bucket: Bucket) -> None:
    session, far = (
        spark_session(con),
        engine.read_table(
            con,
            TABLE,
            [put(bucket, "a.parquet", ROWS)],
            name="far",
        ),
    )
    absent = "a column of far that is not read"
    # Where no column is needed, one is read, as rows are counted by something.
    for question, read in (
        (far.count().as_table(), "time"),
        (far.select("machine_id"), "machine_id"),
    ):
        assert len(engine.to_arrow(question)) == (1 if read == "time" else len(ROWS))
        for name in TABLE.names:
            plan = session.table("far").select(name)._jdf.queryExecution().analyzed().toString()
            # The last line is what is read, the one above it what is made of that.
            *_, made, files = plan.strip().splitlines()
            assert f"{read}#" in files
            assert name == read or f"{name}#" not in files
            assert made.count(absent) == len(TABLE.names) - 1


@pytest.mark.scale
@on_spark
def test_few_files_of_a_bucket_are_shared_by_all_cores(con: Any, bucket: Bucket) -> None:
    urls = [put(bucket, f"{number}.parquet", ROWS) for number in range(3)]
    for files, tasks in ((urls[:1], 2), (urls, 3)):
        times = engine.read_table(
            con,
            TABLE,
            files,
            name="far",
        ).select("time")
        assert frame(con, times).rdd.getNumPartitions() == tasks
    one = engine.read_table(
        con,
        TABLE,
        urls[:1],
        name="far",
    ).select("time")
    assert sorted(engine.to_arrow(one)["time"].to_pylist()) == sorted(ROWS["time"].to_pylist())


@on_spark
def test_what_a_task_could_not_read_of_a_bucket_is_told(
    con: Any,
    bucket: Bucket,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    far = engine.read_table(
        con,
        TABLE,
        [put(bucket, "a.parquet", ROWS)],
        name="far",
    )
    monkeypatch.setattr(bucket, "key", "another")
    with pytest.raises(EngineError) as caught:
        engine.to_arrow(far)
    assert str(caught.value) == (
        "local[2]: a task could not read a bucket: got StoreError: s3://cells/a.parquet: access denied: "
        "got ACCESS_DENIED; "
        "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, to an account that may do this; "
        "give the workers the credentials that the driver has in its environment"
    )
