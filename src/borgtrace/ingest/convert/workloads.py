"""Where tasks belong in a cluster of Kubernetes: cluster, namespace, pod, container, and the kind of their owner."""

from collections.abc import Mapping

import duckdb

from borgtrace.engine.identifiers import quoted
from borgtrace.schema.records.shared_columns import WORKLOAD_OF_ROW

_COLUMNS = tuple(column.name for column in WORKLOAD_OF_ROW)


def show_workloads(
    connection: duckdb.DuckDBPyConnection,
    fills: Mapping[str, frozenset[str]],
) -> None:
    """Show one row of each task of which rows say where it belongs, as ``task_workloads``.

    Parameters
    ----------
    connection
        With views of the rows of usage and of tasks.
    fills
        Kinds of rows there are, each with the columns that any of its files fills.
    """
    # Rows of one task say the same; the largest is one of them, whatever their order.
    values_sql = ", ".join(f"max({quoted(name)}) AS {quoted(name)}" for name in _COLUMNS)
    columns_sql = ", ".join(map(quoted, _COLUMNS))
    said_sql = [
        f"SELECT task, {columns_sql} FROM {quoted(name)}"
        for name in ("usage_rows", "task_rows")
        if fills.get(name, frozenset()).intersection(_COLUMNS)
    ]
    rows_sql = " UNION ALL ".join(said_sql)
    if not rows_sql:
        no_values_sql = ", ".join(f"NULL::VARCHAR AS {quoted(name)}" for name in _COLUMNS)
        rows_sql = f"SELECT NULL::VARCHAR AS task, {no_values_sql} WHERE false"
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE task_workloads AS
        SELECT task, {values_sql} FROM ({rows_sql}) GROUP BY task
    """)
