"""One question as a section of the page."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from borgtrace.catalog import OTHER_QUESTIONS, headings
from borgtrace.errors import BorgtraceError
from borgtrace.question import Finding, Question, Result, headline, unjudged
from borgtrace.question.claims import by_reason
from borgtrace.report.charts import Figure, UndrawableError, figure
from borgtrace.report.values import SHOWN_ROWS, ShownTable, shown_table

# Only what the source line numbers: other claims of the same paper have no place in the list.
NUMBERED = re.compile(r"^Zhu et al\.,.*?\b(Observation|Measure) (\d+)")
VERDICTS = ("holds", "does not hold", "not judged", "not applicable")


@dataclass(frozen=True, slots=True)
class PageSection:
    """All that the page says on one question.

    ``result`` and ``figure`` are None where there is nothing to show; ``note`` says why, and ``error`` is what
    stopped the computation.
    """

    question: Question
    note: str
    result: Result | None = None
    figure: Figure | None = None
    error: BorgtraceError | None = None

    @property
    def anchor(self) -> str:
        """The section's id in the page."""
        return self.question.name.replace("_", "-")

    @property
    def not_applicable(self) -> str | None:
        """Why the store cannot answer, or None."""
        return self.result.not_applicable if self.result else None

    @property
    def findings(self) -> Sequence[Finding]:
        """The claims, judged."""
        return self.result.findings if self.result else ()

    @property
    def headline(self) -> str:
        """How many of the claims hold that could be judged."""
        return headline(self.findings)

    @property
    def measured(self) -> list[tuple[None, Finding]]:
        """The claims that were measured, as rows of a table; without a link, for they stand in their own section."""
        return [(None, finding) for finding in self.findings if finding.is_measured]

    @property
    def unmeasured(self) -> dict[str, list[Finding]]:
        """The claims without a measured value, by reason: the others say it themselves."""
        return unjudged(one for one in self.findings if not one.is_measured)

    @property
    def table(self) -> ShownTable | None:
        """The first rows of the answer."""
        if self.result is None or not self.result.table.num_rows:
            return None
        first = shown_table(*self.result.first_rows(SHOWN_ROWS), has_codes=True)
        return replace(first, n_rows=self.result.table.num_rows)

    @property
    def first_job(self) -> int | None:
        """The job in the first row of the answer, None where rows are of something else."""
        if self.result is None or not self.result.table.num_rows:
            return None
        (first_row,) = self.result.table.slice(0, 1).to_pylist()
        return first_row.get("collection_id")

    @property
    def parameters(self) -> str:
        """The parameters and their values."""
        if self.result is None:
            return ""
        texts = []
        for name, value in self.result.provenance.parameters.items():
            texts.append(f"{name} = {json.dumps(value, default=str)}")
        return ", ".join(texts)

    def count(self, verdict: str) -> int:
        """Return how many claims got a verdict."""
        return sum(finding.verdict == verdict for finding in self.findings)


def section(result: Result) -> PageSection:
    """Turn a result into a section.

    A chart that shows nothing, or cannot be made small enough for a browser, is left out, and the section says so.
    """
    question = result.question
    if result.not_applicable is not None:
        return PageSection(
            question, f"Not applicable to this store: {result.not_applicable}.", result
        )
    # Here: it comes with the drawing library. Altair checks each row of a chart against its schema, several times,
    # which takes longer than most questions; charts are checked by their tests.
    from altair.utils.schemapi import debug_mode

    with debug_mode(False):
        chart = result.plot()
    if chart is None:
        return PageSection(question, "The answer is empty on this store.", result)
    if result.table.num_rows == 1:
        note = "The answer is one row, which a chart would show as one dot."
        return PageSection(question, note, result)
    try:
        return PageSection(question, "", result, figure(chart, question.title))
    except UndrawableError as error:
        return PageSection(question, f"No chart: {error}.", result)


def refused(question: Question, error: BorgtraceError) -> PageSection:
    """Return the section of a question whose computation was refused."""
    return PageSection(question, f"Not answered: {error}", error=error)


def grouped(sections: Iterable[PageSection]) -> dict[str, list[PageSection]]:
    """Gather sections by the heading of their questions, in order of first appearance."""
    sections_by_heading: dict[str, list[PageSection]] = {}
    for item in sections:
        heading = headings().get(item.question.name, OTHER_QUESTIONS)
        sections_by_heading.setdefault(heading, []).append(item)
    return sections_by_heading


def refusals(sections: Iterable[PageSection]) -> dict[str, list[PageSection]]:
    """Gather the questions that the store cannot answer by reason, the one that applies to most of them first."""
    reasons = []
    for item in sections:
        if item.not_applicable is not None:
            reasons.append((item.not_applicable, item))
    return by_reason(reasons)


class NumberedFinding(NamedTuple):
    """A finding whose source numbers it: as ``Observation 7`` or ``Measure 2``."""

    label: str
    section: PageSection
    finding: Finding


def observed(sections: Iterable[PageSection]) -> list[NumberedFinding]:
    """Return the findings on observations, then those on measures, by number.

    Examples
    --------
    >>> observed([])
    []
    """
    numbered = []
    for item in sections:
        for finding in item.findings:
            match = NUMBERED.search(finding.source)
            if match:
                kind, number = match.groups()
                row = NumberedFinding(f"{kind} {number}", item, finding)
                numbered.append((kind == "Measure", int(number), row))
    numbered.sort(key=lambda entry: entry[:2])
    return [row for _, _, row in numbered]
