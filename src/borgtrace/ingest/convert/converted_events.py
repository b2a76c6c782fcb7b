"""SQL for the events of converted files: from rows about the lives of tasks, or inferred from their usage."""

from borgtrace.engine.identifiers import number
from borgtrace.ingest.convert.conversion_terms import (
    STARTED_SQL,
    STOPPED_SQL,
    TERMINAL_SQL,
    Terms,
    id_sql,
)
from borgtrace.ingest.convert.converted_jobs import dependencies_sql
from borgtrace.ingest.convert.converted_usage import windows_sql

EVENTS = "derived_instance_events"
"""Where the events of instances are shown, of which those of their collections are made."""


def instance_events_sql(terms: Terms) -> str:
    """Write the events of instances, with the names of their collections."""
    if not terms.has_lives:
        has_requests_in_time = terms.has_requests_in_usage and not terms.conversion.is_mixed
        return (
            _events_of_requests_sql(terms) if has_requests_in_time else _derived_events_sql(terms)
        )
    if not terms.conversion.is_mixed:
        return _life_events_sql(terms)
    # What is measured runs, and what it requests is known of some tasks whose lives are not.
    return f"""
        ({_life_events_sql(terms)})
        UNION ALL BY NAME
        (SELECT * FROM ({_derived_events_sql(terms)}) WHERE (name, instance_index) IN ({_TIMELESS_SQL}))
    """


def _life_events_sql(terms: Terms, rows_sql: str = "task_rows") -> str:
    """Write up to three events of each row about a task; each has a place of its own in the order of the file."""
    cpu_sql = terms.fraction_sql("cpu_request", "cpu")
    memory_sql = terms.fraction_sql("memory_request", "memory")
    return f"""
        SELECT
            collection_id,
            coalesce(instance, 0) AS instance_index,
            type,
            time,
            CASE WHEN place > 0 OR is_update THEN {id_sql("machine")} END AS machine_id,
            user,
            priority,
            app,
            task AS name,
            {cpu_sql} AS cpu_request,
            {memory_sql} AS memory_request,
            {terms.limit_sql("cpu")} AS cpu_limit,
            {terms.limit_sql("memory")} AS memory_limit,
            CASE WHEN place = 2 THEN end_reason END AS end_reason,
            -- All devices together, whole ones where no share of one is given; a share alone is of one device.
            coalesce(gpus * coalesce(gpu_share, 1000), gpu_share) AS gpu_request,
            'JOB' AS collection_type,
            NULL AS missing_type,
            false AS goes_on,
            source_part,
            4 * source_row + place AS source_row
        FROM ({_steps_sql(terms, rows_sql)})
        WHERE time IS NOT NULL AND type IS NOT NULL
    """


def _steps_sql(terms: Terms, rows_sql: str) -> str:
    """Write the steps of each life: submitted, started, ended."""
    submitted_sql = terms.begun_sql("submitted")
    started_sql = terms.begun_sql("started")
    ended_sql = terms.time_sql("ended")
    return f"""
        WITH lives AS ({_lives_sql(terms, rows_sql)})
        -- What runs already is not submitted again: a row that says so once more is an update.
        SELECT
            *,
            CASE WHEN is_update THEN 'UPDATE_RUNNING' ELSE 'SUBMIT' END AS type,
            {submitted_sql} AS time,
            0 AS place
        FROM lives
        UNION ALL
        SELECT
            *,
            'SCHEDULE' AS type,
            CASE WHEN NOT is_update THEN {started_sql} END AS time,
            1 AS place
        FROM lives
        UNION ALL
        SELECT
            *,
            CASE WHEN status IS NULL THEN 'FINISH'
                 WHEN status IN ({TERMINAL_SQL}) THEN status END AS type,
            {ended_sql} AS time,
            2 AS place
        FROM lives
    """


def _derived_events_sql(terms: Terms) -> str:
    """Write events without rows about lives: submitted and scheduled when usage begins, with requests and owners.

    A container that ended, and was used later, was submitted and scheduled again at once.
    """
    time_sql = terms.time_sql("moment")
    cpu_sql = terms.fraction_sql("cpu_request", "cpu")
    memory_sql = terms.fraction_sql("memory_request", "memory")
    return f"""
        SELECT
            {id_sql("e.task")} AS collection_id,
            e.instance_index,
            type,
            {time_sql} AS time,
            CASE WHEN type != 'SUBMIT' THEN {id_sql("machine")} END AS machine_id,
            user,
            priority,
            app,
            e.task AS name,
            {cpu_sql} AS cpu_request,
            {memory_sql} AS memory_request,
            {terms.limit_sql("cpu")} AS cpu_limit,
            {terms.limit_sql("memory")} AS memory_limit,
            end_reason,
            'JOB' AS collection_type,
            missing_type,
            goes_on,
            source_part,
            4 * source_row + step AS source_row
        FROM ({_derived_steps_sql(terms)}) e
        LEFT JOIN ({_REQUESTS_AND_OWNERS_SQL}) a
        ON a.task = e.task AND a.instance_index = e.instance_index
    """


