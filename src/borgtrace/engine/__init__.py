"""Where relational work runs: DuckDB within a memory budget, or Spark; views for BigQuery.

Relational work is written once, as Ibis expressions over the canonical tables.  This package
opens the connection, reads the tables with their declared types, and brings results back as Arrow.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from borgtrace.engine.embedded import add_view, raw_connection
from borgtrace.engine.identifiers import quoted
from borgtrace.engine.spark_tasks import SparkTasks
from borgtrace.errors import EngineError, UsageError, first_line, shell_word
from borgtrace.schema import Table

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa
    from ibis.backends.sql import SQLBackend

__all__ = [
    "SparkTasks",
    "connect",
    "put_parts",
    "put_table",
    "read_table",
    "tasks_on",
    "to_arrow",
    "to_batches",
]


def connect(
    url: str = "duckdb",
    *,
    memory: str = "4GB",
    threads: int | None = None,
    temp_directory: Path | None = None,
    n_rows: int = 0,
) -> SQLBackend:
    """Open an engine by its name.

    Parameters
    ----------
    url
        ``duckdb`` (embedded), ``local[n]`` or ``spark://host:port`` (Spark).
    memory
        Memory budget, such as ``"4GB"``; beyond it the engine spills.
    threads
        Threads of DuckDB (all cores where None); Spark takes them from `url`.
    temp_directory
        Where to spill; a place under the system's temporary directory where None.
    n_rows
        Rows of the largest table that will be read, by which Spark divides what it shuffles.

    Raises
    ------
    UsageError
        For an engine nobody knows.
    EngineError
        Where the engine is not installed or does not start.

    Examples
    --------
    >>> connect("duckdb", memory="200MB").name
    'duckdb'
    """
    # Inside, here and below: Ibis takes longer to import than opening a store.
    if _is_spark(url):
        from borgtrace.engine import spark

        return spark.connect(url, memory, temp_directory, n_rows)
    import ibis

    return ibis.duckdb.from_connection(raw_connection(memory, threads, temp_directory))


def tasks_on(url: str, memory: str = "4GB") -> SparkTasks | None:
    """Return where independent tasks run: on Spark, or None for the threads and processes of this machine.

    Parameters
    ----------
    url, memory
        As for :func:`connect`; nothing is started yet.

    Examples
    --------
    >>> tasks_on("duckdb"), tasks_on("local[2]")
    (None, SparkTasks(url='local[2]', memory='4GB'))
    """
    return SparkTasks(url, memory) if _is_spark(url) else None


def _is_spark(url: str) -> bool:
    if url == "local" or url.startswith(("local[", "spark://")):
        return True
    if url == "duckdb":
        return False
    raise UsageError(
        "--engine",
        "unknown engine",
        expected="duckdb, local[n] or spark://host:port",
        got=repr(url),
    )


def read_table(
    con: SQLBackend,
    table: Table,
    paths: Sequence[str],
    *,
    name: str | None = None,
) -> ir.Table:
    """Read Parquet files as a canonical table on any engine from :func:`connect`.

    On a cluster, every worker must see `paths` under the same names (a shared file system, or a bucket).

    Parameters
    ----------
    con
        The engine.
    table
        What the files hold; the result has exactly its columns and types.
    paths
        Parquet files; none gives an empty table.
    name
        Name in SQL; the table's own where None.  A later table of the same name replaces the earlier one.

    Raises
    ------
    EngineError
        Where a file is missing or is not Parquet.

    Examples
    --------
    >>> from borgtrace.schema import TABLES
    >>> to_arrow(read_table(connect(memory="200MB"), TABLES["machine_events"], [])).num_rows
    0
    """
    name = name or table.name
    try:
        if con.name == "pyspark":
            from borgtrace.engine.spark import register

            register(con, table, paths, name)
        else:
            add_view(con.con, table, paths, name)
    except Exception as error:  # pyspark raises classes of its own for each cause
        raise EngineError(
            con.name,
            f"cannot read {table.name}",
            got=first_line(error),
            way_out=f"check the store with: borgtrace verify {store_of(paths)}",
        ) from error
    return con.table(name)


def store_of(paths: Sequence[str]) -> str:
    """Return the store, as a word of a shell, that files of a table lie in; STORE where there are none.

    Examples
    --------
    >>> store_of(["s3://cells/cell a/tasks/part-00000.parquet"]), store_of([])
    ("'s3://cells/cell a'", 'STORE')
    """
    # STORE/TABLE/FILE, on this machine and in a bucket.
    return shell_word(paths[0].rsplit("/", 2)[0]) if paths else "STORE"


def put_table(con: SQLBackend, name: str, rows: pa.Table) -> ir.Table:
    """Give rows in memory to an engine, as the table `name` for as long as the connection lives.

    Parameters
    ----------
    con
        Connection from :func:`connect`.
    name
        Name in SQL; a later table of the same name replaces the earlier one.
    rows
        What it holds.

    Examples
    --------
    >>> import pyarrow as pa
    >>> to_arrow(put_table(connect(memory="200MB"), "few", pa.table({"a": [1, 2]}))).num_rows
    2
    """
    if con.name == "pyspark":
        from borgtrace.engine.spark import put

        put(con, name, rows)
        return con.table(name)
    return put_parts(con, name, [rows])


def put_parts(
    con: SQLBackend, name: str, parts: Iterable[pa.Table | pa.RecordBatchReader]
) -> ir.Table:
    """Give rows to the embedded engine part by part, as the table `name` for as long as the connection lives.

    Parameters
    ----------
    con, name
        As for :func:`put_table`.
    parts
        At least one, all with the same columns.  A part is taken before the next one is asked for, so it may be made
        of what the engine holds.
    """
    # Copied, so that DuckDB counts it within its budget and can spill it.
    arrow_view = f"{name}_arrow"
    statement = f"CREATE OR REPLACE TEMP TABLE {quoted(name)} AS FROM {quoted(arrow_view)}"
    for part in parts:
        con.con.register(arrow_view, part)
        con.raw_sql(statement)
        con.con.unregister(arrow_view)
        statement = f"INSERT INTO {quoted(name)} FROM {quoted(arrow_view)}"
    return con.table(name)


def to_arrow(expr: ir.Table) -> pa.Table:
    """Run `expr` and return its rows, with the types the expression declares.

    Ibis itself goes through pandas on Spark, where an integer beside a NULL becomes a float and
    loses its last digits, and NaN becomes NULL; this does not.

    Examples
    --------
    >>> import ibis
    >>> to_arrow(ibis.memtable({"a": [1, 2]})).column("a").to_pylist()
    [1, 2]
    """
    import ibis

    backend = ibis.get_backend(expr)
    if backend.name != "pyspark":
        return expr.to_pyarrow()
    from borgtrace.engine.spark import collect

    return collect(backend, expr)


def to_batches(expr: ir.Table, rows: int = 1_000_000) -> pa.RecordBatchReader:
    """Run `expr` and return its rows in batches, for results larger than memory.

    Parameters
    ----------
    expr
        A relational expression on the embedded engine; on others all rows are fetched at once.
    rows
        Most rows of a batch.

    Examples
    --------
    >>> import ibis
    >>> sum(batch.num_rows for batch in to_batches(ibis.memtable({"a": [1, 2]})))
    2
    """
    import ibis

    backend = ibis.get_backend(expr)
    if backend.name != "duckdb":
        return to_arrow(expr).to_reader(rows)
    # Ibis 12's own batches call what DuckDB 2 has renamed.
    backend._run_pre_execute_hooks(expr)
    return backend.con.sql(backend.compile(expr)).to_arrow_reader(rows)
