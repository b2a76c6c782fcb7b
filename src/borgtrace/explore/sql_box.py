"""The SQL box: one query of the reader's own, through the guard that `borgtrace sql` uses."""

import json
import threading
import weakref
from collections.abc import Iterator

import pyarrow as pa

from borgtrace.engine.answer_text import browser_value
from borgtrace.engine.csv_text import csv_pieces
from borgtrace.engine.first_rows import FirstRows, take_rows
from borgtrace.engine.identifiers import quoted
from borgtrace.errors import EngineError
from borgtrace.schema import TABLES
from borgtrace.store import Store

SHOWN_ROWS = 200
MOST_ROWS = 10_000
"""Rows that a browser is given as JSON; CSV is streamed and has them all."""
MOST_BYTES = 50_000_000
"""Of them; a text may be long."""
TIMEOUT_SECONDS = 30.0
SORTABLE_BEGINNINGS = ("select", "with", "from", "values")
MOST_AT_ONCE = 2
"""Queries that run; each may take the memory of the explorer."""
PATIENCE_SECONDS = 10.0
"""How long a query waits for others to end."""
EXAMPLE = "SELECT type, count(*) AS n\nFROM instance_events\nGROUP BY type\nORDER BY n DESC"
WORDS = {name: list(table.names) for name, table in TABLES.items()}
"""Tables and columns, for completion."""


class SqlBox:
    """Answers queries of the reader's, each in a process of its own, a few at once.

    Parameters
    ----------
    store
        What is asked.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._free = threading.Semaphore(MOST_AT_ONCE)

    def answer(self, query: str, limit: int) -> FirstRows:
        """Return the first rows of an answer: the rest is never computed.

        Parameters
        ----------
        query
            One SELECT, or EXPLAIN of one.
        limit
            Rows to take.

        Raises
        ------
        UsageError
            Where it is something else, or wrong.
        EngineError
            Where the engine refuses the work, it takes longer than `TIMEOUT_SECONDS`, or the rows are larger than
            `MOST_BYTES`.
        """
        # One more tells that there are more.
        return take_rows(self._stream(query, limit + 1), limit, MOST_BYTES)

    def stream_csv(self, query: str) -> Iterator[bytes]:
        """Return a whole answer as CSV, batch by batch; refuses what `answer` refuses."""
        # Before the first byte is sent: a query that is wrong is told of, not cut off.
        return csv_pieces(self._stream(query))

    def _stream(self, query: str, most_rows: int | None = None) -> pa.RecordBatchReader:
        if not self._free.acquire(timeout=PATIENCE_SECONDS):
            raise EngineError(
                "query",
                "other queries are still running",
                expected=f"at most {MOST_AT_ONCE} at once",
                way_out="try again when one has ended",
            )
        try:
            reader = self._store.stream(
                query,
                timeout=TIMEOUT_SECONDS,
                carrier="text",
                most_rows=most_rows,
            )
        except BaseException:
            self._free.release()
            raise
        # With the reader: a browser may go away before it has taken the first row.
        weakref.finalize(reader, self._free.release)
        return reader


def can_be_sorted(query: str) -> bool:
    """Whether the answer to a query can be put into another order: EXPLAIN has rows of no table."""
    words = query.split(maxsplit=1)
    return bool(words) and words[0].lower() in SORTABLE_BEGINNINGS


def in_order(query: str, sort: str) -> str:
    """Return a query whose answer is sorted by a column of it.

    Parameters
    ----------
    query
        The reader's query.
    sort
        The column, behind a minus where the largest is first; the query's own order where empty.

    Examples
    --------
    >>> print(in_order("SELECT 1 AS n;", "-n"))
    SELECT *
    FROM (
    SELECT 1 AS n
    )
    ORDER BY "n" DESC NULLS LAST
    """
    if not sort or not can_be_sorted(query):
        return query
    direction_sql = "DESC" if sort.startswith("-") else "ASC"
    column_sql = quoted(sort.removeprefix("-"))
    # Brackets on lines of their own: the query may end with a comment.
    inner_sql = query.rstrip().rstrip(";")
    return f"SELECT *\nFROM (\n{inner_sql}\n)\nORDER BY {column_sql} {direction_sql} NULLS LAST"


def to_browser_json(rows: FirstRows) -> bytes:
    """Write the columns of an answer as JSON.

    Raises
    ------
    EngineError
        Where the answer has more rows.
    """
    if rows.is_cut:
        raise EngineError(
            "query",
            "the answer is too long for JSON",
            expected=f"at most {rows.table.num_rows:,} rows",
            way_out="add a LIMIT, or ask for CSV",
        )
    columns = browser_value(rows.table.to_pydict())
    return json.dumps(columns, separators=(",", ":"), ensure_ascii=False).encode()
