"""Attacks on a store through a query, and the questions that must still work."""

from __future__ import annotations

import hashlib
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from borgtrace.engine import guard
from borgtrace.errors import BorgtraceError, EngineError, UsageError
from borgtrace.schema import TABLES

from .conftest import sample

STATEMENTS = """
COPY machine_events TO '{root}/evil.parquet'
COPY (SELECT 1) TO '{outside}/evil.csv'
COPY machine_events FROM '{root}/machine_events/part-00000.parquet'
ATTACH '{root}/evil.db'
ATTACH '{outside}/evil.db' AS evil
DETACH memory
CREATE TABLE evil (a int)
CREATE TABLE evil AS SELECT 1
CREATE OR REPLACE VIEW machine_events AS SELECT 1
CREATE OR REPLACE TEMP VIEW machine_events AS SELECT 1
CREATE MACRO evil() AS TABLE SELECT 1
CREATE SECRET evil (TYPE s3, KEY_ID 'a', SECRET 'b')
DROP VIEW machine_events
ALTER TABLE machine_events RENAME TO evil
INSERT INTO machine_events SELECT * FROM machine_events
UPDATE machine_events SET time = 0
DELETE FROM machine_events
TRUNCATE machine_events
MERGE INTO machine_events USING machine_events AS other ON false WHEN NOT MATCHED THEN INSERT
EXPLAIN ANALYZE COPY machine_events TO '{root}/evil.parquet'
EXPLAIN ANALYZE INSERT INTO machine_events SELECT * FROM machine_events
EXPORT DATABASE '{root}/evil'
IMPORT DATABASE '{root}/evil'
INSTALL httpfs
LOAD httpfs
FORCE INSTALL '{root}/evil.duckdb_extension'
LOAD '{root}/evil.duckdb_extension'
SET enable_external_access = true
SET lock_configuration = false
SET allowed_directories = ['/']
SET temp_directory = '{outside}'
SET VARIABLE evil = 1
RESET enable_external_access
PRAGMA enable_profiling
PRAGMA database_list
CALL enable_logging('QueryLog', storage = 'file', storage_path = '{outside}')
CALL checkpoint()
CHECKPOINT
VACUUM
ANALYZE
USE memory
BEGIN
PREPARE evil AS SELECT 1
EXECUTE evil
COMMENT ON VIEW machine_events IS 'evil'
SELECT 1; COPY machine_events TO '{root}/evil.parquet'
SELECT 1; SELECT 2
COPY (SELECT 1) TO '{root}/evil.csv'; SELECT 1
WITH evil AS (INSERT INTO machine_events SELECT * FROM machine_events RETURNING *) SELECT * FROM evil
WITH evil AS (DELETE FROM machine_events RETURNING *) SELECT * FROM evil
WITH evil AS (UPDATE machine_events SET time = 0 RETURNING *) SELECT * FROM evil
SELECT * FROM (WITH evil AS (DELETE FROM machine_events RETURNING *) SELECT * FROM evil)
""".strip().splitlines()

FUNCTIONS = """
SELECT * FROM checkpoint()
SELECT * FROM force_checkpoint()
SELECT * FROM system.main.checkpoint()
SELECT * FROM enable_logging('QueryLog', storage = 'file', storage_path = '{outside}')
SELECT * FROM enable_profiling()
SELECT * FROM duckdb_secrets()
SELECT * FROM duckdb_external_file_cache()
SELECT * FROM arrow_scan(1, 2, 3)
SELECT * FROM "ARROW_SCAN"(1, 2, 3)
SELECT * FROM arrow_scan_dumb(1, 2, 3)
SELECT * FROM pandas_scan(1)
SELECT * FROM python_map_function()
SELECT * FROM machine_events WHERE time IN (SELECT a FROM arrow_scan(1, 2, 3) AS t(a))
WITH evil AS (SELECT * FROM pandas_scan(1)) SELECT * FROM evil
SELECT 1 UNION ALL SELECT * FROM checkpoint()
SELECT (SELECT count(*) FROM checkpoint())
SELECT * FROM machine_events AS m, LATERAL (SELECT * FROM arrow_scan(1, 2, m.time)) AS t
SELECT * FROM query('SELECT * FROM arrow_scan(1, 2, 3)')
SELECT * FROM query_table('{outside}/other.parquet')
SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))
SELECT * FROM sniff_csv('{outside}/secret.txt')
SELECT * FROM read_blob('{outside}/secret.txt')
SELECT * FROM read_duckdb('{outside}/x.db')
SELECT * FROM sqlite_scan('{outside}/x.db', 't')
SELECT * FROM which_secret('s3://x', 's3')
SELECT * FROM register_external_resource('evil')
DESCRIBE SELECT * FROM arrow_scan(1, 2, 3)
SUMMARIZE SELECT * FROM pandas_scan(1)
""".strip().splitlines()

