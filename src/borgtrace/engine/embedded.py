"""DuckDB itself, without Ibis: connections within a memory budget, and tables as views.

Ibis takes half a second to import, so what only needs SQL (ingest, per-task traces, the guard)
comes through here.
"""

import itertools
import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from borgtrace.engine.memory import parse_memory
from borgtrace.engine.stored import stored_names
from borgtrace.errors import EngineError
from borgtrace.schema import Table
from borgtrace.schema.data_files import read_rows
from borgtrace.schema.sql import literals
from borgtrace.storage import RemotePath, as_path

_SERIAL = itertools.count()
SQL_TYPES = {row["type"]: row["sql"] for row in read_rows(Path(__file__).with_name("types.csv"))}
"""DuckDB's name of each column type."""
NO_TYPE = '"NULL"'
"""DuckDB's name of the type of a column that is NULL and nothing else."""


def raw_connection(
    memory: str = "4GB",
    threads: int | None = None,
    temp_directory: Path | None = None,
    *,
    preserve_insertion_order: bool = True,
) -> duckdb.DuckDBPyConnection:
    """Open an in-memory DuckDB database with limits.

    Parameters
    ----------
    memory
        What DuckDB may hold before it spills, such as ``"4GB"``.
    threads
        Number of threads; all cores where None.
    temp_directory
        Where to spill; a directory of this connection under the system's temporary one where
        None.  DuckDB creates it when it first spills and removes it when the connection closes.
    preserve_insertion_order
        Whether results without ORDER BY keep the order of the files; off, sorts need less memory.

    Examples
    --------
    >>> raw_connection("200MB", threads=1).execute("select current_setting('threads')").fetchone()
    (1,)
    """
    config: dict[str, str | bool | int | float | list[str]] = {
        # In bytes: `parse_memory` has decided what the unit means, for Spark in the same way.
        "memory_limit": f"{parse_memory(memory)}B",
        "temp_directory": str(temp_directory or _spill_directory()),
        "preserve_insertion_order": preserve_insertion_order,
        # Nothing is fetched from the network behind the user's back.
        "autoinstall_known_extensions": False,
        # A name in SQL is a table, never a Python variable that happens to be called so.
        "python_enable_replacements": False,
    }
    if threads is not None:
        config["threads"] = threads
    return without_bar(duckdb.connect(config=config))


def without_bar(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Keep a connection from drawing the progress of slow queries: stdout is data, and commands show progress.

    Examples
    --------
    >>> without_bar(duckdb.connect()).execute("SELECT current_setting('enable_progress_bar')").fetchone()
    (False,)
    """
    # A notebook without ipywidgets refuses the setting, and draws no bar.
    with suppress(duckdb.InvalidInputException):
        con.execute("SET enable_progress_bar = false")
    return con


def ask(answer: pa.Table, query: str) -> list[dict[str, Any]]:
    """Return what a query finds in a table, which it calls ``answer``.

    Rows come in the order of the table where the query names none.

    Parameters
    ----------
    answer
        A small table, such as the answer of a question.
    query
        SQL of DuckDB.

    Examples
    --------
    >>> ask(pa.table({"n": [1, 2]}), "select n, sum(n) over () as total from answer")
    [{'n': 1, 'total': 3}, {'n': 2, 'total': 3}]
    """
    with _small_connection().cursor() as connection:
        found = connection.register("answer", answer).execute(query)
        names = [name for name, *_ in found.description or ()]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


@cache
def _small_connection() -> duckdb.DuckDBPyConnection:
    # To open one takes 50 ms, and a report asks hundreds of such queries.  One thread adds up in one order.
    return raw_connection(threads=1)


def add_view(
    con: duckdb.DuckDBPyConnection,
    table: Table,
    paths: Sequence[str | Path],
    name: str,
    kind: str = "TEMP VIEW",
) -> None:
    """Register `paths` as the view `name`.

    Columns that files of an earlier version lack are NULL; those that have been renamed get their present names.
    Files of a bucket are read by Arrow, which is told the columns and the filters of a query.

    Parameters
    ----------
    con
        The connection.
    table
        What the files hold.
    paths
        Parquet files; none gives an empty view.
    name
        Name of the view.
    kind
        ``TEMP VIEW`` or ``VIEW``.
    """
    rows, remote = "", [path for path in map(as_path, paths) if isinstance(path, RemotePath)]
    if remote:
        from pyarrow.dataset import dataset

        rows = f'"{name}_files"'
        files = dataset(
            [path.located[1] for path in remote], filesystem=remote[0].located[0], format="parquet"
        )
        # No `register`, whose views other cursors do not see.
        con.from_arrow(files).create_view(f"{name}_files", replace=True)
    con.execute(f'CREATE OR REPLACE {kind} "{name}" AS {select_sql(table, paths, rows=rows)}')


def select_sql(
    table: Table,
    paths: Sequence[str | Path],
    replaced: Mapping[str, str] | None = None,
    rows: str = "",
) -> str:
    """Write the query that yields exactly a table's declared columns from its files; no files, no rows.

    Parameters
    ----------
    table
        What the files hold.
    paths
        Parquet files of this version or an earlier one.
    replaced
        SQL of columns that are not to be taken as they are stored.
    rows
        What yields the rows of the files; DuckDB's own reader where empty.

    Examples
    --------
    >>> from borgtrace.schema import Column
    >>> select_sql(Table("t", "x", ("a",), (Column("a", "int64", "id", "An id."),)), [])
    'SELECT CAST(NULL AS BIGINT) AS "a" WHERE false'
    """
    names = stored_names(table, paths) if paths else {}
    held = {column: f'"{stored}"' for column, stored in names.items() if stored} | dict(
        replaced or {}
    )
    values = columns_sql(table, held)
    if not paths:
        return f"SELECT {values} WHERE false"
    return f"SELECT {values} FROM {rows or files_sql(paths)}"


def columns_sql(table: Table, held: Mapping[str, str], *, is_typed: bool = True) -> str:
    """Write the list of a table's columns, from the SQL of those that are held; NULL elsewhere, with a type or none."""
    # Cast always: NULL has no type of its own.
    kinds = {
        c.name: SQL_TYPES[c.type] if is_typed or c.name in held else NO_TYPE for c in table.columns
    }
    return ", ".join(
        f'CAST({held.get(name, "NULL")} AS {kind}) AS "{name}"' for name, kind in kinds.items()
    )


def files_sql(paths: Sequence[str | Path], *, numbered: bool = False) -> str:
    """Write the table function that reads Parquet files as they are.

    Parameters
    ----------
    paths
        The files, at least one.
    numbered
        Whether each row also says its place in its file, in ``file_row_number``.

    Examples
    --------
    >>> files_sql(["it's.parquet"])
    "read_parquet(['it''s.parquet'], hive_partitioning = false)"
    """
    # Otherwise a store below a folder called ``cell=a`` would gain a column ``cell``.
    return f"read_parquet([{literals(paths)}], hive_partitioning = false{', file_row_number = true' * numbered})"


def _spill_directory() -> Path:
    """Name a directory that no other connection uses: DuckDB's own file names would collide."""
    try:
        folder = tempfile.gettempdir()
    except FileNotFoundError as error:
        way_out = "set TMPDIR to a folder that can be written to"
        raise EngineError("temporary folder", "none can be written to", way_out=way_out) from error
    return Path(folder) / f"borgtrace-spill-{os.getpid()}-{next(_SERIAL)}"
