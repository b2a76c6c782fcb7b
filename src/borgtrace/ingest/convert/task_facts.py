"""Facts about tasks beside their usage: requests and owners, repeated in every row, or given for the pod.

A file of usage may name the request of its task in each row, and a list of pods those of tasks that another file
measured. Neither says when the task began, so nothing of it is an event: it is known of the task as a whole.
"""

from collections.abc import Mapping, Sequence

import duckdb

from borgtrace.engine.identifiers import number, quoted
from borgtrace.errors import SourceError, UsageError
from borgtrace.ingest.convert.conversion_terms import FIRST_ROW_SQL
from borgtrace.schema.dialects import Conversion
from borgtrace.schema.records import MACHINE_ROWS, TASK_ROWS

_TIMES = ("submit", "wait", "start", "run", "end", "status")
"""Columns that make a row one about a life."""
_LIMITS = ("cpu_limit", "memory_limit")
_REQUESTS = ("cpu_request", "memory_request", "gpus")
_AMOUNTS = (*_REQUESTS, *_LIMITS)
"""Amounts of a task, of which its parts have each their own."""
_OF_USAGE = ("app", "user", "priority", "cpu_request", "memory_request", *_LIMITS)
"""Columns that rows of usage may have too."""
_FACTS = tuple(
    column.name
    for column in TASK_ROWS.columns
    if column.name not in ("task", "instance", "at", *_TIMES)
)
_IS_LIFE_SQL = " OR ".join(f"{quoted(name)} IS NOT NULL" for name in _TIMES)


def add_facts(
    connection: duckdb.DuckDBPyConnection,
    conversion: Conversion,
    fills: Mapping[str, frozenset[str]],
) -> dict[str, frozenset[str]]:
    """Make one row of all that say something of a task without a time, and add it to the rows about its life.

    Returns what rows of tasks are filled with.

    Parameters
    ----------
    connection
        With views of the staged rows; those of tasks and machines are replaced.
    conversion
        What the format declares.
    fills
        Kinds of rows there are, each with the columns that any of its files fills.

    Raises
    ------
    SourceError
        No row of a task has a time, and no task has usage: nothing of them would be stored.
    UsageError
        Rows about lives are of parts of the tasks that usage is of.
    """
    in_usage = [name for name in _OF_USAGE if name in fills.get("usage_rows", ())]
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE told_tasks AS
        SELECT *, {_IS_LIFE_SQL} AS is_life FROM task_rows
        {_facts_in_usage_sql(in_usage)}
    """)
    connection.execute(f"CREATE OR REPLACE TEMP TABLE task_facts AS {_last_facts_sql()}")
    connection.execute("""
        CREATE OR REPLACE TEMP TABLE task_lives AS
        SELECT * EXCLUDE (is_life) FROM told_tasks WHERE is_life
    """)
    connection.execute("CREATE OR REPLACE TEMP TABLE undivided_requests (whole VARCHAR)")
    if conversion.n_narrower > 0:
        _give_to_parts(connection, conversion.n_narrower)
    elif conversion.n_narrower < 0:
        _add_up_parts(connection, -conversion.n_narrower)
    _give_to_instances(connection)
    _require_use(connection)
    _show_whole_tasks(connection)
    _show_machines(connection)
    if not in_usage:
        return {}
    return {"task_rows": fills.get("task_rows", frozenset()).union(in_usage)}


def _show_whole_tasks(connection: duckdb.DuckDBPyConnection) -> None:
    """Show one row of each task, with what any row says of it."""
    connection.execute("""
        CREATE OR REPLACE TEMP TABLE first_usage AS
        SELECT task, coalesce(instance, 0) AS instance, min(time) AS begun FROM usage_rows GROUP BY ALL
    """)
    connection.execute(f"CREATE OR REPLACE TEMP TABLE whole_task_rows AS {_WHOLE_ROWS_SQL}")
    connection.execute("CREATE OR REPLACE TEMP VIEW task_rows AS SELECT * FROM whole_task_rows")


def notes_on_facts(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return sentences about what rows say of tasks and is not stored as they say it.

    Parameters
    ----------
    connection
        Where `add_facts` was.
    """
    changed_sql = " OR ".join(f"count(DISTINCT {quoted(name)}) > 1" for name in _REQUESTS)
    counts = {
        "Tasks whose request changes, stored with the last one": f"""
            SELECT task FROM told_tasks WHERE NOT is_life GROUP BY task, instance HAVING {changed_sql}
        """,
        "Tasks that have neither usage nor a time, left out": """
            SELECT task FROM task_facts f
            ANTI JOIN usage_rows u ON u.task = f.task
            ANTI JOIN task_lives l ON l.task = f.task
        """,
        "Tasks without a start, scheduled where their usage begins": """
            SELECT l.task FROM task_lives l
            JOIN whole_task_rows w
            ON w.source_part = l.source_part AND w.source_row = l.source_row AND w.task = l.task
            WHERE l.start IS NULL AND l.wait IS NULL AND w.start IS NOT NULL
        """,
        "Tasks of several measured parts, whose request is not known of each and left out": """
            SELECT whole FROM undivided_requests
        """,
        "Machines whose rows differ in size, stored with the last one": """
            SELECT machine FROM told_machines WHERE time IS NULL GROUP BY machine
            HAVING count(DISTINCT cpu) > 1 OR count(DISTINCT memory) > 1
        """,
    }
    notes = []
    for sentence, query_sql in counts.items():
        (n_things,) = connection.execute(f"SELECT count(*) FROM ({query_sql})").fetchall()[0]
        if n_things:
            notes.append(f"{sentence}: {n_things:,}.")
    return notes


