"""Tables of a page: values as the report writes them, and ids that lead to what they stand for."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from borgtrace.report.values import integer
from borgtrace.schema.time import AFTER_TRACE, BEFORE_TRACE, HOUR

_PAGES = tomllib.loads(Path(__file__).with_name("pages.toml").read_text("utf-8"))
_NUMBERS = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
_NAMES = ("_id", "_index", "priority", "scheduling_class")


@dataclass(frozen=True, slots=True)
class Cell:
    """One value as text, and the page it leads to."""

    text: str
    href: str | None = None


@dataclass(frozen=True, slots=True)
class Grid:
    """A table as a page shows it: names of columns, which of them are numbers, and rows of cells."""

    columns: tuple[str, ...]
    is_number: tuple[bool, ...]
    rows: tuple[tuple[Cell, ...], ...]


def shown(table: pa.Table, extra: Mapping[str, str] | None = None) -> Grid:
    """Write a table.

    Parameters
    ----------
    table
        Some rows.
    extra
        Addresses for further columns, with the row's values in braces: ``{"n_jobs": "/jobs?name={name}"}``.
    """
    is_number = tuple(any(kind(field.type) for kind in _NUMBERS) for field in table.schema)
    rows = (
        tuple(_cell(name, row, extra or {}) for name in table.column_names)
        for row in table.to_pylist()
    )
    return Grid(tuple(table.column_names), is_number, tuple(rows))


def _cell(name: str, row: Mapping[str, Any], extra: Mapping[str, str]) -> Cell:
    value = row[name]
    if name in extra:
        return Cell(
            text(name, value), extra[name].format(**{k: _quoted(v) for k, v in row.items()})
        )
    if value is None:
        return Cell("–")
    if name == "instance_index" and row.get("collection_id") is not None:
        return Cell(str(value), f"/task/{row['collection_id']}/{value}")
    return Cell(text(name, value), _PAGES[name].format(_quoted(value)) if name in _PAGES else None)


def text(name: str, value: Any) -> str:
    """Write one value: times of the trace as hours, ids and ranks as they are."""
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if name.endswith("time") and isinstance(value, int):
        edges = {BEFORE_TRACE: "before the trace", AFTER_TRACE: "after the trace"}
        return edges.get(value) or f"{value / HOUR:.4f} h"
    if isinstance(value, int):
        return str(value) if name.endswith(_NAMES) else integer(value)
    return f"{value:.6g}"


def _quoted(value: Any) -> str:
    return "" if value is None else quote(str(value), safe="")
