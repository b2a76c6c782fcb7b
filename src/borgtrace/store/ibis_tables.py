"""The canonical tables of a store as attributes, on the embedded engine."""

from __future__ import annotations

from borgtrace.engine import connect, read_table
from borgtrace.schema import TABLES
from borgtrace.store.layout import Layout

from ibis.expr import types as ir  # isort: skip


class StoreTables:
    """Ibis tables by name: ``tables.instance_events``; a table without files is empty."""

    def __init__(self, layout: Layout, memory: str) -> None:
        self.connection = connect("duckdb", memory=memory)
        self._tables = {
            name: read_table(self.connection, table, [str(part) for part in layout.parts(name)])
            for name, table in TABLES.items()
        }

    def __getattr__(self, name: str) -> ir.Table:
        """Return the table called `name`."""
        try:
            return self._tables[name]
        except KeyError:
            raise AttributeError(f"no table {name}; there are {', '.join(TABLES)}") from None

    def __dir__(self) -> list[str]:
        """List the tables, for completion."""
        return [*self._tables, "connection"]
