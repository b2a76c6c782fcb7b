"""Conditions on the columns of a table, as an address writes them: ``filter=type:is:EVICT``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from borgtrace.engine.identifiers import literal, number, quoted
from borgtrace.errors import UsageError, check_names
from borgtrace.schema import Column, Table

PARAMETER = "filter"
"""Of an address; each condition has one."""


class Operator(NamedTuple):
    """A kind of condition: how a page and how SQL write it, with the column and the value in braces."""

    label: str
    sql: str


OPERATORS = {
    "is": Operator("is", "{column} = {value}"),
    "not": Operator("is not", "{column} IS DISTINCT FROM {value}"),
    "from": Operator("≥", "{column} >= {value}"),
    "to": Operator("≤", "{column} <= {value}"),
    "has": Operator("contains", "contains({column}::VARCHAR, {value})"),
    "unknown": Operator("is unknown", "{column} IS NULL"),
    "known": Operator("is known", "{column} IS NOT NULL"),
}
WITHOUT_VALUE = ("unknown", "known")
TRUE_AND_FALSE = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Filter:
    """One condition.

    Parameters
    ----------
    column
        Of the table.
    operator
        One of `OPERATORS`.
    text
        The value as the address has it; empty where there is none.
    """

    column: Column
    operator: str
    text: str

    @property
    def address(self) -> str:
        """The condition in an address."""
        return f"{self.column.name}:{self.operator}:{self.text}"

    @property
    def words(self) -> str:
        """The condition as a page says it."""
        return f"{self.column.name} {OPERATORS[self.operator].label} {self.text}".rstrip()

    @property
    def value(self) -> Any:
        """The value of the column's type.

        Raises
        ------
        UsageError
            The text is no value of the column.
        """
        # A text is looked for in any column.
        kind = "string" if self.operator == "has" else self.column.type
        try:
            if kind == "bool":
                return TRUE_AND_FALSE[self.text.lower()]
            if kind.startswith("float"):
                return finite(self.text)
            if "int" in kind:
                return int(self.text)
        except (KeyError, ValueError):
            raise UsageError(
                self.column.name,
                "not a value of this column",
                expected=kind,
                got=repr(self.text[:40]),
            ) from None
        return self.text

    def condition(self, value_sql: str) -> str:
        """Return the condition in SQL.

        Parameters
        ----------
        value_sql
            The value: a parameter or a literal.
        """
        is_single = self.column.type == "float32" and self.operator != "has"
        # As it is stored: 0.1 of single precision is not 0.1 of double precision.
        cast_value = f"{value_sql}::FLOAT" if is_single else value_sql
        template = OPERATORS[self.operator].sql
        return template.format(column=quoted(self.column.name), value=cast_value)


def finite(text: str) -> float:
    """Read a number.

    Raises
    ------
    ValueError
        It is none, or not a finite one, which SQL cannot write.
    """
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def parse_filter(table: Table, text: str) -> Filter:
    """Read a condition of an address.

    Parameters
    ----------
    table
        The table.
    text
        ``COLUMN:OPERATOR:VALUE``; the value may hold colons.

    Raises
    ------
    UsageError
        There is no such column or operator, or the value is none of the column.

    Examples
    --------
    >>> from borgtrace.schema import TABLES
    >>> parse_filter(TABLES["instance_events"], "type:is:EVICT").condition("$type")
    '"type" = $type'
    """
    name, _, rest = text.partition(":")
    operator, _, value = rest.partition(":")
    columns = {column.name: column for column in table.columns if is_plain(column)}
    check_names(PARAMETER, (name,), columns, "no such column")
    check_names(PARAMETER, (operator,), OPERATORS, "no such condition")
    condition = Filter(columns[name], operator, "" if operator in WITHOUT_VALUE else value)
    if operator not in WITHOUT_VALUE:
        # Refuses a wrong one before it is asked for.
        _ = condition.value
    return condition


def is_plain(column: Column) -> bool:
    """Whether values of a column can be compared; lists cannot."""
    return not column.type.startswith("list")


def where_clause(filters: Sequence[Filter]) -> str:
    """Return all conditions in SQL with their values as parameters; nothing where there are none."""
    conditions = [each.condition(f"$value_{number}") for number, each in enumerate(filters)]
    conditions_sql = " AND ".join(conditions)
    return f"WHERE {conditions_sql}" if conditions else ""


def parameters_of(filters: Sequence[Filter]) -> dict[str, Any]:
    """Return the values of `where_clause` by the names of their parameters."""
    return {
        f"value_{number}": each.value
        for number, each in enumerate(filters)
        if each.operator not in WITHOUT_VALUE
    }


def where_text(filters: Sequence[Filter]) -> str:
    """Return all conditions in SQL with their values written in, for people to read and change."""
    conditions = []
    for each in filters:
        value = "" if each.operator in WITHOUT_VALUE else written(each.value)
        conditions.append(each.condition(value))
    conditions_sql = " AND ".join(conditions)
    return f"WHERE {conditions_sql}" if conditions else ""


def written(value: Any) -> str:
    """Return a value as SQL writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return literal(value) if isinstance(value, str) else number(value)
