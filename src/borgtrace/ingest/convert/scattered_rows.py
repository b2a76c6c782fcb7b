"""Rows that are spread over several files: one metric of a monitoring system says one thing about a container."""

from collections.abc import Mapping

import duckdb

from borgtrace.engine.embedded import SQL_TYPES
from borgtrace.engine.identifiers import quoted
from borgtrace.ingest.convert.conversion_terms import FIRST_ROW_SQL
from borgtrace.schema.records import RECORDS

_KEYS = {
    "usage_rows": ("task", "time"),
    "task_rows": ("task",),
    "machine_rows": ("machine",),
}
_CONTAINERS_SQL = f"""
    -- Each container that was measured, with what is known of it or of its pod.
    SELECT t.* REPLACE (coalesce(t.app, p.app) AS app)
    FROM (
        SELECT * FROM whole_task_rows
        UNION ALL BY NAME
        SELECT task, {FIRST_ROW_SQL}
        FROM whole_usage_rows
        WHERE task NOT IN (SELECT task FROM whole_task_rows)
        GROUP BY task
    ) t
    LEFT JOIN whole_task_rows p ON p.task = regexp_replace(t.task, '/[^/]*$', '')
"""


def put_together(
    connection: duckdb.DuckDBPyConnection,
    fills: Mapping[str, frozenset[str]],
) -> None:
    """Make one row of all that hold a part of it; the owner of a pod becomes that of its containers.

    Parameters
    ----------
    connection
        With views of the staged rows, which are replaced by tables.
    fills
        Kinds of rows there are, each with the columns that any of its files fills.
    """
    for name, keys in _KEYS.items():
        keys_sql = ", ".join(quoted(key) for key in keys)
        values = []
        for column in RECORDS[name].columns:
            if column.name not in keys:
                # A column that no file fills is not looked for in each row.
                is_filled = column.name in fills.get(name, ())
                value_sql = f"max({quoted(column.name)})" if is_filled else "NULL"
                type_sql = SQL_TYPES[column.type]
                values.append(f"CAST({value_sql} AS {type_sql}) AS {quoted(column.name)}")
        values_sql = ", ".join(values)
        whole_sql = quoted(f"whole_{name}")
        connection.execute(f"""
            CREATE OR REPLACE TEMP TABLE {whole_sql} AS
            SELECT {keys_sql}, {values_sql}, {FIRST_ROW_SQL}
            FROM {quoted(name)}
            GROUP BY {keys_sql}
        """)
        connection.execute(
            f"CREATE OR REPLACE TEMP VIEW {quoted(name)} AS SELECT * FROM {whole_sql}"
        )
    connection.execute(f"CREATE OR REPLACE TEMP VIEW task_rows AS {_CONTAINERS_SQL}")


def usual_step(connection: duckdb.DuckDBPyConnection, column: str = "time") -> int:
    """Return the most common time between two measurements of a task, in µs; 0 where there are no two.

    Parameters
    ----------
    connection
        With a view of the rows.
    column
        A column that these measurements have.
    """
    query_sql = f"""
        SELECT mode(step)
        FROM (
            SELECT time - lag(time) OVER (PARTITION BY task, instance ORDER BY time) AS step
            FROM usage_rows
            WHERE {quoted(column)} IS NOT NULL
        )
        WHERE step > 0
    """
    ((step,),) = connection.execute(query_sql).fetchall()
    return int(step or 0)
