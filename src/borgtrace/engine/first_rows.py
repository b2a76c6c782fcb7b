"""The first rows of an answer that is not read to its end."""

from typing import NamedTuple

import pyarrow as pa

from borgtrace.engine.answer_text import short_floats
from borgtrace.errors import EngineError


class FirstRows(NamedTuple):
    """The first rows of an answer, and whether there are more."""

    table: pa.Table
    is_cut: bool


def take_rows(reader: pa.RecordBatchReader, limit: int, most_bytes: int) -> FirstRows:
    """Read batches until there are more rows than the limit, and return the first rows.

    Parameters
    ----------
    reader
        The answer.
    limit
        Rows to take.
    most_bytes
        What they may hold.

    Raises
    ------
    EngineError
        Where they are larger.

    Examples
    --------
    >>> reader = pa.table({"n": [1, 2, 3]}).to_reader()
    >>> take_rows(reader, 2, 1_000)
    FirstRows(table=pyarrow.Table
    n: int64
    ----
    n: [[1,2]], is_cut=True)
    """
    batches = []
    n_rows = 0
    n_bytes = 0
    for batch in reader:
        batches.append(short_floats(batch))
        n_rows += batch.num_rows
        n_bytes += batch.nbytes
        if n_bytes > most_bytes:
            raise EngineError(
                "query",
                "the answer is too large to show",
                expected=f"at most {most_bytes / 1e6:.0f} MB",
                way_out="ask for less, or for CSV",
            )
        if n_rows > limit:
            break
    table = pa.Table.from_batches(batches) if batches else reader.schema.empty_table()
    return FirstRows(table.slice(0, limit), is_cut=n_rows > limit)
