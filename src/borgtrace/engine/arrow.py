"""From an expression to an Arrow table, the same on every engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import ibis
import ibis.expr.types as ir
import pyarrow as pa

if TYPE_CHECKING:
    from ibis.backends.pyspark import Backend as SparkBackend


def to_arrow(expr: ir.Table) -> pa.Table:
    """Run `expr` and return its rows, with the types the expression declares.

    Ibis itself goes through pandas on Spark, where an integer beside a NULL becomes a float and
    loses its last digits, and NaN becomes NULL; this does not.

    Examples
    --------
    >>> to_arrow(ibis.memtable({"a": [1, 2]})).column("a").to_pylist()
    [1, 2]
    """
    backend = ibis.get_backend(expr)
    if backend.name != "pyspark":
        return expr.to_pyarrow()
    return _from_spark(cast("SparkBackend", backend), expr)


def _from_spark(backend: SparkBackend, expr: ir.Table) -> pa.Table:
    from borgtrace.engine.spark import frame_to_arrow, spark_session

    backend._run_pre_execute_hooks(expr)  # registers in-memory tables and functions of the expression
    rows = frame_to_arrow(spark_session(backend).sql(backend.compile(expr)))
    return rows.cast(expr.schema().to_pyarrow())
