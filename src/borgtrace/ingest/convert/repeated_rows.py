"""Several rows of usage of one task at one time: counted and reported, since they may be those of two tasks.

What is stored of them depends on what the rows are: windows of their own, one window of a slot, or, of a counter, none.
"""

from typing import NamedTuple

import duckdb

from borgtrace.engine.identifiers import quoted
from borgtrace.ingest.convert.conversion_terms import Terms
from borgtrace.schema.records.usage_rows import USAGE_ROWS

_KEY = ("task", "instance", "time")
_NAMES = (*_KEY, "machine", "instance_name")
"""Columns that hold no measurement."""


class RepeatedRows(NamedTuple):
    """How many rows have the task and the time of an earlier one.

    Parameters
    ----------
    n_differing
        Those with other values.
    n_equal
        Those that repeat the earlier row in every column.
    """

    n_differing: int = 0
    n_equal: int = 0


def count_repeated_rows(connection: duckdb.DuckDBPyConnection, terms: Terms) -> RepeatedRows:
    """Count the rows of usage that have the task and the time of another.

    Parameters
    ----------
    connection
        Where `open_rows` showed the staged rows.
    terms
        What it returned.
    """
    conversion = terms.conversion
    # Formats that promise one row at a time are taken at their word; samples of series were compared before.
    is_promised = conversion.is_regular or conversion.is_scattered
    if is_promised or not terms.has("usage_rows", "time"):
        return RepeatedRows()
    filled = [name for name in USAGE_ROWS.names if terms.has("usage_rows", name)]
    measured = [name for name in filled if name not in _NAMES]
    # One row may say the CPU of a moment, and another one its memory.
    said_sql = ", ".join(f"{quoted(name)} IS NULL" for name in measured)
    moment_sql = f"hash(task, coalesce(instance, 0), time, {said_sql})"
    moments_sql = f"SELECT {moment_sql} FROM usage_rows WHERE time IS NOT NULL"
    # Nearly all files have none, and to count the different rows of each moment takes four times as long.
    repeated_sql = f"{moments_sql} GROUP BY 1 HAVING count(*) > 1"
    if not connection.execute(f"{repeated_sql} LIMIT 1").fetchall():
        return RepeatedRows()
    row_sql = f"hash({', '.join(map(quoted, filled))})"
    ((n_repeated, n_equal),) = connection.execute(f"""
        SELECT coalesce(sum(n_rows - 1), 0), coalesce(sum(n_rows - n_distinct), 0)
        FROM (
            SELECT count(*) AS n_rows, count(DISTINCT {row_sql}) AS n_distinct
            FROM usage_rows
            WHERE time IS NOT NULL
            GROUP BY {moment_sql}
            HAVING count(*) > 1
        )
    """).fetchall()
    return RepeatedRows(int(n_repeated) - int(n_equal), int(n_equal))


def note_on_repeated_rows(repeated: RepeatedRows, terms: Terms) -> str:
    """Return the sentence about rows of one task at one time, and what is stored of them; empty where there are none.

    Parameters
    ----------
    repeated
        Their numbers.
    terms
        What `open_rows` returned.
    """
    parts = []
    if repeated.n_differing:
        parts.append(f"{repeated.n_differing:,} with other values")
    if repeated.n_equal:
        parts.append(f"{repeated.n_equal:,} equal in every column")
    if not parts:
        return ""
    stored = "each is stored as a window of its own"
    if terms.has("usage_rows", "counter_cpu"):
        stored = "of a counter no window lies between them"
    elif terms.conversion.window:
        stored = "they are stored as one window, with their mean"
    return f"Rows with the task and the time of an earlier row: {' and '.join(parts)}; {stored}."
