"""The ``tasks`` table: statistics of the usage of each instance, joined with its events."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from borgtrace.engine.embedded import add_view, columns_sql, files_sql, select_sql
from borgtrace.engine.identifiers import literal, quoted
from borgtrace.ingest.build.file_ranges import SortedFiles
from borgtrace.ingest.build.table_files import PIECE, write_rows
from borgtrace.schema import TABLES, TERMINAL_EVENTS, Dialect
from borgtrace.schema.enums import EVENT_TYPE
from borgtrace.schema.tables import LAST_KNOWN_COLUMNS
from borgtrace.schema.tables.shared_columns import WORKLOAD
from borgtrace.storage import RemotePath

_LATER = 1 << 40
"""Above the place of any row in its file."""
_COUNTS = {f"n_{kind.lower()}": kind for kind in EVENT_TYPE.names}
"""Columns that count the events of an instance, by the kind that they count."""
_TERMINAL_SQL = ", ".join(literal(event) for event in TERMINAL_EVENTS)


def write_tasks(
    connection: duckdb.DuckDBPyConnection,
    usage: pa.Table,
    files: Mapping[str, SortedFiles],
    dialect: Dialect,
    path: Path,
    number: int,
) -> None:
    """Write the index of the tasks of one file of usage, and of those that events alone name between its collections.

    Parameters
    ----------
    connection
        From `sorting_connection`.
    usage
        One row per task seen in usage, as `index_usage` returns.
    files
        Those of instance_usage, instance_events and collection_events.
    dialect
        Decides what breaks ties in time: the order in the file (2011) or the life cycle (2019).
    path
        The file that is written.
    number
        Which file of usage it is about; of a store without usage, the first.
    """
    windows = files["instance_usage"]
    for name in ("instance_events", "collection_events"):
        paths = files[name].beside(windows, number)
        _show_rows(connection, name, paths, windows.range_sql(number))
    connection.register("usage_index", usage)
    query_sql = _tasks_sql(dialect, windows.first_row(number))
    rows = connection.sql(query_sql).to_arrow_reader(PIECE)
    # The number of tasks before is unknown here: only the first file's content note is used, others are read again.
    write_rows(path, 0, TABLES["tasks"], rows)


def _show_rows(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    paths: Sequence[Path],
    range_sql: str,
) -> None:
    """Show rows of a table with the place of each: a collection never spans two files."""
    if any(isinstance(path, RemotePath) for path in paths):
        remote_view = f"{name}_there"
        add_view(connection, TABLES[name], paths, remote_view)
        rows_sql = f"""(
            SELECT *, row_number() OVER () AS file_row_number
            FROM {quoted(remote_view)}
            WHERE {range_sql}
        )"""
    elif paths:
        rows_sql = files_sql(paths, numbered=True)
    else:
        rows_sql = f"(SELECT *, 0 AS file_row_number FROM ({select_sql(TABLES[name], [])}))"
    connection.execute(f"""
        CREATE OR REPLACE TEMP VIEW {quoted(name)} AS SELECT * FROM {rows_sql} WHERE {range_sql}
    """)


def _tasks_sql(dialect: Dialect, first_row: int) -> str:
    """Write the query that joins ``usage_index`` with the events of each instance."""
    tasks = TABLES["tasks"]
    values_sql = columns_sql(tasks, {name: quoted(name) for name in tasks.names})
    return f"""
        WITH instances AS ({_instances_sql(dialect)}),
        names AS ({_NAMES_SQL}),
        joined AS ({_joined_sql()}),
        ordered AS (SELECT * FROM joined ORDER BY collection_id, instance_index),
        placed AS (
            -- Without an order of its own, the window runs over the rows as they come.
            SELECT
                *,
                {int(first_row)} + sum(n_windows) OVER (
                    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
                ) - n_windows AS first_row
            FROM ordered
        )
        SELECT {values_sql} FROM placed
    """


def _joined_sql() -> str:
    """Write the rows of ``usage_index`` and of ``instances`` side by side, one per task, with the names of both."""
    zero_counts_sql = ", ".join(
        f"coalesce({quoted(name)}, 0) AS {quoted(name)}" for name in _COUNTS
    )
    return f"""
        SELECT
            coalesce(u.collection_id, e.collection_id) AS collection_id,
            coalesce(u.instance_index, e.instance_index) AS instance_index,
            coalesce(u.collection_type, e.collection_type) AS collection_type,
            u.* EXCLUDE (
                collection_id, instance_index, collection_type, first_row,
                n_windows, n_gaps, n_machines, seconds, first_time, last_time
            ),
            coalesce(u.n_windows, 0) AS n_windows,
            coalesce(u.n_gaps, 0) AS n_gaps,
            coalesce(u.n_machines, 0) AS n_machines,
            coalesce(u.seconds, 0) AS seconds,
            coalesce(u.first_time, e.first_event) AS first_time,
            coalesce(u.last_time, e.last_event) AS last_time,
            e.* EXCLUDE (
                collection_id, instance_index, collection_type, first_event, last_event, user
            ) REPLACE ({zero_counts_sql}),
            coalesce(e.user, n.user) AS user,
            n.* EXCLUDE (collection_id, user)
        FROM usage_index u
        FULL JOIN instances e
            ON u.collection_id = e.collection_id AND u.instance_index = e.instance_index
        LEFT JOIN names n ON n.collection_id = coalesce(u.collection_id, e.collection_id)
    """


_NAMES = ("user", "collection_logical_name", *(column.name for column in WORKLOAD))
"""Columns of collections that each of their tasks has."""
_LAST_NAMES_SQL = ", ".join(
    f"arg_max({quoted(name)}, file_row_number) AS {quoted(name)}" for name in _NAMES
)
_NAMES_SQL = f"""
    SELECT collection_id, {_LAST_NAMES_SQL}
    FROM collection_events
    GROUP BY collection_id
