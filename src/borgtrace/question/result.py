"""An answered question: the table, where it comes from, what the papers say."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from borgtrace.lifecycle import code_version
from borgtrace.question.checks import Answer, conform
from borgtrace.question.claims import Finding, headline, unjudged
from borgtrace.question.notapplicable import NotApplicable
from borgtrace.question.question import Question
from borgtrace.schema.arrow import arrow_schema
from borgtrace.store.coverage import StoreCoverage

if TYPE_CHECKING:
    import altair as alt

_SHOWN = 10
"""Rows that a notebook shows."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """What a result was computed from and with."""

    store: str = ""
    digest: str = ""
    generation: str = "2011"
    cell: str = ""
    is_synthetic: bool = False
    where: str = ""
    engine: str = "duckdb"
    code_version: str = field(default_factory=code_version)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    is_simulated: bool = False

    def __str__(self) -> str:
        made = ", simulated" if self.is_simulated else ", synthetic" if self.is_synthetic else ""
        kind = f"{self.generation}{self.cell}{made}"
        where = f", where {self.where}" if self.where else ""
        parameters = f", parameters {json.dumps(dict(self.parameters))}" if self.parameters else ""
        return (
            f"store {self.store} ({kind}, {self.digest[:12]}){where}, borgtrace {self.code_version}, "
            f"engine {self.engine}, {self.seconds:.2f} s{parameters}"
        )


@dataclass(frozen=True, slots=True)
class Result:
    """The answer to a question, about one store.

    Attributes
    ----------
    table
        Rows as the recipe declares them, sorted by the key; no rows where the question is not applicable.
    findings
        The recipe's claims: published – measured – verdict.
    not_applicable
        Why the store cannot answer, or None.
    """

    recipe: Question
    table: pa.Table
    provenance: Provenance
    findings: tuple[Finding, ...] = ()
    not_applicable: str | None = None

    @classmethod
    def of(
        cls,
        question: Question,
        tables: Any,
        parameters: Mapping[str, Any],
        compute: Callable[[], Answer],
        coverage: Callable[[], StoreCoverage] | None = None,
    ) -> Result:
        """Compute an answer, check it, and judge the claims; an answer that is not applicable judges none.

        Parameters
        ----------
        question
            Whose answer it is.
        tables
            What it is asked of: :class:`~borgtrace.question.EngineTables`, or what stands for them.
        parameters
            What it is asked with, for the provenance.
        compute
            Returns the answer, a table or rows by column, or raises :class:`NotApplicable`.
        coverage
            Says how much of the whole trace it was computed from, where it was not all that `tables` hold: claims that
            this cannot decide are not judged.  Asked after the computation, for a study knows its tasks only then.
        """
        start = time.perf_counter()
        try:
            # Before anything is computed: an empty table is a reason, not an empty answer.
            tables.require(*question.reads)
            answer, reason = conform(compute(), question.result), None
        except NotApplicable as refusal:
            # The declared columns without rows: files and pages need no case of their own.
            answer, reason = arrow_schema(question.result).empty_table(), str(refusal)
        origin = tables.provenance(parameters, time.perf_counter() - start)
        if reason is not None:
            refused = tuple(claim.not_applicable(reason) for claim in question.claims)
            return cls(question, answer, origin, refused, reason)
        covered = coverage() if coverage else tables.coverage
        return cls(question, answer, origin, _judged(question, answer, covered, origin))

    def plot(self) -> alt.TopLevelMixin | None:
        """Draw the result; None where there is nothing to draw."""
        if self.not_applicable is not None or not self.table.num_rows:
            return None
        return self.recipe.plot(self.table)

    def _repr_html_(self) -> str:
        # Notebooks call this, and nothing else fills this template: so no command waits for jinja2.
        import jinja2

        loader = jinja2.FileSystemLoader(Path(__file__).parent)
        filling = jinja2.Environment(
            loader=loader, autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined
        )
        told = {"headline": headline(self.findings), "unjudged": unjudged(self.findings)}
        rows = self.table.slice(0, _SHOWN).to_pylist()
        return filling.get_template("result.html.j2").render(result=self, rows=rows, **told)


def _judged(
    question: Question, answer: pa.Table, coverage: StoreCoverage, origin: Provenance
) -> tuple[Finding, ...]:
    defaults = question.parameters
    changed = {
        name: value for name, value in origin.parameters.items() if value != defaults.get(name)
    }
    findings = []
    for claim in question.claims:
        why = claim.scope.objection(
            coverage, question.reads, where=origin.where, changed=changed, defaults=defaults
        )
        findings.append(
            claim.not_applicable(why) if why else claim.judge(answer, claim.scope.note(coverage))
        )
    return tuple(findings)
