"""Parts of expressions over tables in a bucket, as views of Spark whose rows tasks compute."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

import ibis
import ibis.expr.operations as ops
import pyarrow as pa

from borgtrace.engine.bucket_ranges import RangeQuery, divide
from borgtrace.engine.compressed import COMPRESSED_ROWS
from borgtrace.engine.spark_tables import TaskTables, kept_tables, row_groups_of, tables_of_tasks
from borgtrace.engine.task_tables import CollectionRange, RemoteTable
from borgtrace.engine.typed_sql import duckdb_sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MEMORY = "borgtrace.memory"
"""The session's property that says how many bytes DuckDB may take in an executor."""
_BYTES_OF_ROW = 250
"""What DuckDB may need for a row of a range, where each is a group of its own."""
_ROWS_IN_MEMORY = 2_000_000
"""Most rows of a range for a function, which takes them all at once: about 200 MB."""
MOST_ROWS_OF_ONE_TASK = 1 << 22
"""Rows that one task reads in a second or two: several would cost more than they save, as would the stages that put
together what they make."""


def show_part(
    session: SparkSession,
    view: str,
    rows: ops.Relation,
    columns: Collection[str],
) -> None:
    """Make a view of what tasks compute, with some of its columns, or its first one.

    Parameters
    ----------
    session
        The session.
    view
        Name of the view.
    rows
        What tasks compute: an expression over tables in a bucket.
    columns
        Those that are needed.
    """
    from ibis.backends.pyspark.datatypes import PySparkSchema
    from pyspark.sql import functions

    # Where no column is needed, one is made all the same: rows are counted by something.
    names = [name for name in rows.schema if name in columns] or rows.schema.names[:1]
    schema = PySparkSchema.from_ibis(rows.schema)
    made = compute_rows(session, rows.to_expr().select(*names))
    # Spark drops the others, as nothing needs them; should anything do, this is an error, not a NULL.
    absent = functions.raise_error(functions.lit("a column that is not read"))
    values = []
    for field in schema:
        if field.name in names:
            values.append(functions.col(field.name))
        else:
            values.append(absent.cast(field.dataType).alias(field.name))
    made.select(*values).createOrReplaceTempView(view)


def compute_rows(session: SparkSession, rows: ibis.Table) -> DataFrame:
    """Let tasks compute an expression over tables in a bucket.

    Parameters
    ----------
    session
        The session.
    rows
        The expression.
    """
    from ibis.backends.pyspark.datatypes import PySparkSchema
    from pyspark.sql.pandas.types import to_arrow_schema

    spark_schema = PySparkSchema.from_ibis(rows.schema())
    query = _query(session, rows, to_arrow_schema(spark_schema))
    return _numbers(session, len(query.ranges)).mapInArrow(query.compute, spark_schema)


def send_rows(
    session: SparkSession,
    rows: ibis.Table,
    schema: pa.Schema,
    function: Callable[[pa.Table], pa.Table] | None = None,
) -> DataFrame:
    """Let tasks compute an expression over tables in a bucket; return what they send, as :data:`COMPRESSED_ROWS`.

    Parameters
    ----------
    session
        The session.
    rows
        The expression.
    schema
        Of the result.
    function
        What is made of all rows of a range of collections; the rows themselves where None.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    query = _query(session, rows, schema, function)
    numbers = _numbers(session, len(query.ranges))
    return numbers.mapInArrow(query.compute_compressed, from_arrow_schema(COMPRESSED_ROWS))


def _query(
    session: SparkSession,
    rows: ibis.Table,
    schema: pa.Schema,
    function: Callable[[pa.Table], pa.Table] | None = None,
) -> RangeQuery:
    tables = tables_of_tasks(rows)
    memory = _memory_of_task(session)
    # Groups that many collections share are merged from few ranges, but those of a range should fit into memory.
    most_rows = _ROWS_IN_MEMORY if function else memory // _BYTES_OF_ROW
    if function is None and is_for_one_task(session, tables):
        files = {name: table.files for name, table in tables.remote.items()}
        ranges = [CollectionRange(None, None, files)]
    else:
        ranges = _ranges(tables.remote, session.sparkContext.defaultParallelism, most_rows)
    return RangeQuery(
        sql=duckdb_sql(rows),
        tables=tables.remote,
        sent=tables.sent,
        held=tables.held,
        kept=kept_tables(),
        ranges=ranges,
        schema=schema,
        memory=f"{memory}B",
        function=function,
    )


def is_for_one_task(session: SparkSession, tables: TaskTables) -> bool:
    """Whether one task computes what is asked of all rows of some tables, as they are few.

    Tables without collections are read by each task anyway, so that theirs do not count.
    """
    groups_of_table = row_groups_of(tables.sources)
    n_rows = sum(group.n_rows for groups in groups_of_table.values() for group in groups)
    return n_rows <= min(MOST_ROWS_OF_ONE_TASK, _memory_of_task(session) // _BYTES_OF_ROW)


def _numbers(session: SparkSession, n: int) -> DataFrame:
    """Return the numbers from 0, in a partition for each core: a task costs more than a small range."""
    return session.range(0, n, 1, min(n, session.sparkContext.defaultParallelism))


def _ranges(
    tables: Mapping[str, RemoteTable], n_cores: int, most_rows: int
) -> list[CollectionRange]:
    """Return the ranges of collections that tasks compute: one for each core, or more."""
    groups = row_groups_of(tables)
    files_of_whole_tables = {
        name: table.files for name, table in tables.items() if name not in groups
    }
    if not groups:
        return [CollectionRange(None, None, files_of_whole_tables)]
    n_rows = max(sum(group.n_rows for group in of_table) for of_table in groups.values())
    ranges = divide(groups, max(n_cores, -(-n_rows // most_rows)))
    return [
        CollectionRange(one.first, one.last, {**one.files, **files_of_whole_tables})
        for one in ranges
    ]


def _memory_of_task(session: SparkSession) -> int:
    """Return the bytes that DuckDB may take in a task: what an executor has is shared by its tasks."""
    context = session.sparkContext
    is_local = context.master.startswith("local")
    # The driver counts as one.
    n_executors = 1 if is_local else context._jsc.sc().getExecutorMemoryStatus().size() - 1
    tasks_at_once = -(-context.defaultParallelism // max(n_executors, 1))
    return int(session.conf.get(MEMORY)) // tasks_at_once
