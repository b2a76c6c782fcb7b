"""The check that an author of a question runs names each mistake in one sentence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from borgtrace.catalog import names, questions
from borgtrace.question import Answer, Claim, Column, NotApplicable, Question, Tables, above, sql
from borgtrace.testing import ContractError, check_question
from borgtrace.testing.questions import check_question_on_a_cell

ANSWER = Answer(
    grain="type",
    key=[Column("type", "string", "id", "Type of the event.")],
    columns=[Column("n", "int64", "count", "Events of this type.")],
)
CLAIM = Claim(
    "X-1",
    statement="most are submissions",
    source="Somebody, 2020",
    measure=sql("select max(n) from answer"),
    criterion=above(0.5),
)


def compute(tables: Tables, *, at_least: int = 0) -> pa.Table:
    events = tables.instance_events
    rows = tables.fetch(events.group_by("type").aggregate(n=events.count()), "counted")
    if not rows.num_rows:
        raise NotApplicable("there are no events")
    return rows


QUESTION = Question(
    name="events_by_type",
    doc="How many events are there?\n\nCounted by their type.",
    answer=ANSWER,
    compute=compute,
    chart=lambda answer: None,
    claims=[CLAIM],
    reads=["instance_events"],
)


def told(**changes: Any) -> str:
    with pytest.raises(AssertionError) as caught:
        check_question(replace(QUESTION, **changes))
    return str(caught.value)


def test_a_question_that_keeps_its_contract() -> None:
    check_question(QUESTION)


@pytest.mark.parametrize("name", names())
def test_ours_keep_it(name: str) -> None:
    check_question(questions()[name])


def test_the_name() -> None:
    assert told(name="Events") == "Events: the name 'Events' is not in snake_case"


def test_the_docstring() -> None:
    assert told(doc="How many events are there?") == (
        "events_by_type: the docstring has no text below its first line: "
        "it must say how the answer is computed"
    )


def test_the_columns() -> None:
    answer = Answer(
        grain="type",
        key=ANSWER.key,
        columns=[Column("n", "int64", "", "Events")],
    )
    assert told(answer=answer) == (
        "events_by_type: the doc of column n is not a sentence: 'Events'; "
        "column n has no unit ('id' or '1' where there is none)"
    )
    twice = Answer(
        grain="type",
        key=ANSWER.key,
        columns=ANSWER.key,
    )
    assert told(answer=twice, claims=[]).startswith("events_by_type: column type is declared twice")


def test_a_claim_about_a_column_that_is_not_there() -> None:
    claim = replace(CLAIM, measure=sql("select max(m) from answer"))
    message = told(claims=[claim])
    assert message.startswith(
        "events_by_type: claim X-1 cannot be measured on an answer without rows (BinderException: "
    )
    assert '"m" not found in FROM clause' in message


def test_claims_of_one_id_and_without_a_source() -> None:
    assert told(claims=[CLAIM, replace(CLAIM, source="")]) == (
        "events_by_type: two claims are called X-1; claim X-1 names no source"
    )
    assert told(claims=[replace(CLAIM, kind="proven")]) == (
        "events_by_type: claim X-1 is of kind 'proven'; there are published, derived, criterion"
    )


def test_a_question_that_fails_without_rows() -> None:
    def divide(tables: Tables) -> pa.Table:
        return pa.table({"type": ["SUBMIT"], "n": [1 // tables.n_rows("instance_events")]})

    assert told(compute=divide, reads=[]) == (
        "events_by_type: on a 2011 store without rows it raises ZeroDivisionError: "
        "integer division or modulo by zero; "
        "on a 2019 store without rows it raises ZeroDivisionError: "
        "integer division or modulo by zero"
    )


def test_a_question_that_answers_from_nothing() -> None:
    def invent(tables: Tables) -> pa.Table:
        return pa.table({"type": ["SUBMIT"], "n": [1]})

    assert told(compute=invent, reads=[]) == (
        "events_by_type: on a 2011 store without rows it answers 1 rows; "
        "on a 2019 store without rows it answers 1 rows"
    )


@pytest.mark.parametrize(
    ("changes", "failure"),
    [
        (
            {"answer": replace(ANSWER, columns=[Column("n", "string", "count", "Events.")])},
            "column n is int64, declared string",
        ),
        (
            {"answer": replace(ANSWER, columns=[Column("m", "int64", "count", "Events.")])},
            "column m is missing; column n is not declared",
        ),
        (
            {"compute": lambda tables: tables.instance_events.mutate(n=1).select("type", "n")},
            "rows repeat the key (type)",
        ),
    ],
)
def test_an_answer_that_is_not_what_is_declared_is_found_on_a_made_cell(
    changes: dict[str, Any], failure: str
) -> None:
    with pytest.raises(AssertionError) as caught:
        check_question_on_a_cell(replace(QUESTION, claims=[], **changes))
    message = str(caught.value)
    assert message.startswith(
        "events_by_type: on a made cell: events_by_type: the answer is not what its question declares: "
    )
    assert message.endswith(failure)


def test_a_chart_that_fails_is_found_on_a_made_cell() -> None:
    with pytest.raises(AssertionError) as caught:
        check_question_on_a_cell(replace(QUESTION, chart=lambda answer: answer["nothing"]))
    assert "on a made cell it raises KeyError" in str(caught.value)


def failures_on_a_cell(**changes: Any) -> tuple[str, ...]:
    with pytest.raises(ContractError) as caught:
        check_question_on_a_cell(replace(QUESTION, claims=[], **changes))
    return caught.value.failures


@pytest.mark.wide
def test_what_it_prints_is_found_on_a_made_cell(capsys: pytest.CaptureFixture[str]) -> None:
    def computed(tables: Tables) -> pa.Table:
        print("here")
        return compute(tables)

    assert failures_on_a_cell(compute=computed) == (
        "it prints to stdout ('here'), which is for data: print to stderr",
    )
    assert "here" not in capsys.readouterr().out


def of_known_machines(tables: Tables) -> Any:
    machines = tables.machine_events.select("machine_id").distinct()
    return (
        tables.instance_events.semi_join(machines, "machine_id")
        .group_by("type")
        .aggregate(n=lambda events: events.count())
    )


def test_a_table_that_it_reads_and_does_not_declare_is_found_on_a_made_cell() -> None:
    assert failures_on_a_cell(compute=of_known_machines) == (
        "on a cell without machine_events it answers no rows, and does not say why: "
        "add 'machine_events' to its `reads`",
    )
    check_question_on_a_cell(
        replace(
            QUESTION,
            claims=[],
            compute=of_known_machines,
            reads=["instance_events", "machine_events"],
        )
    )


def test_a_table_that_it_cannot_do_without_is_found_on_a_made_cell() -> None:
    def shares(tables: Tables) -> pa.Table:
        n_machines = tables.n_rows("machine_events")
        rows = compute(tables)
        return pa.table(
            {"type": rows["type"], "n": [n // n_machines for n in rows["n"].to_pylist()]}
        )

    assert failures_on_a_cell(compute=shares) == (
        "on a cell without machine_events it raises ZeroDivisionError: add 'machine_events' to its `reads`",
    )
