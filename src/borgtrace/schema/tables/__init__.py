"""The canonical tables, declared once: readers, checks, docs and strategies derive from them."""

from importlib import import_module
from pkgutil import iter_modules

from borgtrace.schema.types import Table

_MODULES = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
_DECLARED = {one.name: one for module in _MODULES for one in vars(module).values() if isinstance(one, Table)}


def _depth(table: Table) -> int:
    """Return 0 for a table about machines, 1 about collections, 2 about instances: the order in which people read."""
    return ("collection_id" in table.names) + ("instance_index" in table.names)


TRACE_TABLES: dict[str, Table] = {
    # A stable sort: tables of one depth stay in the order of their modules, and of their declaration.
    table.name: table
    for table in sorted(_DECLARED.values(), key=_depth)
    if "source_row" in table.names
}
"""Tables that are read from raw files, whose rows say where they are from: all that modules of this package declare."""

TABLES: dict[str, Table] = TRACE_TABLES | {name: table for name, table in _DECLARED.items() if name not in TRACE_TABLES}
"""All tables of a store: the trace's own and the derived ``tasks``."""

__all__ = ["TABLES", "TRACE_TABLES"]
