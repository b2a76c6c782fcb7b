"""The embedded engine: Ibis over DuckDB, within a memory budget."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.engine.embedded import raw_connection, view_sql
from borgtrace.errors import EngineError, first_line
from borgtrace.schema import Table

if TYPE_CHECKING:
    from ibis.backends.duckdb import Backend


def connect(memory: str = "4GB", threads: int | None = None, temp_directory: Path | None = None) -> Backend:
    """Open an Ibis connection on :func:`raw_connection`, with the same parameters.

    Parameters
    ----------
    memory
        What DuckDB may hold before it spills, such as ``"4GB"``.
    threads
        Its threads; all cores where None.
    temp_directory
        Where it spills; a directory of its own under the system's temporary one where None.

    Examples
    --------
    >>> con = connect("200MB")
    >>> con.name
    'duckdb'
    """
    return ibis.duckdb.from_connection(raw_connection(memory, threads, temp_directory))


def read_table(con: Backend, table: Table, paths: Sequence[str], *, name: str | None = None) -> ir.Table:
    """Register Parquet files as a canonical table, with exactly its declared types.

    Parameters
    ----------
    con
        Connection from :func:`connect`.
    table
        What the files hold.
    paths
        Parquet files; none gives an empty table.
    name
        What the table is called in SQL; the table's own name where None.  A later table of the
        same name replaces the earlier one.

    Raises
    ------
    EngineError
        Where a file is missing or is not Parquet.
    """
    name = name or table.name
    try:
        con.raw_sql(view_sql(table, paths, name))
    except (duckdb.Error, OSError, pa.ArrowInvalid) as error:
        raise EngineError(
            "duckdb",
            f"cannot read {table.name}",
            got=first_line(error),
            way_out="check the store with: borgtrace verify STORE",
        ) from error
    return con.table(name)
