"""A table for people: as wide as the terminal, with "…" where something is left out."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Grid

_GAP = 2
"""Blanks between two columns."""
_WIDEST = 40
"""A text takes no more while others need the room: ids and hashes have 44 characters."""
_NARROWEST = 16
"""A heading or a text that is cut further says nothing."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column as text; what is cut is a text or a heading, never a number."""

    name: str
    cells: Sequence[str]
    is_number: bool = False

    @property
    def whole(self) -> int:
        """Width that shows everything."""
        return max(map(cell_len, (self.name, *self.cells)), default=0)

    @property
    def least(self) -> int:
        """Width below which the column is left out."""
        heading = min(cell_len(self.name), _NARROWEST)
        longest = max(map(cell_len, self.cells), default=0)
        return max(heading, longest if self.is_number else min(longest, _NARROWEST))


def print_grid(columns: Sequence[Column]) -> int:
    """Print columns of equal length on stdout, cut to the width of the terminal; return how many are shown.

    Where not all columns fit, those in the middle are left out: the first ones say what a row is, and what a query
    computes stands last.
    """
    # A pipe or a file has no edge.
    width = Console().width if sys.stdout.isatty() else None
    shown = fitted(columns, width)
    grid = Grid(
        box=None,
        pad_edge=False,
        header_style="bold",
        padding=(0, _GAP, 0, 0),
        collapse_padding=True,
    )
    rows = range(len(columns[0].cells) if columns else 0)
    texts: list[Sequence[str]] = []
    for position, size in shown:
        if position is None:
            grid.add_column("…", width=1)
            texts.append(["…"] * len(rows))
        else:
            column = columns[position]
            justify: Any = "right" if column.is_number else "left"
            grid.add_column(
                column.name, justify=justify, width=size, no_wrap=True, overflow="ellipsis"
            )
            texts.append(column.cells)
    for row in rows:
        grid.add_row(*(cells[row] for cells in texts))
    total = sum(size + _GAP for _, size in shown)
    Console(highlight=False, markup=False, width=max(total, 1)).print(grid)
    return sum(position is not None for position, _ in shown)


def fitted(columns: Sequence[Column], width: int | None) -> list[tuple[int | None, int]]:
    """Return position and width of each column that is shown; the position None stands for those left out.

    Parameters
    ----------
    columns
        All columns.
    width
        Characters of a line; None where there is no edge.

    Examples
    --------
    >>> wide = [Column(name, ["x" * 30]) for name in "abcd"]
    >>> fitted(wide, None)
    [(0, 30), (1, 30), (2, 30), (3, 30)]
    >>> fitted(wide, 80)
    [(0, 26), (1, 16), (2, 16), (3, 16)]
    >>> fitted(wide, 40)
    [(0, 19), (None, 1), (3, 16)]
    """
    everything = [column.whole for column in columns]
    if width is None or _total(everything) <= width:
        return list(enumerate(everything))
    kept = _kept([column.least for column in columns], width)
    sizes = {position: columns[position].least for position in kept}
    spare = width - _total([*sizes.values(), *([1] if len(kept) < len(columns) else [])])
    # From left to right: first up to a readable text, then what is left.
    for limit in (_WIDEST, max(everything)):
        for position in kept:
            more = max(0, min(spare, min(everything[position], limit) - sizes[position]))
            sizes[position] += more
            spare -= more
    shown: list[tuple[int | None, int]] = [(position, sizes[position]) for position in kept]
    if len(kept) < len(columns):
        gap = next((i for i, position in enumerate(kept) if position != i), len(kept))
        shown.insert(gap, (None, 1))
    return shown


def _kept(least: Sequence[int], width: int) -> list[int]:
    """Return which columns fit: all, or from both ends inward with room for the "…" between them; at least one."""
    if _total(least) <= width:
        return list(range(len(least)))
    for count in range(len(least), 1, -1):
        kept = [*range((count + 1) // 2), *range(len(least) - count // 2, len(least))]
        if _total([1, *(least[position] for position in kept)]) <= width:
            return kept
    return [0]


def _total(sizes: Sequence[int]) -> int:
    return sum(sizes) + _GAP * (len(sizes) - 1)


def grid_columns(table: pa.Table) -> list[Column]:
    """Return the columns of a table of Arrow as text."""
    numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return [
        Column(
            field.name,
            [_text(value) for value in column.to_pylist()],
            any(kind(field.type) for kind in numbers),
        )
        for field, column in zip(table.schema, table.columns, strict=True)
    ]


def _text(value: Any) -> str:
    if value is None:
        return "NULL"
    # A line break would tear the row apart.
    return f"{value:.12g}" if isinstance(value, float) else str(value).replace("\n", "\\n")
