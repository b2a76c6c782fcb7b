"""Batch jobs of converted files: tasks of many instances, which wait for other tasks of their job."""

import duckdb

from borgtrace.ingest.convert.conversion_terms import Terms, id_sql, query_of


def show_tasks(connection: duckdb.DuckDBPyConnection, rows: str, *, has_jobs: bool) -> None:
    """Show rows of tasks as two views: ``task_rows`` of attempts, ``whole_tasks`` of all instances together.

    Parameters
    ----------
    connection
        DuckDB.
    rows
        SQL of the rows as they were staged.
    has_jobs
        Whether any of them names the job of its task.
    """
    named = "CASE WHEN job IS NULL THEN task ELSE job || '/' || task END AS task, coalesce(app, job) AS app"
    for name, query in {
        "named_tasks": f"SELECT * REPLACE ({named}), task AS own_name FROM ({rows})",
        "whole_tasks": "SELECT * FROM named_tasks WHERE job IS NOT NULL AND instance_name IS NULL",
        "task_rows": query_of("attempts") if has_jobs else "SELECT * FROM named_tasks",
    }.items():
        connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {query}")


def waits(terms: Terms) -> str:
    """SQL of the collections that each waits for; none where files name no jobs."""
    if not terms.has("task_rows", "job"):
        return "SELECT NULL AS collection_id, NULL AS start_after_collection_ids"
    return query_of(
        "waits",
        pattern=terms.conversion.dependency_pattern,
        collection=id_sql("w.task"),
        other=id_sql("n.task"),
    )
