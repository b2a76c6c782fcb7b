"""Tables that several questions make of usage in the same way: made once for those that are asked together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.question.window_passes import WindowPass


@dataclass(frozen=True, slots=True)
class SharedTable:
    """A table between usage and answers.

    Attributes
    ----------
    name
        Of the table on the engine.
    build
        Its expression over the :class:`~borgtrace.question.Tables` of a store.
    parts
        Makes the same rows of the same tables by compiled code, part by part; None where SQL does.  An engine has taken
        each part when the next one is asked for.  It raises `LeftToSQLError` where the expression is what can be
        computed.
    """

    name: str
    build: Callable[[Any], ir.Table]
    parts: Callable[[Any], Iterator[pa.RecordBatchReader]] | None = None


class LeftToSQLError(Exception):
    """Compiled code cannot make these rows, or not faster."""


class PlannedQuestion(Protocol):
    """A question that says what it computes as others do."""

    @property
    def shares(self) -> Sequence[SharedTable]:
        """The tables; one that is read twice is named twice."""

    def window_passes(self, tables: Any, parameters: Mapping[str, Any]) -> Sequence[WindowPass]:
        """Return its passes over usage windows."""


def reads_of(questions: Iterable[PlannedQuestion]) -> Counter[SharedTable]:
    """Return how often questions that are asked together read each shared table."""
    return Counter(table for question in questions for table in question.shares)
