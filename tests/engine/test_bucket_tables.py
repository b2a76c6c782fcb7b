"""Tables in a bucket on each engine, and what Spark reads of them."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from borgtrace import engine
from borgtrace.engine.spark import frame, map_ranges, spark_session
from borgtrace.errors import EngineError
from borgtrace.lifecycle.cache import drop, hold
from borgtrace.schema import TABLES
from tests.bucket import Bucket, known_to, serving
from tests.engine.conftest import on_spark, sample

# Here, not in a test: scripts/mutants.py sees what is called of modules that are loaded by then.
ranges = pytest.importorskip("borgtrace.engine.bucket_ranges")
task_tables = pytest.importorskip("borgtrace.engine.task_tables")
spark_parts = pytest.importorskip("borgtrace.engine.spark_parts")
TABLE = TABLES["machine_events"]
ROWS = sample(TABLE.name)
BY_COLLECTION = {
    "first.parquet": pa.table({"id": [1, 3, 7], "n": [16, 32, 1]}),
    "second.parquet": pa.table({"id": [5, 8, 9], "n": [2, 4, 8]}),
}
"""Two files of a table, whose ranges of collections overlap."""


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


def put_by_collection(bucket: Bucket) -> tuple[str, ...]:
    """Write the files of `BY_COLLECTION`, each of one row group, and return their URLs."""
    for name, rows in BY_COLLECTION.items():
        pq.write_table(rows, bucket.root / name)
    return tuple(f"{bucket.url}/{name}" for name in BY_COLLECTION)


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


@pytest.mark.parametrize("most_rows_of_one_task", [0, 100])
def test_rows_of_a_bucket_come_in_the_order_of_the_question(
    con: Any, bucket: Bucket, monkeypatch: pytest.MonkeyPatch, most_rows_of_one_task: int
) -> None:
    monkeypatch.setattr(spark_parts, "MOST_ROWS_OF_ONE_TASK", most_rows_of_one_task)
    url = put(bucket, "events.parquet", sample("collection_events"))
    far = engine.read_table(con, TABLES["collection_events"], [url], name="far")
    expected = [
        # By their bytes, of which the minus sign's is the largest; what is not known comes last.
        ("−1", 2**53 + 1),
        ("naïve 'quote' \\ \"x\"", 2**63 - 1),
        ("4Ljgw1sq=", -5),
        ("", 0),
        (None, -5),
    ]
    for rows in (
        far.select("user", "collection_id"),
        far.group_by("user").aggregate(collection_id=far.collection_id.max()),
    ):
        found = engine.to_arrow(rows.order_by(ibis.desc("user")))
        assert list(zip(*found.to_pydict().values(), strict=True)) == expected
        assert found.schema == rows.schema().to_pyarrow()


def test_held_rows_are_those_of_the_bucket_until_others_take_their_name(
    con: Any, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = sample("collection_events")
    far = engine.read_table(
        con,
        TABLES["collection_events"],
        [put(bucket, "events.parquet", rows)],
        name="far",
    )
    n_of_type = Counter(rows["type"].to_pylist())
    counted = hold(far.group_by("type").aggregate(n=far.count()), "counted")
    assert rows_of(counted) == expected(
        pa.table({"type": list(n_of_type), "n": list(n_of_type.values())})
    )
    # Of what is held, too, and of rows with their collections.
    common = hold(counted.filter(counted.n > 1), "common")
    chosen = hold(far.semi_join(common, "type").select("collection_id", "type"), "chosen")
    of_common = [row for row in rows.to_pylist() if n_of_type[row["type"]] > 1]
    assert len(of_common) < rows.num_rows
    found = far.inner_join(chosen, ["collection_id", "type"]).select("collection_id", "type")
    asked = found.distinct()
    distinct = {(row["collection_id"], row["type"]) for row in of_common}
    for most_rows in (100, 0):
        # In one task, and in several ranges of collections.
        monkeypatch.setattr(spark_parts, "MOST_ROWS_OF_ONE_TASK", most_rows)
        assert {tuple(row.values()) for row in engine.to_arrow(asked).to_pylist()} == distinct
        # Of what this process has in memory, too; collections that are in the bucket alone have no number.
        numbers = ibis.memtable(pa.table({"collection_id": [-5, 7], "number": [1, 2]}))
        numbered = far.left_join(numbers, "collection_id").select("collection_id", "number")
        found_numbers = {tuple(row.values()) for row in engine.to_arrow(numbered).to_pylist()}
        assert found_numbers == {
            (id, 1 if id == -5 else None) for id in rows["collection_id"].to_pylist()
        }
    drop(chosen)
    monkeypatch.setattr(spark_parts, "MOST_ROWS_OF_ONE_TASK", 100)
    again = hold(far.filter(far.collection_id == 0).select("collection_id"), "chosen")
    assert rows_of(again) == [{"collection_id": 0}]


def test_a_process_keeps_the_rows_that_may_be_asked_for(server: Bucket) -> None:
    urls = put_by_collection(server)
    table = task_tables.RemoteTable(urls, '"id" AS collection_id, "n"', "id")
    more = pa.table({"collection_id": [1], "n": [100]})
    first = task_tables.HeldTable(
        "SELECT sum(n) AS n FROM (FROM t UNION ALL FROM more)",
        {"t": table},
        {"more": more},
        False,
        "stored_first",
    )
    second = task_tables.HeldTable("SELECT n + 1 AS n FROM first", {}, {}, False, "stored_second")
    connection = task_tables.connection_of_task("101MB")

    def stored() -> set[str]:
        names = connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        return {name for (name,) in names}

    both = {"first": first, "second": second}
    task_tables.compute_held(connection, both, ["stored_first", "stored_second"])
    assert connection.execute("SELECT n FROM stored_second").fetchall() == [(164,)]
    # What is there already is not read again.
    shutil.rmtree(server.root)
    server.root.mkdir()
    task_tables.compute_held(connection, both, ["stored_first", "stored_second"])
    assert stored() == {"stored_first", "stored_second"}
    task_tables.compute_held(connection, {}, ["stored_second"])
    assert stored() == {"stored_second"}


def test_a_task_computes_the_rows_of_its_range(server: Bucket) -> None:
    urls = put_by_collection(server)
    groups = {"t": ranges.row_groups(urls, "id"), "m": [ranges.RowGroup(urls[0], 0, None, None)]}
    halves = ranges.divide(groups, 2)
    assert [(half.first, half.last, half.files["t"]) for half in halves] == [
        (None, 4, urls[:1]),
        (5, None, urls),
    ]
    columns_sql = 'CAST("id" AS BIGINT) AS "collection_id", CAST("n" AS BIGINT) AS "n"'
    query = ranges.RangeQuery(
        sql="SELECT sum(n)::BIGINT AS n, (SELECT count(*) FROM m) AS m FROM t",
        tables={
            "t": task_tables.RemoteTable(urls, columns_sql, "id"),
            "m": task_tables.RemoteTable(urls[:1], columns_sql, None),
        },
        sent={},
        held={},
        kept=[],
        ranges=halves,
        schema=pa.schema({"n": pa.int64(), "m": pa.int32()}),
        memory="100MB",
    )
    numbers = pa.record_batch({"id": [1, 0]})
    found = pa.Table.from_batches(query.compute([numbers]))
    # Of what has no collections each range has all rows.
    assert found.to_pydict() == {"n": [1 + 2 + 4 + 8, 16 + 32], "m": [3, 3]}
    assert found.schema == query.schema


def test_a_function_gets_all_rows_of_a_range(server: Bucket) -> None:
    urls = put_by_collection(server)
    query = ranges.RangeQuery(
        sql="SELECT n FROM t",
        tables={"t": task_tables.RemoteTable(urls, '"id" AS collection_id, "n"', "id")},
        sent={},
        held={},
        kept=[],
        ranges=ranges.divide({"t": ranges.row_groups(urls, "id")}, 2),
        schema=pa.schema({"lowest": pa.int64()}),
        memory="100MB",
        function=lambda rows: pa.table({"lowest": [min(rows["n"].to_pylist())]}),
    )
    found = pa.Table.from_batches(query.compute([pa.record_batch({"id": [0, 1]})]))
    assert found["lowest"].to_pylist() == [16, 1]


@pytest.mark.scale
@on_spark
def test_spark_reads_of_a_bucket_the_columns_of_a_question_alone(con: Any, bucket: Bucket) -> None:
    far = engine.read_table(
        con,
        TABLE,
        [put(bucket, "a.parquet", ROWS)],
        name="far",
    )
    near = engine.put_table(con, "near", pa.table({"n": [1, 2]}))
    joined = far.cross_join(near)
    # Where no column is needed, one is read, as rows are counted by something.
    for question, read in ((joined.count().as_table(), "time"), (joined.select("time"), "time")):
        plan = frame(con, question)._jdf.queryExecution().analyzed().toString()
        (computed,) = (line for line in plan.splitlines() if "MapInArrow" in line)
        assert f"{read}#" in computed
        assert "machine_id#" not in computed
        assert plan.count("a column that is not read") == len(TABLE.names) - 1


@on_spark
def test_tasks_call_a_function_with_all_rows_of_ranges(con: Any, bucket: Bucket) -> None:
    table = TABLES["collection_events"]
    rows = sample(table.name)
    far = engine.read_table(con, table, [put(bucket, "events.parquet", rows)], name="far")

    def largest(rows: pa.Table) -> pa.Table:
        return pa.table({"largest": [max(rows["collection_id"].to_pylist())]})

    schema = pa.schema({"largest": pa.int64()})
    made = map_ranges(con, far.select("collection_id"), largest, schema)
    assert made is not None
    found = made["largest"].to_pylist()
    assert len(found) == 2
    assert max(found) == max(rows["collection_id"].to_pylist())
    # Rows that the engine has to put together first are in no range.
    assert map_ranges(con, far.order_by("collection_id"), largest, schema) is None
    assert map_ranges(con, far.select("type").distinct(), largest, schema) is None


@pytest.mark.scale
@on_spark
def test_a_table_in_a_bucket_is_read_by_tasks_alone(con: Any, bucket: Bucket) -> None:
    engine.read_table(
        con,
        TABLE,
        [put(bucket, "a.parquet", ROWS)],
        name="far",
    )
    with pytest.raises(Exception, match="far is read by tasks alone"):
        spark_session(con).table("far").toArrow()


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