"""


def _instances_sql(dialect: Dialect) -> str:
    """Write what the events of each instance say.

    The place of a row in its file orders the events of an instance: they lie in one file, sorted by time and source.
    """
    last_known_sql = ", ".join(_last_known_sql(name) for name in LAST_KNOWN_COLUMNS)
    counts_sql = ", ".join(
        f"count(*) FILTER (type = {literal(kind)}) AS {quoted(name)}"
        for name, kind in _COUNTS.items()
    )
    if dialect.tie_order == "file":
        events_sql = "instance_events"
        end_type_sql = _if_terminal_sql("arg_max(type, file_row_number)")
    else:
        events_sql = _EVENTS_WITH_LAST_TIME_SQL
        end_type_sql = _end_type_2019_sql()
    return f"""
        SELECT
            collection_id,
            instance_index,
            arg_max(collection_type, file_row_number) AS collection_type,
            min(time) AS first_event,
            max(time) AS last_event,
            {last_known_sql},
            {counts_sql},
            arg_max(user, file_row_number) AS user,
            {end_type_sql} AS end_type
        FROM {events_sql}
        GROUP BY collection_id, instance_index
    """


_EVENTS_WITH_LAST_TIME_SQL = """
    instance_events JOIN (
        SELECT collection_id, instance_index, max(time) AS last_time
        FROM instance_events
        GROUP BY ALL
    ) USING (collection_id, instance_index)
"""


def _last_known_sql(name: str) -> str:
    """Write the last value of a column that is known: arg_max skips rows where the value is NULL.

    SCHEDULE first, since in 2011 37,313 tasks at time 0 carry other requests on SUBMIT, and published stocks use those
    of SCHEDULE.
    """
    name_sql = quoted(name)
    place_sql = f"file_row_number + CASE WHEN type = 'SCHEDULE' THEN {_LATER} ELSE 0 END"
    return f"arg_max({name_sql}, {place_sql}) AS {name_sql}"


def _if_terminal_sql(type_sql: str) -> str:
    return f"CASE WHEN {type_sql} IN ({_TERMINAL_SQL}) THEN {type_sql} END"


def _end_type_2019_sql() -> str:
    """Write the end of an instance whose events come in no order within a microsecond.

    Among the events of its last instant the one that is legal from the state before comes first:
    a death of what was alive, then a new SUBMIT; a SUBMIT of what was dead, then a new death.
    """
    kinds_sql = ", ".join(literal(kind) for kind in EVENT_TYPE.names)
    rank_sql = f"list_position([{kinds_sql}], type)"
    type_before_sql = f"arg_max(type, (time, {rank_sql})) FILTER (time < last_time)"
    was_alive_sql = f"coalesce({type_before_sql} NOT IN ({_TERMINAL_SQL}), false)"
    is_reborn_sql = "coalesce(bool_or(type = 'SUBMIT') FILTER (time = last_time), false)"
    # Updates change no state, so they cannot hide the end of an instance.
    last_type_sql = (
        f"arg_max(type, {rank_sql}) FILTER (time = last_time AND type NOT LIKE 'UPDATE%')"
    )
    end_sql = _if_terminal_sql(last_type_sql)
    return f"CASE WHEN {was_alive_sql} AND {is_reborn_sql} THEN NULL ELSE {end_sql} END"
