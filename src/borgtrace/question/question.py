"""A question about a store, and its answer: how it is computed, drawn, and judged by what papers claim."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.engine.frames import import_pandas
from borgtrace.errors import UsageError
from borgtrace.extensions import sources_of
from borgtrace.notation import Names, ResourceAmounts
from borgtrace.notation.amounts import IN_LARGEST_MACHINES
from borgtrace.question.answer import Answer, Rows
from borgtrace.question.answer_names import with_names
from borgtrace.question.answer_sizes import in_own_units, schema_in_own_units, with_size
from borgtrace.question.claims import Claim, Finding, headline, unjudged
from borgtrace.question.conforming import conform
from borgtrace.question.engine_tables import EngineTables
from borgtrace.question.notapplicable import NotApplicable
from borgtrace.question.planned_tables import PlannedTables
from borgtrace.question.provenance import Provenance
from borgtrace.question.result_text import SHOWN_ROWS, result_text
from borgtrace.question.scope import QuestionRequest
from borgtrace.question.shared_tables import SharedTable
from borgtrace.question.tables import Tables
from borgtrace.question.window_passes import WindowPass
from borgtrace.schema.bounds import Declaration, check_value, declarations_of
from borgtrace.schema.types import Table
from borgtrace.store.coverage import StoreCoverage

if TYPE_CHECKING:
    import altair as alt
    import jinja2
    import pandas as pd
    import polars as pl


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question: how it is computed, drawn, declared, and what papers claim about its answer.

    Parameters
    ----------
    name
        Name on the command line and of the files it writes; that of its module.
    doc
        The module's docstring: its first line is the title, the rest the method.
    answer
        Columns of the answer.
    compute
        ``compute(tables, *, parameter=default, …)``, pure: no clock, no global random state, no drawing.  Returns an
        Ibis expression, or an Arrow table or rows made of what ``tables.fetch`` returned.  Raises
        :class:`~borgtrace.question.NotApplicable` where the store cannot answer.
    chart
        ``chart(answer)`` returns an Altair chart; it sees only the answer and imports Altair itself.
    claims
        Published statements that are judged on the answer.
    reads
        Tables that the question needs; one of them without rows makes it not applicable.
    shares
        Tables between usage and the answer that other questions read, too; one that it reads twice is named twice.
    passes
        ``passes(tables, *, parameter, …)``, with the parameters of `compute`: the passes over usage windows that it
        will ask for, as far as these are known before; None where it makes none.
    reference
        Where the method comes from.
    sentence
        ``sentence(answer)``: the answer in words, where it has some.
    has_amounts
        Whether all columns named after CPU or memory are amounts, as fractions of the largest machine.

    Examples
    --------
    A module ends with::

        QUESTION = Question(
            name="queue_length",
            doc=__doc__,
            answer=ANSWER,
            compute=compute,
            chart=chart,
            claims=CLAIMS,
            reads=["instance_events"],
            reference="Zhu et al., Methods 3-2 and 3-3",
        )
    """

    name: str
    doc: str | None
    answer: Answer
    compute: Callable[..., Any]
    chart: Callable[[pa.Table], Any]
    claims: Sequence[Claim] = ()
    reads: Sequence[str] = ()
    shares: Sequence[SharedTable] = ()
    passes: Callable[..., Sequence[WindowPass]] | None = None
    reference: str = ""
    sentence: Callable[[pa.Table], str] | None = None
    has_amounts: bool = False

    @property
    def title(self) -> str:
        """The first line of the doc; the name where Python dropped docstrings (``-OO``)."""
        return inspect.cleandoc(self.doc).splitlines()[0] if self.doc else self.name

    @property
    def method(self) -> str:
        """The doc after its first line: how the answer is computed."""
        return inspect.cleandoc(self.doc or "").partition("\n")[2].strip()

    @property
    def schema(self) -> Table:
        """The columns of the answer as the declaration of a table."""
        return self.answer.table(self.name)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Keyword-only parameters of `compute` with their defaults."""
        return {
            name: parameter.default
            for name, parameter in inspect.signature(self.compute).parameters.items()
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY
        }

    @property
    def declarations(self) -> Mapping[str, Declaration]:
        """What each parameter may be, as the annotations of `compute` say."""
        declared = declarations_of(self.compute)
        return {name: declared.get(name, Declaration()) for name in self.parameters}

    @property
    def time_units(self) -> Mapping[str, int]:
        """Unit, in µs, of each parameter that is a time."""
        units = {}
        for name, declaration in self.declarations.items():
            if declaration.time_unit is not None:
                units[name] = declaration.time_unit
        return units

    @property
    def group(self) -> str:
        """Name of the questions that share most of their work, and are answered by one process; else its own."""
        return self.name

    def subject(self, tables: Any) -> Any:
        """Make what the question is asked of from a store's tables; questions of one kind share it."""
        return tables

    def plan(
        self, subject: Any, questions: Sequence[Question], parameters: Mapping[str, Any]
    ) -> None:
        """Let a subject know which questions of this kind it will be asked, so that it does their work together.

        Parameters
        ----------
        subject
            What they are asked of.
        questions
            All of this kind.
        parameters
            Values that were set, by name.
        """

    def window_passes(self, tables: Any, parameters: Mapping[str, Any]) -> Sequence[WindowPass]:
        """Return the passes over usage windows that are known before the question is asked.

        Parameters
        ----------
        tables
            What it will be asked of.
        parameters
            Values that were set; the question takes its own.
        """
        if self.passes is None or not all(tables.has(name) for name in self.reads):
            return ()
        own = {name: value for name, value in parameters.items() if name in self.parameters}
        try:
            return self.passes(tables, **self.with_defaults(own))
        except UsageError:
            # Said when the question is asked, and not before the answers of those before it.
            return ()

    def run(self, store: Any, engine: str | None = None, **parameters: Any) -> Result:
        """Answer the question on a store.

        Parameters
        ----------
        store
            An open store, a path to one, or :class:`Tables` (which several questions may share).
        engine
            ``"duckdb"`` (default), ``"local[n]"``, ``"spark://…"``; only where `store` is not `Tables`.
        parameters
            Parameters of the question.

        Raises
        ------
        UsageError
            For a parameter the question does not have, or a value out of its range.
        SchemaError
            Where the answer is not what the question declares.
        """
        values = self.with_defaults(parameters)
        if isinstance(store, Tables):
            tables = store
            # Planned before where the question is asked with others, unless its parameters differ.
            tables.passes.expect(self.window_passes(tables, parameters))
        else:
            tables = EngineTables.of(store, engine)
            tables.plan([self], parameters)

        def compute() -> Rows:
            answer = self.compute(tables, **values)
            return tables.fetch(answer) if isinstance(answer, ir.Table) else answer

        return self.result(tables, values, compute)

    def result(
        self,
        tables: Any,
        parameters: Mapping[str, Any],
        compute: Callable[[], Rows],
        coverage: Callable[[], StoreCoverage] | None = None,
        code: Mapping[str, Any] = MappingProxyType({}),
    ) -> Result:
        """Compute an answer, check it, and judge the claims; where it is not applicable, no claim is judged.

        Parameters
        ----------
        tables
            What is asked: :class:`~borgtrace.question.EngineTables`, or what stands for them.
        parameters
            What it is asked with, for the provenance.
        compute
            Returns the answer, or raises :class:`NotApplicable`.
        coverage
            Says how much of the whole trace the answer was computed from, where that is not all that `tables` hold.
            Called after the computation, for a study knows its tasks only then.
        code
            Classes and functions that took part, by name: the provenance names those of others.
        """
        start = time.perf_counter()
        extensions = sources_of({self.name: self.compute, **code})

        def provenance_now() -> Provenance:
            seconds = time.perf_counter() - start
            provenance: Provenance = tables.provenance(parameters, seconds)
            return replace(provenance, extensions=extensions) if extensions else provenance

        try:
            # Before anything is computed: an empty table is a reason, not an empty answer.
            tables.require(*self.reads)
            answer = conform(compute(), self.schema)
        except NotApplicable as reason:
            refused = tuple(claim.not_applicable(str(reason)) for claim in self.claims)
            provenance = provenance_now()
            # The declared columns without rows: files and pages need no case of their own.
            return Result(self, self.answer.empty(), provenance, refused, str(reason))
        provenance = provenance_now()
        covered = coverage() if coverage else tables.coverage
        findings = self.judge(answer, covered, provenance)
        amounts = getattr(tables, "amounts", IN_LARGEST_MACHINES)
        names = getattr(tables, "names", None)
        return Result(self, answer, provenance, findings, amounts=amounts, names=names)

    def judge(
        self, answer: pa.Table, coverage: StoreCoverage, provenance: Provenance
    ) -> tuple[Finding, ...]:
        """Measure the claims, and judge those whose scope the store meets; of the others say why not.

        Parameters
        ----------
        answer
            The answer of this question.
        coverage
            How much of the whole trace it was computed from.
        provenance
            With which parameters, of which tasks.
        """
        defaults = self.parameters
        changed = {
            name: value
            for name, value in provenance.parameters.items()
            if value != defaults.get(name)
        }
        request = QuestionRequest(provenance.where, changed, defaults, self.time_units)
        findings = [claim.judge_on(answer, coverage, self.reads, request) for claim in self.claims]
        return tuple(findings)

    def stages(self, generation: str = "2011", /, **parameters: Any) -> dict[str, ir.Table]:
        """Return the relational stages over the canonical tables, computing nothing.

        The expressions are unbound: compile them for any engine, e.g. with
        ``borgtrace.engine.bigquery.compile_sql``.  A stage that bears the name of a derived table
        (``instance_attempts`` …) defines the table that the stages after it read.

        Parameters
        ----------
        generation
            Trace format the expressions are made for: tiers, order of equal times, what is published.
        parameters
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
            answer = self.compute(tables, **self.with_defaults(parameters))
            if isinstance(answer, ir.Table):
                tables.fetch(answer)
        # A plan has no rows: many a question ends at its first test for emptiness, with its stages recorded.
        except NotApplicable:
            pass
        return tables.stages

    def with_defaults(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return all parameters, as they are set or by default.

        Parameters
        ----------
        parameters
            Those that are set.

        Raises
        ------
        UsageError
            For a parameter the question does not have, or a value that its annotation does not allow.
        """
        known = self.parameters
        declared = self.declarations
        for name in parameters:
            if name not in known:
                expected = "one of " + ", ".join(known) if known else "no parameters"
                raise UsageError(self.name, "no such parameter", expected=expected, got=name)
            check_value(name, parameters[name], declared[name])
        # Defaults too: the provenance of a result names everything it depends on.
        return {**known, **parameters}


