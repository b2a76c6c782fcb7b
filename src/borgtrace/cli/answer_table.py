"""An answer on a terminal: its most important columns, as many as fit, and their units below."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from borgtrace.cli.console import counted, print_prose
from borgtrace.cli.grid import TextColumn, grid_text, is_number, line_of, print_grid
from borgtrace.notation.amounts import RELATIVE, resource_of
from borgtrace.notation.numbers import number, value_text
from borgtrace.question import Result
from borgtrace.schema import Table
from borgtrace.schema.time import AFTER_TRACE, BEFORE_TRACE, HOUR, TRACE_START

SHOWN_ROWS = 40
"""Rows of a single answer on a terminal; files and pipes get all."""
SMALLEST_ID = 10**8
"""Counts of rows and tasks are smaller; of the ids of a trace most are larger."""
FOLDED = frozenset({"policy", "recommender", "estimator"})
"""Columns whose texts are names with parameters: cut ones could not be used."""
NAMES_OF_UNITS = {"s": "seconds", "h": "hour", "d": "day"}
"""A column whose name has the unit needs no further word."""
WORDS_OF_UNITS = {
    "us": "in hours since the start",
    "s": "in s",
    "h": "in h",
    "d": "in days",
    "1/h": "per hour",
    "1/d": "per day",
    "h²": "in h²",
    "%": "in percent",
    "fraction": "(1 = 100 %)",
    "cores": "in cores",
    "GiB": "in GiB",
}
"""Units that are said below a table; counts, ids and ratios have none."""


def print_rows(result: Result, out: Path | None = None) -> None:
    """Print the first rows of an answer for people, and say on stderr what is left out and where it is.

    Parameters
    ----------
    result
        The answer.
    out
        Folder of its files; None where there are none.
    """
    table, declared = result.first_rows(SHOWN_ROWS)
    units = {column.name: column.unit for column in declared.columns}
    columns = [text_column(table, name, units[name]) for name in table.column_names]
    answer = result.question.answer
    # Without its key nobody knows what a row is about.
    shown_names = print_grid(columns, answer.most_important or answer.key_names)
    units_shown = line_of_units(declared, shown_names, has_amounts=result.question.has_amounts)
    if units_shown:
        print_prose(units_shown)
    left_out = []
    n_rows = result.table.num_rows
    if n_rows > SHOWN_ROWS:
        left_out.append(f"{SHOWN_ROWS:,} of {counted(n_rows, 'row')}")
    if len(shown_names) < len(columns):
        left_out.append(f"{len(shown_names)} of {counted(len(columns), 'column')}")
    if left_out:
        way_out = f"{out / result.question.name}.csv" if out else "add --out DIR, or > answer.csv"
        print_prose(f"{', '.join(left_out)}; all of them: {way_out}")


def line_of_units(declared: Table, shown_names: Sequence[str], *, has_amounts: bool = False) -> str:
    """Return the units of the columns that are shown, those of one unit together; empty where none has any.

    Parameters
    ----------
    declared
        The columns of the answer.
    shown_names
        Names of those that are shown.
    has_amounts
        Whether columns that are named after CPU or memory are amounts.
    """
    names_by_unit: dict[str, list[str]] = {}
    for column in declared.columns:
        words = WORDS_OF_UNITS.get(column.unit)
        if has_amounts and column.unit == "fraction" and resource_of(column.name):
            words = RELATIVE
        if column.name not in shown_names or NAMES_OF_UNITS.get(column.unit, " ") in column.name:
            continue
        if words:
            names_by_unit.setdefault(words, []).append(column.name)
    parts = [f"{', '.join(names)} {words}" for words, names in names_by_unit.items()]
    return f"{'; '.join(parts)}." if parts else ""


def text_column(table: pa.Table, name: str, unit: str) -> TextColumn:
    """Return a column of an answer as text: numbers with four digits, names with parameters whole.

    Parameters
    ----------
    table, name, unit
        The answer, the name of the column, and its unit.
    """
    values = table[name].slice(0, SHOWN_ROWS).to_pylist()
    write = hours_of if unit == "us" else cell_of
    return TextColumn(
        line_of(name),
        [write(value) for value in values],
        is_number=is_number(table.schema.field(name).type),
        is_folded=name in FOLDED,
    )


def cell_of(value: Any) -> str:
    """Return a value as people read it in a table.

    Examples
    --------
    >>> cell_of(0.09999999999999996), cell_of(12345.678), cell_of(123456), cell_of(None), cell_of(True)
    ('0.1', '12,346', '123,456', '–', 'yes')
    """
    # Ids of jobs and machines are numbers, too, and are copied.
    is_id = isinstance(value, int) and abs(value) >= SMALLEST_ID
    is_plain = value is None or isinstance(value, float | int)
    return value_text(value) if is_plain and not is_id else grid_text(value)


def hours_of(time: int | None) -> str:
    """Return a time of a trace, µs, in hours since its start.

    Examples
    --------
    >>> hours_of(1_500_000_000), hours_of(0), hours_of(None)
    ('0.25', 'before', '–')
    """
    edges = {BEFORE_TRACE: "before", AFTER_TRACE: "after"}
    if time in edges:
        return edges[time]
    return number(None if time is None else (time - TRACE_START) / HOUR)
