"""The tables of a store as attributes, on the embedded engine."""

from borgtrace.engine import connect, read_table
from borgtrace.schema import TABLES
from borgtrace.store.layout import Layout

from ibis.expr import types as ir  # isort: skip


class StoreTables:
    """Ibis tables by name: ``tables.instance_events``; a table without files is empty."""

    def __init__(self, layout: Layout, memory: str) -> None:
        self.connection = connect("duckdb", memory=memory)
        # As attributes of the instance, so that an editor or notebook completes their names.
        attributes = vars(self)
        for name, table in TABLES.items():
            files = [str(part) for part in layout.parts(name)]
            attributes[name] = read_table(self.connection, table, files)

    def __getattr__(self, name: str) -> ir.Table:
        """Say which tables there are; only an unknown name gets here."""
        raise AttributeError(f"no table {name}; there are {', '.join(TABLES)}")
