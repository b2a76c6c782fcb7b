"""Rows of a table that fit into memory: asked for once, sorted once, and then cut into the files of the table.

Rows that are more are asked for file by file, of an answer that DuckDB has written (see `clustering`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import duckdb
import numpy as np
import pyarrow as pa

from borgtrace.engine.embedded import NO_TYPE
from borgtrace.engine.identifiers import literal, quoted
from borgtrace.ingest.build.row_order import row_order, taken_batches
from borgtrace.kernels.arrays import Index
from borgtrace.kernels.runs import run_starts
from borgtrace.schema import ENUMS, Table


@dataclass(frozen=True)
class RowsInMemory:
    """All rows of a table, in no order.

    Parameters
    ----------
    table
        The canonical table.
    rows
        Its rows, without columns that nobody fills.
    """

    table: Table
    rows: pa.Table

    @classmethod
    def read(
        cls,
        connection: duckdb.DuckDBPyConnection,
        table: Table,
        relation_sql: str,
        most_rows: int,
    ) -> Self | None:
        """Return the rows of a relation; None where there are more than so many."""
        values_sql = stored_values_sql(connection, table, relation_sql)
        # All at once: rows in pieces are copied into one before they are sorted, into as much new memory.
        reader = connection.sql(f"SELECT {values_sql} FROM ({relation_sql})").to_arrow_reader(
            most_rows
        )
        batches = []
        n_rows = 0
        for batch in reader:
            batches.append(batch)
            n_rows += len(batch)
            if n_rows > most_rows:
                reader.close()
                return None
        return cls(table, pa.Table.from_batches(batches, reader.schema))

    def __len__(self) -> int:
        return len(self.rows)

    def collections(self) -> tuple[Index, Index]:
        """Return the collections, ascending, and how many rows each has; of a table that is never cut, one of all."""
        if not self._is_cut:
            return np.zeros(1, np.int64), np.array([len(self)])
        ids = self._sorted_collections
        starts = run_starts(ids, ids)
        return ids[starts[:-1]], np.diff(starts)

    def sorted_batches(
        self, low: int | None, high: int | None, size: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a range of collections in the order of their key.

        Parameters
        ----------
        low, high
            The first collection, and that behind the last; None for no bound.
        size
            Most rows of a batch.
        """
        first = 0
        end = len(self)
        if low is not None:
            first = int(np.searchsorted(self._sorted_collections, low))
        if high is not None:
            end = int(np.searchsorted(self._sorted_collections, high))
        yield from taken_batches(self.rows, self._order[first:end], size)

    @property
    def _is_cut(self) -> bool:
        return self.table.key[0] == "collection_id"

    @cached_property
    def _order(self) -> Index:
        return row_order(self.rows, self.table.key)

    @cached_property
    def _sorted_collections(self) -> Index:
        return np.asarray(self.rows.column("collection_id"))[self._order]


def stored_values_sql(
    connection: duckdb.DuckDBPyConnection,
    table: Table,
    relation_sql: str,
) -> str:
    """Write the columns of a table that a relation fills, as a file of the store takes them.

    Parameters
    ----------
    connection
        Where the relation can be asked.
    table
        The canonical table.
    relation_sql
        Query of its rows.
    """
    relation = connection.sql(relation_sql)
    values = []
    for name, type_name in zip(relation.columns, relation.types, strict=True):
        if name in table.names and str(type_name) != NO_TYPE:
            values.append(_value_sql(table, name))
    return ", ".join(values)


def _value_sql(table: Table, name: str) -> str:
    name_sql = quoted(name)
    enum = table.column(name).enum
    if not enum:
        return name_sql
    # Names of a kind as codes: texts took longer to read, to sort and to write, 5 % of the whole time.
    words_sql = ", ".join(literal(word) for word in ENUMS[enum].names)
    return f"CAST({name_sql} AS ENUM({words_sql})) AS {name_sql}"
