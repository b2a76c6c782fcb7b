"""The SQL box: one query of the reader's own, through the guard that `borgtrace sql` uses."""

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

from borgtrace.explore.charts import to_csv
from borgtrace.schema import TABLES
from borgtrace.store import Store

SHOWN_ROWS = 200
MOST_ROWS = 10_000
"""Rows that a browser is given as JSON; CSV is streamed and has them all."""
TIMEOUT_SECONDS = 30.0
EXAMPLE = "SELECT type, count(*) AS n\nFROM instance_events\nGROUP BY type\nORDER BY n DESC"
WORDS = {name: list(table.names) for name, table in TABLES.items()}
"""Tables and columns, for completion."""


class FirstRows(NamedTuple):
    """The first rows of an answer, and whether there are more."""

    table: pa.Table
    is_cut: bool


def answer(store: Store, query: str, limit: int) -> FirstRows:
    """Return the first rows of an answer: the rest is never computed.

    Parameters
    ----------
    store
        What is asked.
    query
        One SELECT, or EXPLAIN of one.
    limit
        Rows to take.

    Raises
    ------
    UsageError
        Where it is something else, or wrong.
    EngineError
        Where the engine refuses the work, or it takes longer than `TIMEOUT_SECONDS`.
    """
    return take_rows(store.stream(query, timeout=TIMEOUT_SECONDS), limit)


def take_rows(reader: pa.RecordBatchReader, limit: int) -> FirstRows:
    """Read batches until there are more rows than the limit, and return the first rows."""
    batches = []
    n_rows = 0
    for batch in reader:
        batches.append(batch)
        n_rows += batch.num_rows
        if n_rows > limit:
            break
    table = pa.Table.from_batches(batches, reader.schema)
    return FirstRows(table.slice(0, limit), is_cut=n_rows > limit)


def stream_csv(store: Store, query: str) -> Iterator[bytes]:
    """Return an answer as CSV, batch by batch; refuses what `answer` refuses."""
    # Before the first byte is sent: a query that is wrong is told of, not cut off.
    return csv_lines(store.stream(query, timeout=TIMEOUT_SECONDS))


def csv_lines(reader: pa.RecordBatchReader) -> Iterator[bytes]:
    """Yield the heading, then the rows of each batch."""
    header = to_csv(reader.schema.empty_table())
    yield header
    for batch in reader:
        with_header = to_csv(pa.Table.from_batches([batch]))
        yield with_header[len(header) :]
