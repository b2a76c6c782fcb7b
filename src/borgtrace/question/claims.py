"""Published claims, and whether they hold on a trace."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Literal, TypeVar

import pyarrow as pa

from borgtrace.question.criteria import Criterion, WithMoreData, with_tolerance
from borgtrace.question.measures import NOTHING, Measure
from borgtrace.question.notapplicable import NotApplicable
from borgtrace.question.scope import QuestionRequest, Scope
from borgtrace.store.coverage import StoreCoverage

Item = TypeVar("Item")
Verdict = Literal["holds", "does not hold", "not judged", "not applicable"]
"""What is said of a claim.

"not judged": it is outside its scope on this store, so that more data could overturn a verdict on what was measured;
"not applicable": there is nothing that could be measured.
"""
JUDGED: tuple[Verdict, ...] = ("holds", "does not hold")
UNMEASURED = "–"
"""Stands where there is no measured value."""
Kind = Literal["published", "derived", "criterion"]
"""Who vouches for the number of a claim.

"published": its authors print it, and the source names the page, table or figure; "derived": our arithmetic on
published numbers; "criterion": a threshold of ours, or a count that would hold by construction.
"""
KINDS: tuple[Kind, ...] = ("published", "derived", "criterion")
_WORDS = ("published claims", "derived claims", "criteria")


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim after measuring: published – measured – verdict.

    ``tolerance`` says in words how far from what was published a measured value may lie; ``reason`` says why a claim is
    not judged or not applicable, and is empty otherwise; ``note`` is what has to be said of the verdict, if anything;
    ``is_about_another_trace`` says that no store of this trace, however large, allows a verdict.
    """

    id: str
    statement: str
    published: str
    measured: str
    verdict: Verdict
    reason: str = ""
    source: str = ""
    kind: Kind = "published"
    tolerance: str = ""
    note: str = ""
    is_about_another_trace: bool = False

    @property
    def is_judged(self) -> bool:
        """Whether there is a verdict."""
        return self.verdict in JUDGED

    @property
    def is_measured(self) -> bool:
        """Whether there is a measured value, judged or not."""
        return self.measured != UNMEASURED

    @property
    def expected(self) -> str:
        """What was published, with its tolerance."""
        return with_tolerance(self.published, self.tolerance)

    @property
    def outcome(self) -> str:
        """The verdict with what has to be said of it: the reason, or the note."""
        return self.verdict + (
            f": {self.reason}" if self.reason else f" ({self.note})" if self.note else ""
        )

    def __str__(self) -> str:
        return f"{self.id}: {self.statement}: {self.kind} {self.expected}, measured {self.measured}: {self.outcome}"


