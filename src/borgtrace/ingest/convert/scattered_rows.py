"""Rows of which several files tell a part each: one metric of a monitoring system says one thing about a container."""

import duckdb

from borgtrace.ingest.convert.conversion_terms import FIRST_ROW, query_of
from borgtrace.schema.records import RECORDS

_KEYS = {"usage_rows": ("task", "time"), "task_rows": ("task",), "machine_rows": ("machine",)}


def put_together(connection: duckdb.DuckDBPyConnection) -> None:
    """Make one row of all that tell a part of it; the owner of a pod becomes that of its containers.

    Parameters
    ----------
    connection
        With views of the staged rows, which are replaced by tables.
    """
    for name, keys in _KEYS.items():
        values = [column.name for column in RECORDS[name].columns if column.name not in keys]
        listed = ", ".join(f'max("{value}") AS "{value}"' for value in values)
        connection.execute(
            f"CREATE OR REPLACE TEMP TABLE whole_{name} AS SELECT {', '.join(keys)}, {listed}, {FIRST_ROW} "
            f"FROM {name} GROUP BY {', '.join(keys)}"
        )
        connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS SELECT * FROM whole_{name}")
    connection.execute(
        f"CREATE OR REPLACE TEMP VIEW task_rows AS {query_of('containers', first=FIRST_ROW)}"
    )


def usual_step(connection: duckdb.DuckDBPyConnection) -> int:
    """Return the most common time between two values of a counter, in µs; 0 where there are no two."""
    steps = "SELECT time - lag(time) OVER (PARTITION BY task, instance ORDER BY time) AS d FROM usage_rows"
    query = f"SELECT mode(d) FROM ({steps} WHERE counter_cpu IS NOT NULL) WHERE d > 0"
    return int(connection.execute(query).fetchall()[0][0] or 0)
