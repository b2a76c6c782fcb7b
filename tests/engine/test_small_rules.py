"""The small rules of engines, each by itself: what is hidden, what Spark is asked for, who works where, what stops."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
import time
import warnings
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from borgtrace import engine
from borgtrace.engine import (
    bigquery,
    embedded,
    guard,
    processes,
    spark,
    spark_session,
    stoppable,
    stored,
)
from borgtrace.engine.processes import map_processes
from borgtrace.engine.stored import is_current, stored_names, stored_types
from borgtrace.errors import EngineError, StoreError, UsageError
from borgtrace.schema import TABLES
from tests.engine.conftest import sample
from tests.engine.test_entrances import BREAKOUTS

# DuckDB


def test_rows_given_to_an_engine_have_one_name_and_the_last_ones_count() -> None:
    con = engine.connect(memory="100MB")
    for values in ([1, 2], [3]):
        engine.put_table(con, "few", pa.table({"a": values}))
    assert engine.to_arrow(con.table("few")).to_pylist() == [{"a": 3}]
    with pytest.raises(duckdb.CatalogException):
        con.con.execute("FROM few_given")


def test_batches_of_duckdb_are_not_all_rows_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "to_arrow", lambda expr: pytest.fail("all rows were fetched"))
    con = engine.connect(memory="100MB")
    rows = engine.put_table(con, "few", pa.table({"a": range(5000)}))
    batches = list(engine.to_batches(rows.order_by("a"), 2048))
    assert [batch.num_rows for batch in batches] == [2048, 2048, 904]


def test_nothing_is_installed_and_no_python_variable_is_a_table() -> None:
    given = pa.table({"a": [1]})
    con = embedded.raw_connection("100MB")
    assert con.execute("SELECT current_setting('autoinstall_known_extensions')").fetchone() == (
        False,
    )
    with pytest.raises(duckdb.CatalogException):
        con.execute("FROM given")
    assert given.num_rows == 1


def test_a_bar_that_was_on_is_off() -> None:
    con = duckdb.connect()
    con.execute("SET enable_progress_bar = true")
    assert embedded.without_bar(con).execute(
        "SELECT current_setting('enable_progress_bar')"
    ).fetchone() == (False,)


def test_files_of_an_earlier_version_are_told_by_their_columns(tmp_path: Path) -> None:
    table, rows = TABLES["machine_events"], sample("machine_events")
    old, new = tmp_path / "old.parquet", tmp_path / "new.parquet"
    pq.write_table(rows.drop_columns(["platform_id"]), old)
    pq.write_table(rows, new)
    assert (is_current(table, [new]), is_current(table, [old, new])) == (True, False)
    assert stored_names(table, [old, new]) == {name: name for name in table.names} | {
        "platform_id": None
    }
    # All files were written by one version: the first one tells.
    assert stored_names(table, [new, old])["platform_id"] == "platform_id"
    assert stored_types(new)["cpu_capacity"] == "float32"
    con = duckdb.connect()
    assert con.execute(embedded.select_sql(table, [old], {"time": "7"})).fetchone()[0] == 7


# Questions from strangers


@pytest.mark.parametrize("predicate", BREAKOUTS)
def test_a_condition_is_one(predicate: str) -> None:
    with pytest.raises(UsageError):
        guard.condition(predicate)


def test_a_condition_may_end_in_a_remark() -> None:
    con = duckdb.connect()
    assert con.execute(f"SELECT 1 WHERE {guard.condition('true -- all')} AND true").fetchall() == [
        (1,)
    ]


def test_tasks_in_memory_are_all_that_their_connection_sees() -> None:
    con = guard.open_tasks(pa.table({"a": [1, 2]}))
    assert guard.query(con, "SELECT sum(a) AS a FROM tasks").to_pylist() == [{"a": 3}]
    with pytest.raises(UsageError, match="table given does not exist"):
        guard.query(con, "FROM given")
    with pytest.raises(EngineError, match="only the store can be read"):
        guard.query(con, f"FROM read_text('{__file__}')")


def test_a_table_that_is_like_no_other_suggests_none() -> None:
    with pytest.raises(UsageError) as caught:
        guard.query(guard.open_tasks(pa.table({"a": [1]})), "FROM qqqqqq")
    assert str(caught.value) == (
        "query: table qqqqqq does not exist; every table and column: borgtrace info --schema"
    )


def test_a_locked_connection_loads_nothing_by_itself(tmp_path: Path) -> None:
    con = guard.open_store(tmp_path, {}, memory="100MB")
    assert con.execute("SELECT current_setting('autoload_known_extensions')").fetchone() == (False,)


def test_values_are_given_beside_the_query() -> None:
    con = guard.open_tasks(pa.table({"a": [1, 2]}))
    sql, values = "SELECT a FROM tasks WHERE a > $least", {"least": 1}
    assert guard.query(con, sql, parameters=values).to_pylist() == [{"a": 2}]
    assert guard.stream(con, sql, parameters=values).read_all().to_pylist() == [{"a": 2}]
    assert (
        guard.stream(
            con,
            "SELECT a FROM tasks",
            1,
            parameters={},
        )
        .read_all()
        .num_rows
        == 2
    )


# BigQuery


def test_rows_in_memory_are_written_out() -> None:
    def written(values: list[int]) -> str:
        few = ibis.memtable(pa.table({"a": pa.array(values, pa.int64())}))
        return " ".join(bigquery.compile_sql(few).split())

    assert written([1, 2]) == "SELECT * FROM ( SELECT 1 AS `a` UNION ALL SELECT 2 AS `a` )"
    assert written([1]) == "SELECT * FROM ( SELECT 1 AS `a` LIMIT 1 )"
    assert written([]) == "SELECT * FROM ( SELECT CAST(NULL AS INT64) AS `a` LIMIT 0 )"


def test_an_order_stays_where_a_limit_needs_it() -> None:
    table = ibis.table({"a": "int64"}, name="t")
    assert "ORDER BY" not in bigquery.compile_sql(table.order_by("a"))
    assert "ORDER BY" in bigquery.compile_sql(table.order_by("a").limit(3))


@pytest.mark.parametrize(
    ("name", "columns", "n_bytes"),
    [
        (
            "instance_events",
            ["is_on_dedicated_machine", "machine_id", "source_row"],
            8,
        ),  # both from machine_id
        (
            "instance_constraints",
            ["position", "source_part", "name"],
            46,
        ),  # a text of 44 letters, and 2
        ("machine_attributes", ["is_deleted", "time"], 1 + 8),
        (
            "instance_usage",
            ["cpu_usage_distribution", "tail_cpu_usage_distribution"],
            11 * 8 + 9 * 8,
        ),
        ("instance_events", ["disk_request"], 0),  # 2019 has none
    ],
)
def test_bytes_of_a_row(name: str, columns: list[str], n_bytes: int) -> None:
    assert bigquery.bytes_of(TABLES[name], columns) == n_bytes


# Spark, without starting it


def test_what_spark_is_asked_for() -> None:
    here = spark_session.session_properties("local[3]", "2GiB", Path("/spill"))
    assert (here["spark.local.dir"], here["spark.driver.memory"]) == ("/spill", "2048m")
    assert here["spark.sql.warehouse.dir"] == "/spill/borgtrace-spark-warehouse"
    assert "spark.executor.memory" not in here
    # A driver needs 450 MB: less is not asked for.
    there = spark_session.session_properties("spark://host:7077", "100MB", None)
    assert (there["spark.local.dir"], there["spark.executor.memory"]) == (
        tempfile.gettempdir(),
        "512m",
    )
    assert "spark.driver.memory" not in there
    # On a cluster Java compiles lightly, unless the user's own options, which come later, say otherwise.
    for process in ("driver", "executor"):
        assert there[f"spark.{process}.defaultJavaOptions"] == "-XX:TieredStopAtLevel=1"
        assert f"spark.{process}.defaultJavaOptions" not in here


def test_how_a_session_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    class Builder:
        """Spark's builder, and the session that it makes."""

        def __init__(self) -> None:
            self.asked: dict[str, object] = {}
            level = partial(self.config, "level")
            self.set_by_user: dict[str, str] = {}
            self.sparkContext = SimpleNamespace(
                setLogLevel=level, defaultParallelism=3, getConf=lambda: self.set_by_user
            )
            self.not_sent: list[str] = []
            self.conf = SimpleNamespace(set=self.config, unset=self.not_sent.append)
            self.master, self.appName = partial(self.config, "master"), partial(self.config, "name")

        def config(self, name: str, value: object) -> Builder:
            self.asked[name] = value
            return self

        def getOrCreate(self) -> Builder:
            return self

    builder = Builder()
    monkeypatch.setitem(
        sys.modules,
        "pyspark.sql",
        SimpleNamespace(SparkSession=SimpleNamespace(builder=builder)),
    )
    monkeypatch.setitem(vars(ibis), "pyspark", SimpleNamespace(connect=lambda session: session))
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    assert spark.connect("local[1]", spark__executor__cores="1") is builder
    wanted = {
        "master": "local[1]",
        "name": "borgtrace",
        "level": "FATAL",
        "spark.executor.cores": "1",
    }
    # Two pieces for each thread, and one for two million rows of a large store.
    wanted |= {"spark.sql.shuffle.partitions": 6}
    assert wanted.items() <= builder.asked.items()
    # Each task would carry them.
    assert "spark.executor.extraJavaOptions" in builder.not_sent
    spark.connect("local[1]", n_rows=12_000_001)
    assert builder.asked["spark.sql.shuffle.partitions"] == 7
    # What the user says counts.
    builder.set_by_user["spark.sql.shuffle.partitions"] = "50"
    spark.connect("local[1]", n_rows=40_000_000)
    assert builder.asked["spark.sql.shuffle.partitions"] == 7
    builder.set_by_user.clear()
    assert os.environ["PYSPARK_PYTHON"] == sys.executable
    # Only elsewhere is there somebody to wait for.
    waited: list[object] = []
    monkeypatch.setattr(spark_session, "await_executor", lambda *asked: waited.append(asked))
    spark.connect("local[1]")
    assert waited == []
    spark.connect("spark://host:7077")
    assert waited == [(builder, "spark://host:7077")]


