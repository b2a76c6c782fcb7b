"""Charts to one self-contained HTML page: what a store holds, every question, every claim.

The page carries its drawing library and its data, asks no network for anything, and is the same byte for
byte for the same store and version.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from borgtrace.errors import BorgtraceError
from borgtrace.storage import as_path, write_file

if TYPE_CHECKING:
    from borgtrace.question import Question
    from borgtrace.question.beside import Outcome, QuestionsBeside
    from borgtrace.report.sections import PageSection
    from borgtrace.store import Store

__all__ = ["Summary", "write"]

Progress = Callable[[str, int, int], None]
"""Called with the name of a question, its number from 0, and the number of questions."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What was written: how many questions and charts, and which questions were refused and why.

    ``n_kept`` counts the answers that were kept since an earlier page.
    """

    path: Path
    n_questions: int
    n_charts: int
    n_kept: int
    size: int
    refused: dict[str, BorgtraceError]


def write(
    store: Store,
    path: str | Path,
    names: Sequence[str] = (),
    *,
    engine: str = "duckdb",
    memory: str = "4GB",
    theme: str = "auto",
    width: int | None = None,
    progress: Progress = lambda name, done, total: None,
    beside: QuestionsBeside | None = None,
) -> Summary:
    """Answer questions on `store` and write them as one page.

    Parameters
    ----------
    store
        An open store.
    path
        The HTML file; replaced at the very end.
    names
        Names of questions; all of them where empty.
    engine, memory
        Where relational work runs, and its budget.
    theme, width
        See :func:`borgtrace.report.page.report_html`.
    progress
        Called before a question is answered, or waited for.
    beside
        Questions that a second process answers, from :func:`borgtrace.report.answering.answering_beside`.

    Raises
    ------
    UsageError
        For an unknown question.

    Notes
    -----
    A question that a :class:`BorgtraceError` stops has a section that says so; the others go on.
    """
    # Inside, here and below: the explorer writes values as the report does, and questions take half a second to import.
    from borgtrace.question import EngineTables
    from borgtrace.question.answering import answers_when_ready
    from borgtrace.report.answering import answers_of_page, chosen_questions, kept_answers
    from borgtrace.report.page import report_html

    chosen = chosen_questions(names)
    tables = EngineTables.of(store, engine, memory=memory)
    # All answers before the page: contents, counts of verdicts and cited papers stand at its head.
    kept = kept_answers(store, tables, engine)
    here = [question for question in chosen if beside is None or question not in beside]
    known = kept.find_all(here) if kept else {}
    answer = answers_of_page(tables, kept, known)
    answered = answers_when_ready(chosen, answer, tables, beside, progress)
    by_name = {question.name: section_of(question, outcome) for question, outcome in answered}
    sections = [by_name[question.name] for question in chosen]
    html = report_html(store.manifest, store.path.name, sections, theme=theme, width=width)
    page = html.encode()
    path = as_path(path)
    write_file(path, page)
    return Summary(
        path=path,
        n_questions=len(sections),
        n_charts=sum(item.figure is not None for item in sections),
        n_kept=len(known),
        size=len(page),
        refused={item.question.name: item.error for item in sections if item.error},
    )


def section_of(question: Question, outcome: Outcome) -> PageSection:
    """Return the section of a question with its answer, or why there is none."""
    from borgtrace.report.sections import refused, section

    if isinstance(outcome, BorgtraceError):
        return refused(question, outcome)
    try:
        return section(outcome)
    except BorgtraceError as error:
        return refused(question, error)
