"""Tables of a page: values as the report writes them, and ids that lead to what they stand for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from borgtrace.engine.answer_text import cell_text
from borgtrace.explore.order import TableOrder
from borgtrace.notation import Notation, ResourceAmounts, integer, short_name
from borgtrace.notation.amounts import resource_of
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
ID_COLUMNS = ("machine_id", "collection_id")
"""Ids of what may have names."""
HEADINGS = {"machine_id": "machine", "collection_id": "job", "instance_index": "task"}
"""What columns of names are called."""
HASHED_COLUMNS = ("user", "collection_logical_name", "collection_name", "platform_id")
"""Texts of which Google publishes hashes."""
NAME_SUFFIXES = ("_id", "_index", "priority", "scheduling_class")
"""Integers that name something and count nothing: written without commas."""
LONGEST = 10_000
"""Characters of a value that a page shows."""
UNSORTABLE = TableOrder(sortable=())
EDGES = {BEFORE_TRACE: "before the trace", AFTER_TRACE: "after the trace"}


@dataclass(frozen=True, slots=True)
class LinkedText:
    """One value as text, the page it leads to, and what a pointer that rests on it is told."""

    text: str
    href: str | None = None
    title: str | None = None


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table as a page shows it: names of columns, which are numbers, headings, units, rows of values, and the order.

    Headings are empty where the name of a column says enough.
    """

    columns: tuple[str, ...]
    is_number: tuple[bool, ...]
    headings: tuple[str, ...]
    units: tuple[str, ...]
    rows: tuple[tuple[LinkedText, ...], ...]
    order: TableOrder = UNSORTABLE


def page_table(
    table: pa.Table,
    addresses: Mapping[str, str] | None = None,
    order: TableOrder = UNSORTABLE,
    link: Callable[[str, Any], str | None] | None = None,
    notation: Notation | None = None,
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
    notation
        Writes names, times and amounts as the store's people do; as they are stored where None.
    """
    all_rows = table.to_pylist()
    if notation is not None and "collection_id" in table.column_names:
        # All at once: one by one each would be a query.
        notation.names.jobs(row["collection_id"] for row in all_rows)
    rows = []
    for row in all_rows:
        cells = []
        for name in table.column_names:
            cell = linked(name, row, addresses or {})
            if notation is not None:
                cell = in_own_words(cell, name, row[name], notation)
            if link is not None and not cell.href:
                cell = replace(cell, href=link(name, row[name]))
            cells.append(cell)
        rows.append(tuple(cells))
    names = tuple(table.column_names)
    return PageTable(
        columns=names,
        is_number=tuple(is_number_type(field.type) for field in table.schema),
        headings=tuple(HEADINGS.get(name, "") if notation else "" for name in names),
        units=tuple(unit_of(name, notation.amounts) if notation else "" for name in names),
        rows=tuple(rows),
        order=order,
    )


def in_own_words(
    cell: LinkedText,
    name: str,
    value: Any,
    notation: Notation,
) -> LinkedText:
    """Return a cell with the name, the wall clock, or the cores and GiB that a value means.

    Parameters
    ----------
    cell
        The value as it is stored.
    name
        Of the column.
    value
        Of the cell.
    notation
        Of the store.
    """
    if value is None:
        return cell
    if name in ID_COLUMNS:
        names = notation.names
        own_name = names.machine(value) if name == "machine_id" else names.job(value)
        title = None if own_name == cell.text else cell.text
        return replace(cell, text=own_name, title=title)
    if name in HASHED_COLUMNS:
        shown = short_name(value)
        return replace(cell, text=shown, title=None if shown == value else value)
    if is_time(name):
        return replace(cell, text=notation.clock.text(value))
    resource = amount_of(name)
    if resource is not None:
        return replace(cell, text=notation.amounts.number(value, resource))
    return cell


def amount_of(name: str) -> str | None:
    """Return the resource that a column is an amount of; None for shares and all else."""
    return None if name.startswith("percent_") else resource_of(name)


def unit_of(name: str, amounts: ResourceAmounts) -> str:
    """Return the unit of a column of amounts; empty for all else."""
    resource = amount_of(name)
    if resource is None:
        return ""
    unit = amounts.unit(resource)
    if not name.endswith("_hours"):
        return unit
    return "core-hours" if amounts.is_known(resource) else f"hours {unit}"


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
    if is_time(name):
        return EDGES.get(value) or f"{value / HOUR:.4f} h"
    if name.endswith(NAME_SUFFIXES):
        return str(value)
    return integer(value)


def is_time(name: str) -> bool:
    """Whether a column is a time of the trace, by its name."""
    return name.endswith("time") or name == "since"


def quoted(value: Any) -> str:
    """Return a value as part of an address; nothing for NULL."""
    return "" if value is None else quote(str(value), safe="")
