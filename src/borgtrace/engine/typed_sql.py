"""Expressions as SQL of DuckDB with their exact types."""

from functools import cache
from typing import Any

import ibis
import ibis.expr.operations as ops

from borgtrace.engine.embedded import raw_connection
from borgtrace.engine.guard import lock
from borgtrace.engine.identifiers import quoted


def typed_sql(con: Any, expr: ibis.Table) -> str:
    """Write an expression as DuckDB SQL with its exact types: DuckDB itself adds integers up as HUGEINT.

    Parameters
    ----------
    con
        The embedded engine.
    expr
        A relational expression.
    """
    con._run_pre_execute_hooks(expr)  # registers in-memory tables of the expression
    casts = []
    for name, dtype in expr.schema().items():
        column = quoted(name)
        type_name = con.compiler.type_mapper.to_string(dtype)
        casts.append(f"CAST({column} AS {type_name}) AS {column}")
    return f"SELECT {', '.join(casts)} FROM ({con.compile(expr)})"


def duckdb_sql(expr: ibis.Table) -> str:
    """Write an expression over tables of another engine as DuckDB SQL over tables of their names.

    Parameters
    ----------
    expr
        A relational expression without tables in memory.

    Examples
    --------
    >>> duckdb_sql(ibis.table({"a": "int64"}, name="t"))
    'SELECT CAST("a" AS BIGINT) AS "a" FROM (SELECT * FROM "t")'
    """
    tables = expr.op().find(ops.PhysicalTable)
    unbound = {table: ops.UnboundTable(table.name, table.schema) for table in tables}
    return typed_sql(_compiling(), expr.op().replace(unbound).to_expr())


@cache
def _compiling() -> Any:
    """Return a connection that runs nothing."""
    connection = raw_connection("100MB", threads=1)
    # Ibis sets the time zone, so it is locked afterwards.
    backend = ibis.duckdb.from_connection(connection)
    lock(connection)
    return backend
