"""The answers of a page: kept from before, computed here, or in a second process beside this one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

from borgtrace import catalog
from borgtrace.errors import BorgtraceError
from borgtrace.question import EngineTables, Question, Result, Subjects
from borgtrace.question.answering import answering_studies_beside
from borgtrace.question.beside import AnswerQuestions, Outcome, QuestionsBeside
from borgtrace.question.kept_answers import KeptAnswers, is_kept
from borgtrace.store import Store


def chosen_questions(names: Sequence[str]) -> list[Question]:
    """Return questions by their names; all of them where none is named.

    Raises
    ------
    UsageError
        For an unknown question.
    """
    return [catalog.find(name) for name in names] or list(catalog.questions().values())


def answering_beside(
    store: Store, names: Sequence[str], *, engine: str, memory: str
) -> AbstractContextManager[QuestionsBeside | None]:
    """Let a second process answer what is asked of studies while the block runs; None where all is answered here.

    Parameters
    ----------
    store
        An open store.
    names
        Names of questions; all of them where empty.
    engine, memory
        Where relational work runs, and its budget.

    Raises
    ------
    UsageError
        For an unknown question.
    """

    def prepare() -> AnswerQuestions:
        tables = EngineTables.of(store, engine, memory=memory)
        return answers_of_page(tables, kept_answers(store, tables, engine), {})

    unknown = [
        question for question in chosen_questions(names) if not is_kept(store.keeper, question)
    ]
    return answering_studies_beside(unknown, store, engine, prepare)


def kept_answers(store: Store, tables: EngineTables, engine: str) -> KeptAnswers | None:
    """Return the answers that are kept of a store; None for those of a cluster, which may be of another version."""
    return (
        KeptAnswers(store.keeper, tables, catalog.QUESTION_KINDS.own)
        if engine == "duckdb"
        else None
    )


def answers_of_page(
    tables: EngineTables, kept: KeptAnswers | None, known: Mapping[str, Result]
) -> AnswerQuestions:
    """Return what answers questions of a page.

    Parameters
    ----------
    tables
        Of the store.
    kept
        Keeps what is answered now.
    known
        What is known already, by the names of the questions.
    """
    subjects = Subjects(tables)

    def outcomes(asked: Sequence[Question]) -> Iterator[Outcome]:
        # Planned together: what nobody asks any more makes no pass.
        unknown = subjects.pairs(question for question in asked if question.name not in known)
        for question in asked:
            if question.name in known:
                yield known[question.name]
                continue
            # Anything else is a mistake of ours and ends the report: a page with a silent gap would look complete.
            try:
                _, subject = next(unknown)
                result = question.run(subject)
                if kept:
                    kept.keep(result)
            except BorgtraceError as error:
                yield error
            else:
                yield result

    return outcomes
