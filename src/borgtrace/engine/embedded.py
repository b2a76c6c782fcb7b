"""DuckDB itself, without Ibis: connections within a memory budget, and tables as views.

Ibis takes half a second to import, so what only needs SQL (ingest, per-task traces, the guard)
comes through here.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from borgtrace.engine.identifiers import literal, quoted
from borgtrace.engine.memory import parse_memory
from borgtrace.engine.stored import stored_names
from borgtrace.schema import Table
from borgtrace.storage import RemotePath, as_path, new_scratch, plain_path

SQL_TYPES = {
    "int64": "BIGINT",
    "int32": "INTEGER",
    "uint32": "UINTEGER",
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "string": "VARCHAR",
    "enum": "VARCHAR",
    "bool": "BOOLEAN",
    "list<float32>": "FLOAT[]",
    "list<int64>": "BIGINT[]",
}
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
        Where to spill; a directory of this connection in the scratch folder of this process where
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
        "temp_directory": str(temp_directory or new_scratch("spill")),
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
    """Turn off DuckDB's own progress bar: stdout is data, and commands show progress.

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
    """Return the rows of a query over one table, which it calls ``answer``.

    Rows come in the order of the table where the query gives none.

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
        result = connection.register("answer", answer).execute(query)
        names = [name for name, *_ in result.description or ()]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


@cache
def _small_connection() -> duckdb.DuckDBPyConnection:
    # Opening one takes 50 ms, and a report runs hundreds of such queries.  A single thread sums in one order.
    return raw_connection(threads=1)


def add_view(
    con: duckdb.DuckDBPyConnection,
    table: Table,
    paths: Sequence[str | Path],
    name: str,
    *,
    is_temporary: bool = True,
) -> None:
    """Register `paths` as the view `name`.

    Columns that files of an earlier version lack are NULL; renamed ones get their present names.
    Files of a bucket are read by Arrow, which is handed the columns and the filters of a query.

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
    is_temporary
        Whether the view goes with the cursor that made it.
    """
    files_view = f"{name}_files"
    is_remote = _show_remote_files(con, paths, files_view)
    rows_sql = quoted(files_view) if is_remote else ""
    view_sql = "TEMP VIEW" if is_temporary else "VIEW"
    query_sql = select_sql(table, paths, rows_sql=rows_sql)
    con.execute(f"CREATE OR REPLACE {view_sql} {quoted(name)} AS {query_sql}")


def _show_remote_files(
    con: duckdb.DuckDBPyConnection,
    paths: Sequence[str | Path],
    name: str,
) -> bool:
    """Make a view of the files as they are, if they are in a bucket; return whether they are."""
    remote_paths = [path for path in map(as_path, paths) if isinstance(path, RemotePath)]
    if not remote_paths:
        return False
    from pyarrow.dataset import dataset

    filesystem, _ = remote_paths[0].located
    keys = [path.located[1] for path in remote_paths]
    files = dataset(keys, filesystem=filesystem, format="parquet")
    # Not `register`, whose views other cursors do not see.
    con.from_arrow(files).create_view(name, replace=True)
    return True


def select_sql(
    table: Table,
    paths: Sequence[str | Path],
    replaced_sql: Mapping[str, str] | None = None,
    rows_sql: str = "",
) -> str:
    """Write the query that yields exactly a table's declared columns from its files; no files, no rows.

    Parameters
    ----------
    table
        What the files hold.
    paths
        Parquet files of this version or an earlier one.
    replaced_sql
        SQL of columns that are not to be taken as they are stored.
    rows_sql
        What yields the rows of the files; DuckDB's own reader where empty.

    Examples
    --------
    >>> from borgtrace.schema import Column
    >>> select_sql(Table("t", "x", ("a",), (Column("a", "int64", "id", "An id."),)), [])
    'SELECT CAST(NULL AS BIGINT) AS "a" WHERE false'
    """
    stored = stored_names(table, paths) if paths else {}
    column_sql = {column: quoted(name) for column, name in stored.items() if name}
    column_sql |= replaced_sql or {}
    values_sql = columns_sql(table, column_sql)
    if not paths:
        return f"SELECT {values_sql} WHERE false"
    source_sql = rows_sql or files_sql(paths)
    return f"SELECT {values_sql} FROM {source_sql}"


def columns_sql(table: Table, column_sql: Mapping[str, str], *, is_typed: bool = True) -> str:
    """Write the list of a table's columns; NULL where nothing yields one.

    Parameters
    ----------
    table
        Declares the columns.
    column_sql
        SQL of each column that something yields, by name.
    is_typed
        Whether a column that is NULL gets the declared type, too.
    """
    values = []
    for column in table.columns:
        value_sql = column_sql.get(column.name, "NULL")
        has_type = is_typed or column.name in column_sql
        # Cast always: NULL has no type of its own.
        type_sql = SQL_TYPES[column.type] if has_type else NO_TYPE
        values.append(f"CAST({value_sql} AS {type_sql}) AS {quoted(column.name)}")
    return ", ".join(values)


def files_sql(
    paths: Sequence[str | Path],
    *,
    numbered: bool = False,
    named: bool = False,
) -> str:
    """Write the table function that reads Parquet files as they are.

    Parameters
    ----------
    paths
        The files, at least one.
    numbered
        Whether each row also gives its place in its file, in ``file_row_number``.
    named
        Whether each row also gives its file, in ``filename``, as `plain_path` writes it.

    Examples
    --------
    >>> files_sql(["it's.parquet"])
    "read_parquet(['it''s.parquet'], hive_partitioning = false)"
    """
    plain_paths = [plain_path(as_path(path)) for path in paths]
    paths_sql = ", ".join(literal(str(path)) for path in plain_paths)
    # Otherwise a store below a folder called ``cell=a`` would gain a column ``cell``.
    options_sql = "hive_partitioning = false"
    if numbered:
        options_sql += ", file_row_number = true"
    if named:
        options_sql += ", filename = true"
    return f"read_parquet([{paths_sql}], {options_sql})"
