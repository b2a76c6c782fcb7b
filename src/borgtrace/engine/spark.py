"""The scale-out engine: PySpark, on local threads or on a cluster."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import ibis
import ibis.expr.operations as ops
import pyarrow as pa
import sqlglot

from borgtrace.engine.columns_read import columns_read
from borgtrace.engine.compressed import decompress_rows
from borgtrace.engine.dtypes import ibis_schema
from borgtrace.engine.memory import parse_memory
from borgtrace.engine.refusal import IN_BUCKET, refusal
from borgtrace.engine.spark_parts import (
    MEMORY,
    is_for_one_task,
    send_rows,
    show_part,
)
from borgtrace.engine.spark_session import divide_shuffles, open_session
from borgtrace.engine.spark_tables import (
    forget_table,
    register_held,
    register_remote,
    tables_of_tasks,
)
from borgtrace.engine.splitting import Part, merge, parts_of
from borgtrace.engine.stored import stored_names
from borgtrace.engine.task_tables import connection_of_task
from borgtrace.engine.typed_sql import duckdb_sql
from borgtrace.schema import Table
from borgtrace.storage import BUCKETS

if TYPE_CHECKING:
    from ibis.backends.pyspark import Backend
    from pyspark.sql import DataFrame, SparkSession

_PATTERN = re.compile(r"([*?\[\]{}\\,])")
_UNSORTED = "unsorted_rows"
_SERIAL = count()
_VIEWS = Lock()
"""Held while a data frame is made: it keeps the views that it was made of, which other threads may then replace."""


def connect(
    url: str = "local[2]",
    memory: str = "4GB",
    temp_directory: Path | None = None,
    n_rows: int = 0,
    **conf: str,
) -> Backend:
    """Open an Ibis connection on Spark; see :func:`borgtrace.engine.spark_session.open_session`.

    Parameters
    ----------
    url, memory, temp_directory, conf
        As there.
    n_rows
        As for :func:`borgtrace.engine.connect`.

    Notes
    -----
    Spark runs in ANSI mode: what DuckDB answers by NULL or infinity (a division by zero, a cast
    out of range) is an error here, so expressions guard their divisors with ``nullif(0)``.
    """
    # First: without pyspark, Ibis's own message has no way out.
    session = open_session(
        url,
        memory,
        temp_directory,
        **conf,
    )
    divide_shuffles(session, n_rows)
    session.conf.set(MEMORY, parse_memory(memory))
    return ibis.pyspark.connect(session)


def register(
    con: Backend,
    table: Table,
    paths: Sequence[str],
    name: str,
) -> None:
    """Register Parquet files as the view `name` with a table's declared columns; no files, no rows.

    Parameters
    ----------
    con
        Connection from :func:`connect`.
    table
        What the files hold.
    paths
        Parquet files.
    name
        Name in SQL.
    """
    from ibis.backends.pyspark.datatypes import PySparkSchema

    session = spark_session(con)
    schema = ibis_schema(table)
    if paths and paths[0].startswith(BUCKETS):
        register_remote(session, table, paths, name)
        return
    forget_table(name)
    if paths:
        # Spark itself reads columns that the files lack as NULL.
        names = stored_names(table, paths)
        stored = ibis.schema({names[column] or column: dtype for column, dtype in schema.items()})
        reader = session.read.schema(PySparkSchema.from_ibis(stored))
        frame = reader.parquet(*(hadoop_path(path) for path in paths))
        # By position: the schema above was written in the order of the declared columns.
        frame = frame.toDF(*schema.names)
    else:
        frame = session.createDataFrame([], PySparkSchema.from_ibis(schema))
    frame.createOrReplaceTempView(name)


def put(con: Backend, name: str, rows: pa.Table) -> None:
    """Register rows in memory as the view `name`; see :func:`borgtrace.engine.put_table`."""
    spark_session(con).createDataFrame(rows).createOrReplaceTempView(name)


def hold(con: Backend, expr: ibis.Table, name: str) -> None:
    """Keep the rows of an expression as the view `name`; see :func:`borgtrace.lifecycle.cache.hold`."""
    session = spark_session(con)
    if is_for_one_task(session, tables_of_tasks(expr)) and _is_left_to_tasks(con, expr):
        # Each process computes them once: kept by Spark, all that is asked of them would be stages of Spark's own.
        register_held(session, expr, name)
    else:
        frame(con, expr).cache().createOrReplaceTempView(name)


def drop(con: Backend, name: str) -> None:
    """Drop a view from `hold`."""
    session = spark_session(con)
    if not forget_table(name):
        session.catalog.uncacheTable(name)
    session.catalog.dropTempView(name)


def collect(con: Backend, expr: ibis.Table) -> pa.Table:
    """Run an expression and return its rows; see :func:`borgtrace.engine.to_arrow`."""
    root = expr.op()
    if isinstance(root, ops.Sort):
        # All rows come here anyway: Spark would first sample, deal and sort them, in three more stages.
        return _sorted(con, root, collect(con, root.parent.to_expr()))
    con._run_pre_execute_hooks(expr)
    schema = expr.schema().to_pyarrow()
    if _is_left_to_tasks(con, expr):
        sent = frame_to_arrow(send_rows(spark_session(con), expr, schema))
        return decompress_rows(sent, schema)
    return frame_to_arrow(frame(con, expr)).cast(schema)


def _sorted(con: Backend, root: ops.Sort, rows: pa.Table) -> pa.Table:
    """Return rows in the order in which an expression puts them."""
    table = ops.UnboundTable(_UNSORTED, root.parent.schema)
    # One connection writes SQL for all threads.
    with _VIEWS:
        query_sql = duckdb_sql(root.replace({root.parent: table}).to_expr())
    memory = f"{spark_session(con).conf.get(MEMORY)}B"
    with connection_of_task(memory).cursor() as cursor:
        cursor.register(_UNSORTED, rows)
        return cursor.sql(query_sql).to_arrow_table().cast(rows.schema)


def _is_left_to_tasks(con: Backend, expr: ibis.Table) -> bool:
    """Whether the rows of an expression are those that tasks compute, put together."""
    return any(part.node == expr.op() and not part.is_merged for part in _parts(con, expr))


def _parts(con: Backend, expr: ibis.Table) -> list[Part]:
    """Return what tasks compute of an expression."""
    tables = tables_of_tasks(expr)
    in_one_task = is_for_one_task(spark_session(con), tables)
    return parts_of(expr, tables.names, in_one_task=in_one_task)


def frame(con: Backend, expr: ibis.Table) -> DataFrame:
    """Return an expression as a data frame of Spark; what tasks can compute of tables in a bucket, they compute."""
    con._run_pre_execute_hooks(expr)  # registers in-memory tables and functions of the expression
    with _VIEWS:
        return _frame(con, expr)


def _frame(con: Backend, expr: ibis.Table) -> DataFrame:
    session = spark_session(con)
    part_of_view = {f"part_{next(_SERIAL)}": part for part in _parts(con, expr)}
    replaced = {}
    for view, part in part_of_view.items():
        replaced[part.node] = merge(part, ops.DatabaseTable(view, part.rows.schema, con))
    rest = expr.op().replace(replaced)
    query = con.compile(rest.to_expr())
    if part_of_view:
        columns_of_table = {
            table.name: table.schema.names for table in rest.find(ops.PhysicalTable)
        }
        tree = sqlglot.parse_one(query, read=con.dialect)
        needed = columns_read(tree, columns_of_table, con.dialect)
        for view, part in part_of_view.items():
            show_part(session, view, part.rows, needed[view])
    try:
        return session.sql(query)
    finally:
        for view in part_of_view:
            # The data frame has the plan of the view.
            session.catalog.dropTempView(view)


def map_ranges(
    con: Backend,
    rows: ibis.Table,
    function: Callable[[pa.Table], pa.Table],
    schema: pa.Schema,
) -> pa.Table | None:
    """Let tasks call a function with all rows of a range of collections at a time, and return what it makes.

    Parameters
    ----------
    con
        Connection from :func:`connect`.
    rows
        An expression.
    function
        Makes rows of rows.
    schema
        Of the rows that it makes.

    Returns
    -------
    pa.Table or None
        None where tasks cannot compute the rows by themselves.
    """
    tables = tables_of_tasks(rows)
    parts = [part for part in parts_of(rows, tables.names) if part.node == rows.op()]
    is_spread = any(not part.is_whole and not part.is_merged for part in parts)
    if not is_spread:
        return None
    sent = frame_to_arrow(send_rows(spark_session(con), rows, schema, function))
    return decompress_rows(sent, schema)


def spark_session(con: Backend) -> SparkSession:
    """Return the Spark session under an Ibis connection, which Ibis keeps to itself."""
    return con._session


def frame_to_arrow(frame: Any) -> pa.Table:
    """Collect a Spark data frame; pyspark leaves its socket to the garbage collector, which complains."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        try:
            return frame.toArrow()
        except Exception as error:  # Py4J and pyspark raise unrelated classes
            if IN_BUCKET in str(error):
                raise refusal(frame.sparkSession.sparkContext.master, str(error)) from error
            raise


def hadoop_path(path: str) -> str:
    """Return the name of one local file for Hadoop, which would take brackets and braces for a pattern."""
    return "file://" + _PATTERN.sub(r"\\\1", str(Path(path).absolute()))