@pytest.mark.parametrize(
    ("said", "is_java"),
    [
        ("Java not found", True),
        ("no master\nat Java.run", False),
        ("no\n\nJava", False),
    ],
)
def test_java_is_named_where_it_is_missing(said: str, is_java: bool) -> None:
    def fail() -> None:
        raise RuntimeError(said)

    with pytest.raises(EngineError) as caught:
        spark_session.start_session(SimpleNamespace(getOrCreate=fail), "local")
    assert (caught.value.way_out == "install Java 17 or later and set JAVA_HOME") == is_java


def test_how_hadoop_is_told_a_file() -> None:
    assert spark.hadoop_path("/a [1]/{x},y*") == r"file:///a \[1\]/\{x\}\,y\*"


def test_a_socket_left_open_by_spark_is_no_warning() -> None:
    def leave() -> int:
        warnings.warn("unclosed socket", ResourceWarning, stacklevel=1)
        return 7

    assert spark.frame_to_arrow(SimpleNamespace(toArrow=leave)) == 7


# Processes


def _meet(folder: Path, number: int) -> tuple[int, bool]:
    """Say which process this is, and whether another one was at work at the same time."""
    (folder / f"{number}").touch()
    end = time.monotonic() + 30
    while not (met := len(list(folder.iterdir())) == 2) and time.monotonic() < end:
        time.sleep(0.01)
    return os.getpid(), met