def _derived_steps_sql(terms: Terms) -> str:
    """Write what is derived of each task: its beginning, its ends as far as they are known, and what followed them."""
    return f"""
        WITH firsts AS ({_first_windows_sql(terms)}),
        ends AS (
            SELECT
                firsts.*,
                status,
                end_reason,
                time AS moment,
                3 * row_number() OVER (PARTITION BY task ORDER BY time) AS step,
                time < stopped AS goes_on
            FROM ended_rows
            JOIN firsts USING (task)
        ),
        steps AS (
            SELECT
                *,
                unnest(['SUBMIT', 'SCHEDULE']) AS type,
                unnest([0, 1]) AS step,
                begun AS moment,
                NULL::VARCHAR AS end_reason,
                false AS goes_on,
                'EXISTS_BUT_NO_CREATION' AS missing_type
            FROM firsts
            UNION ALL BY NAME
            SELECT * REPLACE (step - 1 AS step), status AS type FROM ends
            UNION ALL BY NAME
            SELECT
                * REPLACE (step + unnest([0, 1]) AS step, NULL::VARCHAR AS end_reason),
                unnest(['SUBMIT', 'SCHEDULE']) AS type,
                'EXISTS_BUT_NO_CREATION' AS missing_type
            FROM ends
            WHERE goes_on
        )
        SELECT * FROM steps
    """


def _first_windows_sql(terms: Terms) -> str:
    """Write the first window of usage of each task, and when its last one ends."""
    return f"""
        SELECT
            task,
            coalesce(instance, 0) AS instance_index,
            arg_min(machine, (start, source_part, source_row)) AS machine,
            arg_min(source_part, (start, source_part, source_row)) AS source_part,
            arg_min(source_row, (start, source_part, source_row)) AS source_row,
            min(start) AS begun,
            max(stop) AS stopped
        FROM ({windows_sql(terms)})
        GROUP BY ALL
    """


def _events_of_requests_sql(terms: Terms) -> str:
    """Write events where usage says what its task requests: updates where that changes."""
    begun_sql = terms.time_sql("start")
    cpu_sql = terms.fraction_sql("cpu_request", "cpu")
    memory_sql = terms.fraction_sql("memory_request", "memory")
    return f"""
        WITH changes AS ({_changed_requests_sql(terms)}),
        steps AS (
            SELECT *, 'SUBMIT' AS type, 0 AS step FROM changes WHERE is_first
            UNION ALL
            SELECT *, 'SCHEDULE', 1 FROM changes WHERE is_first
            UNION ALL
            SELECT *, 'UPDATE_RUNNING', 1 FROM changes WHERE NOT is_first
        )
        SELECT
            {id_sql("task")} AS collection_id,
            instance_index,
            type,
            {begun_sql} AS time,
            CASE WHEN step > 0 THEN {id_sql("machine")} END AS machine_id,
            priority,
            NULL::VARCHAR AS user,
            NULL::VARCHAR AS app,
            task AS name,
            {cpu_sql} AS cpu_request,
            {memory_sql} AS memory_request,
            'JOB' AS collection_type,
            CASE WHEN is_first THEN 'EXISTS_BUT_NO_CREATION' END AS missing_type,
            false AS goes_on,
            source_part,
            4 * source_row + step AS source_row
        FROM steps
    """


def _changed_requests_sql(terms: Terms) -> str:
    """Write the windows of each task whose request is another than in the one before: the first is one of them."""
    return f"""
        SELECT *, before IS NULL AS is_first
        FROM (
            SELECT *, lag(terms) OVER (
                PARTITION BY task, instance_index ORDER BY start, source_part, source_row
            ) AS before
            FROM (
                SELECT
                    task,
                    coalesce(instance, 0) AS instance_index,
                    machine,
                    start,
                    cpu_request,
                    memory_request,
                    priority,
                    source_part,
                    source_row,
                    (cpu_request, memory_request, priority) AS terms
                FROM ({windows_sql(terms)})
            )
        )
        WHERE before IS NULL OR terms IS DISTINCT FROM before
    """


_TIMELESS_SQL = """
    SELECT task, coalesce(instance, 0) FROM task_rows WHERE submit IS NULL AND start IS NULL
"""


_REQUESTS_AND_OWNERS_SQL = """
    SELECT
        task,
        coalesce(instance, 0) AS instance_index,
        arg_max(user, source_row) AS user,
        arg_max(priority, source_row) AS priority,
        arg_max(app, source_row) AS app,
        arg_max(cpu_request, source_row) AS cpu_request,
        arg_max(memory_request, source_row) AS memory_request,
        arg_max(cpu_limit, source_row) AS cpu_limit,
        arg_max(memory_limit, source_row) AS memory_limit
    FROM task_rows
    GROUP BY ALL
"""


