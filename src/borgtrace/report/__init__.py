"""Charts to one self-contained HTML page: what a store holds, every question, every claim.

The page carries its drawing library and its data, asks no network for anything, and is the same byte for
byte for the same store and version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from borgtrace.errors import BorgtraceError
from borgtrace.storage import as_path, write_file

if TYPE_CHECKING:
    from borgtrace.question import EngineTables, Question, Result
    from borgtrace.question.kept_answers import KeptAnswers
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
    kept = kept_answers(store, tables, engine)
    known = kept.find_all(chosen) if kept else {}
    sections = list(sections_of(chosen, tables, known, kept, progress))
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


def sections_of(
    asked: Sequence[Question],
    tables: EngineTables,
    known: Mapping[str, Result],
    kept: KeptAnswers | None,
    progress: Progress,
) -> Iterator[PageSection]:
    """Yield a section for each question, with the answer or why there is none; what is not known is kept."""
    from borgtrace.question import with_subjects
    from borgtrace.report.sections import refused, section

    # Planned together: what nobody asks any more makes no pass.
    unknown = with_subjects([one for one in asked if one.name not in known], tables)
    for number, question in enumerate(asked):
        progress(question.name, number, len(asked))
        result = known.get(question.name)
        try:
            if result is None:
                _, subject = next(unknown)
                result = question.run(subject)
                if kept:
                    kept.keep(result)
            yield section(result)
        # Anything else is a mistake of ours and ends the report: a page with a silent gap would look complete.
        except BorgtraceError as error:
            yield refused(question, error)


def kept_answers(store: Store, tables: EngineTables, engine: str) -> KeptAnswers | None:
    """Return the answers that are kept of a store; None for those of a cluster, which may be of another version."""
    from borgtrace.catalog import QUESTION_KINDS
    from borgtrace.question.kept_answers import KeptAnswers

    return KeptAnswers(store.keeper, tables, QUESTION_KINDS.own) if engine == "duckdb" else None