@dataclass(frozen=True, slots=True)
class Claim:
    """A published statement, how to measure it on an answer, and what makes it true.

    Parameters
    ----------
    id
        Short and unique: source and number, e.g. ``"S4-obs7"``.
    statement
        What was said, in one clause.
    source
        Paper and section; empty for a criterion of ours.
    scope
        On which stores it can be judged.
    measure
        From the answer to a number (or a text): a function, or :func:`~borgtrace.question.sql`.  Raises
        :class:`NotApplicable` with the reason where the answer cannot tell; None or NaN means the same.
    criterion
        What was published, and what makes the claim true.
    kind
        Who vouches for the number.
    with_more_data
        What more data can do to the measured value: a verdict that no data can overturn needs no whole trace.
    format
        How a measured number is printed.

    Examples
    --------
    >>> from borgtrace.question.criteria import above
    >>> from borgtrace.question.measures import sql
    >>> claim = Claim(
    ...     "X-1",
    ...     statement="most are short",
    ...     source="Somebody, 2020",
    ...     measure=sql("select share from answer"),
    ...     criterion=above(0.5),
    ... )
    >>> print(claim.judge(pa.table({"share": [0.625]})))
    X-1: most are short: published > 0.5, measured 0.625: holds
    """

    id: str
    _: KW_ONLY
    statement: str
    measure: Measure
    criterion: Criterion
    source: str = ""
    scope: Scope = field(default_factory=Scope)
    kind: Kind = "published"
    with_more_data: WithMoreData = "moves"
    format: str = ".4g"

    def judge(self, answer: pa.Table, note: str = "") -> Finding:
        """Measure the claim on an answer that is within its scope.

        Parameters
        ----------
        answer
            The answer of its question.
        note
            What has to be said of the verdict.
        """
        try:
            value = self._value(answer)
        except NotApplicable as reason:
            return self.not_applicable(str(reason))
        return self._judged(value, note)

    def judge_on(
        self,
        answer: pa.Table,
        coverage: StoreCoverage,
        reads: Sequence[str],
        request: QuestionRequest,
    ) -> Finding:
        """Measure the claim on an answer, and judge it where the scope allows that or no more data could overturn it.

        Parameters
        ----------
        answer
            The answer of its question.
        coverage
            How much of the whole trace it was computed from.
        reads
            Tables that the question reads.
        request
            With which parameters, of which tasks.
        """
        try:
            value = self._value(answer)
        except NotApplicable as reason:
            objection = self.scope.objection(coverage, reads, request)
            # What the store lacks says more than that there was nothing to measure.
            if objection:
                return self._refused(UNMEASURED, objection, coverage)
            return self.not_applicable(str(reason))
        return self.judge_value(value, coverage, reads, request)

    def judge_value(
        self, value: Any, coverage: StoreCoverage, reads: Sequence[str], request: QuestionRequest
    ) -> Finding:
        """Judge a measured value where the scope allows that or no more data could overturn the verdict.

        Parameters
        ----------
        value
            What was measured.
        coverage, reads, request
            As for :meth:`judge_on`.
        """
        note = self.scope.note(coverage)
        objection = self.scope.objection(coverage, reads, request)
        if not objection:
            return self._judged(value, note)
        is_part_of_trace = not self.scope.of_any_part.objection(coverage, reads, request)
        if is_part_of_trace and self.criterion.is_settled(value, self.with_more_data):
            return self._judged(value, note)
        return self._refused(self._text(value), objection, coverage)

    def _refused(self, measured: str, objection: str, coverage: StoreCoverage) -> Finding:
        finding = self._finding(measured, "not judged", objection)
        is_about_trace = self.scope.is_about(coverage.dialect)
        return replace(finding, is_about_another_trace=not is_about_trace)

    def not_applicable(self, reason: str) -> Finding:
        """Say that there is nothing to measure, and why."""
        return self._finding(UNMEASURED, "not applicable", reason)

    def _value(self, answer: pa.Table) -> Any:
        value = self.measure(answer)
        if value is None or (isinstance(value, float) and math.isnan(value)):
            raise NotApplicable(NOTHING)
        return value

    def _judged(self, value: Any, note: str) -> Finding:
        verdict: Verdict = "holds" if self.criterion.test(value) else "does not hold"
        return self._finding(self._text(value), verdict, note=note)

    def _finding(
        self, measured: str, verdict: Verdict, reason: str = "", note: str = ""
    ) -> Finding:
        return Finding(
            id=self.id,
            statement=self.statement,
            published=self._text(self.criterion.published),
            measured=measured,
            verdict=verdict,
            reason=reason,
            source=self.source,
            kind=self.kind,
            tolerance=self.criterion.tolerance,
            note=note,
        )

    def _text(self, value: Any) -> str:
        # A count under ".4g" would print as 1.235e+06.
        return format(value, self.format) if isinstance(value, float) else str(value)


def headline(findings: Iterable[Finding]) -> str:
    """Return how many of the judged claims hold, kind by kind; what cannot be judged is in no number.

    Examples
    --------
    >>> from dataclasses import replace
    >>> findings = [Finding("", "", "", "", verdict) for verdict in ("holds", "does not hold", "not applicable")]
    >>> headline([*findings, replace(findings[0], kind="criterion")])
    '1 of 2 judged published claims holds; criteria: 1 of 1'
    >>> headline(findings[2:])
    'none of the claims can be judged'
    """
    all_findings = list(findings)
    parts: list[str] = []
    for kind, words in zip(KINDS, _WORDS, strict=True):
        judged = [finding for finding in all_findings if finding.kind == kind and finding.is_judged]
        if not judged:
            continue
        n_holding = sum(finding.verdict == "holds" for finding in judged)
        if parts:
            parts.append(f"{words}: {n_holding} of {len(judged)}")
        else:
            verb = "holds" if n_holding == 1 else "hold"
            parts.append(f"{n_holding} of {len(judged)} judged {words} {verb}")
    return "; ".join(parts) or "none of the claims can be judged"


def unjudged(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """Gather the claims without a verdict by verdict and reason, the reason of most of them first.

    Examples
    --------
    >>> from dataclasses import replace
    >>> short = Finding("X-1", "", "", "0.4", "not judged", "needs a day, has 1 h")
    >>> empty = Finding("X-2", "", "", UNMEASURED, "not applicable", "no job ended")
    >>> list(unjudged([empty, short, replace(short, id="X-3")]))
    ['not judged: needs a day, has 1 h', 'not applicable: no job ended']
    """
    return by_reason((finding.outcome, finding) for finding in findings if not finding.is_judged)


def by_reason(refused: Iterable[tuple[str, Item]]) -> dict[str, list[Item]]:
    """Gather what is refused by the reason, the one that applies to most first.

    Examples
    --------
    >>> by_reason([("too short", 1), ("no usage", 2), ("no usage", 3)])
    {'no usage': [2, 3], 'too short': [1]}
    """
    by_their_reason: dict[str, list[Item]] = {}
    for reason, item in refused:
        by_their_reason.setdefault(reason, []).append(item)
    return dict(sorted(by_their_reason.items(), key=lambda entry: -len(entry[1])))
