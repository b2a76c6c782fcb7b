"""What a table and a column are: frozen data, from which everything else is derived."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from borgtrace.schema.checks import Check

ColumnType = Literal[
    "int64",
    "int32",
    "uint32",
    "float32",
    "float64",
    "string",
    "bool",
    "enum",
    "list<float32>",
    "list<int64>",
]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Parameters
    ----------
    name
        snake_case name; booleans start with ``is_``/``has_``, counts with ``n_``
        (official names such as ``needs_different_machine`` are kept).
    type
        One of :data:`ColumnType`; an ``enum`` is stored as its name.
    unit
        ``"us"``, ``"s"``, ``"fraction"``, ``"1"`` …; ``"id"`` and ``"enum"`` for what has none.
    doc
        One sentence.
    nullable
        Whether NULL may be stored.
    enum
        Name of the enumeration, for ``type="enum"``.
    length
        Exact length of a list column, when it has one.
    checks
        Rules its values keep, beyond what the type says; of raw files only.
    """

    name: str
    type: ColumnType
    unit: str
    doc: str
    nullable: bool = True
    enum: str | None = None
    length: int | None = None
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """One table: what a row is, what identifies it, and its columns.

    Examples
    --------
    >>> Table("t", "pair", ("a",), (Column("a", "int64", "id", "An id.", nullable=False),)).names
    ('a',)
    """

    name: str
    grain: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Column names, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def is_about_machines(self) -> bool:
        """Whether its rows are of machines alone: no task owns them, and all tasks need them."""
        return "collection_id" not in self.names

    @property
    def is_of_cells(self) -> bool:
        """Whether its rows are of several cells, each of which names its own."""
        return "cell" in self.names

    @property
    def time(self) -> str | None:
        """The column that says when a row happened or began; None where rows hold at all times."""
        return next((name for name in ("start_time", "time") if name in self.names), None)

    def column(self, name: str) -> Column:
        """Return the column called `name`; KeyError where there is none.

        Raises
        ------
        KeyError
            The table has no such column.
        """
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)
