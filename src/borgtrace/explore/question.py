"""The SQL box: one query of the reader's own, through the guard that `borgtrace sql` uses."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.csv

from borgtrace.explore.trace import Trace
from borgtrace.schema import TABLES

SHOWN_ROWS = 200
MOST_ROWS = 10_000
"""Rows that a browser is given as JSON; CSV is streamed and has them all."""
SECONDS = 30.0
EXAMPLE = "SELECT type, count(*) AS n\nFROM instance_events\nGROUP BY type\nORDER BY n DESC"
WORDS = {name: list(table.names) for name, table in TABLES.items()}
"""Tables and columns, for completion."""


def first_rows(trace: Trace, query: str, limit: int) -> tuple[pa.Table, bool]:
    """Return the first rows of an answer, and whether there are more: the rest is never computed.

    Parameters
    ----------
    trace
        What is explored.
    query
        One SELECT, or EXPLAIN of one.
    limit
        Rows to take.

    Raises
    ------
    UsageError
        Where it is something else, or wrong.
    EngineError
        Where the engine refuses the work, or it takes longer than `SECONDS`.
    """
    reader = trace.store.stream(query, timeout=SECONDS)
    batches, rows = [], 0
    for batch in reader:
        batches.append(batch)
        rows += batch.num_rows
        if rows > limit:
            break
    table = pa.Table.from_batches(batches, reader.schema)
    return table.slice(0, limit), table.num_rows > limit


def csv_lines(trace: Trace, query: str) -> Iterator[bytes]:
    """Yield an answer as CSV, batch by batch; refuses what `first_rows` refuses."""
    reader = trace.store.stream(query, timeout=SECONDS)
    # Before the first byte is sent: a query that is wrong is told of, not cut off.
    return _lines(reader)


def _lines(reader: pa.RecordBatchReader) -> Iterator[bytes]:
    from borgtrace.explore.charts import to_csv

    header = to_csv(reader.schema.empty_table())
    yield header
    for batch in reader:
        whole = to_csv(pa.Table.from_batches([batch]))
        yield whole[len(header) :]
