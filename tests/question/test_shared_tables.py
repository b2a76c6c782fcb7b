"""What questions share is computed once for those that are asked together, and changes no answer."""

from __future__ import annotations

from typing import Any

import ibis.expr.types as ir
import pyarrow as pa
import pytest

from borgtrace.catalog import questions
from borgtrace.question import Answer, Column, Question, SharedTable, Tables, with_subjects
from tests.analyses.tiny import tiny, window

USAGE = [window(task, 300 * slot, 0.25 * task, 0.125) for task in (1, 2) for slot in range(3)]
ANSWER = Answer(
    grain="task",
    key=[Column("collection_id", "int64", "id", "Job.")],
    columns=[Column("n", "int64", "count", "Windows.")],
)
SHARING = [question for question in questions().values() if question.shares]


class Counted:
    """A shared table that counts how often it is built."""

    def __init__(self) -> None:
        self.n_built = 0
        self.table = SharedTable("windows_of_jobs", self.build)

    def build(self, tables: Tables) -> ir.Table:
        self.n_built += 1
        usage = tables.instance_usage
        return usage.group_by("collection_id").aggregate(n=usage.count())

    def question(self, name: str) -> Question:
        return Question(
            name=name,
            doc=None,
            answer=ANSWER,
            compute=lambda tables: tables.shared(self.table),
            chart=lambda answer: None,
            shares=[self.table],
        )


def held_tables(tables: Any) -> list[str]:
    names = tables.instance_usage.get_backend().raw_sql("SHOW TABLES").fetchall()
    return [name for (name,) in names if name.startswith("windows_of_jobs")]


def test_a_shared_table_is_built_once_and_dropped_after_its_last_question() -> None:
    counted = Counted()
    other = Counted()
    tables = tiny(instance_usage=USAGE)
    asked = [counted.question("first"), counted.question("second"), other.question("third")]
    answers: list[pa.Table] = []
    held = []
    for question, subject in with_subjects(asked, tables):
        answers.append(question.run(subject).table)
        held.append(len(held_tables(tables)))
    assert answers[0].to_pylist() == [{"collection_id": 1, "n": 3}, {"collection_id": 2, "n": 3}]
    assert answers[0].equals(answers[1])
    assert answers[0].equals(answers[2])
    # The last one reads a table of its own once: within its query.
    assert held == [1, 1, 0]
    assert (counted.n_built, other.n_built) == (1, 1)


def test_one_question_writes_nothing() -> None:
    counted = Counted()
    tables = tiny(instance_usage=USAGE)
    for question, subject in with_subjects([counted.question("alone")], tables):
        assert question.run(subject).table.num_rows == 2
    assert counted.n_built == 1
    assert held_tables(tables) == []


def test_other_tasks_share_nothing_with_all_of_them() -> None:
    counted = Counted()
    tables = tiny(instance_usage=USAGE, tasks=[{"collection_id": 1}, {"collection_id": 2}])
    asked = [counted.question("first"), counted.question("second")]
    for question, subject in with_subjects(asked, tables):
        assert question.run(subject).table.num_rows == 2
        part = subject.filter("collection_id = 2")
        assert question.run(part).table.to_pylist() == [{"collection_id": 2, "n": 3}]


@pytest.mark.parametrize("generation", ["2011", "2019"])
def test_answers_are_the_same_alone_and_together(
    generation: str, duckdb_tables: dict[str, Tables]
) -> None:
    assert len(SHARING) > 2
    tables = duckdb_tables[generation]
    alone = {}
    for question in SHARING:
        for _, subject in with_subjects([question], tables):
            alone[question.name] = question.run(subject).table
    for question, subject in with_subjects(SHARING, tables):
        assert question.run(subject).table.equals(alone[question.name]), question.name