def _lives_sql(terms: Terms, rows_sql: str = "task_rows") -> str:
    """Write attempts with the times at which they were submitted, started and ended; NULL where unknown.

    And whether a row says again that a task runs, of which no earlier row said an end.
    """
    if terms.conversion.last is not None:
        last_sql = number(terms.conversion.last)
    elif terms.conversion.is_cut:
        last_sql = '(SELECT max("end") FROM task_rows)'
    else:
        last_sql = "CAST('inf' AS DOUBLE)"
    return f"""
        SELECT
            *,
            {id_sql("task")} AS collection_id,
            CASE WHEN stopped < {last_sql} THEN stopped END AS ended,
            coalesce(
                lag(started IS NOT NULL AND stopped IS NULL) OVER (
                    PARTITION BY task, coalesce(instance, 0)
                    ORDER BY submitted, source_part, source_row
                ),
                false
            ) AS is_update
        FROM (
            SELECT
                *,
                coalesce(submit, start) AS submitted,
                CASE WHEN status IS DISTINCT FROM 'SUBMIT' THEN {STARTED_SQL} END AS started,
                {STOPPED_SQL} AS stopped
            FROM {rows_sql}
        )
    """


def collection_events_sql(terms: Terms) -> str:
    """Write the events of collections: submitted and started with the first task, ended with the last."""
    return f"""
        WITH events AS (
            SELECT * FROM ({_events_of_whole_collections_sql(terms)})
            WHERE type != 'UPDATE_RUNNING' AND NOT goes_on
        ),
        collections AS (
            SELECT c.*, w.* EXCLUDE (task)
            FROM ({_COLLECTIONS_SQL}) c
            LEFT JOIN task_workloads w ON w.task = c.collection_name
        ),
        steps AS (
            SELECT
                collection_id,
                type IN ({TERMINAL_SQL}) AS is_end,
                type,
                time,
                missing_type,
                source_part,
                source_row,
                row_number() OVER (
                    PARTITION BY collection_id, is_end, CASE WHEN NOT is_end THEN type END
                    ORDER BY CASE WHEN is_end THEN -time ELSE time END, source_part, source_row
                ) AS place
            FROM events
        )
        SELECT
            steps.*,
            collections.* EXCLUDE (collection_id),
            start_after_collection_ids,
            'JOB' AS collection_type
        FROM steps
        JOIN collections USING (collection_id)
        LEFT JOIN ({dependencies_sql(terms)}) USING (collection_id)
        WHERE place = 1 AND (NOT is_end OR n_ended = n)
    """


def _events_of_whole_collections_sql(terms: Terms) -> str:
    """Write the events of instances, in which a job with a life of its own has that of itself."""
    if not terms.has("task_rows", "job"):
        return f"SELECT * FROM {EVENTS}"
    return f"""
        ({_life_events_sql(terms, "whole_tasks")})
        UNION ALL BY NAME
        (SELECT * FROM {EVENTS} WHERE name NOT IN (SELECT task FROM whole_tasks))
    """


_COLLECTIONS_SQL = f"""
    SELECT
        collection_id,
        count(DISTINCT instance_index) AS n,
        any_value(name) AS collection_name,
        any_value(app) AS collection_logical_name,
        any_value(user) AS user,
        any_value(priority) AS priority,
        count(DISTINCT instance_index) FILTER (type IN ({TERMINAL_SQL})) AS n_ended
    FROM events
    GROUP BY collection_id
"""


def instance_constraints_sql(terms: Terms) -> str:
    """Write the GPU models that tasks accept, as constraints on their machines.

    A constraint cannot name one of several models: the model must be none of all other models there are.
    """
    submitted_sql = terms.begun_sql("submitted")
    return f"""
        WITH lives AS ({_lives_sql(terms)}),
        models AS (
            SELECT DISTINCT gpu_model AS other FROM machine_rows WHERE gpu_model IS NOT NULL
        ),
        accepted AS (
            SELECT *, 'EQUAL' AS relation, gpu_model AS value
            FROM lives
            WHERE gpu_model NOT LIKE '%|%'
            UNION ALL
            SELECT lives.*, 'NOT_EQUAL', other
            FROM lives
            JOIN models
            ON gpu_model LIKE '%|%' AND NOT list_contains(string_split(gpu_model, '|'), other)
        )
        SELECT
            {id_sql("task")} AS collection_id,
            coalesce(instance, 0) AS instance_index,
            {submitted_sql} AS time,
            'gpu_model' AS name,
            relation,
            value,
            source_part,
            source_row,
            row_number() OVER (PARTITION BY source_part, source_row ORDER BY value) - 1 AS position
        FROM accepted
        WHERE submitted IS NOT NULL
    """
