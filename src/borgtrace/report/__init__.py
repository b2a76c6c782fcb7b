"""Charts to one self-contained HTML page: what a store holds, every question, every claim.

The page carries its drawing library and its data, asks no network for anything, and is the same byte for
byte for the same store and version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from borgtrace.errors import BorgtraceError
from borgtrace.storage import as_path, write_file

if TYPE_CHECKING:
    from borgtrace.question import Question, Tables
    from borgtrace.report.sections import PageSection
    from borgtrace.store import Store

__all__ = ["Summary", "write"]

Progress = Callable[[str, int, int], None]
"""Called with the name of a question, its number from 0, and the number of questions."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What was written: how many questions and charts, and which questions were refused and why."""

    path: Path
    n_questions: int
    n_charts: int
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
        Called before each question.

    Raises
    ------
    UsageError
        For an unknown question.

    Notes
    -----
    A question that a :class:`BorgtraceError` stops has a section that says so; the others go on.
    """
    # Inside, here and below: the explorer writes values as the report does, and questions take half a second to import.
    from borgtrace.catalog import find, questions
    from borgtrace.question import EngineTables
    from borgtrace.report.page import report_html

    chosen = [find(name) for name in names] or list(questions().values())
    tables = EngineTables.of(store, engine, memory=memory)
    # All answers before the page: contents, counts of verdicts and cited papers stand at its head.
    sections = list(sections_of(chosen, tables, progress))
    html = report_html(store.manifest, store.path.name, sections, theme=theme, width=width)
    page = html.encode()
    path = as_path(path)
    write_file(path, page)
    return Summary(
        path=path,
        n_questions=len(sections),
        n_charts=sum(item.figure is not None for item in sections),
        size=len(page),
        refused={item.question.name: item.error for item in sections if item.error},
    )


def sections_of(
    asked: Sequence[Question], tables: Tables, progress: Progress
) -> Iterator[PageSection]:
    """Yield a section for each question, with the answer or why there is none."""
    from borgtrace.question import with_subjects
    from borgtrace.report.sections import refused, section

    for number, (question, subject) in enumerate(with_subjects(asked, tables)):
        progress(question.name, number, len(asked))
        try:
            yield section(question.run(subject))
        # Anything else is a mistake of ours and ends the report: a page with a silent gap would look complete.
        except BorgtraceError as error:
            yield refused(question, error)
