"""Batch jobs of converted files: tasks of many instances, which wait for other tasks of their job."""

import duckdb

from borgtrace.engine.identifiers import literal
from borgtrace.ingest.convert.conversion_terms import Terms, id_sql

_ATTEMPTS_SQL = """
    -- Rows of tasks without those that are about all instances of a task: these give each instance its request.
    SELECT n.* REPLACE (
        CASE WHEN instance_name IS NULL THEN instance
             ELSE dense_rank() OVER (PARTITION BY n.task ORDER BY instance_name) - 1 END AS instance,
        coalesce(n.cpu_request, w.cpu_request) AS cpu_request,
        coalesce(n.memory_request, w.memory_request) AS memory_request
    )
    FROM named_tasks n
    LEFT JOIN (
        SELECT task, any_value(cpu_request) AS cpu_request, any_value(memory_request) AS memory_request
        FROM whole_tasks
        GROUP BY task
    ) w ON w.task = n.task
    WHERE n.job IS NULL OR instance_name IS NOT NULL
"""


def show_tasks(connection: duckdb.DuckDBPyConnection, rows_sql: str, *, has_jobs: bool) -> None:
    """Show rows of tasks as two views: ``task_rows`` of attempts, ``whole_tasks`` of all instances together.

    Parameters
    ----------
    connection
        DuckDB.
    rows_sql
        Query of the rows as they were staged.
    has_jobs
        Whether any of them names the job of its task.
    """
    connection.execute(f"""
        CREATE OR REPLACE TEMP VIEW named_tasks AS
        SELECT
            * REPLACE (
                CASE WHEN job IS NULL THEN task ELSE job || '/' || task END AS task,
                coalesce(app, job) AS app
            ),
            task AS own_name
        FROM ({rows_sql})
    """)
    connection.execute("""
        CREATE OR REPLACE TEMP VIEW whole_tasks AS
        SELECT * FROM named_tasks WHERE job IS NOT NULL AND instance_name IS NULL
    """)
    attempts_sql = _ATTEMPTS_SQL if has_jobs else "SELECT * FROM named_tasks"
    connection.execute(f"CREATE OR REPLACE TEMP VIEW task_rows AS {attempts_sql}")


def dependencies_sql(terms: Terms) -> str:
    """Write the collections that each waits for, as names of tasks say; those that no row is about are left out."""
    if not terms.has("task_rows", "job"):
        return "SELECT NULL AS collection_id, NULL AS start_after_collection_ids"
    pattern = f"^{terms.conversion.dependency_pattern}$"
    return f"""
        WITH numbered AS (
            SELECT DISTINCT
                job,
                task,
                regexp_extract(own_name, {literal(pattern)}, ['number', 'others']) AS groups
            FROM whole_tasks
        ),
        wanted AS (
            SELECT job, task, unnest(string_split(groups.others, '_')) AS number FROM numbered
        )
        SELECT
            {id_sql("w.task")} AS collection_id,
            list_sort(list(DISTINCT {id_sql("n.task")})) AS start_after_collection_ids
        FROM wanted w
        JOIN numbered n ON n.job = w.job AND n.groups.number = w.number
        WHERE w.number != ''
        GROUP BY w.task
    """
