from __future__ import annotations

from dataclasses import replace

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
from borgtrace.question.criteria import below
from borgtrace.schema import dialect
from borgtrace.store.coverage import StoreCoverage, whole_trace
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
    reason = "needs 1,000 tasks or more, there are 999"
    assert judged(replace(whole, n_tasks=999), few) == [("not applicable", reason, "")]
    assert judged(whole, few, seed=3) == [("holds", "", "")]
    assert judged(whole, few, step=30) == [
        ("not applicable", "is about the question's defaults, not step=30", "")
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
    (finding,) = question(claim()).run(tables.filter("priority > 8")).findings
    assert finding.outcome == "not applicable: is about all tasks, not a selection (--where)"


def test_a_note_stands_behind_the_verdict() -> None:
    finding = claim().judge(TABLE, "published of 2011, measured on 2019")
    assert finding.outcome == "holds (published of 2011, measured on 2019)"


def test_a_reason_is_said_once_the_most_frequent_first() -> None:
    findings = [claim().not_applicable(reason) for reason in ("too short", "too few", "too few")]
    found = unjudged([*findings, claim().judge(TABLE)])
    assert {reason: len(claims) for reason, claims in found.items()} == {
        "too few": 2,
        "too short": 1,
    }
    assert list(found) == ["too few", "too short"]
