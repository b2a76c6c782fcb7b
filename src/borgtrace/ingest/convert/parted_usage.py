"""Join usage whose CPU and memory come in separate rows: two rows of one task and time become one."""

from collections.abc import Set as AbstractSet

import duckdb

from borgtrace.engine.identifiers import quoted
from borgtrace.errors import SourceError
from borgtrace.schema.records import USAGE_ROWS

_KEY = ("task", "instance", "time")
_PLACE = ("source_part", "source_row")
_CPU = ("average_cpu", "sampled_cpu", "instant_cpu", "maximum_cpu", "counter_cpu")
_MEMORY = ("average_memory", "instant_memory", "maximum_memory")


def join_parted_usage(
    connection: duckdb.DuckDBPyConnection,
    columns: AbstractSet[str],
) -> tuple[str, ...]:
    """Put rows with CPU alone and rows with memory alone together, where there are both; return a note about it.

    Parameters
    ----------
    connection
        With a view ``usage_rows``, which is changed.
    columns
        Columns of usage that any file fills.

    Raises
    ------
    SourceError
        No row of the ones has the task and the time of one of the others.
    """
    has_cpu_sql = _any_sql(_CPU, columns)
    has_memory_sql = _any_sql(_MEMORY, columns)
    if not has_cpu_sql or not has_memory_sql or "time" not in columns:
        return ()
    connection.execute(f"""
        CREATE OR REPLACE TEMP VIEW usage_parts AS
        SELECT *, {has_cpu_sql} AS has_cpu, {has_memory_sql} AS has_memory FROM measured_rows
    """)
    ((n_cpu, n_memory),) = connection.execute("""
        SELECT
            count(*) FILTER (has_cpu AND NOT has_memory),
            count(*) FILTER (has_memory AND NOT has_cpu)
        FROM usage_parts
    """).fetchall()
    if not n_cpu or not n_memory:
        return ()
    connection.execute(f"CREATE OR REPLACE TEMP VIEW usage_rows AS {_joined_sql()}")
    ((n_joined,),) = connection.execute(_N_JOINED_SQL).fetchall()
    if not n_joined:
        raise _without_common_times(connection)
    note = f"CPU and memory in rows of their own: {n_joined:,} of each were joined by their task and time"
    n_alone = n_cpu + n_memory - 2 * n_joined
    return (f"{note}; rows without the other one: {n_alone:,}." if n_alone else f"{note}.",)


_N_JOINED_SQL = """
    SELECT coalesce(sum(least(n_cpu, n_memory)), 0)
    FROM (
        SELECT
            count(*) FILTER (has_cpu AND NOT has_memory) AS n_cpu,
            count(*) FILTER (has_memory AND NOT has_cpu) AS n_memory
        FROM usage_parts
        GROUP BY task, coalesce(instance, 0), time
    )
"""


def _any_sql(names: tuple[str, ...], columns: AbstractSet[str]) -> str:
    """Write whether any of some columns has a value; empty where no file fills one."""
    filled = [name for name in names if name in columns]
    return " OR ".join(f"{quoted(name)} IS NOT NULL" for name in filled)


def _joined_sql() -> str:
    """Write one row of each pair; other rows stay as they are, each in a turn of its own."""
    measured = [name for name in USAGE_ROWS.names if name not in _KEY]
    measured_sql = ", ".join(f"max({quoted(name)}) AS {quoted(name)}" for name in measured)
    return f"""
        SELECT
            task,
            instance,
            time,
            {measured_sql},
            min(source_part) AS source_part,
            arg_min(source_row, (source_part, source_row)) AS source_row
        FROM (
            SELECT
                *,
                CASE WHEN has_cpu = has_memory THEN 'whole' ELSE 'part' END AS side,
                row_number() OVER (
                    PARTITION BY task, coalesce(instance, 0), time, has_cpu, has_memory
                    ORDER BY source_part, source_row
                ) AS turn
            FROM usage_parts
        )
        GROUP BY task, instance, time, side, turn, has_cpu AND has_memory
    """


def _without_common_times(connection: duckdb.DuckDBPyConnection) -> SourceError:
    ((task, of_cpu, of_memory),) = connection.execute("""
        SELECT
            any_value(task ORDER BY task),
            count(DISTINCT time) FILTER (has_cpu),
            count(DISTINCT time) FILTER (has_memory)
        FROM usage_parts
    """).fetchall()
    return SourceError(
        "usage",
        "no row of CPU has the task and the time of a row of memory",
        expected="both at the same times, with the same names of tasks",
        got=f"{of_cpu:,} times of CPU and {of_memory:,} of memory, such as those of task {task}",
        way_out="export both with the same start and step, or name one of the two files",
    )
