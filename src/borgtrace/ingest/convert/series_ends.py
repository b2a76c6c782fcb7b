"""When containers ended, and how: by their count of restarts, else by the reasons that follow each other."""

import duckdb

from borgtrace.engine.identifiers import literal, number
from borgtrace.ingest.convert.series_steps import longest_gap
from borgtrace.schema import Dialect


def show_ends(connection: duckdb.DuckDBPyConnection, dialect: Dialect, step: int) -> dict[str, int]:
    """Show when containers ended, and how; return how many ended before anything was measured of them.

    Parameters
    ----------
    connection
        With the view ``states`` and the rows of usage.
    dialect
        Says which event each reason is.
    step
        The usual time between samples, in µs.

    Notes
    -----
    The reason of the last end stays as it is where a container ends twice for the same one: only the count of its
    restarts tells. Where that is there, each sample at which it is larger is one end, with the reason of that time.
    """
    longest_gap_sql = number(longest_gap(step))
    _show_runs_of_states(connection)
    _show_restart_counts(connection, longest_gap_sql)
    _show_ends_with_reasons(connection, dialect, step, longest_gap_sql)
    connection.execute("DROP TABLE state_runs")
    connection.execute("DROP TABLE restart_counts")
    connection.execute("""
        CREATE OR REPLACE TEMP VIEW ended_rows AS
        SELECT DISTINCT ON (task, time) task, time, status, end_reason FROM ends WHERE is_within
        ORDER BY task, time, status, end_reason
    """)
    query_sql = "SELECT count(*) FROM ends WHERE NOT is_within"
    ((n_before,),) = connection.execute(query_sql).fetchall()
    return {"ended_before": n_before} if n_before else {}


def _show_runs_of_states(connection: duckdb.DuckDBPyConnection) -> None:
    """Make a table of the samples at which runs of a state begin and end."""
    connection.execute("""
        CREATE OR REPLACE TEMP TABLE state_runs AS
        -- A run of a state has a 1 at its first sample and a 2 at its last one; files may cut it.
        SELECT
            task,
            text,
            time,
            value,
            lag(time) OVER (PARTITION BY task, text ORDER BY time, value DESC) AS before
        FROM states
        WHERE "column" = 'status'
    """)


def _show_restart_counts(connection: duckdb.DuckDBPyConnection, longest_gap_sql: str) -> None:
    """Make a table of the samples of counts of restarts, and which of them counts one more."""
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE restart_counts AS
        -- Copies of a series may lag behind: what was counted a moment before is not counted again.
        SELECT
            task,
            time,
            value > lag(value) OVER (PARTITION BY task ORDER BY time, value)
                AND value > coalesce(max(value) OVER (
                    PARTITION BY task ORDER BY time
                    RANGE BETWEEN {longest_gap_sql} PRECEDING AND 1 PRECEDING
                ), -1) AS is_restart
        FROM states
        WHERE "column" = 'n_restarts'
    """)


def _show_ends_with_reasons(
    connection: duckdb.DuckDBPyConnection,
    dialect: Dialect,
    step: int,
    longest_gap_sql: str,
) -> None:
    """Show every end with its reason, and whether it comes after the first step of its usage."""
    events = dialect.codes["event_type"].items()
    events_sql = ", ".join(f"({literal(str(word))}, {literal(event)})" for word, event in events)
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE ends AS
        WITH counted AS (
            SELECT c.task, m.text, c.time
            FROM (SELECT DISTINCT task, time FROM restart_counts WHERE is_restart) c
            ASOF JOIN (SELECT * FROM state_runs WHERE value = 1) m
            ON m.task = c.task AND c.time >= m.time
        ),
        ended AS (
            SELECT * FROM counted
            UNION ALL
            SELECT task, text, time
            FROM state_runs
            WHERE value = 1
                AND (before IS NULL OR time - before > {longest_gap_sql})
                AND task NOT IN (SELECT task FROM restart_counts)
        ),
        begun AS (SELECT task, min(time) AS begun FROM staged_usage_rows GROUP BY task)
        SELECT
            task,
            event AS status,
            text AS end_reason,
            time,
            time > begun + {number(step)} AS is_within
        FROM ended
        JOIN begun USING (task)
        JOIN (VALUES {events_sql}) e(text, event) USING (text)
    """)
