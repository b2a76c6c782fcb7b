"""What a question answers with: one row per grain, declared columns, sorted by the key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from borgtrace.schema.arrow import arrow_schema
from borgtrace.schema.types import Column, Table

Row: TypeAlias = dict[str, Any]
"""A row of an answer, by column."""
Rows: TypeAlias = "pa.Table | Sequence[Mapping[str, Any]]"
"""An answer as it is computed: columns, or rows by column."""


@dataclass(frozen=True, slots=True)
class AnswerColumn(Column):
    """A column of an answer: as of a table, but NULL only where it says so.

    Modules of questions know it as ``Column``.

    Examples
    --------
    >>> AnswerColumn("pending", "int64", "count", "Tasks that are pending.").nullable
    False
    """

    nullable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The shape of an answer.

    Parameters
    ----------
    grain
        What a row is, such as ``"step of time"``.
    key
        Columns that identify a row; rows are sorted by them.
    columns
        The other columns, in the order of the file.
    most_important
        What a narrow terminal shows, the most important first; all columns by the order of the file where empty.

    Examples
    --------
    >>> answer = Answer(
    ...     grain="hour",
    ...     key=[AnswerColumn("hour", "int64", "h", "Hour of the trace.")],
    ...     columns=[AnswerColumn("n_jobs", "int64", "count", "New jobs.")],
    ... )
    >>> answer.names
    ('hour', 'n_jobs')
    """

    grain: str
    key: Sequence[Column] = ()
    columns: Sequence[Column] = ()
    most_important: Sequence[str] = ()

    def __post_init__(self) -> None:
        unknown = set(self.most_important) - set(self.names)
        if unknown:
            raise ValueError(f"most_important: no such columns: {', '.join(sorted(unknown))}")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns, in order."""
        return tuple(column.name for column in (*self.key, *self.columns))

    @property
    def key_names(self) -> tuple[str, ...]:
        """Names of the columns of the key."""
        return tuple(column.name for column in self.key)

    def table(self, name: str) -> Table:
        """Return the same as the declaration of a table.

        Parameters
        ----------
        name
            Name of the question.
        """
        return Table(name, self.grain, self.key_names, (*self.key, *self.columns))

    def empty(self) -> pa.Table:
        """Return an answer without rows."""
        return arrow_schema(self.table("answer")).empty_table()
