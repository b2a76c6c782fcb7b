"""Rows of texts as batches: what files whose rows have no types, or each its own columns, are read as."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
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
    for first in remaining:
        columns = _columns_of(chain([first], islice(remaining, ROWS_PER_BATCH - 1)))
        arrays = {name: pa.array(texts, pa.string()) for name, texts in columns.items()}
        yield pa.RecordBatch.from_pydict(arrays)


def _columns_of(rows: Iterable[Row]) -> dict[str, list[str | None]]:
    """Return the texts of all columns, in the order in which they come; a row can go when its texts are noted."""
    columns: dict[str, list[str | None]] = {}
    for n_before, row in enumerate(rows):
        # Nearly all rows have the columns of the first.
        if not row.keys() <= columns.keys():
            for name in row:
                columns.setdefault(name, [None] * n_before)
        for name, texts in columns.items():
            texts.append(row.get(name))
    return columns


def names_of(rows: Iterable[Row]) -> list[str]:
    """Return the names of all columns of some rows, in the order in which they come."""
    names: dict[str, None] = {}
    for row in rows:
        # Nearly all rows have the columns of the first.
        if not row.keys() <= names.keys():
            names.update(dict.fromkeys(row))
    return list(names)
