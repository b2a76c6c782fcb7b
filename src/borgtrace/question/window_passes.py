"""Passes over the usage windows of tasks: those of questions that are asked together read each window once.

A question states the columns that it reads, and a kernel that turns a block of windows into a small result.  Whoever
runs a pass runs the other planned ones with it, as far as what these need is known; a pass of a question that is asked
alone runs alone, by the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import add
from typing import Any, Protocol

import ibis.expr.types as ir
import pyarrow as pa


class BlockResults(Protocol):
    """What makes one result of those of blocks."""

    def add(self, part: Any) -> None:
        """Take the result of one more block."""

    def result(self) -> Any:
        """Return the result of all blocks."""


class GatheredSum:
    """Adds up arrays of one shape."""

    def __init__(self) -> None:
        self._total: Any = None

    def add(self, part: Any) -> None:
        """Take the array of one more block."""
        self._total = part if self._total is None else add(self._total, part)

    def result(self) -> Any:
        """Return the sum."""
        return self._total


class GatheredRows:
    """Puts the rows of tables one after the other."""

    def __init__(self) -> None:
        self._tables: list[pa.Table] = []

    def add(self, part: pa.Table) -> None:
        """Take the rows of one more block."""
        self._tables.append(part)

    def result(self) -> pa.Table:
        """Return all rows."""
        return pa.concat_tables(self._tables)


def no_columns_of_tasks(tables: Any) -> Mapping[str, ir.Value]:
    """Return no columns beside the tier."""
    return {}


@dataclass(frozen=True, kw_only=True)
class WindowPass:
    """One pass of a question over all windows; passes are equal if question, stage and parameters are.

    Attributes
    ----------
    question, stage
        Name of the question, and of its stage.
    parameters
        All that the kernel depends on, beside the tables and the passes before.
    columns
        Columns of the usage.
    kernel
        ``kernel(tables, *results)`` returns what turns a sorted block into a part of the result, on any thread;
        `results` are those of the passes in `after`.
    gather
        Makes what the parts are gathered by.
    of_tasks
        ``of_tasks(tables)`` names columns by expressions over ``tables.tasks``; None where the kernel needs no column
        of tasks, not even the tier.
    after
        Passes whose results the kernel needs.
    """

    question: str
    stage: str
    parameters: tuple[Hashable, ...] = ()
    columns: Sequence[str] = field(compare=False)
    kernel: Callable[..., Callable[[pa.Table], Any]] = field(compare=False)
    gather: Callable[[], BlockResults] = field(default=GatheredSum, compare=False)
    of_tasks: Callable[[Any], Mapping[str, ir.Value]] | None = field(
        default=no_columns_of_tasks, compare=False
    )
    after: Sequence[WindowPass] = field(default=(), compare=False)


class PlannedPasses:
    """Passes that the questions of a run will make, and the results of those that were made.

    Attributes
    ----------
    planned
        Passes of the questions that are not answered yet, in the order of the questions.
    results
        By pass.

    Examples
    --------
    >>> first = WindowPass(question="a", stage="counts", columns=["slot"], kernel=lambda tables: len)
    >>> second = WindowPass(question="a", stage="values", columns=["slot"], kernel=lambda tables, n: len, after=[first])
    >>> passes = PlannedPasses()
    >>> passes.plan([first, second])
    >>> [ready.stage for ready in passes.ready()]
    ['counts']
    >>> passes.results[first] = 3
    >>> [ready.stage for ready in passes.ready()]
    ['values']
    """

    def __init__(self) -> None:
        self.planned: Sequence[WindowPass] = ()
        self.results: dict[WindowPass, Any] = {}

    def plan(self, passes: Iterable[WindowPass]) -> None:
        """Take note of the passes that will be made; results of others are dropped.

        Parameters
        ----------
        passes
            All of them.
        """
        self.planned = tuple(dict.fromkeys(passes))
        self.results = {
            known: result for known, result in self.results.items() if known in self.planned
        }

    def expect(self, passes: Iterable[WindowPass]) -> None:
        """Take note of passes that will be made beside those that were planned before.

        Parameters
        ----------
        passes
            Of a question that is asked now.
        """
        self.planned = tuple(dict.fromkeys((*self.planned, *passes)))

    def ready(self) -> list[WindowPass]:
        """Return the planned passes that were not made, and need no result that is not there."""
        return [
            planned
            for planned in self.planned
            if planned not in self.results
            and all(before in self.results for before in planned.after)
        ]
