"""SQL of the events of converted files: what rows say of the lives of tasks, else what their usage lets conclude."""

from borgtrace.ingest.conversion_terms import TERMINAL, Terms, id_sql
from borgtrace.ingest.converted_usage import windows

# A row gives up to three events, and each has a place of its own in the order of the file.
_EVENTS_PER_ROW = 4


def instance_events(terms: Terms) -> str:
    """SQL of the events of instances, with the names of their collections."""
    return _told(terms) if terms.has_lives else _derived(terms)


def _told(terms: Terms) -> str:
    ended = f"CASE WHEN status IS NULL THEN 'FINISH' WHEN status IN ({TERMINAL}) THEN status END"
    steps = (("'SUBMIT'", _begun(terms, "submitted")), ("'SCHEDULE'", _begun(terms, "started")), (ended, "ended"))
    times = [*(time for _, time in steps[:2]), terms.time("ended")]
    events = " UNION ALL ".join(
        f"SELECT *, {kind} AS type, {time} AS time, {number} AS step FROM lives"
        for number, ((kind, _), time) in enumerate(zip(steps, times, strict=True))
    )
    return f"""
        WITH lives AS ({lives(terms)})
        SELECT {id_sql("task")} AS collection_id, coalesce(instance, 0) AS instance_index, type, time,
               CASE WHEN step > 0 THEN {id_sql("machine")} END AS machine_id, user, priority, app, task AS name,
               {terms.amount("cpu_request", "cpu")} AS cpu_request, 'JOB' AS collection_type, NULL AS missing_type,
               {terms.amount("memory_request", "memory")} AS memory_request, source_part,
               {_EVENTS_PER_ROW} * source_row + step AS source_row
        FROM ({events}) WHERE time IS NOT NULL AND type IS NOT NULL
    """


def lives(terms: Terms) -> str:
    """SQL of attempts with the times at which they were submitted, started and ended; NULL where that is not told."""
    last = terms.conversion.last
    ended = "stopped" if last is None else f"CASE WHEN stopped < {last} THEN stopped END"
    begun = "coalesce(submit, start) AS submitted, coalesce(start, submit + wait) AS started"
    return f"""
        SELECT *, {ended} AS ended FROM (
            SELECT *, coalesce("end", started + run) AS stopped FROM (SELECT *, {begun} FROM task_rows))
    """


def _begun(terms: Terms, time: str) -> str:
    first = terms.conversion.first
    # What starts at the first instant began before it.
    return (
        terms.time(time) if first is None else f"CASE WHEN {time} > {first} THEN {terms.time(time)} ELSE 0 * {time} END"
    )


def _derived(terms: Terms) -> str:
    def first(name: str) -> str:
        return f"arg_min({name}, (start, source_part, source_row)) AS {name}"

    firsts = f"""
        SELECT task, coalesce(instance, 0) AS instance_index, {first("machine")}, {first("source_part")},
               {first("source_row")}, min(start) AS begun
        FROM ({windows(terms)}) GROUP BY ALL
    """
    events = " UNION ALL ".join(
        f"SELECT *, '{kind}' AS type, {step} AS step FROM firsts" for step, kind in enumerate(("SUBMIT", "SCHEDULE"))
    )
    known = ("user", "priority", "app", "cpu_request", "memory_request")
    about = ", ".join(f"arg_max({name}, source_row) AS {name}" for name in known)
    return f"""
        WITH firsts AS ({firsts}), about AS (
            SELECT task, coalesce(instance, 0) AS instance_index, {about} FROM task_rows GROUP BY ALL)
        SELECT {id_sql("e.task")} AS collection_id, e.instance_index, type, {terms.time("begun")} AS time,
               CASE WHEN step > 0 THEN {id_sql("machine")} END AS machine_id, user, priority, app, e.task AS name,
               {terms.amount("cpu_request", "cpu")} AS cpu_request,
               {terms.amount("memory_request", "memory")} AS memory_request, 'JOB' AS collection_type,
               'EXISTS_BUT_NO_CREATION' AS missing_type, source_part,
               {_EVENTS_PER_ROW} * source_row + step AS source_row
        FROM ({events}) e LEFT JOIN about a ON a.task = e.task AND a.instance_index = e.instance_index
    """


def collection_events(terms: Terms) -> str:
    """SQL of the events of collections: submitted and started with the first task, ended with the last."""
    is_end = f"type IN ({TERMINAL})"
    names = "any_value(name) AS collection_name, any_value(app) AS collection_logical_name, any_value(user) AS user"
    return f"""
        WITH events AS ({instance_events(terms)}), told AS (
            SELECT collection_id, count(DISTINCT instance_index) AS n, {names}, any_value(priority) AS priority,
                   count(DISTINCT instance_index) FILTER ({is_end}) AS n_ended FROM events GROUP BY collection_id
        ), steps AS (
            SELECT collection_id, type, time, missing_type, source_part, source_row, row_number() OVER (
                PARTITION BY collection_id, {is_end}, CASE WHEN NOT {is_end} THEN type END
                ORDER BY CASE WHEN {is_end} THEN -time ELSE time END, source_part, source_row
            ) AS place FROM events
        )
        SELECT steps.*, told.* EXCLUDE (collection_id), 'JOB' AS collection_type
        FROM steps JOIN told USING (collection_id) WHERE place = 1 AND (NOT {is_end} OR n_ended = n)
    """


def instance_constraints(terms: Terms) -> str:
    """SQL of what a task asks of GPUs, as constraints on its machine."""
    # All of its devices together, whole ones where no share is told; a task of none asks for nothing.
    devices = "coalesce(gpus, 1) * coalesce(gpu_share, 1000 * least(gpus, 1))"
    asked = " UNION ALL ".join(
        f"SELECT *, '{name}' AS name, '{relation}' AS relation, {value} AS value, {position} AS position FROM lives"
        for position, (name, relation, value) in enumerate(
            (
                ("gpu_thousandths", "GREATER_THAN_EQUAL", f"CAST(CAST(nullif({devices}, 0) AS BIGINT) AS VARCHAR)"),
                ("gpu_model", "EQUAL", "gpu_model"),
            )
        )
    )
    return f"""
        WITH lives AS ({lives(terms)})
        SELECT {id_sql("task")} AS collection_id, coalesce(instance, 0) AS instance_index,
               {_begun(terms, "submitted")} AS time, name, relation, value, position, source_part, source_row
        FROM ({asked}) WHERE value IS NOT NULL AND submitted IS NOT NULL
    """
