"""The ``tasks`` table: what usage says of each instance, joined with what its events say."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from borgtrace.engine.embedded import columns_sql, files_sql, select_sql
from borgtrace.ingest.clustering import PARQUET
from borgtrace.schema import TABLES, TERMINAL_EVENTS, Dialect
from borgtrace.schema.enums import EVENT_TYPE
from borgtrace.schema.sql import literal, literals, quoted
from borgtrace.store.layout import part_name

_LAST_KNOWN = ("priority", "scheduling_class", "cpu_request", "memory_request", "disk_request", "gpu_request")
ORDER = "file_row_number"
"""What orders the events of one instance: its rows lie in one file, sorted by time and source."""


def write_tasks(
    connection: duckdb.DuckDBPyConnection,
    usage: pa.Table,
    files: Mapping[str, Sequence[Path]],
    dialect: Dialect,
    folder: Path,
) -> int:
    """Write the index of a store and return its number of rows.

    Parameters
    ----------
    connection
        DuckDB with its limits set.
    usage
        One row per task seen in usage, as `index_usage` returns.
    files
        Parquet files of instance_events and collection_events.
    dialect
        Decides what breaks ties in time: the order in the file (2011) or the life cycle (2019).
    folder
        Where the file goes; made here.
    """
    folder.mkdir(parents=True)
    _view(connection, "instance_events", files["instance_events"])
    _view(connection, "collection_events", files["collection_events"])
    connection.register("usage_index", usage)
    written = connection.execute(
        f"COPY ({_query(dialect)}) TO {literal(folder / part_name(0))} ({PARQUET})"
    ).fetchall()  # to the end: an open result bars other work on the connection
    connection.unregister("usage_index")
    return int(written[0][0]) if written else 0


def _view(connection: duckdb.DuckDBPyConnection, name: str, paths: Sequence[Path]) -> None:
    """Show a table's files with the place of each row: a collection never spans two files."""
    none = f"(SELECT *, 0 AS file_row_number FROM ({select_sql(TABLES[name], [])}))"
    rows = files_sql(paths, numbered=True) if paths else none
    connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS SELECT * FROM {rows}")


def _query(dialect: Dialect) -> str:
    return f"""
        WITH told AS ({_told(dialect)}), names AS ({_names()}), joined AS (
            SELECT coalesce(u.collection_id, e.collection_id) AS collection_id,
                   coalesce(u.instance_index, e.instance_index) AS instance_index,
                   coalesce(u.collection_type, e.collection_type) AS collection_type,
                   u.* EXCLUDE (collection_id, instance_index, collection_type, first_row,
                                n_windows, n_gaps, n_machines, seconds, first_time, last_time),
                   u.first_row, coalesce(u.n_windows, 0) AS n_windows, coalesce(u.n_gaps, 0) AS n_gaps,
                   coalesce(u.n_machines, 0) AS n_machines, coalesce(u.seconds, 0) AS seconds,
                   coalesce(u.first_time, e.first_event) AS first_time,
                   coalesce(u.last_time, e.last_event) AS last_time,
                   e.* EXCLUDE (collection_id, instance_index, collection_type, first_event, last_event, user)
                       REPLACE ({", ".join(f"coalesce({_count(n)}, 0) AS {_count(n)}" for n in EVENT_TYPE.names)}),
                   coalesce(e.user, n.user) AS user, n.collection_logical_name
            FROM usage_index u FULL JOIN told e
                 ON u.collection_id = e.collection_id AND u.instance_index = e.instance_index
            LEFT JOIN names n ON n.collection_id = coalesce(u.collection_id, e.collection_id)
        ), placed AS (
            SELECT * REPLACE (CAST(coalesce(sum(n_windows) OVER (
                ORDER BY collection_id, instance_index ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ), 0) AS BIGINT) AS first_row) FROM joined
        )
        SELECT {columns_sql(TABLES["tasks"], quoted(TABLES["tasks"].names))} FROM placed
        ORDER BY collection_id, instance_index
    """


def _count(name: str) -> str:
    return f"n_{name.lower()}"


def _told(dialect: Dialect) -> str:
    """SQL: per instance, the last known requests, counts of events, and how it ended."""
    known = ", ".join(_last_known(name) for name in _LAST_KNOWN)
    counts = ", ".join(f"count(*) FILTER (type = '{name}') AS {_count(name)}" for name in EVENT_TYPE.names)
    ended = _terminal(f"arg_max(type, {ORDER})") if dialect.tie_order == "file" else _ended_2019()
    return f"""
        SELECT collection_id, instance_index, arg_max(collection_type, {ORDER}) AS collection_type,
               min(time) AS first_event, max(time) AS last_event, {known}, {counts},
               arg_max(user, {ORDER}) AS user, {ended} AS end_type
        FROM instance_events {"" if dialect.tie_order == "file" else _LAST_TIME}
        GROUP BY collection_id, instance_index
    """


# arg_max skips rows where the value is NULL: the last that is known.  SCHEDULE first, since in 2011 37,313 tasks at
# time 0 carry other requests on SUBMIT, and published stocks use those of SCHEDULE.
def _last_known(name: str) -> str:
    scheduled = f"arg_max({name}, {ORDER}) FILTER (type = 'SCHEDULE')"
    return f"coalesce({scheduled}, arg_max({name}, {ORDER})) AS {name}"


def _terminal(name: str) -> str:
    return f"CASE WHEN {name} IN ({literals(TERMINAL_EVENTS)}) THEN {name} END"


_LAST_TIME = """
        JOIN (SELECT collection_id AS c, instance_index AS i, max(time) AS last_time
              FROM instance_events GROUP BY ALL) AS latest
        ON latest.c = collection_id AND latest.i = instance_index
"""


def _ended_2019() -> str:
    """SQL for the end of an instance whose events come in no order within a microsecond.

    Among the events of its last instant the one that is legal from the state before comes first:
    a death of what was alive, then a new SUBMIT; a SUBMIT of what was dead, then a new death.
    """
    rank = f"list_position([{literals(EVENT_TYPE.names)}], type)"
    at_end = "FILTER (time = last_time)"
    before = f"arg_max(type, (time, {rank})) FILTER (time < last_time)"
    alive_before = f"coalesce({before} NOT IN ({literals(TERMINAL_EVENTS)}), false)"
    reborn = f"coalesce(bool_or(type = 'SUBMIT') {at_end}, false)"
    # Updates change no state, so they cannot hide the end of an instance.
    last = f"arg_max(type, {rank}) FILTER (time = last_time AND type NOT LIKE 'UPDATE%')"
    return f"CASE WHEN {alive_before} AND {reborn} THEN NULL ELSE {_terminal(last)} END"


def _names() -> str:
    return f"""
        SELECT collection_id, arg_max(user, {ORDER}) AS user,
               arg_max(collection_logical_name, {ORDER}) AS collection_logical_name
        FROM collection_events GROUP BY collection_id
    """
