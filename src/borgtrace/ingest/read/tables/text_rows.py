"""Rows of texts as batches: what files whose rows have no types, or each its own columns, are read as."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

import pyarrow as pa

ROWS_PER_BATCH = 1 << 14
Row = Mapping[str, str | None]
"""The texts of one row by the names of their columns; None, or no entry, where there is none."""


class TableRow(NamedTuple):
    """A row, and the table that it is of; its name is empty where a file has one."""

    table: str
    row: Row


class NoRowsError(ValueError):
    """A file has no rows that could be told from it; the message says why."""


def text_batches(rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    """Yield rows as batches of texts; each batch has the columns of its own rows, in the order in which they come.

    Parameters
    ----------
    rows
        The rows in their order.

    Examples
    --------
    >>> [batch.to_pylist() for batch in text_batches([{"task": "a"}, {"task": "b", "cpu": "1"}])]
    [[{'task': 'a', 'cpu': None}, {'task': 'b', 'cpu': '1'}]]
    """
    remaining = iter(rows)
    while block := list(islice(remaining, ROWS_PER_BATCH)):
        columns = {}
        for name in names_of(block):
            columns[name] = pa.array([row.get(name) for row in block], pa.string())
        yield pa.RecordBatch.from_pydict(columns)


def names_of(rows: Iterable[Row]) -> list[str]:
    """Return the names of all columns of some rows, in the order in which they come."""
    names: dict[str, None] = {}
    for row in rows:
        names.update(dict.fromkeys(row))
    return list(names)
