"""Recipes: questions about the tables of a store."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_origin, get_type_hints

import ibis.expr.types as ir

from borgtrace.question.checks import Answer
from borgtrace.question.engine_tables import EngineTables
from borgtrace.question.notapplicable import NotApplicable
from borgtrace.question.planned_tables import PlannedTables
from borgtrace.question.question import Question
from borgtrace.question.result import Result
from borgtrace.question.tables import Tables

Row = dict[str, Any]
"""A row of an answer, by column."""


@dataclass(frozen=True, slots=True)
class Recipe(Question):
    """A question about the tables of a store.

    ``compute(tables, *, parameter=default, …)`` is pure: Ibis tables in, one small table out (an Ibis expression, or
    an Arrow table or rows computed from what ``tables.fetch`` returned).  See :class:`Question` for the fields.

    Examples
    --------
    A module with the docstring ``How many events are there?`` ends with::

        RECIPE = Recipe(RESULT, compute, plot, reads=("instance_events",))
    """

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Keyword-only parameters of `compute` with their defaults."""
        return {
            name: parameter.default
            for name, parameter in inspect.signature(self.compute).parameters.items()
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY
        }

    @property
    def time_units(self) -> Mapping[str, int]:
        """Unit, in µs, of each parameter that is a time."""
        hints = get_type_hints(self.compute, include_extras=True)
        # Only `Microseconds` and `Seconds` carry something beside their type: their unit.
        return {
            name: hint.__metadata__[0]
            for name, hint in hints.items()
            if get_origin(hint) is Annotated
        }

    def run(self, store: Any, engine: str | None = None, **params: Any) -> Result:
        """Answer the question on a store.

        Parameters
        ----------
        store
            An open store, a path to one, or :class:`Tables` (which several questions may share).
        engine
            ``"duckdb"`` (default), ``"local[n]"``, ``"spark://…"``; only where `store` is not `Tables`.
        params
            Parameters of the question.

        Raises
        ------
        UsageError
            For a parameter the question does not have.
        SchemaError
            Where the answer is not what the recipe declares.
        """
        parameters = self.settings(params)
        tables = store if isinstance(store, Tables) else EngineTables.of(store, engine)
        return Result.of(self, tables, parameters, lambda: self._answer(tables, parameters))

    def stages(self, generation: str = "2011", /, **params: Any) -> dict[str, ir.Table]:
        """Return the relational stages over the canonical tables, computing nothing.

        The expressions are unbound: compile them for any engine, e.g. with
        ``borgtrace.engine.bigquery.compile_sql``.  A stage that bears the name of a derived table
        (``instance_attempts`` …) defines the table that the stages after it read.

        Parameters
        ----------
        generation
            Trace format the expressions are made for: tiers, order of equal times, what is published.
        params
            Parameters of the question.

        Returns
        -------
        dict
            Expressions by name of the stage, in an order in which they can run.

        Raises
        ------
        UsageError
            For a parameter the question does not have.
        """
        tables = PlannedTables(generation)
        try:
            answer = self.compute(tables, **self.settings(params))
            if isinstance(answer, ir.Table):
                tables.fetch(answer)
        # A plan has no rows: many a question ends at its first test for emptiness, with its stages recorded.
        except NotApplicable:
            pass
        return tables.stages

    def _answer(self, tables: Tables, parameters: Mapping[str, Any]) -> Answer:
        answer = self.compute(tables, **parameters)
        return tables.fetch(answer) if isinstance(answer, ir.Table) else answer
