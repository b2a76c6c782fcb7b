"""Clustering: staged parts → one table sorted by its key, in files cut at collections.

DuckDB sorts within the memory budget and writes; each file is one external sort.  Its Parquet
writer gives the same bytes for any number of threads and any budget (row groups are cut by row
count), which the tests hold it to.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import duckdb

from borgtrace.engine.embedded import raw_connection
from borgtrace.ingest.file_ranges import cut_ranges, range_condition, range_number
from borgtrace.schema import Table
from borgtrace.storage import INCOMPLETE
from borgtrace.store.layout import part_name

PARQUET = (
    f"FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE {1 << 19}, DICTIONARY_SIZE_LIMIT {1 << 15}"
)
"""How the store's files are written.

Measured values have ten significant bits and so fewer than 2^15 distinct ones in a row group; numbers that
have more are given up as dictionary early, before its hash table leaves the cache (a quarter of the writing).
"""
DIRECT_FILES = 4
"""Up to so many files, each sort filters the whole input; beyond, rows are first dealt to buckets."""


def sorting_connection(memory: str, threads: int | None, spill: Path) -> duckdb.DuckDBPyConnection:
    """Open the connection that sorts and writes.

    Statistics propagation is off: with it, whether a Parquet column is written as NOT NULL depends
    on what the optimizer happens to know about the input files, and with it the store's digest.

    Parameters
    ----------
    memory
        What DuckDB may hold before it spills, such as ``"4GB"``.
    threads
        Its threads; all cores where None.
    spill
        Where it spills; made here.
    """
    spill.mkdir(parents=True, exist_ok=True)
    connection = raw_connection(memory, threads, spill)
    connection.execute("SET disabled_optimizers = 'statistics_propagation'")
    return connection


def cluster(
    connection: duckdb.DuckDBPyConnection,
    table: Table,
    relation: str,
    folder: Path,
    constants: Mapping[str, str] | None = None,
    progress: Callable[[int], None] = lambda rows: None,
) -> list[int]:
    """Sort the rows of `relation` by the table's key into Parquet files in `folder`.

    Parameters
    ----------
    connection
        DuckDB with memory limit and spill directory set.
    table
        The canonical table.
    relation
        SQL that yields its columns.
    folder
        Where the files go; made here.
    constants
        Columns that are the same in every row, with their SQL: they are not carried through the sort.
    progress
        Called with the number of rows written, after each file.

    Returns
    -------
    list of int
        Rows of each file.
    """
    folder.mkdir(parents=True)
    cuts = _cuts(connection, table, relation)
    buckets = folder / f"buckets{INCOMPLETE}"
    # With many files, each filtering the whole input would read it as often as there are files.
    if len(cuts) >= DIRECT_FILES:
        _deal(connection, relation, cuts, buckets)
    rows = []
    for number in range(len(cuts) + 1):
        source = _bucket(relation, cuts, number, buckets)
        rows.append(_sort(connection, table, source, constants or {}, folder / part_name(number)))
        progress(rows[-1])
    shutil.rmtree(buckets, ignore_errors=True)
    return rows


def _cuts(connection: duckdb.DuckDBPyConnection, table: Table, relation: str) -> list[int]:
    # Machine tables are ordered by time and small: one file.
    if table.key[0] != "collection_id":
        return []
    found = connection.execute(
        f"SELECT collection_id, count(*) AS n FROM ({relation}) GROUP BY 1 ORDER BY 1"
    ).fetchnumpy()
    return cut_ranges(found["collection_id"], found["n"])


def _deal(connection: duckdb.DuckDBPyConnection, relation: str, cuts: list[int], folder: Path) -> None:
    """Write each row to the bucket of its file, in one pass and in any order."""
    connection.execute(
        f"COPY (SELECT *, {range_number(cuts)} AS bucket FROM ({relation})) TO '{folder}' "
        # lz4, as for staged parts: written and read once.
        "(FORMAT parquet, PARTITION_BY (bucket), COMPRESSION lz4)"
    )


def _bucket(relation: str, cuts: list[int], number: int, buckets: Path) -> str:
    if buckets.exists():
        # hive_partitioning off: the number of the bucket in the path would come back as a column.
        return f"SELECT * FROM read_parquet('{buckets}/bucket={number}/*.parquet', hive_partitioning=false)"
    return f"SELECT * FROM ({relation}) WHERE {range_condition(cuts, number)}"


def _sort(
    connection: duckdb.DuckDBPyConnection, table: Table, source: str, constants: Mapping[str, str], path: Path
) -> int:
    # Columns that are the same in every row are added after the sort: they would only make its rows wider.
    carried = ", ".join(f'"{name}"' for name in table.names if name not in constants)
    columns = ", ".join(constants.get(name, f'"{name}"') for name in table.names)
    order = ", ".join(f'"{name}"' for name in table.key)
    written = connection.execute(
        f"COPY (SELECT {columns} FROM (SELECT {carried} FROM ({source}) ORDER BY {order})) TO '{path}' ({PARQUET})"
    ).fetchall()  # to the end: an open result bars other work on the connection
    return int(written[0][0]) if written else 0
