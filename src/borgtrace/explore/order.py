"""Sort the table of a page by a column: the address names the column, and each heading links to its order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple
from urllib.parse import urlencode

from borgtrace.engine.identifiers import quoted
from borgtrace.errors import UsageError, did_you_mean

Direction = Literal["ascending", "descending", "none"]
"""What ``aria-sort`` of a heading says."""
PARAMETER = "sort"
"""Of an address: the column, behind a minus where the largest is first."""
START = "start"
"""Of an address: the number of the first row."""
MOST_DIGITS = 15


@dataclass(frozen=True, slots=True)
class TableOrder:
    """The order of a table, and the addresses of its other orders.

    Parameters
    ----------
    sortable
        Columns by which it can be sorted.
    parameters
        What the address says beside the order.
    column
        By which it is sorted; its own order where empty.
    is_descending
        Whether the largest is first.
    parameter
        Of the address.
    """

    sortable: Sequence[str]
    parameters: Sequence[tuple[str, str]] = ()
    column: str = ""
    is_descending: bool = False
    parameter: str = PARAMETER

    def link(self, column: str) -> str | None:
        """Return the address of the table sorted by a column; None where it cannot be.

        The largest comes first, or the smallest where the largest does already.
        """
        if column not in self.sortable:
            return None
        is_descending = not (column == self.column and self.is_descending)
        minus = "-" if is_descending else ""
        return "?" + urlencode([*self.parameters, (self.parameter, f"{minus}{column}")])

    def direction(self, column: str) -> Direction:
        """Return how a column is sorted."""
        if column != self.column:
            return "none"
        return "descending" if self.is_descending else "ascending"

    def clause_sql(self, default: str) -> str:
        """Return what stands behind ORDER BY.

        Parameters
        ----------
        default
            The table's own order, which also settles ties.
        """
        if not self.column:
            return default
        direction = "DESC" if self.is_descending else "ASC"
        chosen = f"{quoted(self.column)} {direction} NULLS LAST"
        return f"{chosen}, {default}" if default else chosen


def requested_start(query: Sequence[tuple[str, str]]) -> int:
    """Return the number of the first row that an address asks for; 0 where it asks for none."""
    text = dict(query).get(START, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS else 0


class PageLinks(NamedTuple):
    """Addresses of the rows before and after those that a page shows; None where there are none."""

    before: str | None
    after: str | None


def page_links(
    query: Sequence[tuple[str, str]], start: int, n_rows: int, n_found: int
) -> PageLinks:
    """Return the addresses of neighboring rows.

    Parameters
    ----------
    query
        Parameters of the address.
    start
        Number of the first row that is shown.
    n_rows
        How many a page shows.
    n_found
        How many there were from the first on, of one more than a page shows.
    """
    others = [(name, value) for name, value in query if name != START]

    def at(row: int) -> str:
        return "?" + urlencode([*others, (START, str(row))])

    before = at(max(start - n_rows, 0)) if start else None
    return PageLinks(before, at(start + n_rows) if n_found > n_rows else None)


def requested_order(
    query: Sequence[tuple[str, str]],
    sortable: Sequence[str],
    parameter: str = PARAMETER,
) -> TableOrder:
    """Return the order that an address asks for.

    Parameters
    ----------
    query
        Parameters of the address.
    sortable
        Columns by which the table can be sorted.
    parameter
        That of the order.

    Raises
    ------
    UsageError
        There is no such column.

    Examples
    --------
    >>> order = requested_order([("user", "bob"), ("sort", "-n_tasks")], ["user", "n_tasks"])
    >>> order.clause_sql("user"), order.link("n_tasks")
    ('"n_tasks" DESC NULLS LAST, user', '?user=bob&sort=n_tasks')
    """
    # Another order begins with its first row.
    others = [(name, value) for name, value in query if name not in (parameter, START)]
    text = dict(query).get(parameter, "")
    column = text.removeprefix("-")
    if column and column not in sortable:
        raise UsageError(
            parameter,
            "no such column",
            expected="a column of the table",
            got=repr(column[:40]),
            way_out=did_you_mean(column, sortable),
        )
    return TableOrder(
        sortable=sortable,
        parameters=others,
        column=column,
        is_descending=text.startswith("-"),
        parameter=parameter,
    )
