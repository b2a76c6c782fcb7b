"""The canonical tables of a store as attributes, on the embedded engine."""

from borgtrace.engine import connect, read_table
from borgtrace.schema import TABLES
from borgtrace.store.layout import Layout

from ibis.expr import types as ir  # isort: skip


class StoreTables:
    """Ibis tables by name: ``tables.instance_events``; a table without files is empty."""

    def __init__(self, layout: Layout, memory: str) -> None:
        self.connection = connect("duckdb", memory=memory)
        # As attributes of the instance, so that names complete.
        for name, table in TABLES.items():
            vars(self)[name] = read_table(
                self.connection, table, [str(part) for part in layout.parts(name)]
            )

    def __getattr__(self, name: str) -> ir.Table:
        """Say which tables there are: only a name that is none of them comes here."""
        raise AttributeError(f"no table {name}; there are {', '.join(TABLES)}")
