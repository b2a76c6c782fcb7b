"""The scale-out engine: PySpark, on local threads or on a cluster."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Collection, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import ibis
import pyarrow as pa
import sqlglot
from ibis.expr.operations import PhysicalTable

from borgtrace.engine.columns_read import columns_read
from borgtrace.engine.dtypes import ibis_schema
from borgtrace.engine.refusal import IN_BUCKET, refusal
from borgtrace.engine.spark_session import divide_shuffles, open_session
from borgtrace.engine.stored import stored_names
from borgtrace.schema import Table
from borgtrace.storage import BUCKETS

if TYPE_CHECKING:
    from ibis.backends.pyspark import Backend
    from pyspark.sql import DataFrame, SparkSession

_PATTERN = re.compile(r"([*?\[\]{}\\,])")
_IN_BUCKET = "borgtrace.in_bucket."
"""Prefix of the session's properties that say which views are tables in a bucket."""
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
        remote = {
            "files": list(paths),
            "types": {column: str(dtype) for column, dtype in schema.items()},
            "stored_names": stored_names(table, paths),
        }
        session.conf.set(_IN_BUCKET + name, json.dumps(remote))
        _show_columns(session, name, remote, schema.names)
        return
    session.conf.unset(_IN_BUCKET + name)
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


def collect(con: Backend, expr: ibis.Table) -> pa.Table:
    """Run an expression and return its rows; see :func:`borgtrace.engine.to_arrow`."""
    return frame_to_arrow(frame(con, expr)).cast(expr.schema().to_pyarrow())


def frame(con: Backend, expr: ibis.Table) -> DataFrame:
    """Return an expression as a data frame of Spark that reads of tables in a bucket only the columns it needs."""
    con._run_pre_execute_hooks(expr)  # registers in-memory tables and functions of the expression
    session = spark_session(con)
    query = con.compile(expr)
    columns_of_table = {table.name: table.schema.names for table in expr.op().find(PhysicalTable)}
    with _VIEWS:
        remote_tables = {}
        for name in columns_of_table:
            properties = session.conf.get(_IN_BUCKET + name, None)
            if properties is not None:
                remote_tables[name] = json.loads(properties)
        if remote_tables:
            tree = sqlglot.parse_one(query, read=con.dialect)
            needed = columns_read(tree, columns_of_table, con.dialect)
            for name, remote in remote_tables.items():
                _show_columns(session, name, remote, needed[name])
        return session.sql(query)


def _show_columns(
    session: SparkSession,
    name: str,
    remote: dict[str, Any],
    columns: Collection[str],
) -> None:
    """Make the view of a table in a bucket with some of its columns, or its first one."""
    from ibis.backends.pyspark.datatypes import PySparkSchema
    from pyspark.sql import functions

    from borgtrace.engine.bucket_source import BucketSource

    files = remote["files"]
    schema = PySparkSchema.from_ibis(ibis.schema(remote["types"]))
    # Where no column is needed, one is read all the same: rows are counted by something.
    read_names = set(columns) or {schema[0].name}
    read_fields = [field for field in schema if field.name in read_names]
    # A file for each task, or a share of its row groups where files are fewer than cores.
    pieces = -(-session.sparkContext.defaultParallelism // len(files))
    session.dataSource.register(BucketSource)
    source = session.read.format(BucketSource.name()).schema(type(schema)(read_fields))
    made_of = json.dumps([files, remote["stored_names"], pieces])
    rows = source.option("made_of", made_of).load()
    # Spark drops the others, as nothing needs them; should anything do, this is an error, not a NULL.
    absent = functions.raise_error(functions.lit(f"a column of {name} that is not read"))
    values = []
    for field in schema:
        if field.name in read_names:
            values.append(field.name)
        else:
            values.append(absent.cast(field.dataType).alias(field.name))
    rows.select(*values).createOrReplaceTempView(name)


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
