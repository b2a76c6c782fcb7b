"""Tables that several questions make of usage in the same way: made once for those that are asked together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import ibis.expr.types as ir


@dataclass(frozen=True, slots=True)
class SharedTable:
    """A table between usage and answers.

    Attributes
    ----------
    name
        Of the table on the engine.
    build
        Its expression over the :class:`~borgtrace.question.Tables` of a store.
    """

    name: str
    build: Callable[[Any], ir.Table]


class ReadsSharedTables(Protocol):
    """A question that says which shared tables it reads."""

    @property
    def shares(self) -> Sequence[SharedTable]:
        """The tables; one that is read twice is named twice."""


def reads_of(questions: Iterable[ReadsSharedTables]) -> Counter[SharedTable]:
    """Return how often questions that are asked together read each shared table."""
    return Counter(table for question in questions for table in question.shares)
