"""The answers of a page: kept from before, computed here, or in a second process beside this one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from borgtrace import catalog
from borgtrace.errors import BorgtraceError
from borgtrace.question import EngineTables, Question, Result, beside, with_subjects
from borgtrace.question.beside import QuestionsBeside
from borgtrace.question.kept_answers import KeptAnswers, is_kept
from borgtrace.store import Store

Outcome = Result | BorgtraceError
"""An answer, or why there is none."""


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
    chosen = chosen_questions(names)
    # What is asked of tables is answered here: such questions share passes over them.
    others = [question for question in chosen if type(question) is not Question]
    unknown = [question for question in others if not is_kept(store.keeper, question)]
    # A client of a bucket does not survive a fork, and a cluster has workers of its own.
    is_local = engine == "duckdb" and not store.layout.is_remote
    if not is_local or len(others) == len(chosen):
        return nullcontext()

    def answer_there(asked: Sequence[Question]) -> Iterator[Outcome]:
        tables = EngineTables.of(store, engine, memory=memory)
        yield from outcomes(asked, tables, kept_answers(store, tables, engine), {})

    return beside.answering_beside(unknown, answer_there)


def kept_answers(store: Store, tables: EngineTables, engine: str) -> KeptAnswers | None:
    """Return the answers that are kept of a store; None for those of a cluster, which may be of another version."""
    return (
        KeptAnswers(store.keeper, tables, catalog.QUESTION_KINDS.own)
        if engine == "duckdb"
        else None
    )


def outcomes(
    asked: Sequence[Question],
    tables: EngineTables,
    kept: KeptAnswers | None,
    known: Mapping[str, Result],
) -> Iterator[Outcome]:
    """Yield the answer to each question, or why there is none.

    Parameters
    ----------
    asked
        The questions.
    tables
        Of the store.
    kept
        Keeps what is answered now.
    known
        What is known already, by the names of the questions.
    """
    # Planned together: what nobody asks any more makes no pass.
    unknown = with_subjects([one for one in asked if one.name not in known], tables)
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


def outcomes_from_beside(
    asked: Sequence[Question],
    tables: EngineTables,
    kept: KeptAnswers | None,
    process: QuestionsBeside,
) -> Iterator[Outcome]:
    """Yield what a second process answers; what it has left when it ends too early is answered here.

    Parameters
    ----------
    asked
        The questions that it was given, in their order.
    tables, kept
        As for :func:`outcomes`.
    process
        Where they are answered.
    """
    for number, question in enumerate(asked):
        try:
            result = process.answer(question, tables)
        except BorgtraceError as error:
            yield error
            continue
        if result is None:
            yield from outcomes(asked[number:], tables, kept, {})
            return
        yield result
