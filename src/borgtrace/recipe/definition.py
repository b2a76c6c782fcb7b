"""The one shape of a question."""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.errors import UsageError
from borgtrace.recipe.checks import conform
from borgtrace.recipe.claims import Claim
from borgtrace.recipe.notapplicable import NotApplicable
from borgtrace.recipe.result import Result
from borgtrace.recipe.tables import Tables
from borgtrace.schema.arrow import arrow_schema
from borgtrace.schema.types import Table

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True, slots=True)
class Recipe:
    """A question: how it is computed, drawn, declared, and what papers claim about it.

    Parameters
    ----------
    name
        Name on the command line and of the files it writes.
    compute
        ``compute(tables, *, parameter=default, …)``: pure; Ibis tables in, one small table out (an Ibis
        expression, or an Arrow table computed from what ``tables.fetch`` returned).  No clock, no global
        random state, no drawing.  Raises :class:`NotApplicable` where the store cannot answer.
    plot
        ``plot(result) -> alt.Chart`` (or a concatenation): sees only the result; imports altair itself.
    result
        Declaration of the result, of the type of the store's tables.
    claims
        Published statements that are judged on the result.
    reads
        Tables the question needs; one of them without rows makes it not applicable.
    reference
        Where the method comes from.
    order
        Place among the questions, smaller first.
    topic
        Heading under which a page lists the question; the heading of its package where empty.

    Examples
    --------
    A module with the docstring ``How many events are there?`` ends with::

        RECIPE = Recipe("n_events", compute, plot, RESULT, reads=("instance_events",))
    """

    name: str
    compute: Callable[..., ir.Table | pa.Table]
    plot: Callable[[pa.Table], alt.TopLevelMixin]
    result: Table
    claims: tuple[Claim, ...] = ()
    reads: tuple[str, ...] = ()
    reference: str = ""
    order: int = 100
    topic: str = ""

    @property
    def module(self) -> str:
        """Name of the module that declares the recipe: that of its chart, for `compute` may be made elsewhere."""
        return self.plot.__module__

    @property
    def question(self) -> str:
        """First line of the module's docstring."""
        text = sys.modules[self.module].__doc__ or self.name
        return text.strip().splitlines()[0]

    @property
    def method(self) -> str:
        """The module's docstring after its first line: how the number is computed."""
        text = inspect.cleandoc(sys.modules[self.module].__doc__ or "")
        return text.partition("\n")[2].strip()

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Keyword-only parameters of `compute` with their defaults."""
        return {
            name: parameter.default
            for name, parameter in inspect.signature(self.compute).parameters.items()
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY
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
        parameters = self._parameters(params)
        tables = store if isinstance(store, Tables) else Tables.of(store, engine)
        start = time.perf_counter()
        answer, reason = self._answer(tables, parameters)
        provenance = tables.provenance(parameters, time.perf_counter() - start)
        if reason is None:
            findings = tuple(claim.judge(answer) for claim in self.claims)
        else:
            findings = tuple(claim.not_applicable(reason) for claim in self.claims)
        return Result(self, answer, provenance, findings, reason)

    def stages(self, generation: str = "2011", /, **params: Any) -> dict[str, ir.Table]:
        """Return the relational stages over the canonical tables, computing nothing.

        The expressions are unbound: compile them for any engine, e.g. with
        ``borgtrace.engine.bigquery.compile_sql``.  A stage that bears the name of a derived table
        (``instance_attempts`` …) defines the table that the stages after it read.
        """
        tables = Tables.plan(generation)
        try:
            answer = self.compute(tables, **self._parameters(params))
            if isinstance(answer, ir.Table):
                tables.fetch(answer)
        except NotApplicable:
            pass
        return tables.stages

    def _parameters(self, params: Mapping[str, Any]) -> dict[str, Any]:
        known = self.parameters
        for name in params:
            if name not in known:
                expected = "one of " + ", ".join(known) if known else "no parameters"
                raise UsageError(self.name, "no such parameter", expected=expected, got=name)
        return {**known, **params}

    def _answer(self, tables: Tables, parameters: Mapping[str, Any]) -> tuple[pa.Table, str | None]:
        try:
            tables.require(*self.reads)
            answer = self.compute(tables, **parameters)
        except NotApplicable as reason:
            return arrow_schema(self.result).empty_table(), str(reason)
        table = tables.fetch(answer) if isinstance(answer, ir.Table) else answer
        return conform(table, self.result), None
