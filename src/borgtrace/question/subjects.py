"""What questions are asked of: the tables of a store, or what questions of one kind make of them together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from borgtrace.question.engine_tables import EngineTables
from borgtrace.question.question import Question


class Subjects:
    """Subjects of questions by kind: one is made for all questions of a kind, and keeps what they share.

    Parameters
    ----------
    tables
        Tables of the store, from which subjects are made.
    parameters
        Values that were set; each question takes its own.
    """

    def __init__(self, tables: Any, parameters: Mapping[str, Any] | None = None) -> None:
        self._tables = tables
        self._parameters = parameters or {}
        self._by_kind: dict[type[Question], Any] = {}

    def pairs(self, questions: Iterable[Question]) -> Iterator[tuple[Question, Any]]:
        """Pair each question with what it is asked of; questions that are asked together do their work together.

        Parameters
        ----------
        questions
            Questions of any kind.
        """
        questions = list(questions)
        planned: set[type[Question]] = set()
        for number, question in enumerate(questions):
            if isinstance(self._tables, EngineTables):
                # What no later question reads is dropped.
                self._tables.plan(questions[number:], self._parameters)
            # What an experiment is asked of (a study of a task pool) is large: one is made for all of them.
            kind = type(question)
            if kind not in self._by_kind:
                self._by_kind[kind] = question.subject(self._tables)
            subject = self._by_kind[kind]
            if kind not in planned:
                planned.add(kind)
                of_kind = [other for other in questions if type(other) is kind]
                question.plan(subject, of_kind, self._parameters)
            yield question, subject


def with_subjects(
    questions: Iterable[Question],
    tables: Any,
    parameters: Mapping[str, Any] | None = None,
) -> Iterator[tuple[Question, Any]]:
    """Pair each question with what it is asked of; questions of one kind get the same subject and what it keeps.

    Parameters
    ----------
    questions
        Questions of any kind.
    tables
        Tables of the store, from which subjects are made.
    parameters
        Values that were set; each question takes its own.
    """
    return Subjects(tables, parameters).pairs(questions)
