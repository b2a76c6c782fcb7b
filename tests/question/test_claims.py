from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from borgtrace.question import (
    Answer,
    Claim,
    Column,
    EngineTables,
    NotApplicable,
    Question,
    Scope,
    sql,
    unjudged,
)
from borgtrace.question.criteria import Criterion, above, at_most, below, equals, near
from borgtrace.schema import dialect
from borgtrace.schema.time import DAY
from borgtrace.store.coverage import Coverage, StoreCoverage, whole_trace
from tests.analyses.tiny import tiny

TABLE = pa.table({"share": [0.25]})


def claim(
    measure: object = lambda t: t["share"][0].as_py(), published: str | float = 0.7165
) -> Claim:
    return Claim(
        "X-1",
        statement="few are long",
        source="Somebody, Fig. 1",
        measure=measure,  # type: ignore[arg-type]
        criterion=below(0.5, published),
    )


def test_a_claim_that_holds() -> None:
    finding = claim().judge(TABLE)
    assert str(finding) == "X-1: few are long: published 0.7165 (< 0.5), measured 0.25: holds"
    assert (finding.reason, finding.source) == ("", "Somebody, Fig. 1")
    assert (finding.kind, finding.tolerance, finding.note) == ("published", "< 0.5", "")


def test_a_claim_that_does_not() -> None:
    assert claim(lambda _: 0.75).judge(TABLE).verdict == "does not hold"


@pytest.mark.parametrize("value", [None, float("nan")])
def test_nothing_measured_is_not_a_verdict(value: float | None) -> None:
    finding = claim(lambda _: value).judge(TABLE)
    assert str(finding) == (
        "X-1: few are long: published 0.7165 (< 0.5), measured –: not applicable: nothing to measure it on"
    )


def test_the_reason_is_told() -> None:
    def measure(_: pa.Table) -> float:
        raise NotApplicable("the trace is shorter than a week")

    finding = claim(measure).judge(TABLE)
    assert (finding.verdict, finding.reason) == (
        "not applicable",
        "the trace is shorter than a week",
    )


@pytest.mark.parametrize(
    ("query", "otherwise", "reason"),
    [
        ("select null from answer", {}, "nothing to measure it on"),
        ("select null from answer", {"otherwise": "no job"}, "no job"),
        ("select share from answer where share > 1", {"otherwise": "no job"}, "no job"),
        ("select null, 'no task has ' || 15 || ' windows'", {}, "no task has 15 windows"),
    ],
)
def test_a_query_without_a_value_says_why(
    query: str, otherwise: dict[str, str], reason: str
) -> None:
    with pytest.raises(NotApplicable) as caught:
        sql(query, **otherwise)(TABLE)
    assert str(caught.value) == reason


def test_a_query_measures_its_first_value() -> None:
    assert sql("select share * 2, 'not looked at' from answer")(TABLE) == 0.5


def question(*claims: Claim) -> Question:
    def compute(tables: EngineTables, *, step: int = 60, seed: int = 0) -> list[dict[str, int]]:
        return [{"n": 5}]

    return Question(
        name="small",
        doc="How many?",
        answer=Answer(grain="store", key=[Column("n", "int64", "count", "A number.")]),
        compute=compute,
        chart=lambda answer: None,
        claims=claims,
        reads=["tasks"],
    )


def judged(coverage: StoreCoverage, *claims: Claim, **params: int) -> list[tuple[str, str, str]]:
    tables = tiny(tasks=[{"collection_id": 1, "instance_index": 0}])
    tables.coverage = coverage
    findings = question(*claims).run(tables, **params).findings
    return [(finding.verdict, finding.reason, finding.note) for finding in findings]


def test_a_claim_is_judged_where_its_scope_allows_it() -> None:
    few = Claim(
        "X-1",
        statement="few",
        measure=sql("select n from answer"),
        criterion=below(6),
    )
    of_2011 = replace(few, scope=Scope(traces=("2011",), is_general=True))
    whole, later = whole_trace(dialect("2011"), 1000), whole_trace(dialect("2019"), 1000)
    assert judged(whole, few, of_2011) == [("holds", "", ""), ("holds", "", "")]
    assert judged(later, few, of_2011) == [
        ("holds", "", ""),
        ("holds", "", "published of 2011, measured on 2019"),
    ]
    reason = "needs 1,000 tasks or more, has 999"
    assert judged(replace(whole, n_tasks=999), few) == [("not judged", reason, "")]
    assert judged(whole, few, seed=3) == [("holds", "", "")]
    assert judged(whole, few, step=30) == [
        ("not judged", "is about the question's defaults, not step 30", "")
    ]