@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """The answer to a question, about one store.

    Attributes
    ----------
    question
        What was asked.
    table
        Rows as the question declares them, sorted by the key; no rows where it is not applicable.
    provenance
        What they were computed from and with.
    findings
        The claims of the question: published – measured – verdict.
    not_applicable
        Why the store cannot answer, or None.
    amounts
        In what its chart is drawn: cores and GiB where the store knows the size of its largest machine.
    names
        What jobs and machines of the store are called; None where nobody knows.
    """

    question: Question
    table: pa.Table
    provenance: Provenance
    findings: tuple[Finding, ...] = ()
    not_applicable: str | None = None
    amounts: ResourceAmounts = IN_LARGEST_MACHINES
    names: Names | None = field(default=None, compare=False)

    def first_rows(self, limit: int) -> tuple[pa.Table, Table]:
        """Return the first rows as people read them, with their declaration.

        Amounts are cores and GiB, and jobs and machines have their names, with the ids in brackets, where the store
        knows these.

        Parameters
        ----------
        limit
            How many rows.
        """
        schema = self.question.schema
        rows = self.table.slice(0, limit)
        if self.question.has_amounts:
            rows = in_own_units(with_size(rows, self.amounts))
            schema = schema_in_own_units(schema, self.amounts)
        return (rows, schema) if self.names is None else with_names(rows, schema, self.names)

    def plot(self) -> alt.TopLevelMixin | None:
        """Draw the result; None where there is nothing to draw."""
        if self.not_applicable is not None or not self.table.num_rows:
            return None
        return self.question.chart(with_size(self.table, self.amounts))

    @property
    def sentence(self) -> str:
        """The answer in words; empty where the question has none, or nothing was answered."""
        write = self.question.sentence
        return write(self.table) if write is not None and self.table.num_rows else ""

    def to_pandas(self) -> pd.DataFrame:
        """Return the table as a frame of pandas."""
        import_pandas()
        return self.table.to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Return the table as a frame of polars."""
        import polars as pl

        frame = pl.from_arrow(self.table)
        assert isinstance(frame, pl.DataFrame)
        return frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Hand the table to a library that reads Arrow's C stream, such as polars, DuckDB or pandas."""
        return self.table.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        """Say the question, its first rows, verdicts and origin in at most twenty lines."""
        heading = f"{self.question.name}: {self.question.title}"
        origin = str(self.provenance)
        if self.not_applicable is not None:
            reason = f"Not applicable: {self.not_applicable}"
            return result_text(heading, reason, None, self.findings, origin)
        return result_text(heading, self.sentence, self.table, self.findings, origin)

    def _repr_html_(self) -> str:
        return _result_template().render(
            result=self,
            sentence=self.sentence,
            rows=self.table.slice(0, SHOWN_ROWS).to_pylist(),
            headline=headline(self.findings),
            unmeasured=unjudged(one for one in self.findings if not one.is_measured),
        )


@cache
def _result_template() -> jinja2.Template:
    """Return the template of a result in a notebook, compiled once."""
    # Nothing else fills it: so no command waits for jinja2.
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template("result.html.j2")
