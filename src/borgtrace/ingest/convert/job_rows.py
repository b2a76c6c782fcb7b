"""Rows of job logs: steps of a job, amounts per core, jobs on several machines, and usage over a whole run."""

import duckdb

from borgtrace.engine.identifiers import number, quoted
from borgtrace.ingest.convert.conversion_terms import STARTED_SQL, STOPPED_SQL
from borgtrace.schema.dialects import Conversion
from borgtrace.schema.time import WINDOW

AMOUNTS = (
    "cpu_request",
    "memory_request",
    "cpu_limit",
    "memory_limit",
    "gpus",
    "used_cpu_time",
    "used_memory",
)
"""Columns of which each machine of a task has a part; the largest memory is that of any of its processes."""
USE = {
    "used_cpu_time": "average_cpu",
    "used_memory": "average_memory",
    "largest_memory": "maximum_memory",
}
"""Use over a whole life, and the column of usage that it becomes."""


def show_job_rows(
    connection: duckdb.DuckDBPyConnection,
    rows_sql: str,
    conversion: Conversion,
    columns: frozenset[str],
) -> str:
    """Return the query of attempts on one machine each, with the use of their steps.

    Parameters
    ----------
    connection
        DuckDB, where a table is made if one is needed.
    rows_sql
        Query of the rows as they were staged.
    conversion
        What the format declares.
    columns
        Columns that any of the rows fills.
    """
    if "step" in columns:
        rows_sql = _with_steps(connection, rows_sql)
    per_core = [name for name in conversion.per_core if name in columns]
    if per_core:
        values_sql = ", ".join(
            f"{quoted(name)} * cpu_request AS {quoted(name)}" for name in per_core
        )
        rows_sql = f"SELECT * REPLACE ({values_sql}) FROM ({rows_sql})"
    if "nodes" in columns:
        rows_sql = _on_nodes_sql(rows_sql, conversion.per_node)
    if {"step", "nodes"} & columns:
        connection.execute(f"CREATE OR REPLACE TEMP TABLE job_rows AS {rows_sql}")
        return "SELECT * FROM job_rows"
    return rows_sql


def _with_steps(connection: duckdb.DuckDBPyConnection, rows_sql: str) -> str:
    """Return the query of jobs with the use of their steps: of the attempt that each of them belongs to."""
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE rows_and_steps AS
        SELECT *, {STARTED_SQL} AS begun FROM ({rows_sql})
    """)
    connection.execute("""
        CREATE OR REPLACE TEMP TABLE use_of_steps AS
        SELECT
            a.source_part,
            a.source_row,
            sum(s.used_cpu_time) AS used_cpu_time,
            max(s.used_memory) AS used_memory,
            max(s.largest_memory) AS largest_memory
        FROM (
            SELECT *, coalesce(instance, 0) AS number, coalesce(begun, "end", 0) AS moment
            FROM rows_and_steps
            WHERE step IS NOT NULL
        ) s
        ASOF LEFT JOIN (
            SELECT *, coalesce(instance, 0) AS number, coalesce(begun, submit, 0) AS moment
            FROM rows_and_steps
            WHERE step IS NULL
        ) a
        ON s.task = a.task AND s.number = a.number AND s.moment >= a.moment
        GROUP BY a.source_part, a.source_row
    """)
    # The job's own amounts, where it has them, are the sum over its steps already.
    return """
        SELECT r.* EXCLUDE (begun) REPLACE (
            coalesce(nullif(r.used_cpu_time, 0), u.used_cpu_time, r.used_cpu_time) AS used_cpu_time,
            greatest(r.used_memory, u.used_memory) AS used_memory,
            greatest(r.largest_memory, u.largest_memory) AS largest_memory
        )
        FROM rows_and_steps r
        LEFT JOIN use_of_steps u ON u.source_part = r.source_part AND u.source_row = r.source_row
        WHERE r.step IS NULL
    """


def count_orphan_steps(connection: duckdb.DuckDBPyConnection) -> int:
    """Return how many steps are of a job that no row is about; `show_job_rows` has seen their rows."""
    query = """
        SELECT count(*)
        FROM rows_and_steps
        WHERE step IS NOT NULL
            AND task NOT IN (SELECT task FROM rows_and_steps WHERE step IS NULL)
    """
    ((n_orphans,),) = connection.execute(query).fetchall()
    return int(n_orphans)


def _on_nodes_sql(rows_sql: str, per_node: tuple[str, ...]) -> str:
    """Write an instance for each machine of a task, with its part: the share of its mentions."""
    parts_sql = ", ".join(
        f"{quoted(name)} * share AS {quoted(name)}" for name in AMOUNTS if name not in per_node
    )
    return f"""
        WITH attempts AS MATERIALIZED ({rows_sql}),
        mentions AS (
            SELECT
                source_part,
                source_row,
                unnest(string_split(nodes, '|')) AS node,
                generate_subscripts(string_split(nodes, '|'), 1) AS place
            FROM attempts
            WHERE nodes != ''
        ),
        counted AS (
            SELECT source_part, source_row, node, count(*) AS n, min(place) AS first_place
            FROM mentions
            GROUP BY source_part, source_row, node
        ),
        on_nodes AS (
            SELECT
                source_part,
                source_row,
                node,
                n / sum(n) OVER (PARTITION BY source_part, source_row) AS share,
                row_number() OVER (
                    PARTITION BY source_part, source_row ORDER BY first_place
                ) - 1 AS number
            FROM counted
        )
        SELECT a.* REPLACE (node AS machine, CAST(number AS INTEGER) AS instance, {parts_sql})
        FROM attempts a
        JOIN on_nodes n ON n.source_part = a.source_part AND n.source_row = a.source_row
        UNION ALL
        SELECT * FROM attempts WHERE coalesce(nodes, '') = ''
    """


def use_columns(columns: frozenset[str]) -> frozenset[str]:
    """Return the columns of usage that come from use over whole lives, where rows of tasks fill these.

    Parameters
    ----------
    columns
        What rows of tasks fill.
    """
    filled = {usage for life, usage in USE.items() if life in columns}
    if not filled:
        return frozenset()
    if {"machine", "nodes"} & columns:
        filled.add("machine")
    return frozenset(filled | {"task", "instance", "time", "end"})


def use_of_lives_sql() -> str:
    """Write the use of each attempt that ran and ended, as even over its run: a window for each slot of the store.

    No window may span two slots: what is asked of slots and hours takes a window for one of where it begins.
    """
    slot_sql = number(WINDOW)
    return f"""
        SELECT
            task,
            instance,
            machine,
            greatest(started, slot * {slot_sql}) AS time,
            least(stopped, (slot + 1) * {slot_sql}) AS "end",
            used_cpu_time / ((stopped - started) / 1e6) AS average_cpu,
            used_memory AS average_memory,
            largest_memory AS maximum_memory,
            source_part,
            source_row
        FROM (
            SELECT
                *,
                unnest(range(started // {slot_sql}, (stopped - 1) // {slot_sql} + 1)) AS slot
            FROM (
                SELECT *, {STARTED_SQL} AS started, {STOPPED_SQL} AS stopped FROM task_rows
            )
            WHERE stopped > started
                AND coalesce(used_cpu_time, used_memory, largest_memory) IS NOT NULL
        )
    """
