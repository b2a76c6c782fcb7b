"""A table for people: as wide as the terminal, with "…" where something is left out."""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
from rich.cells import cell_len
from rich.table import Table as Grid

from borgtrace.cli.harmless_console import HarmlessConsole
from borgtrace.engine.answer_text import cell_text
from borgtrace.errors import harmless

GAP = 2
"""Blanks between two columns."""
WIDEST = 40
"""A text takes no more while others need the room: ids and hashes have 44 characters."""
NARROWEST_FOLD = 28
"""A text that is folded has room for a name and a parameter in a line."""
NARROWEST = 16
"""A heading or a text that is cut further is unreadable."""
LONGEST = 10_000
"""A text takes no more even where the line has no end: nobody reads on, and laying it out takes minutes."""


@dataclass(frozen=True, slots=True)
class TextColumn:
    """A column as text; what is cut is a text or a heading, never a number.

    Attributes
    ----------
    name, cells
        Its heading, and its rows.
    is_number
        Whether it is set to the right, and never cut.
    is_folded
        Whether a text that does not fit goes on in the next line: of a policy every parameter counts.
    is_whole
        Whether neither its heading nor a text is ever cut: a heading has the unit, a text is there to be copied.
    """

    name: str
    cells: Sequence[str]
    is_number: bool = False
    is_folded: bool = False
    is_whole: bool = False

    @property
    def whole(self) -> int:
        """Width that shows everything."""
        return max(cell_len(text) for text in (self.name, *self.cells))

    @property
    def least(self) -> int:
        """Width below which the column is left out."""
        heading = cell_len(self.name)
        if not self.is_whole:
            heading = min(heading, NARROWEST)
        longest = max((cell_len(cell) for cell in self.cells), default=0)
        if self.is_number or self.is_whole:
            return max(heading, longest)
        return max(heading, min(longest, NARROWEST_FOLD if self.is_folded else NARROWEST))


class ShownColumn(NamedTuple):
    """A column that is shown: its position and its width; the position None stands for "…"."""

    position: int | None
    width: int


def print_grid(columns: Sequence[TextColumn], most_important: Sequence[str] = ()) -> list[str]:
    """Print columns of equal length on stdout, cut to the width of the terminal; return the names of those shown.

    Where not all columns fit, the most important ones stay. Where nobody says which these are, those in the middle are
    left out: the first ones say what a row is, and what a query computes stands last.

    Parameters
    ----------
    columns
        All columns, in their order.
    most_important
        Names of columns, the most important first.
    """
    # A pipe or a file has no edge.
    width = HarmlessConsole().width if sys.stdout.isatty() else None
    shown = fitted(columns, width, most_important)
    grid = Grid(
        box=None,
        pad_edge=False,
        header_style="bold",
        padding=(0, GAP, 0, 0),
        collapse_padding=True,
    )
    n_rows = len(columns[0].cells) if columns else 0
    texts: list[Sequence[str]] = []
    for shown_column in shown:
        if shown_column.position is None:
            grid.add_column("…", width=1)
            texts.append(["…"] * n_rows)
            continue
        column = columns[shown_column.position]
        add_column(grid, column, shown_column.width)
        cells = column.cells
        if column.is_folded:
            cells = [folded(cell, shown_column.width) for cell in cells]
        texts.append(cells)
    for row in range(n_rows):
        grid.add_row(*(cells[row] for cells in texts))
    total = sum(column.width + GAP for column in shown)
    HarmlessConsole(width=max(total, 1)).print(grid)
    return [columns[each.position].name for each in shown if each.position is not None]


def add_column(grid: Grid, column: TextColumn, width: int) -> None:
    """Add a column of a width to a grid: numbers to the right, what is too long cut or folded."""
    justify: Any = "right" if column.is_number else "left"
    grid.add_column(
        column.name,
        justify=justify,
        width=width,
        no_wrap=not column.is_folded,
        overflow="fold" if column.is_folded else "ellipsis",
    )


