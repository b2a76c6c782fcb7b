"""When containers ended, and how: by how often they were started again, else by the reasons that follow each other."""

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
    events = dialect.codes["event_type"].items()
    events_sql = ", ".join(f"({literal(str(word))}, {literal(event)})" for word, event in events)
    longest_gap_sql = number(longest_gap(step))
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE ends AS
        WITH marks AS (
            -- A run of a state has a 1 at its first sample and a 2 at its last one; files may cut it.
            SELECT
                task,
                text,
                time,
                value,
                lag(time) OVER (PARTITION BY task, text ORDER BY time, value DESC) AS before
            FROM states
            WHERE "column" = 'status'
        ),
        counts AS (
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
        ),
        counted AS (
            SELECT c.task, m.text, c.time
            FROM (SELECT DISTINCT task, time FROM counts WHERE is_restart) c
            ASOF JOIN (SELECT * FROM marks WHERE value = 1) m
            ON m.task = c.task AND c.time >= m.time
        ),
        ended AS (
            SELECT * FROM counted
            UNION ALL
            SELECT task, text, time
            FROM marks
            WHERE value = 1
                AND (before IS NULL OR time - before > {longest_gap_sql})
                AND task NOT IN (SELECT task FROM counts)
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
    connection.execute("""
        CREATE OR REPLACE TEMP VIEW ended_rows AS
        SELECT DISTINCT ON (task, time) task, time, status, end_reason FROM ends WHERE is_within
        ORDER BY task, time, status, end_reason
    """)
    query_sql = "SELECT count(*) FROM ends WHERE NOT is_within"
    ((n_before,),) = connection.execute(query_sql).fetchall()
    return {"ended_before": n_before} if n_before else {}
