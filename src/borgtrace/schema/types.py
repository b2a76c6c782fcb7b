"""What a table and a column are: frozen data, from which readers, checks and docs are derived."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal

from borgtrace.schema.checks import ColumnCheck
from borgtrace.schema.enums import EnumName

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

Unit = Literal[
    # What has none, and what is a number by itself.
    "",
    "id",
    "enum",
    "1",
    "count",
    "rank",
    "class",
    "row",
    # Times.
    "us",
    "s",
    "h",
    "min",
    "d",
    # Amounts of resources; a fraction is one of the largest machine.
    "fraction",
    "%",
    "1/1000",
    "cores",
    "MHz",
    "bytes",
    "GiB",
    "machines",
    # Rates, and the square of a time.
    "s/s",
    "1/s",
    "1/h",
    "1/d",
    "h²",
]

TableName = Literal[
    "machine_events",
    "machine_attributes",
    "power_measurements",
    "machine_power_domains",
    "collection_events",
    "instance_events",
    "instance_constraints",
    "instance_usage",
    "tasks",
]
"""Tables of a store."""

RecordName = Literal["usage_rows", "task_rows", "machine_rows", "submission_rows", "type_rows"]
"""Kinds of rows of formats that are converted (:mod:`borgtrace.schema.records`)."""


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
        One of :data:`Unit`; ``"id"`` and ``"enum"`` for what has none.
    doc
        One sentence.
    nullable
        Whether NULL may be stored.
    enum
        Name of the enumeration, for ``type="enum"``.
    length
        Exact length of a list column, when it has one.
    checks
        Rules that its values in raw files keep, beyond what the type says.
    """

    name: str
    type: ColumnType
    unit: Unit
    doc: str
    _: KW_ONLY
    nullable: bool = True
    enum: EnumName | None = None
    length: int | None = None
    checks: tuple[ColumnCheck, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """One table: what a row is, what identifies it, and its columns.

    Parameters
    ----------
    name
        Name of the table.
    grain
        What one row is: "one row per" and then this.
    key
        Columns that identify a row, and by which rows are sorted.
    columns
        All columns, in order.

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
        """Whether its rows describe machines only: no task owns them, and every task may need them."""
        return "collection_id" not in self.names

    @property
    def is_of_cells(self) -> bool:
        """Whether its rows are of several cells, each row naming its own."""
        return "cell" in self.names

    @property
    def time(self) -> str | None:
        """The column that says when a row happened or began; None where rows hold at all times."""
        for name in ("start_time", "time"):
            if name in self.names:
                return name
        return None

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
