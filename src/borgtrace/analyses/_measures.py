"""Measures of claims: one number of an answer."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa

from borgtrace.recipe import Criterion, NotApplicable

Measure = Callable[[pa.Table], float]
Where = Mapping[str, Any]


def matching(result: pa.Table, where: Where) -> list[dict[str, Any]]:
    """Return the rows whose columns have the wanted values.

    Parameters
    ----------
    result
        A result table.
    where
        Columns and what they must be: one value, one of a collection of them, or what meets a criterion.

    Examples
    --------
    >>> from borgtrace.recipe import above
    >>> matching(pa.table({"tier": ["free", "mid"], "n": [3, 4]}), {"tier": ("free", "mid"), "n": above(3)})
    [{'tier': 'mid', 'n': 4}]
    """
    return [row for row in result.to_pylist() if all(_meets(row[name], wanted) for name, wanted in where.items())]


def _meets(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Criterion):
        return wanted.test(value)
    # A string is a collection of letters, but is meant as one value.
    return value in wanted if isinstance(wanted, Collection) and not isinstance(wanted, str) else bool(value == wanted)


def total(rows: list[dict[str, Any]], column: str) -> float:
    """Add up a column; NULL counts as nothing."""
    return float(sum(row[column] or 0 for row in rows))


def value(column: str, why: str, **where: Any) -> Measure:
    """Take `column` of the first row that matches `where`; not applicable without one or where it is NULL.

    Parameters
    ----------
    column
        Column to take.
    why
        Reason where there is no such row.
    where
        Columns and what they must be.
    """

    def measure(result: pa.Table) -> float:
        found = next((row[column] for row in matching(result, where)), None)
        if found is None:
            raise NotApplicable(why)
        return float(found)

    return measure


def count(column: str, why: str = "", **where: Any) -> Callable[[pa.Table], int]:
    """Add up whole numbers in the rows that match `where`.

    Parameters
    ----------
    column
        Column of whole numbers; NULL counts as nothing.
    why
        Reason where there is no such row; empty where that is a count of 0.
    where
        Columns and what they must be.
    """

    def measure(result: pa.Table) -> int:
        rows = matching(result, where)
        NotApplicable.unless(rows or not why, why)
        return int(total(rows, column))

    return measure


def largest(column: str, why: str, **where: Any) -> Measure:
    """Take the largest value of `column` in the rows that match `where`; not applicable where all are NULL.

    Parameters
    ----------
    column
        Column to take.
    why
        Reason where no such row has a value.
    where
        Columns and what they must be.
    """

    def measure(result: pa.Table) -> float:
        found = [row[column] for row in matching(result, where) if row[column] is not None]
        NotApplicable.unless(found, why)
        return float(max(found))

    return measure


def ratio(over: str, under: str | Sequence[str], why: str, **where: Any) -> Measure:
    """Return Σ `over` ÷ Σ `under` of the rows that match `where`; not applicable where that is nothing.

    Parameters
    ----------
    over, under
        Columns to add up, one or (under the line) several; NULL counts as nothing.
    why
        Reason where there is nothing to divide by.
    where
        Columns and what they must be.
    """

    def measure(result: pa.Table) -> float:
        rows = matching(result, where)
        below = sum(total(rows, column) for column in ([under] if isinstance(under, str) else under))
        NotApplicable.unless(below > 0, why)
        return total(rows, over) / below

    return measure


def part(column: str, why: str, among: Where | None = None, **where: Any) -> Measure:
    """Return which part of Σ `column` over the rows of `among` lies in those that match `where` too.

    Parameters
    ----------
    column
        Column to add up.
    why
        Reason where there is nothing to take a part of.
    among
        Rows that make the whole; all of them where None.
    where
        What rows of the part satisfy besides.
    """

    def measure(result: pa.Table) -> float:
        everything = total(matching(result, among or {}), column)
        NotApplicable.unless(everything > 0, why)
        # `where` may narrow a column that `among` already names.
        return total(matching(result, {**(among or {}), **where}), column) / everything

    return measure
