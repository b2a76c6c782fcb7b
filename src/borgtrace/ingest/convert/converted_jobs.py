"""Batch jobs of converted files: tasks of many instances, which wait for other tasks of their job."""

from collections.abc import Mapping

import duckdb

from borgtrace.engine.identifiers import literal, quoted
from borgtrace.ingest.convert.conversion_terms import Terms, id_sql

_ATTEMPTS_SQL = """
    -- Rows of tasks without those that are about all instances of a task: these give each instance its request.
    SELECT n.* REPLACE (
        CASE WHEN instance_name IS NULL THEN instance
             ELSE dense_rank() OVER (PARTITION BY n.task ORDER BY instance_name) - 1 END AS instance,
        coalesce(n.cpu_request, w.cpu_request) AS cpu_request,
        coalesce(n.memory_request, w.memory_request) AS memory_request,
        coalesce(n.gpu_share, w.gpu_share) AS gpu_share
    )
    FROM named_tasks n
    LEFT JOIN (
        SELECT
            task,
            any_value(cpu_request) AS cpu_request,
            any_value(memory_request) AS memory_request,
            any_value(gpu_share) AS gpu_share
        FROM whole_tasks
        GROUP BY task
    ) w ON w.task = n.task
    WHERE n.job IS NULL OR instance_name IS NOT NULL
"""


_JOBS_SQL = """
    LEFT JOIN (
        SELECT job, any_value(user) AS user, min(submit) AS submit FROM submission_rows GROUP BY job
    ) j ON j.job = t.job
"""
_TYPES_SQL = """
    -- A kind of task takes another share of each kind of machine: the least is that of the largest one.
    LEFT JOIN (
        SELECT kind, min(cpu) AS cpu, min(memory) AS memory FROM type_rows GROUP BY kind
    ) y ON y.kind = t.kind
"""
_NAMED_USAGE_SQL = """
    SELECT u.* REPLACE (
        CASE WHEN u.job IS NULL THEN u.task ELSE u.job || '/' || u.task END AS task,
        coalesce(u.instance, i.instance) AS instance
    )
    FROM staged_usage_rows u
    LEFT JOIN (
        SELECT DISTINCT task, instance_name, instance FROM task_rows
    ) i ON i.task = u.job || '/' || u.task AND i.instance_name = u.instance_name
"""


def show_rows(
    connection: duckdb.DuckDBPyConnection,
    tasks_sql: str,
    fills: Mapping[str, frozenset[str]],
) -> None:
    """Show rows as views by kind; those about whole tasks as ``whole_tasks``, apart from ``task_rows``.

    Those of usage are called ``measured_rows``.

    Parameters
    ----------
    connection
        DuckDB, with a view of the staged rows of each kind.
    tasks_sql
        Query of the rows of tasks.
    fills
        Kinds of rows there are, each with the columns that any of its files fills.
    """
    for name in ("machine_rows", "submission_rows", "type_rows"):
        staged_sql = f"SELECT * FROM {quoted(f'staged_{name}')}"
        connection.execute(f"CREATE OR REPLACE TEMP VIEW {quoted(name)} AS {staged_sql}")
    connection.execute(
        f"CREATE OR REPLACE TEMP VIEW named_tasks AS {_named_tasks_sql(tasks_sql, fills)}"
    )
    connection.execute("""
        CREATE OR REPLACE TEMP VIEW whole_tasks AS
        SELECT * FROM named_tasks WHERE job IS NOT NULL AND instance_name IS NULL
    """)
    has_jobs = "job" in fills.get("task_rows", ())
    attempts_sql = _ATTEMPTS_SQL if has_jobs else "SELECT * FROM named_tasks"
    connection.execute(f"CREATE OR REPLACE TEMP VIEW task_rows AS {attempts_sql}")
    is_of_jobs = "job" in fills.get("usage_rows", ())
    usage_sql = _NAMED_USAGE_SQL if is_of_jobs else "SELECT * FROM staged_usage_rows"
    connection.execute(f"CREATE OR REPLACE TEMP VIEW measured_rows AS {usage_sql}")


def _named_tasks_sql(tasks_sql: str, fills: Mapping[str, frozenset[str]]) -> str:
    """Write rows of tasks with the names that the store has for them, and what other tables say of them."""
    replaced = [
        "CASE WHEN t.job IS NULL THEN t.task ELSE t.job || '/' || t.task END AS task",
        "coalesce(t.app, t.job) AS app",
    ]
    joins = []
    if "submission_rows" in fills:
        joins.append(_JOBS_SQL)
        # A task waits for its first attempt alone since its job was submitted.
        is_first_sql = """row_number() OVER (
            PARTITION BY t.job, t.task, t.instance_name
            ORDER BY t.start NULLS FIRST, t.source_part, t.source_row
        ) = 1"""
        replaced.append("coalesce(t.user, j.user) AS user")
        replaced.append(f"coalesce(t.submit, CASE WHEN {is_first_sql} THEN j.submit END) AS submit")
    if "type_rows" in fills:
        joins.append(_TYPES_SQL)
        replaced.append("coalesce(t.cpu_request, y.cpu) AS cpu_request")
        replaced.append("coalesce(t.memory_request, y.memory) AS memory_request")
    replaced_sql = ", ".join(replaced)
    joins_sql = " ".join(joins)
    return f"""
        SELECT t.* REPLACE ({replaced_sql}), t.task AS own_name
        FROM ({tasks_sql}) t
        {joins_sql}
    """


def dependencies_sql(terms: Terms) -> str:
    """Write the collections that each waits for, as names of tasks say; those that no row is about are left out."""
    if not (terms.has("task_rows", "job") and terms.conversion.dependency_pattern):
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
