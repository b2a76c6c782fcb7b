"""A table of a store for libraries that read Arrow's C stream: batch by batch, never all of it at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from borgtrace.engine.identifiers import quoted
from borgtrace.errors import check_names
from borgtrace.schema import TABLES

if TYPE_CHECKING:
    import pyarrow as pa

    from borgtrace.store.store import Store


@dataclass(frozen=True, slots=True)
class ArrowTable:
    """Columns of a stored table, in key order, that other libraries read as they need them.

    It holds nothing itself: each library that takes it reads the store again.

    Attributes
    ----------
    store
        The store.
    name
        The table.
    columns
        Its columns, in order.
    """

    store: Store
    name: str
    columns: tuple[str, ...]

    @classmethod
    def of(cls, store: Store, name: str, columns: Sequence[str] = ()) -> ArrowTable:
        """Return some columns of a table, or all.

        Parameters
        ----------
        store
            The store.
        name
            The table.
        columns
            Their names; all where empty.

        Raises
        ------
        UsageError
            For an unknown table or column.
        """
        check_names("name", (name,), TABLES, "no such table")
        known = TABLES[name].names
        check_names("columns", columns, known, "no such column")
        return cls(store, name, tuple(columns) or tuple(known))

    def reader(self) -> pa.RecordBatchReader:
        """Return the rows in batches, from the first one."""
        columns_sql = ", ".join(quoted(column) for column in self.columns)
        return self.store.stream(f"SELECT {columns_sql} FROM {quoted(self.name)}")

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Hand the rows to a library that reads Arrow's C stream, such as polars, DuckDB or pandas."""
        return self.reader().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Tell such a library the columns and their types."""
        return self.reader().schema.__arrow_c_schema__()
