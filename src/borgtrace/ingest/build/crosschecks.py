"""What only whole tables can tell: repeated rows, unknown machines, orphan instances."""

from collections.abc import Mapping

import duckdb
import pyarrow as pa

from borgtrace.engine.embedded import add_view
from borgtrace.ingest.build.file_ranges import SortedFiles
from borgtrace.kernels.arrays import Index
from borgtrace.schema import TABLES
from borgtrace.schema.enums import EVENT_TYPE

_MACHINES, _INSTANCES, _USAGE = "machine_events", "instance_events", "instance_usage"
"""Tables that say which machines and which instances there are; all others, usage too, only name them."""
FILE = "rows_of_file"
"""View of the file that is looked at."""
_HAS_EVENTS = " + ".join(f"n_{event.lower()}" for event in EVENT_TYPE.names) + " > 0"


def count_in_file(
    connection: duckdb.DuckDBPyConnection, files: Mapping[str, SortedFiles], name: str, number: int
) -> dict[str, int]:
    """Count, per reason, what a file of a table holds that can be seen only when tables are whole.

    Parameters
    ----------
    connection
        From `sorting_connection`.
    files
        Those of all tables, the index of tasks among them.
    name, number
        The table, and which file of it.
    """
    table, counts = TABLES[name], dict[str, int]()
    add_view(connection, table, [files[name].paths[number]], FILE)
    # Usage is nearly all rows: `index_usage` has already looked at each for a repeat, in passing.
    if name != _USAGE:
        counts["exact_duplicate"] = _repeated(connection, name)
    # Without machine_events every machine would be unknown, which says nothing about the rows; so for instances.
    # Machines of other cells are in other stores.
    if (
        "machine_id" in table.names
        and name != _MACHINES
        and files[_MACHINES].paths
        and not table.is_of_cells
    ):
        add_view(connection, TABLES[_MACHINES], files[_MACHINES].paths, "machines")
        # NULL is left out: an instance that waits, or is on a dedicated machine, names none.
        is_unknown = (
            "machine_id IS NOT NULL AND machine_id NOT IN (SELECT machine_id FROM machines)"
        )
        counts["unknown_machine"] = _number(
            connection, f"SELECT count(*) FROM {FILE} WHERE {is_unknown}"
        )
    if "instance_index" in table.names and name != _INSTANCES and files[_INSTANCES].paths:
        add_view(
            connection, TABLES["tasks"], files["tasks"].beside(files[name], number), "tasks_beside"
        )
        counts["orphan_instance"] = _number(
            connection, _orphans(files[name].condition(number), name)
        )
    return {reason: n for reason, n in counts.items() if n}


def _number(connection: duckdb.DuckDBPyConnection, query: str) -> int:
    # To the end: an open result bars other work on the connection.
    ((number,),) = connection.execute(query).fetchall()
    return int(number or 0)


def _orphans(condition: str, name: str) -> str:
    if name == _USAGE:
        return f"SELECT sum(n_windows) FROM tasks_beside WHERE NOT ({_HAS_EVENTS}) AND {condition}"
    return (
        f"SELECT count(*) FROM {FILE} c ANTI JOIN (SELECT * FROM tasks_beside WHERE {_HAS_EVENTS}) t "
        "ON c.collection_id = t.collection_id AND c.instance_index = t.instance_index"
    )


def count_repeated_usage(
    connection: duckdb.DuckDBPyConnection, files: SortedFiles, number: int, among: Index
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
    rows = "SELECT * FROM usage_of_file WHERE collection_id IN (SELECT collection_id FROM among)"
    connection.execute(f"CREATE OR REPLACE TEMP VIEW {FILE} AS {rows}")
    return _repeated(connection, _USAGE)


def _repeated(connection: duckdb.DuckDBPyConnection, name: str) -> int:
    """Count rows of the view `FILE` that repeat an earlier one; equal rows are always in the same file.

    Hashes first: grouping 8 bytes a row is far cheaper than grouping whole rows, and almost always there is nothing
    left to compare.
    """
    # Where a row came from is ours, not the publisher's: copies of a row differ in it.
    names = [column for column in TABLES[name].names if column not in ("source_part", "source_row")]
    columns = ", ".join(f'"{column}"' for column in names)
    # `hash` is compared with itself within one query only: its values differ between versions of DuckDB.
    suspects = f"SELECT hash({columns}) AS h FROM {FILE} GROUP BY h HAVING count(*) > 1"
    return _number(
        connection,
        f"WITH suspects AS ({suspects}), n AS (SELECT count(*) AS n FROM {FILE} "
        f"WHERE hash({columns}) IN (SELECT h FROM suspects) GROUP BY {columns}) SELECT sum(n - 1) FROM n",
    )
