"""How the page writes numbers, times and tables."""

import re
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from borgtrace.notation import NOTHING, WallClock, integer, is_hash, number
from borgtrace.schema import Column, Table
from borgtrace.schema.time import AFTER_TRACE
from borgtrace.store.manifest import Manifest

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
    '1,234,567'
    >>> cell(0.123456789, Column("x", "float64", "1", "X.")), cell(None, Column("x", "float64", "1", "X."))
    ('0.1235', '–')
    >>> cell(6251812952, Column("job", "int64", "id", "An id."))
    '6251812952'
    """
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        # Ids, ranks and hours are names, and spaces would make them hard to copy.
        return str(value) if column.unit in ("id", "rank", "class", "h") else whole_number(value)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, list):
        return ", ".join(cell(item, column) for item in value)
    return str(value)


def whole_number(value: int) -> str:
    """Write an integer of a result, any column of which may hold the sentinel of times.

    Examples
    --------
    >>> whole_number(144648288), whole_number(AFTER_TRACE)
    ('144,648,288', 'after the trace')
    """
    return "after the trace" if value == AFTER_TRACE else integer(value)


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
    """Write a trace time as the cell's wall clock, in the form of ``strftime``; as hours where it has no calendar.

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
    clock = WallClock.of(manifest)
    return clock.wall(time, form) or f"{number(clock.hours(time))} h"


def short_hash(text: str) -> Any:
    """Return HTML of a name: of a hash only the first letters are seen, but all of it is copied.

    Examples
    --------
    >>> from markupsafe import Markup
    >>> short_hash("a<b")
    Markup('a&lt;b')
    >>> short_hash(40 * "a") == Markup(f'<span class="hash" title="{40 * "a"}">{40 * "a"}</span>')
    True
    """
    from markupsafe import Markup, escape

    if not is_hash(text):
        return escape(text)
    return Markup('<span class="hash" title="{0}">{0}</span>').format(text)


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
        integer=whole_number,
        short_hash=short_hash,
        words=words,
        unit=unit,
    )
    filling.tests.update(numeric=is_number)
    return filling
