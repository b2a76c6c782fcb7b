"""How the page writes numbers, times and tables."""

import re
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from borgtrace.schema import Column, Table
from borgtrace.schema.time import AFTER_TRACE, BEFORE_TRACE
from borgtrace.store.manifest import Manifest

NOTHING = "–"
SHOWN_UNITS = {
    "us": "µs",
    "fraction": "",
    "1": "",
    "id": "",
    "enum": "",
    "count": "",
    "rank": "",
    "class": "",
    "row": "",
}
WORDS = {
    "cpu": "CPU",
    "cpi": "CPI",
    "mai": "MAI",
    "id": "ID",
    "io": "I/O",
    "us": "µs",
    "gpa": "GPA",
    "sql": "SQL",
}
MINUTES = "%-d %b %Y %H:%M %Z"
"""An instant as the user's clock shows it, to the minute."""
SHOWN_ROWS = 40
CODE = re.compile(r"[a-z][a-z0-9]*(_[A-Za-z0-9]+)+")


@dataclass(frozen=True, slots=True)
class ShownTable:
    """The first rows of a table as text."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    n_rows: int

    @property
    def is_cut(self) -> bool:
        """Whether rows are left out."""
        return self.n_rows > len(self.rows)


def shown_table(
    table: pa.Table,
    declared: Table,
    limit: int = SHOWN_ROWS,
    *,
    has_codes: bool = False,
) -> ShownTable:
    """Write the first `limit` rows of a table.

    Parameters
    ----------
    table
        A result, or some columns of a table of the store.
    declared
        Its columns, with units and docs.
    limit
        Rows to write.
    has_codes
        Whether lower-case names with underscores are codes of ours, which are written as words.
    """
    columns = tuple(declared.column(name) for name in table.column_names)
    rows = []
    for values in table.slice(0, limit).to_pylist():
        texts = [cell(values[column.name], column) for column in columns]
        if has_codes:
            texts = [words(text) if CODE.fullmatch(text) else text for text in texts]
        rows.append(tuple(texts))
    return ShownTable(columns, tuple(rows), table.num_rows)


def cell(value: Any, column: Column) -> str:
    """Write one value.

    Examples
    --------
    >>> cell(1234567, Column("n", "int64", "count", "A count."))
    '1\u202f234\u202f567'
    >>> cell(0.123456789, Column("x", "float64", "1", "X.")), cell(None, Column("x", "float64", "1", "X."))
    ('0.123457', '–')
    >>> cell(6251812952, Column("job", "int64", "id", "An id."))
    '6251812952'
    """
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        # Ids, ranks and hours are names, and spaces would make them hard to copy.
        return str(value) if column.unit in ("id", "rank", "class", "h") else integer(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return ", ".join(cell(item, column) for item in value)
    return str(value)


def integer(value: int) -> str:
    """Write an integer with narrow spaces between thousands.

    Examples
    --------
    >>> integer(144648288)
    '144\u202f648\u202f288'
    """
    # Any integer column of a result may hold this sentinel.
    if value == AFTER_TRACE:
        return "after the trace"
    # Narrow spaces, as the comma means something else in half of the world; years and other four digits stay whole.
    if abs(value) < 10_000:
        return str(value)
    return f"{value:,}".replace(",", "\u202f")


def words(name: str) -> str:
    """Write the name of a column in words; `n_` (number of) goes without saying.

    Examples
    --------
    >>> words("n_jobs"), words("cpu_request"), words("collection_id"), words("wait_p90"), words("n")
    ('jobs', 'CPU request', 'collection ID', 'wait p90', 'n')
    """
    parts = name.removeprefix("n_").split("_")
    return " ".join(WORDS.get(part, part) for part in parts)


def unit(column: Column) -> str:
    """Return the unit that a heading names; counts, ids and fractions speak for themselves."""
    return SHOWN_UNITS.get(column.unit, column.unit)


def is_number(column: Column) -> bool:
    """Return whether the cells of a column are aligned as numbers."""
    return column.type.startswith(("int", "uint", "float")) and column.unit != "id"


def instant(time: int, manifest: Manifest, form: str) -> str:
    """Write a trace time as the cell's wall clock, in the form of ``strftime``.

    Parameters
    ----------
    time
        µs of the trace; its sentinels become words.
    manifest
        Of the store: trace format and cell give the time zone.
    form
        As for ``strftime``.

    Examples
    --------
    >>> from borgtrace.store.manifest import Manifest
    >>> cell = Manifest("2019", "a", "America/New_York", "0", "", {}, ())
    >>> instant(600_000_000, cell, "%H:%M"), instant(0, cell, "%H:%M")
    ('03:00', 'before the trace')
    """
    if time == BEFORE_TRACE:
        return "before the trace"
    if time == AFTER_TRACE:
        return "after the trace"
    return manifest.dialect.wall_clock(time, manifest.cell).strftime(form)


def environment(package: str) -> Any:
    """Return what fills the templates of a package."""
    # Here: not every command that writes numbers fills templates.
    import jinja2

    filling = jinja2.Environment(
        loader=jinja2.PackageLoader(package),
        trim_blocks=True,
        lstrip_blocks=True,
        # A missing name fails instead of leaving a gap; all text is escaped unless it is marked as HTML.
        undefined=jinja2.StrictUndefined,
        autoescape=True,
    )
    filling.filters.update(
        integer=integer,
        words=words,
        unit=unit,
    )
    filling.tests.update(numeric=is_number)
    return filling
