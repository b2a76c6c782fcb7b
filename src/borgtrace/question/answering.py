"""Answers to many questions: those of tables come from here, those of studies from a second process, too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

from borgtrace.errors import BorgtraceError
from borgtrace.question.beside import (
    AnswerQuestions,
    Outcome,
    QuestionsBeside,
    Sent,
    answering_beside,
)
from borgtrace.question.engine_tables import EngineTables
from borgtrace.question.question import Question
from borgtrace.store import Store

ShowQuestion = Callable[[str, int, int], None]
"""Called with the name of a question that is answered or waited for, how many are answered, and how many there are."""


def answering_studies_beside(
    questions: Iterable[Question], store: Store, engine: str, prepare: Callable[[], AnswerQuestions]
) -> AbstractContextManager[QuestionsBeside | None]:
    """Let a second process answer what is asked of studies while the block runs; None where all is answered here.

    Parameters
    ----------
    questions
        Questions that are asked together.
    store
        An open store.
    engine
        Where relational work runs.
    prepare
        Called in the second process: returns what answers questions there.
    """
    questions = list(questions)
    groups = study_groups(questions)
    n_studies = sum(map(len, groups))
    has_work_for_two = len(groups) > 1 or (len(groups) == 1 and n_studies < len(questions))
    # A client of a bucket does not survive a fork, and a cluster has workers of its own.
    is_local = engine == "duckdb" and not store.layout.is_remote
    if not has_work_for_two or not is_local:
        return nullcontext()
    return answering_beside(groups, prepare)


def study_groups(questions: Iterable[Question]) -> list[list[Question]]:
    """Return the questions that are asked of studies, each once, in groups that share most of their work.

    What is asked of tables is in none: such questions share passes over them.

    Parameters
    ----------
    questions
        Questions of any kind.
    """
    groups: dict[str, list[Question]] = {}
    # A page may name a question twice.
    by_name = {question.name: question for question in questions}
    for question in by_name.values():
        if type(question) is not Question:
            groups.setdefault(question.group, []).append(question)
    return list(groups.values())


def answers_when_ready(
    questions: Sequence[Question],
    answer: AnswerQuestions,
    tables: EngineTables,
    process: QuestionsBeside | None,
    show: ShowQuestion,
) -> Iterator[tuple[Question, Outcome]]:
    """Yield each question with its answer or why there is none; in their order where there is no second process.

    Parameters
    ----------
    questions
        What is asked.
    answer
        Answers questions here.
    tables
        Of the store: what amounts and names of an answer from the second process are.
    process
        The second process, or None.
    show
        Called before a question is answered or waited for.
    """
    n_answered = 0

    def show_question(question: Question) -> None:
        show(question.name, n_answered, len(questions))

    if process is None:
        answered = _answered_here(questions, answer, show_question)
    else:
        answered = _answered_in_two_processes(questions, answer, tables, process, show_question)
    for one in answered:
        # Counted before it is taken: who takes it may show the next one.
        n_answered += 1
        yield one


def _answered_here(
    questions: Sequence[Question], answer: AnswerQuestions, show: Callable[[Question], None]
) -> Iterator[tuple[Question, Outcome]]:
    outcomes = answer(questions)
    for question in questions:
        show(question)
        yield question, next(outcomes)


def _answered_in_two_processes(
    questions: Sequence[Question],
    answer: AnswerQuestions,
    tables: EngineTables,
    process: QuestionsBeside,
    show: Callable[[Question], None],
) -> Iterator[tuple[Question, Outcome]]:
    here = [question for question in questions if question not in process]
    # Not answered yet, in their order.
    there = {question.name: question for question in questions if question in process}

    def received(sent: Sent) -> tuple[Question, Outcome]:
        name, outcome = sent
        question = there.pop(name)
        if isinstance(outcome, BorgtraceError):
            return question, outcome
        return question, outcome.result(question, tables)

    for one in _answered_here(here, answer, show):
        yield one
        yield from map(received, process.arrived())
    while there:
        yield from map(received, process.arrived())
        group = process.take_group()
        if group:
            for question in group:
                del there[question.name]
            yield from _answered_here(group, answer, show)
        elif there:
            show(next(iter(there.values())))
            sent = process.wait()
            if sent is None:
                break
            yield received(sent)
    # The process has ended too early.
    yield from _answered_here(list(there.values()), answer, show)


def in_order(
    questions: Iterable[Question], answered: Iterator[tuple[Question, Outcome]]
) -> Iterator[Outcome]:
    """Yield the answers in the order of their questions, each as soon as those before it are there.

    Parameters
    ----------
    questions
        All that are answered.
    answered
        Them with their answers, in any order.
    """
    ready: dict[str, Outcome] = {}
    for question in questions:
        while question.name not in ready:
            other, outcome = next(answered)
            ready[other.name] = outcome
        yield ready.pop(question.name)