def folded(text: str, width: int) -> str:
    """Return a name with parameters in lines of a width, broken after commas and before a plus where that is possible.

    Parameters
    ----------
    text
        Such as ``nsigma:n=5,history=2h+max``.
    width
        Characters of a line.

    Examples
    --------
    >>> print(folded("nsigma:n=5,history=2h,warmup=1h50m+max", 24))
    nsigma:n=5,history=2h,
    warmup=1h50m+max
    """
    lines = [""]
    for part in re.split(r"(?<=,)|(?=\+)", text):
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def fitted(
    columns: Sequence[TextColumn],
    width: int | None,
    most_important: Sequence[str] = (),
) -> list[ShownColumn]:
    """Return which columns are shown, and how wide.

    Parameters
    ----------
    columns
        All columns.
    width
        Characters of a line; None where there is no edge.
    most_important
        Names of the columns that stay, the most important first; where empty, the outer ones stay.

    Examples
    --------
    >>> def widths(width):
    ...     columns = [TextColumn(name, ["x" * 30]) for name in "abcd"]
    ...     return [tuple(column) for column in fitted(columns, width)]
    >>> widths(None)
    [(0, 30), (1, 30), (2, 30), (3, 30)]
    >>> widths(80)
    [(0, 26), (1, 16), (2, 16), (3, 16)]
    >>> widths(40)
    [(0, 19), (None, 1), (3, 16)]
    >>> columns = [TextColumn(name, ["x" * 30]) for name in "abcd"]
    >>> [tuple(column) for column in fitted(columns, 40, ["b", "c"])]
    [(None, 1), (1, 19), (2, 16)]
    """
    whole_widths = [column.whole for column in columns]
    if width is None or total_width(whole_widths) <= width:
        return [ShownColumn(position, whole) for position, whole in enumerate(whole_widths)]
    least_widths = [column.least for column in columns]
    if most_important:
        order = by_importance([column.name for column in columns], most_important)
        positions = important_that_fit(least_widths, order, width)
    else:
        positions = positions_that_fit(least_widths, width)
    is_cut = len(positions) < len(columns)
    widths = {position: columns[position].least for position in positions}
    used = [*widths.values(), 1] if is_cut else list(widths.values())
    spare = width - total_width(used)
    # From left to right: first up to a readable text, then what is left.
    for limit in (WIDEST, max(whole_widths)):
        for position in positions:
            wanted = min(whole_widths[position], limit) - widths[position]
            added = max(0, min(spare, wanted))
            widths[position] += added
            spare -= added
    shown = [ShownColumn(position, widths[position]) for position in positions]
    if is_cut:
        shown.insert(first_gap(positions), ShownColumn(None, 1))
    return shown


def positions_that_fit(least_widths: Sequence[int], width: int) -> list[int]:
    """Return which columns fit: all, or from both ends inward with room for the "…" between them; at least one."""
    n_columns = len(least_widths)
    if total_width(least_widths) <= width:
        return list(range(n_columns))
    for count in range(n_columns, 1, -1):
        first = range((count + 1) // 2)
        last = range(n_columns - count // 2, n_columns)
        positions = [*first, *last]
        widths = [least_widths[position] for position in positions]
        if total_width([1, *widths]) <= width:
            return positions
    return [0]


def by_importance(names: Sequence[str], most_important: Sequence[str]) -> list[int]:
    """Return the positions of columns, the most important first; those that are not named follow in their order."""
    rank = {name: place for place, name in enumerate(most_important)}
    return sorted(range(len(names)), key=lambda position: rank.get(names[position], len(rank)))


def important_that_fit(least_widths: Sequence[int], order: Sequence[int], width: int) -> list[int]:
    """Return which columns fit, ascending: by importance, with room for the "…" of those left out; at least one."""
    if total_width(least_widths) <= width:
        return list(range(len(least_widths)))
    positions = [order[0]]
    for position in order[1:]:
        widths = [1, *(least_widths[each] for each in (*positions, position))]
        # A wide text that does not fit gives way to a number behind it.
        if total_width(widths) <= width:
            positions.append(position)
    return sorted(positions)


def first_gap(positions: Sequence[int]) -> int:
    """Return the index at which positions leave out columns."""
    for index, position in enumerate(positions):
        if position != index:
            return index
    return len(positions)


def total_width(widths: Sequence[int]) -> int:
    """Return the width of a line with columns of these widths."""
    return sum(widths) + GAP * (len(widths) - 1)


def grid_columns(table: pa.Table) -> list[TextColumn]:
    """Return the columns of a table of Arrow as text."""
    columns = []
    for field, values in zip(table.schema, table.columns, strict=True):
        cells = [grid_text(value) for value in values.to_pylist()]
        columns.append(TextColumn(line_of(field.name), cells, is_number=is_number(field.type)))
    return columns


def is_number(type_: pa.DataType) -> bool:
    """Return whether a type of Arrow is one of numbers."""
    kinds = pa.types
    return kinds.is_integer(type_) or kinds.is_floating(type_) or kinds.is_decimal(type_)


def grid_text(value: Any) -> str:
    """Return a value as the text of a cell."""
    if value is None:
        return "NULL"
    text = line_of(cell_text(value, "{:.12g}".format))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def line_of(text: str) -> str:
    """Return a text as it stands in a row: a line break would tear the row apart."""
    # Harmless before widths are measured.
    return harmless(text).replace("\n", "\\n").replace("\t", "\\t")
