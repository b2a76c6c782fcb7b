"""Tables of a page: values as the report writes them, and ids that lead to what they stand for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from borgtrace.engine.answer_text import cell_text
from borgtrace.explore.order import TableOrder
from borgtrace.report.values import integer
from borgtrace.schema.time import AFTER_TRACE, BEFORE_TRACE, HOUR

PAGE_OF_COLUMN = {
    "collection_id": "/job/{}",
    "alloc_collection_id": "/job/{}",
    "parent_collection_id": "/job/{}",
    "machine_id": "/machine/{}",
    "user": "/jobs?user={}",
    "priority": "/jobs?priority={}",
}
"""The page that a value leads to, by its column."""
NAME_SUFFIXES = ("_id", "_index", "priority", "scheduling_class")
"""Integers that name something and count nothing: written without commas."""
LONGEST = 10_000
"""Characters of a value that a page shows."""
UNSORTABLE = TableOrder(sortable=())
EDGES = {BEFORE_TRACE: "before the trace", AFTER_TRACE: "after the trace"}


@dataclass(frozen=True, slots=True)
class LinkedText:
    """One value as text, and the page it leads to."""

    text: str
    href: str | None = None


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table as a page shows it: names of columns, which of them are numbers, rows of values, and how it is sorted."""

    columns: tuple[str, ...]
    is_number: tuple[bool, ...]
    rows: tuple[tuple[LinkedText, ...], ...]
    order: TableOrder = UNSORTABLE


def page_table(
    table: pa.Table,
    addresses: Mapping[str, str] | None = None,
    order: TableOrder = UNSORTABLE,
    link: Callable[[str, Any], str | None] | None = None,
) -> PageTable:
    """Return a table as a page shows it.

    Parameters
    ----------
    table
        Some rows.
    addresses
        Addresses for further columns, with the row's values in braces: ``{"n_jobs": "/jobs?name={name}"}``.
    order
        How it is sorted, and can be.
    link
        Returns the address for a value of a column that leads nowhere else, or None.
    """
    rows = []
    for row in table.to_pylist():
        cells = [linked(name, row, addresses or {}) for name in table.column_names]
        if link is not None:
            cells = [
                cell if cell.href else LinkedText(cell.text, link(name, row[name]))
                for name, cell in zip(table.column_names, cells, strict=True)
            ]
        rows.append(tuple(cells))
    is_number = tuple(is_number_type(field.type) for field in table.schema)
    return PageTable(tuple(table.column_names), is_number, tuple(rows), order)


def is_number_type(kind: pa.DataType) -> bool:
    """Return whether a type of Arrow is one of numbers."""
    types = pa.types
    return types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)


def linked(name: str, row: Mapping[str, Any], addresses: Mapping[str, str]) -> LinkedText:
    """Return one value of a row with the page it leads to."""
    value = row[name]
    if name in addresses:
        quoted_values = {column: quoted(item) for column, item in row.items()}
        return LinkedText(text(name, value), addresses[name].format(**quoted_values))
    if value is None:
        return LinkedText("–")
    if name == "instance_index" and row.get("collection_id") is not None:
        return LinkedText(str(value), f"/task/{row['collection_id']}/{value}")
    if name in PAGE_OF_COLUMN:
        return LinkedText(text(name, value), PAGE_OF_COLUMN[name].format(quoted(value)))
    return LinkedText(text(name, value))


def text(name: str, value: Any) -> str:
    """Write one value: times of the trace as hours, ids and ranks as they are."""
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, int):
        shown = cell_text(value, "{:.6g}".format)
        return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}…"
    if name.endswith("time"):
        return EDGES.get(value) or f"{value / HOUR:.4f} h"
    if name.endswith(NAME_SUFFIXES):
        return str(value)
    return integer(value)


def quoted(value: Any) -> str:
    """Return a value as part of an address; nothing for NULL."""
    return "" if value is None else quote(str(value), safe="")
