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
from borgtrace.schema.tables import LAST_KNOWN_COLUMNS
from borgtrace.store.layout import part_name

_QUERY = Path(__file__).with_name("tasks.sql").read_text("utf-8")
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
    is_by_file = dialect.tie_order == "file"
    counts = {f"n_{kind.lower()}": kind for kind in EVENT_TYPE.names}
    return _QUERY.format(
        known=", ".join(map(_last_known, LAST_KNOWN_COLUMNS)),
        counts=", ".join(f"count(*) FILTER (type = '{kind}') AS {name}" for name, kind in counts.items()),
        ended=_terminal(f"arg_max(type, {ORDER})") if is_by_file else _ended_2019(),
        latest="" if is_by_file else "JOIN last_times USING (collection_id, instance_index)",
        not_null=", ".join(f"coalesce({name}, 0) AS {name}" for name in counts),
        columns=columns_sql(TABLES["tasks"], quoted(TABLES["tasks"].names)),
    )


# arg_max skips rows where the value is NULL: the last that is known.  SCHEDULE first, since in 2011 37,313 tasks at
# time 0 carry other requests on SUBMIT, and published stocks use those of SCHEDULE.
def _last_known(name: str) -> str:
    scheduled = f"arg_max({name}, {ORDER}) FILTER (type = 'SCHEDULE')"
    return f"coalesce({scheduled}, arg_max({name}, {ORDER})) AS {name}"


def _terminal(name: str) -> str:
    return f"CASE WHEN {name} IN ({literals(TERMINAL_EVENTS)}) THEN {name} END"


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