def test_claims_about_all_tasks_are_not_judged_on_some() -> None:
    tables = tiny(
        tasks=[
            {
                "collection_id": 1,
                "instance_index": 0,
                "priority": 9,
            }
        ]
    )
    assert isinstance(tables, EngineTables)
    of_n = claim(sql("select n from answer"))
    (finding,) = question(of_n).run(tables.filter("priority > 8")).findings
    assert finding.measured == "5"
    assert finding.outcome == "not judged: is about all tasks, not a selection (--where)"


FIRST_PARTS = Coverage(5_000, parts=(0, 1, 2), of=500, span=DAY // 2)
"""The first hours of a trace whose parts follow each other."""


def part_of_2011(**changes: Any) -> StoreCoverage:
    """Return a store of some parts of the events of 2011."""
    events = replace(FIRST_PARTS, **changes)
    return StoreCoverage(dialect("2011"), {"instance_events": events}, n_tasks=1000)


def count_of_5(criterion: Criterion, **changes: Any) -> Claim:
    """Return a claim about a count of which 5 are seen in part of a trace."""
    return Claim(
        "X-1",
        statement="so many",
        scope=Scope(traces=("2011",)),
        measure=sql("select n from answer"),
        criterion=criterion,
        **changes,
    )


LACKS_PARTS = "not judged: needs all 500 parts of instance_events, has 3 (12 h)"


@pytest.mark.parametrize(
    ("claim", "outcome"),
    [
        # More rows only add to a count: more than were claimed are seen, or enough.
        (count_of_5(equals(0), with_more_data="rises"), "does not hold"),
        (count_of_5(above(4), with_more_data="rises"), "holds"),
        (count_of_5(at_most(5), with_more_data="rises"), LACKS_PARTS),
        (count_of_5(equals(6), with_more_data="rises"), LACKS_PARTS),
        # A share may rise and fall.
        (count_of_5(equals(0)), LACKS_PARTS),
        (count_of_5(above(4)), LACKS_PARTS),
        # A minimum falls.
        (count_of_5(below(6), with_more_data="falls"), "holds"),
        (count_of_5(near(9, 1), with_more_data="falls"), "does not hold"),
        (count_of_5(above(4), with_more_data="falls"), LACKS_PARTS),
        # A rule is refuted by an exception, and not proved by its absence.
        (count_of_5(equals(0), with_more_data="stays refuted"), "does not hold"),
        (count_of_5(equals(5), with_more_data="stays refuted"), LACKS_PARTS),
    ],
)
def test_a_part_of_a_trace_gives_the_verdicts_that_no_data_can_overturn(
    claim: Claim, outcome: str
) -> None:
    tables = tiny(tasks=[{"collection_id": 1, "instance_index": 0}])
    tables.coverage = part_of_2011()
    (finding,) = question(claim).run(tables).findings
    assert (finding.measured, finding.outcome) == ("5", outcome)


@pytest.mark.parametrize(
    "coverage",
    [
        # Rows between the parts are missing: what seems to follow each other does not.
        part_of_2011(parts=(0, 1, 5)),
        replace(part_of_2011(), is_subset=True),
        replace(part_of_2011(), dialect=dialect("2019")),
    ],
)
def test_what_is_seen_elsewhere_or_between_gaps_decides_nothing(coverage: StoreCoverage) -> None:
    seen = count_of_5(equals(0), with_more_data="rises")
    assert [verdict for verdict, _, _ in judged(coverage, seen)] == ["not judged"]


def test_without_a_value_a_claim_outside_its_scope_says_what_the_store_lacks() -> None:
    nothing = replace(count_of_5(equals(0)), measure=sql("select null from answer"))
    lacks = LACKS_PARTS.partition(": ")[2]
    assert judged(part_of_2011(), nothing) == [("not judged", lacks, "")]


def test_a_note_stands_behind_the_verdict() -> None:
    finding = claim().judge(TABLE, "published of 2011, measured on 2019")
    assert finding.outcome == "holds (published of 2011, measured on 2019)"


def test_a_reason_is_said_once_the_most_frequent_first() -> None:
    findings = [claim().not_applicable(reason) for reason in ("too short", "too few", "too few")]
    found = unjudged([*findings, claim().judge(TABLE)])
    assert {reason: len(claims) for reason, claims in found.items()} == {
        "not applicable: too few": 2,
        "not applicable: too short": 1,
    }
    assert list(found) == ["not applicable: too few", "not applicable: too short"]
