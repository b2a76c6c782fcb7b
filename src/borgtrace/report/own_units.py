"""Rows of a store's tables in the units of people: cores and GiB, wall-clock times, names of machines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from borgtrace.notation import Notation
from borgtrace.notation.amounts import resource_of
from borgtrace.notation.clock import SECONDS
from borgtrace.schema import Column, Table

STORED_UNIT = "as a fraction of the largest machine"
"""What the sentences of columns say."""


@dataclass(frozen=True, slots=True)
class OwnUnits:
    """Makes rows of a store's tables read as its people say them.

    Parameters
    ----------
    notation
        Of the store.
    keeps
        Units and columns whose values stay as they are: times for a chart, ids for a page that links them.
    """

    notation: Notation
    keeps: frozenset[str] = frozenset()

    def rows(self, table: pa.Table, declared: Table) -> tuple[pa.Table, Table]:
        """Return rows in own units, with the declaration that names these.

        Parameters
        ----------
        table
            Rows of a table of the store.
        declared
            Its declaration.
        """
        values = {}
        columns = []
        for name in table.column_names:
            column = declared.column(name)
            write = self.writer(column)
            values[name] = [
                None if each is None else write(each) for each in table[name].to_pylist()
            ]
            columns.append(self.column(column))
        return pa.table(values), replace(declared, key=(), columns=tuple(columns))

    def column(self, column: Column) -> Column:
        """Return a column with the unit and the type that its values have here."""
        resource = self._resource(column)
        if resource is not None:
            unit: Any = self.notation.amounts.unit(resource)
            # A heading tells its sentence to the pointer.
            doc = column.doc.replace(STORED_UNIT, f"in {unit}")
            return replace(column, unit=unit, doc=doc)
        return replace(column, type="string", unit="id") if self._is_text(column) else column

    def writer(self, column: Column) -> Callable[[Any], Any]:
        """Return what makes a stored value of a column one in own units."""
        resource = self._resource(column)
        if resource is not None:
            factor = self.notation.amounts.factor(resource)
            return lambda amount: scaled(amount, factor)
        if not self._is_text(column):
            return lambda value: value
        if column.unit == "us":
            return lambda time: self.notation.clock.text(time, SECONDS)
        return self.notation.names.machine

    def _resource(self, column: Column) -> str | None:
        """Return the resource that a column is an amount of, if its unit is known."""
        resource = resource_of(column.name) if column.unit == "fraction" else None
        return resource if resource and self.notation.amounts.is_known(resource) else None

    def _is_text(self, column: Column) -> bool:
        """Whether a stored time or id becomes a text."""
        is_kept = column.unit in self.keeps or column.name in self.keeps
        return not is_kept and (column.unit == "us" or column.name == "machine_id")


def scaled(amount: Any, factor: float) -> Any:
    """Return an amount, or a distribution of amounts, in another unit."""
    if isinstance(amount, list):
        return [scaled(item, factor) for item in amount]
    return None if amount is None else amount * factor
