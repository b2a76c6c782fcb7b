"""Where relational work runs: DuckDB within a memory budget, or Spark; views for BigQuery.

Relational work is written once, as Ibis expressions over the canonical tables.  This package
opens the connection, reads the tables with their declared types, and brings results back as Arrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from borgtrace.errors import UsageError
from borgtrace.schema import Table

if TYPE_CHECKING:
    import ibis.expr.types as ir
    from ibis.backends.sql import SQLBackend

    from borgtrace.engine.arrow import to_arrow
    from borgtrace.engine.dtypes import ibis_schema

__all__ = ["connect", "ibis_schema", "read_table", "to_arrow"]


def __getattr__(name: str) -> Any:
    """Import Ibis only for those who use it: it takes longer than opening a store."""
    if name == "to_arrow":
        from borgtrace.engine.arrow import to_arrow

        return to_arrow
    if name == "ibis_schema":
        from borgtrace.engine.dtypes import ibis_schema

        return ibis_schema
    raise AttributeError(name)


def connect(
    url: str = "duckdb", *, memory: str = "4GB", threads: int | None = None, temp_directory: Path | None = None
) -> SQLBackend:
    """Open an engine by its name.

    Parameters
    ----------
    url
        ``duckdb`` (embedded), ``local[n]`` or ``spark://host:port`` (Spark).
    memory
        Memory budget, such as ``"4GB"``; beyond it the engine spills.
    threads
        Threads of DuckDB (all cores where None); Spark takes them from `url`.
    temp_directory
        Where to spill; a place under the system's temporary directory where None.

    Raises
    ------
    UsageError
        For an engine nobody knows.
    EngineError
        Where the engine is not installed or does not start.

    Examples
    --------
    >>> connect("duckdb", memory="200MB").name
    'duckdb'
    """
    if url == "duckdb":
        from borgtrace.engine import duckdb

        return duckdb.connect(memory, threads, temp_directory)
    if url == "local" or url.startswith(("local[", "spark://")):
        from borgtrace.engine import spark

        return spark.connect(url, memory, temp_directory)
    raise UsageError("--engine", "unknown engine", expected="duckdb, local[n] or spark://host:port", got=repr(url))


def read_table(con: SQLBackend, table: Table, paths: Sequence[str], *, name: str | None = None) -> ir.Table:
    """Read Parquet files as a canonical table on any engine from :func:`connect`.

    Parameters
    ----------
    con
        The engine.
    table
        What the files hold; the result has exactly its columns and types.
    paths
        Parquet files; none gives an empty table.
    name
        Name in SQL; the table's own where None.

    Examples
    --------
    >>> from borgtrace.engine import to_arrow
    >>> from borgtrace.schema import TABLES
    >>> to_arrow(read_table(connect(memory="200MB"), TABLES["machine_events"], [])).num_rows
    0
    """
    engine: Any
    if con.name == "pyspark":
        from borgtrace.engine import spark as engine
    else:
        from borgtrace.engine import duckdb as engine
    table_expr: ir.Table = engine.read_table(con, table, paths, name=name)
    return table_expr