OUTSIDE = """
SELECT * FROM '{outside}/other.parquet'
SELECT * FROM "{outside}/other.parquet"
SELECT * FROM '{root}/../outside/other.parquet'
SELECT * FROM '{root}/machine_events/../../outside/other.parquet'
SELECT * FROM '{root}2/other.parquet'
SELECT * FROM read_parquet('{outside}/*.parquet')
SELECT * FROM read_parquet(['{root}/machine_events/part-00000.parquet', '{outside}/other.parquet'])
SELECT * FROM parquet_metadata('{outside}/other.parquet')
SELECT * FROM read_text('{outside}/secret.txt')
SELECT * FROM read_text('file://{outside}/secret.txt')
SELECT * FROM read_csv('{outside}/secret.txt')
SELECT * FROM read_csv('/dev/stdin')
SELECT * FROM read_json('{outside}/secret.txt')
SELECT * FROM glob('{outside}/*')
SELECT * FROM glob('/*')
SELECT * FROM 'secret.txt'
SELECT * FROM 'http://127.0.0.1:9/x.parquet'
SELECT * FROM 's3://bucket/x.parquet'
SELECT 1 FROM machine_events WHERE platform_id IN (SELECT content FROM read_text('{outside}/secret.txt'))
""".strip().splitlines()