def _facts_in_usage_sql(columns: Sequence[str]) -> str:
    """Write what rows of usage say of their tasks, after the rows of tasks; nothing where they say nothing."""
    if not columns:
        return ""
    values_sql = ", ".join(map(quoted, columns))
    return f"""
        UNION ALL BY NAME
        SELECT task, instance, time AS "at", {values_sql}, source_part, source_row, false AS is_life
        FROM usage_rows
    """


def _last_facts_sql() -> str:
    """Write one row for each task of those without a time: of what they say, the last counts."""
    values_sql = ", ".join(
        f'arg_max({quoted(name)}, (coalesce("at", -1), source_part, source_row)) AS {quoted(name)}'
        for name in _FACTS
    )
    return f"""
        SELECT task, instance, {values_sql}, {FIRST_ROW_SQL}
        FROM told_tasks
        WHERE NOT is_life
        GROUP BY task, instance
    """


_FILLED_SQL = ", ".join(
    f"coalesce(l.{quoted(name)}, f.{quoted(name)}) AS {quoted(name)}" for name in _FACTS
)
_WHOLE_ROWS_SQL = f"""
    -- Rows about lives, of which the last of all facts fill what they leave open; then facts of other tasks.
    -- What is measured runs: without a start of its own it starts where its usage begins, once it is submitted.
    SELECT l.* REPLACE (
        {_FILLED_SQL},
        coalesce(
            l.start,
            l.submit + l.wait,
            CASE WHEN u.begun IS NOT NULL THEN greatest(l.submit, u.begun) END
        ) AS start
    )
    FROM task_lives l
    LEFT JOIN first_usage u
    ON u.task = l.task AND u.instance = coalesce(l.instance, 0)
    AND l.submit IS NOT NULL AND greatest(l.submit, u.begun) <= coalesce(l."end", {2**62})
    LEFT JOIN task_facts f
    ON f.task = l.task AND coalesce(f.instance, 0) = coalesce(l.instance, 0)
    UNION ALL BY NAME
    SELECT f.*
    FROM task_facts f
    ANTI JOIN task_lives l
    ON f.task = l.task AND coalesce(f.instance, 0) = coalesce(l.instance, 0)
"""


def _whole_sql(name_sql: str, n_parts: int) -> str:
    """Write the name of the whole that a part is of: a pod's for its container."""
    return f"regexp_replace({name_sql}, '(/[^/]*){{{number(n_parts)}}}$', '')"


def _give_to_parts(connection: duckdb.DuckDBPyConnection, n_parts: int) -> None:
    """Give what is said of pods to their measured containers; a request only where a pod has one container."""
    whole_sql = _whole_sql("task", n_parts)
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE measured_parts AS
        SELECT *, count(*) OVER (PARTITION BY whole) AS n_parts
        FROM (SELECT DISTINCT task AS part, {whole_sql} AS whole FROM usage_rows)
        WHERE whole != part
    """)
    asked_sql = " OR ".join(f"{quoted(name)} IS NOT NULL" for name in _AMOUNTS)
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE undivided_requests AS
        SELECT DISTINCT whole
        FROM measured_parts
        JOIN (SELECT * FROM task_facts UNION ALL BY NAME SELECT * FROM task_lives) t
        ON t.task = whole
        WHERE n_parts > 1 AND ({asked_sql})
    """)
    own_sql = ", ".join(
        f"CASE WHEN coalesce(p.n_parts, 1) = 1 THEN t.{quoted(name)} END AS {quoted(name)}"
        for name in _AMOUNTS
    )
    for table in ("task_facts", "task_lives"):
        connection.execute(f"""
            CREATE OR REPLACE TEMP TABLE {quoted(table)} AS
            SELECT t.* REPLACE (coalesce(p.part, t.task) AS task, {own_sql})
            FROM {quoted(table)} t
            LEFT JOIN measured_parts p ON p.whole = t.task
        """)