def _die(number: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_one_worker_is_this_process() -> None:
    assert list(
        map_processes(
            lambda item: (item, os.getpid()),
            [1, 2],
            1,
            place="x",
        )
    ) == [
        (1, os.getpid()),
        (2, os.getpid()),
    ]


@pytest.mark.wide
def test_two_workers_work_at_once_and_one_that_is_killed_is_told(tmp_path: Path) -> None:
    (first, both), (second, still) = map_processes(
        partial(_meet, tmp_path),
        [1, 2],
        2,
        place="x",
    )
    assert len({first, second, os.getpid()}) == 3
    assert both
    assert still
    with pytest.raises(StoreError) as caught:
        list(
            map_processes(
                _die,
                [1, 2],
                2,
                place="cell",
                ordered=False,
            )
        )
    assert str(caught.value) == (
        "cell: a worker process was killed: got perhaps not enough memory; run again with fewer --jobs"
    )


def test_a_worker_watches_its_parent_from_its_first_item(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []

    class Thread:
        def __init__(self, **asked: Any) -> None:
            self.asked = asked

        def start(self) -> None:
            started.append(self.asked)

    processes.end_with.cache_clear()
    monkeypatch.setattr(processes.threading, "Thread", Thread)
    assert [processes.call_in_worker(abs, -number, 5) for number in (1, 2)] == [1, 2]
    # A daemon: a worker whose work is done ends without waiting for it.
    assert started == [
        {
            "target": processes.watch_parent,
            "args": (5,),
            "daemon": True,
        }
    ]
    processes.end_with.cache_clear()


def test_a_worker_ends_when_it_has_another_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    parents, done = iter([5, 5, 1]), list[object]()
    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    monkeypatch.setattr(time, "sleep", done.append)
    monkeypatch.setattr(os, "_exit", lambda code: done.append(f"exit {code}"))
    processes.watch_parent(5)
    assert done == [0.1, 0.1, "exit 1"]


# What stops


def test_an_interruption_is_repeated_but_not_without_a_pause() -> None:
    """One that comes before DuckDB has begun is lost: this work hears none of them."""
    interruptions: list[None] = []
    con: Any = SimpleNamespace(interrupt=lambda: interruptions.append(None))
    with pytest.raises(EngineError, match=r"stopped after 0\.01 s"):
        stoppable.Stoppable(con, 0.01).step(lambda: time.sleep(0.3))
    assert 2 <= len(interruptions) < 200


def test_what_an_interrupted_query_says_of_itself_is_that_the_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The query may end before its thread has heard of the signal, which does not come here at all."""
    interrupted = threading.Event()
    monkeypatch.setattr(signal, "pthread_kill", lambda thread, number: None)

    def work() -> None:
        interrupted.wait()
        raise RuntimeError("interrupted")

    with pytest.raises(EngineError, match=r"stopped after 0\.01 s") as caught:
        stoppable.within(0.01, work, interrupted.set)
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_nothing_is_left_of_a_time_limit() -> None:
    before = threading.enumerate()
    for _ in range(20):
        assert stoppable.within(60, lambda: 7, lambda: None) == 7
        assert threading.enumerate() == before


def test_results_come_in_the_order_of_the_items_unless_as_they_are_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kinds = []

    def pool(**options: Any) -> Any:
        kinds.append(options["return_as"])
        return lambda calls: iter(())

    monkeypatch.setattr(processes, "Parallel", pool)
    for ordered in (True, False):
        assert (
            list(
                map_processes(
                    abs,
                    [1],
                    2,
                    place="here",
                    ordered=ordered,
                )
            )
            == []
        )
    assert kinds == ["generator", "generator_unordered"]


def test_workers_keep_their_memory_unless_the_user_has_said_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Nobody starts: what a worker inherits is the environment of this process.
    monkeypatch.setattr(processes, "Parallel", lambda **_: lambda _: iter(()))
    monkeypatch.setattr(os, "environ", {"MALLOC_TRIM_THRESHOLD_": "5"})
    assert list(
        map_processes(
            abs,
            [1],
            1,
            place="here",
        )
    ) == [1]
    assert os.environ == {"MALLOC_TRIM_THRESHOLD_": "5"}
    assert (
        list(
            map_processes(
                abs,
                [1],
                2,
                place="here",
            )
        )
        == []
    )
    assert os.environ == {
        "MALLOC_TRIM_THRESHOLD_": "5",
        "MALLOC_MMAP_THRESHOLD_": "4294967296",
        "MIMALLOC_PURGE_DELAY": "-1",
    }


def test_a_connection_for_tasks_sees_nothing_but_tasks() -> None:
    con = guard.open_tasks(pa.table({"collection_id": [7]}))
    assert con.execute("SELECT * FROM tasks").fetchall() == [(7,)]
    with pytest.raises(duckdb.CatalogException, match="given"):
        con.execute("SELECT * FROM given")


def test_texts_are_of_one_type_whether_or_not_a_file_numbers_them() -> None:
    numbered = pa.dictionary(pa.int32(), pa.string())
    assert stored.declared_type(numbered) == stored.declared_type(pa.string()) == "string"
    assert stored.declared_type(pa.list_(numbered)) == "list<string>"