QUESTIONS = [
    "SELECT count(*) FROM machine_events",
    "select count(*) from machine_events;",
    "-- a remark\nSELECT 1 /* another */",
    "FROM machine_events SELECT type, count(*) GROUP BY ALL",
    "TABLE machine_events",
    "VALUES (1), (2)",
    "DESCRIBE machine_events",
    "SUMMARIZE machine_events",
    "SHOW TABLES",
    "PIVOT machine_events ON type IN ('ADD', 'REMOVE') USING count(*)",
    "WITH a AS (SELECT time FROM machine_events) SELECT * FROM a UNION ALL SELECT 1",
    "WITH RECURSIVE a AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM a WHERE n < 5) SELECT * FROM a",
    "SELECT unnest(cpu_usage_distribution) FROM instance_usage",
    "SELECT list_transform([1, 2], lambda x: x + 1)",
    "SELECT * FROM range(3) AS r(n), LATERAL (SELECT n * 2) AS d(m)",
    "SELECT row_number() OVER (PARTITION BY type ORDER BY time) FROM machine_events",
    "SELECT * FROM machine_events ASOF JOIN collection_events USING (time)",
    "SELECT * FROM '{root}/machine_events/part-00000.parquet'",
    "SELECT file_name, num_rows FROM parquet_file_metadata('{root}/*/*.parquet')",
    "SELECT " + "(" * 300 + "1" + ")" * 300,
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A store beside things a query must not see."""
    store, outside = tmp_path / "it's a store", tmp_path / "outside"
    for folder in (outside, store.with_name(store.name + "2")):
        folder.mkdir()
        pq.write_table(sample("machine_events"), folder / "other.parquet")
    (outside / "secret.txt").write_text("secret\n")
    for name in ("machine_events", "collection_events", "instance_usage"):
        (store / name).mkdir(parents=True)
        pq.write_table(sample(name), store / name / "part-00000.parquet")
    return store


@pytest.fixture
def con(root: Path) -> duckdb.DuckDBPyConnection:
    tables = {TABLES[path.name]: [str(path / "part-00000.parquet")] for path in root.iterdir()}
    return guard.open_store(
        root,
        tables,
        memory="500MB",
        threads=1,
    )


def _fill(sql: str, root: Path) -> str:
    return sql.replace("{root}", str(root).replace("'", "''")).replace(
        "{outside}",
        str(root.parent / "outside"),
    )


def _digest(folder: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("sql", STATEMENTS)
def test_statements_that_are_not_questions_are_refused(
    con: duckdb.DuckDBPyConnection,
    root: Path,
    sql: str,
) -> None:
    before = _digest(root.parent)
    with pytest.raises(UsageError, match=r"^query: "):
        guard.query(con, _fill(sql, root))
    assert _digest(root.parent) == before
    assert guard.query(con, "SELECT count(*) AS n FROM machine_events").to_pylist() == [{"n": 5}]


@pytest.mark.parametrize("sql", FUNCTIONS)
def test_table_functions_that_reach_elsewhere_are_refused(
    con: duckdb.DuckDBPyConnection,
    root: Path,
    sql: str,
) -> None:
    with pytest.raises(
        UsageError,
        match="query: table function not allowed: expected one of duckdb_columns",
    ):
        guard.query(con, _fill(sql, root))


@pytest.mark.parametrize("sql", OUTSIDE)
def test_nothing_outside_the_store_is_read(
    con: duckdb.DuckDBPyConnection,
    root: Path,
    sql: str,
) -> None:
    with pytest.raises(BorgtraceError) as caught:
        guard.query(con, _fill(sql, root))
    text = str(caught.value)
    assert "only the store can be read" in text or "does not exist" in text
    assert "secret\n" not in text


@pytest.mark.parametrize("sql", QUESTIONS)
def test_questions_are_answered(con: duckdb.DuckDBPyConnection, root: Path, sql: str) -> None:
    expected = duckdb.connect()
    for folder in root.iterdir():
        path = str(folder / "part-00000.parquet").replace("'", "''")
        expected.execute(f"CREATE VIEW {folder.name} AS FROM read_parquet('{path}')")
    answer = guard.query(con, _fill(sql, root))
    assert _rows(answer) == _rows(expected.sql(_fill(sql, root)).to_arrow_table())


def _rows(table: pa.Table) -> list[str]:
    """Rows by position: columns of one name are told apart only there."""
    columns = [column.to_pylist() for column in table.columns]
    return sorted(map(repr, zip(*columns, strict=True)))


def test_even_without_the_check_only_the_store_can_be_touched(
    con: duckdb.DuckDBPyConnection,
    root: Path,
) -> None:
    """The second wall alone: what the connection itself refuses."""
    for sql in (
        "COPY machine_events TO '{outside}/evil.parquet'",
        "ATTACH '{outside}/evil.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "SET allowed_directories = ['/']",
        "SELECT * FROM enable_logging('QueryLog', storage = 'file', storage_path = '{outside}')",
    ):
        with pytest.raises(duckdb.Error):
            con.execute(_fill(sql, root))


def test_spilling_still_works(root: Path, tmp_path: Path) -> None:
    con = guard.open_store(
        root,
        {},
        memory="20MB",
        threads=1,
        temp_directory=tmp_path / "spill",
    )
    sql = "SELECT a FROM range(2000000) AS t(a) ORDER BY hash(a) LIMIT 1 OFFSET 1900000"
    assert guard.query(con, sql).num_rows == 1
    assert (tmp_path / "spill").exists()


def test_memory_exhausted(root: Path) -> None:
    con = guard.open_store(
        root,
        {},
        memory="20MB",
        threads=1,
    )
    with pytest.raises(EngineError) as caught:
        guard.query(con, "SELECT list(a) FROM range(20000000) AS t(a)")
    assert str(caught.value).startswith("query: memory exhausted: got Out of Memory Error: ")
    assert str(caught.value).endswith("; give more with --memory, or ask for less at once")


def test_stream_gives_batches_and_maps_late_errors(con: duckdb.DuckDBPyConnection) -> None:
    batches = list(guard.stream(con, "SELECT * FROM range(250000)", 100_000))
    assert sum(batch.num_rows for batch in batches) == 250_000
    assert len(batches) > 1
    with pytest.raises(UsageError, match=r"^query: Conversion Error: "):
        list(
            guard.stream(
                con,
                "SELECT cast(if(a < 240000, '1', 'x') AS int) FROM range(250000) AS t(a)",
            )
        )


def test_stream_checks_before_anything_runs(con: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(UsageError):
        guard.stream(con, "DROP VIEW machine_events")


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        (
            "",
            "query: not one statement: expected one SELECT, got 0 statements; only a query can be answered",
        ),
        (
            "SELECT 1; SELECT 2",
            "query: not one statement: expected one SELECT, got 2 statements; only a query can be answered",
        ),
        (
            "COPY t TO 'x'",
            "query: not a SELECT: expected one SELECT, got COPY; only a query can be answered",
        ),
        (
            "WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x",
            "query: part of it writes: expected one SELECT, got DELETE; only a query can be answered",
        ),
        (
            "PIVOT machine_events ON type USING count(*)",
            (
                "query: PIVOT without its values: expected one SELECT, got several statements; list the "
                "values: PIVOT instance_events ON type IN ('EVICT', 'FAIL') USING count(*)"
            ),
        ),
        ("SELEC 1", 'query: Parser Error: syntax error at or near "SELEC"'),
        (
            "SELECT * FROM instance_usag",
            (
                "query: table instance_usag does not exist; did you mean instance_usage? "
                "every table and column: borgtrace info --schema"
            ),
        ),
        (
            "SELECT average_cp FROM instance_usage",
            (
                'query: Binder Error: Referenced column "average_cp" not found in FROM clause!; '
                'Candidate bindings: "average_cpu", "average_memory", "aggregation_type", "sampled_cpu", '
                '"sample_rate"; every table and column: borgtrace info --schema'
            ),
        ),
        (
            "SELECT * FROM checkpoint()",
            (
                "query: table function not allowed: expected one of duckdb_columns, duckdb_functions, "
                "duckdb_tables, duckdb_types, duckdb_views, generate_series, glob, histogram, "
                "histogram_values, json_each, json_tree, parquet_file_metadata, parquet_kv_metadata, "
                "parquet_metadata, parquet_scan, parquet_schema, pragma_table_info, pragma_version, "
                "range, read_csv, read_csv_auto, read_json, read_json_auto, read_parquet, read_text, "
                "repeat, repeat_row, summary, unnest, got checkpoint"
            ),
        ),
    ],
)
def test_messages(con: duckdb.DuckDBPyConnection, sql: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        guard.query(con, sql)
    assert str(caught.value) == message


def test_store_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(EngineError) as caught:
        guard.open_store(tmp_path, {TABLES["machine_events"]: ["/nowhere/part.parquet"]})
    assert str(caught.value) == (
        f"{tmp_path}: the store cannot be read: "
        "got [Errno 2] No such file or directory: '/nowhere/part.parquet'"
    )
