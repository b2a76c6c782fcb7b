"""The ``tasks`` table: what usage says of each instance, joined with what its events say."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from borgtrace.engine.embedded import add_view, columns_sql, files_sql, select_sql
from borgtrace.ingest.build.clustering import PIECE, write_rows
from borgtrace.ingest.build.file_ranges import SortedFiles
from borgtrace.schema import TABLES, TERMINAL_EVENTS, Dialect
from borgtrace.schema.enums import EVENT_TYPE
from borgtrace.schema.sql import literals, quoted
from borgtrace.schema.tables import LAST_KNOWN_COLUMNS
from borgtrace.storage import RemotePath

_QUERY = Path(__file__).with_name("tasks.sql").read_text("utf-8")
_LATER = 1 << 40
"""Above the place of any row in its file."""
ORDER = "file_row_number"
"""What orders the events of one instance: its rows lie in one file, sorted by time and source."""


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
        _view(connection, name, files[name].beside(windows, number), windows.condition(number))
    connection.register("usage_index", usage)
    query = _query(dialect, windows.first_row(number))
    # How many tasks come before is not known: what a file notes of its content is read again, but for the first.
    write_rows(path, 0, TABLES["tasks"], connection.sql(query).to_arrow_reader(PIECE))


def _view(
    connection: duckdb.DuckDBPyConnection, name: str, paths: Sequence[Path], condition: str
) -> None:
    """Show rows of a table with the place of each: a collection never spans two files."""
    if any(isinstance(path, RemotePath) for path in paths):
        add_view(connection, TABLES[name], paths, f"{name}_there")
        rows = f"(SELECT *, row_number() OVER () AS {ORDER} FROM {name}_there WHERE {condition})"
    elif paths:
        rows = files_sql(paths, numbered=True)
    else:
        rows = f"(SELECT *, 0 AS {ORDER} FROM ({select_sql(TABLES[name], [])}))"
    connection.execute(
        f"CREATE OR REPLACE TEMP VIEW {name} AS SELECT * FROM {rows} WHERE {condition}"
    )


def _query(dialect: Dialect, first_row: int) -> str:
    is_by_file = dialect.tie_order == "file"
    counts = {f"n_{kind.lower()}": kind for kind in EVENT_TYPE.names}
    return _QUERY.format(
        known=", ".join(map(_last_known, LAST_KNOWN_COLUMNS)),
        first_row=first_row,
        counts=", ".join(
            f"count(*) FILTER (type = '{kind}') AS {name}" for name, kind in counts.items()
        ),
        ended=_terminal(f"arg_max(type, {ORDER})") if is_by_file else _ended_2019(),
        latest="" if is_by_file else "JOIN last_times USING (collection_id, instance_index)",
        not_null=", ".join(f"coalesce({name}, 0) AS {name}" for name in counts),
        columns=columns_sql(TABLES["tasks"], quoted(TABLES["tasks"].names)),
    )


# arg_max skips rows where the value is NULL: the last that is known.  SCHEDULE first, since in 2011 37,313 tasks at
# time 0 carry other requests on SUBMIT, and published stocks use those of SCHEDULE.
def _last_known(name: str) -> str:
    return (
        f"arg_max({name}, {ORDER} + CASE WHEN type = 'SCHEDULE' THEN {_LATER} ELSE 0 END) AS {name}"
    )


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