def _add_up_parts(connection: duckdb.DuckDBPyConnection, n_parts: int) -> None:
    """Add up the requests of containers, where usage is of their pods."""
    ((n_lives,),) = connection.execute("SELECT count(*) FROM task_lives").fetchall()
    if n_lives:
        raise UsageError(
            "tasks",
            "times of parts of a task",
            expected="the columns of task as in [usage]",
            got=f"{n_parts} more",
            way_out="remove the last of them from task, or submit, start and end from [tasks]",
        )
    values_sql = ", ".join(f"{_added_sql(name)} AS {quoted(name)}" for name in _FACTS)
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE task_facts AS
        SELECT
            -- What rows of usage say is of the measured tasks already.
            CASE WHEN task IN (SELECT task FROM usage_rows) THEN task
                 ELSE {_whole_sql("task", n_parts)} END AS task,
            instance,
            {values_sql},
            {FIRST_ROW_SQL}
        FROM task_facts
        GROUP BY ALL
    """)


def _added_sql(name: str) -> str:
    """Write what a pod has of a column of its containers."""
    if name in _LIMITS:
        # Where one container may take as much as it likes, so may the pod.
        is_limited_sql = f"bool_and(coalesce({quoted(name)}, 0) > 0)"
        return f"CASE WHEN {is_limited_sql} THEN sum({quoted(name)}) END"
    if name in _REQUESTS:
        return f"sum({quoted(name)})"
    return "NULL::VARCHAR" if name == "container" else f"max({quoted(name)})"


def _give_to_instances(connection: duckdb.DuckDBPyConnection) -> None:
    """Give what is said of a task without an instance to each of its measured instances."""
    connection.execute("""
        CREATE OR REPLACE TEMP TABLE task_facts AS
        SELECT f.* REPLACE (coalesce(f.instance, u.instance) AS instance)
        FROM task_facts f
        LEFT JOIN (SELECT DISTINCT task, instance FROM usage_rows WHERE instance IS NOT NULL) u
        ON u.task = f.task AND f.instance IS NULL
    """)


def _require_use(connection: duckdb.DuckDBPyConnection) -> None:
    """Refuse rows of tasks of which nothing would be stored: their names are hardly those of the usage."""
    stored = connection.execute("""
        SELECT 1 FROM task_lives
        UNION ALL
        SELECT 1 FROM task_facts WHERE task IN (SELECT task FROM usage_rows)
        LIMIT 1
    """).fetchall()
    facts = connection.execute("SELECT min(task) FROM task_facts").fetchall()
    ((name_of_fact,),) = facts
    if stored or name_of_fact is None:
        return
    ((name_in_usage,),) = connection.execute("SELECT min(task) FROM usage_rows").fetchall()
    if name_in_usage is None:
        raise SourceError(
            "rows of tasks",
            "neither a time nor usage",
            expected="when tasks started or were submitted, or a file of their usage",
            got=f"{name_of_fact} without either",
            way_out="name the file of usage too",
        )
    raise SourceError(
        "rows of tasks",
        "no task of them has usage",
        expected=f"names such as {name_in_usage}",
        got=f"such as {name_of_fact}",
        way_out="make task in [tasks] and in [usage] the same columns: "
        "borgtrace dialect sniff FILE FILE > own.toml, correct it, and --dialect own.toml",
    )


def _show_machines(connection: duckdb.DuckDBPyConnection) -> None:
    """Make one row of all that say something of a machine without a time."""
    values_sql = ", ".join(
        f"arg_max({quoted(column.name)}, (source_part, source_row)) AS {quoted(column.name)}"
        for column in MACHINE_ROWS.columns
        if column.name not in ("machine", "time")
    )
    connection.execute("CREATE OR REPLACE TEMP TABLE told_machines AS SELECT * FROM machine_rows")
    connection.execute(f"""
        CREATE OR REPLACE TEMP VIEW machine_rows AS
        SELECT * FROM told_machines WHERE time IS NOT NULL
        UNION ALL BY NAME
        SELECT machine, {values_sql}, {FIRST_ROW_SQL}
        FROM told_machines
        WHERE time IS NULL
        GROUP BY machine
    """)
