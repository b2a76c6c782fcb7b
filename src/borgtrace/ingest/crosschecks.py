"""What only whole tables can tell: repeated rows, unknown machines, orphan instances."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from borgtrace.engine.embedded import files_sql
from borgtrace.kernels.arrays import Index
from borgtrace.schema import TRACE_TABLES, Table
from borgtrace.schema.enums import EVENT_TYPE

_MACHINES, _INSTANCES = "machine_events", "instance_events"
"""Tables that say which machines and which instances there are; all others only name them."""


def count_across(
    connection: duckdb.DuckDBPyConnection, files: Mapping[str, Sequence[Path]], tasks: Path, suspects: Index
) -> dict[str, dict[str, int]]:
    """Count, per table and reason, what can be seen only when tables are whole.

    Parameters
    ----------
    connection
        DuckDB with its limits set.
    files
        Parquet files of each table.
    tasks
        The index, to tell orphans.
    suspects
        Collections in which usage may repeat itself, as `index_usage` returns them; all others
        are spared the costly comparison of whole rows.
    """
    found: dict[str, dict[str, int]] = {}
    for name, table in TRACE_TABLES.items():
        paths, counts = files.get(name), found.setdefault(name, {})
        if not paths:
            continue
        # Usage is nearly all rows; `index_usage` has already looked at each for a repeat, in passing.
        among = suspects if name == "instance_usage" else None
        if among is None or among.size:
            counts["exact_duplicate"] = sum(_repeated(connection, table, path, among) for path in paths)
        # Without machine_events every machine would be unknown, which says nothing about the rows; so for instances.
        # Machines of other cells are in other stores.
        if "machine_id" in table.names and name != _MACHINES and files.get(_MACHINES) and not table.is_of_cells:
            counts["unknown_machine"] = _unknown_machines(connection, files, name)
        if "instance_index" in table.names and name != _INSTANCES and files.get(_INSTANCES):
            counts["orphan_instance"] = _orphans(connection, files, name, tasks)
    return {name: nonzero for name, counts in found.items() if (nonzero := {k: n for k, n in counts.items() if n})}


def _number(connection: duckdb.DuckDBPyConnection, query: str) -> int:
    # To the end: an open result bars other work on the connection.
    ((number,),) = connection.execute(query).fetchall()
    return int(number or 0)


def _repeated(connection: duckdb.DuckDBPyConnection, table: Table, path: Path, among: Index | None) -> int:
    """Count rows that repeat an earlier one, of all collections or `among` some.

    Equal rows are always in the same file.  Hashes first: grouping 8 bytes a row is far cheaper
    than grouping whole rows, and almost always there is nothing left to compare.
    """
    # Where a row came from is ours, not the publisher's: copies of a row differ in it.
    names = [name for name in table.names if name not in ("source_part", "source_row")]
    columns = ", ".join(f'"{name}"' for name in names)
    rows = files_sql([path])
    if among is not None:
        connection.register("among", pa.table({"collection_id": among}))
        rows = f"(SELECT * FROM {rows} WHERE collection_id IN (SELECT collection_id FROM among))"
    # `hash` is compared with itself within one query only: its values differ between versions of DuckDB.
    suspects = f"SELECT hash({columns}) AS h FROM {rows} GROUP BY h HAVING count(*) > 1"
    return _number(
        connection,
        f"WITH suspects AS ({suspects}), n AS (SELECT count(*) AS n FROM {rows} "
        f"WHERE hash({columns}) IN (SELECT h FROM suspects) GROUP BY {columns}) SELECT sum(n - 1) FROM n",
    )


def _unknown_machines(connection: duckdb.DuckDBPyConnection, files: Mapping[str, Sequence[Path]], name: str) -> int:
    known = f"SELECT DISTINCT machine_id FROM {files_sql(files['machine_events'])}"
    return _number(
        connection,
        # NULL is left out: an instance that waits, or is on a dedicated machine, names none.
        f"SELECT count(*) FROM {files_sql(files[name])} WHERE machine_id IS NOT NULL AND machine_id NOT IN ({known})",
    )


def _orphans(connection: duckdb.DuckDBPyConnection, files: Mapping[str, Sequence[Path]], name: str, tasks: Path) -> int:
    has_events = " + ".join(f"n_{event.lower()}" for event in EVENT_TYPE.names) + " > 0"
    if name == "instance_usage":
        return _number(connection, f"SELECT sum(n_windows) FROM {files_sql([tasks])} WHERE NOT ({has_events})")
    return _number(
        connection,
        f"SELECT count(*) FROM {files_sql(files[name])} c ANTI JOIN (SELECT * FROM {files_sql([tasks])} "
        f"WHERE {has_events}) t ON c.collection_id = t.collection_id AND c.instance_index = t.instance_index",
    )
