"""A paper on a store: each table and figure with its answer, its claims, or the reason why there is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from borgtrace.errors import BorgtraceError
from borgtrace.question import Finding, Question, Result, headline
from borgtrace.question.claims import UNMEASURED, Verdict
from borgtrace.reproduction.published_paper import ItemAnswer, PublishedItem, PublishedPaper

if TYPE_CHECKING:
    from borgtrace.report.paper import PaperFigure
    from borgtrace.store.manifest import Manifest

CLAIM_COLUMNS = (
    "item",
    "title",
    "question",
    "claim",
    "kind",
    "statement",
    "published",
    "tolerance",
    "measured",
    "verdict",
    "reason",
    "note",
    "source",
)
"""Columns of PAPER.csv."""
NOT_REPRODUCED = "not reproduced"
NOTHING_TO_JUDGE = "no number to judge"
"""Verdicts of items without claims."""
WORDS: Mapping[Verdict, str] = {
    "holds": "held",
    "does not hold": "not held",
    "not judged": "not judged",
    "not applicable": "not measured",
}
"""What is said of a number of claims with each verdict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReproducedAnswer:
    """The answer to one question of an item.

    Parameters
    ----------
    asked
        What was asked.
    question
        The question.
    result
        Its answer; None where it was refused.
    findings
        The claims that belong to the item, judged.
    figure
        The picture, where there is one.
    drawn
        The answer that the picture shows: on the axes of the paper, with all points of its curves.
    reason
        Why there is no answer, or no picture.
    error
        What refused it.
    """

    asked: ItemAnswer
    question: Question
    result: Result | None = None
    findings: tuple[Finding, ...] = ()
    figure: PaperFigure | None = None
    drawn: Result | None = None
    reason: str = ""
    error: BorgtraceError | None = None

    @property
    def is_answered(self) -> bool:
        """Whether the store has an answer."""
        return self.result is not None and not missing_part(self.asked, self.result)


def missing_part(asked: ItemAnswer, result: Result) -> str:
    """Return why an answer does not show what the item does; empty where it does."""
    if result.not_applicable is not None:
        return result.not_applicable
    if not result.table.num_rows:
        return "the answer is empty on this store"
    return asked.lacks(result.table) if asked.lacks is not None else ""


@dataclass(frozen=True, slots=True)
class ReproducedItem:
    """A table or figure of the paper, and what the store has in its place."""

    item: PublishedItem
    answers: tuple[ReproducedAnswer, ...] = ()

    @property
    def is_reproduced(self) -> bool:
        """Whether what the item shows is there: the figure, or the table."""
        return bool(self.answers) and self.answers[0].is_answered

    @property
    def findings(self) -> list[Finding]:
        """The claims of all of its questions."""
        return [finding for answer in self.answers for finding in answer.findings]

    @property
    def reason(self) -> str:
        """Why it is not reproduced; empty where it is."""
        if self.is_reproduced:
            return ""
        return self.answers[0].reason if self.answers else self.item.needs

    @property
    def outcome(self) -> str:
        """What came of it, in a few words."""
        if not self.is_reproduced:
            return NOT_REPRODUCED
        counts = Counter(finding.verdict for finding in self.findings)
        parts = [
            f"{counts[verdict]} {words}" for verdict, words in WORDS.items() if counts[verdict]
        ]
        return ", ".join(parts) or NOTHING_TO_JUDGE


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A paper on a store.

    Parameters
    ----------
    paper
        The paper.
    store_name
        Name of the store's folder.
    manifest
        Of the store.
    items
        Its tables and figures, in its order.
    """

    paper: PublishedPaper
    store_name: str
    manifest: Manifest
    items: Sequence[ReproducedItem]

    @property
    def findings(self) -> list[Finding]:
        """The claims of all items."""
        return [finding for item in self.items for finding in item.findings]

    @property
    def errors(self) -> dict[str, BorgtraceError]:
        """What refused an answer, by the name of the question."""
        errors = {}
        for item in self.items:
            for answer in item.answers:
                if answer.error is not None:
                    errors[answer.question.name] = answer.error
        return errors

    @property
    def summary(self) -> str:
        """How much of the paper there is on the store, and on the paper's own trace how many of its claims hold."""
        n_reproduced = sum(item.is_reproduced for item in self.items)
        text = f"{n_reproduced} of {len(self.items)} tables and figures reproduced"
        if self.manifest.is_synthetic or not self.findings_on_its_trace:
            return f"{text}."
        return f"{text}; {headline(self.findings_on_its_trace)}."

    @property
    def findings_on_its_trace(self) -> list[Finding]:
        """The claims about the trace that the store holds: how many of others agree says nothing of it."""
        trace = self.manifest.dialect.trace
        findings = []
        for item in self.items:
            for answer in item.answers:
                claims = {claim.id: claim for claim in answer.question.claims}
                for finding in answer.findings:
                    if trace in claims[finding.id].scope.traces:
                        findings.append(finding)
        return findings

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each claim, and one for each item without any: published beside measured."""
        rows: list[dict[str, Any]] = []
        for item in self.items:
            rows += rows_of_item(item)
        return rows


def rows_of_item(reproduced: ReproducedItem) -> list[dict[str, Any]]:
    """Return the rows of an item, in the columns of PAPER.csv."""
    item = reproduced.item
    rows: list[dict[str, Any]] = []
    for answer in reproduced.answers:
        for finding in answer.findings:
            rows.append(
                {
                    "item": item.name,
                    "title": item.title,
                    "question": answer.question.name,
                    "claim": finding.id,
                    "kind": finding.kind,
                    "statement": finding.statement,
                    "published": finding.published,
                    "tolerance": finding.tolerance,
                    "measured": finding.measured,
                    "verdict": finding.verdict,
                    "reason": finding.reason,
                    "note": finding.note,
                    "source": finding.source,
                }
            )
    if not rows:
        question = reproduced.answers[0].question.name if reproduced.answers else ""
        row = dict.fromkeys(CLAIM_COLUMNS, "")
        row |= {"item": item.name, "title": item.title, "question": question}
        row |= {"measured": UNMEASURED, "verdict": reproduced.outcome, "reason": reproduced.reason}
        rows.append(row)
    return rows
