"""Faults that show only in whole tables: repeated rows, unknown machines, orphan instances."""

from collections.abc import Mapping

import duckdb
import pyarrow as pa

from borgtrace.engine.embedded import add_view
from borgtrace.engine.identifiers import quoted
from borgtrace.ingest.build.file_ranges import SortedFiles
from borgtrace.kernels.arrays import Index
from borgtrace.schema import TABLES
from borgtrace.schema.enums import EVENT_TYPE

_MACHINES = "machine_events"
"""The table that lists machines; all others only name them."""
_INSTANCES = "instance_events"
"""The table that lists instances; all others, usage too, only name them."""
_USAGE = "instance_usage"
FILE = "rows_of_file"
"""View of the file that is checked."""
_HAS_EVENTS_SQL = " + ".join(quoted(f"n_{event.lower()}") for event in EVENT_TYPE.names) + " > 0"


def count_in_file(
    connection: duckdb.DuckDBPyConnection,
    files: Mapping[str, SortedFiles],
    name: str,
    number: int,
) -> dict[str, int]:
    """Count, per reason, the faults of a file of a table that show only when tables are whole.

    Parameters
    ----------
    connection
        From `sorting_connection`.
    files
        Those of all tables, the index of tasks among them.
    name, number
        The table, and which file of it.
    """
    table = TABLES[name]
    counts: dict[str, int] = {}
    add_view(connection, table, [files[name].paths[number]], FILE)
    # Usage is nearly all rows: `index_usage` has already checked each for a repeat, in passing.
    if name != _USAGE:
        counts["exact_duplicate"] = _count_repeated(connection, name)
    # Without machine_events every machine would be unknown, which is no fault of the rows; likewise for instances.
    # Machines of other cells are in other stores.
    names_machines = "machine_id" in table.names and name != _MACHINES and not table.is_of_cells
    if names_machines and files[_MACHINES].paths:
        add_view(connection, TABLES[_MACHINES], files[_MACHINES].paths, "machines")
        counts["unknown_machine"] = _count_unknown_machines(connection)
    names_instances = "instance_index" in table.names and name != _INSTANCES
    if names_instances and files[_INSTANCES].paths:
        tasks = files["tasks"].beside(files[name], number)
        add_view(connection, TABLES["tasks"], tasks, "tasks_beside")
        if name == _USAGE:
            counts["orphan_instance"] = _count_orphan_usage(connection, files[name], number)
        else:
            counts["orphan_instance"] = _count_orphans(connection)
    return {reason: count for reason, count in counts.items() if count}


def _number(connection: duckdb.DuckDBPyConnection, query_sql: str) -> int:
    # To the end: an open result bars other work on the connection.
    ((value,),) = connection.execute(query_sql).fetchall()
    return int(value or 0)


def _count_unknown_machines(connection: duckdb.DuckDBPyConnection) -> int:
    # NULL is left out: an instance that waits, or is on a dedicated machine, names none.
    return _number(
        connection,
        """
        SELECT count(*)
        FROM rows_of_file
        WHERE machine_id IS NOT NULL AND machine_id NOT IN (SELECT machine_id FROM machines)
        """,
    )


def _count_orphan_usage(
    connection: duckdb.DuckDBPyConnection,
    files: SortedFiles,
    number: int,
) -> int:
    """Count the rows of a file of usage whose instance has no events, by the index of tasks."""
    query_sql = f"""
        SELECT sum(n_windows)
        FROM tasks_beside
        WHERE NOT ({_HAS_EVENTS_SQL}) AND {files.range_sql(number)}
    """
    return _number(connection, query_sql)


def _count_orphans(connection: duckdb.DuckDBPyConnection) -> int:
    query_sql = f"""
        SELECT count(*)
        FROM rows_of_file c
        ANTI JOIN (SELECT * FROM tasks_beside WHERE {_HAS_EVENTS_SQL}) t
        ON c.collection_id = t.collection_id AND c.instance_index = t.instance_index
    """
    return _number(connection, query_sql)


def count_repeated_usage(
    connection: duckdb.DuckDBPyConnection,
    files: SortedFiles,
    number: int,
    among: Index,
) -> int:
    """Count rows of a file of usage that repeat an earlier one, where that may be.

    Parameters
    ----------
    connection
        From `sorting_connection`.
    files, number
        The files of usage, and which of them.
    among
        Collections in which usage may repeat itself, as `index_usage` returns them; all others are spared the costly
        comparison of whole rows.
    """
    if not among.size:
        return 0
    add_view(connection, TABLES[_USAGE], [files.paths[number]], "usage_of_file")
    connection.register("among", pa.table({"collection_id": among}))
    connection.execute("""
        CREATE OR REPLACE TEMP VIEW rows_of_file AS
        SELECT * FROM usage_of_file WHERE collection_id IN (SELECT collection_id FROM among)
    """)
    return _count_repeated(connection, _USAGE)


def _count_repeated(connection: duckdb.DuckDBPyConnection, name: str) -> int:
    """Count rows of the view `FILE` that repeat an earlier one; equal rows are always in the same file.

    Hashes first: grouping 8 bytes a row is far cheaper than grouping whole rows, and almost always there is nothing
    left to compare.
    """
    # Where a row came from is ours, not the publisher's: copies of a row differ in it.
    provenance = ("source_part", "source_row")
    columns = [column for column in TABLES[name].names if column not in provenance]
    columns_sql = ", ".join(quoted(column) for column in columns)
    # `hash` is compared with itself within one query only: its values differ between versions of DuckDB.
    suspects_sql = (
        f"SELECT hash({columns_sql}) AS h FROM rows_of_file GROUP BY h HAVING count(*) > 1"
    )
    if not _number(connection, f"SELECT count(*) FROM ({suspects_sql})"):
        return 0
    query_sql = f"""
        WITH suspects AS ({suspects_sql}),
        repeated AS (
            SELECT count(*) AS n
            FROM rows_of_file
            WHERE hash({columns_sql}) IN (SELECT h FROM suspects)
            GROUP BY {columns_sql}
        )
        SELECT sum(n - 1) FROM repeated
    """
    return _number(connection, query_sql)
