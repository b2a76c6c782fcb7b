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
from borgtrace.recipe import EngineTables, Question, Tables, find_recipe, recipes, with_subjects
from borgtrace.report.page import report_html
from borgtrace.report.sections import Section, refused, section
from borgtrace.storage import write_file

if TYPE_CHECKING:
    from borgtrace.store import Store

__all__ = ["Summary", "write"]


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
    progress: Callable[[str, int, int], None] | None = None,
) -> Summary:
    """Answer questions on `store` and write them as one page.

    Parameters
    ----------
    store
        An open store.
    path
        The HTML file; replaced at the very end.
    names
        Recipes; all of them where empty.
    engine, memory
        Where relational work runs, and its budget.
    progress
        Called before each question with its name, its number from 0 and the number of questions.

    Raises
    ------
    UsageError
        For an unknown recipe.

    Notes
    -----
    A question that a :class:`BorgtraceError` stops has a section that says so; the others go on.
    """
    chosen = [find_recipe(name) for name in names] or list(recipes().values())
    tables = EngineTables.of(store, engine, memory=memory)
    failures: dict[str, BorgtraceError] = {}
    # All answers before the page: contents, counts of verdicts and cited papers stand at its head.
    sections = list(_answers(chosen, tables, failures, progress))
    html = report_html(store.manifest, Path(tables.name).name, sections)
    path = Path(path)
    write_file(path, html)
    n_charts = sum(item.figure is not None for item in sections)
    return Summary(path, len(sections), n_charts, path.stat().st_size, failures)


def _answers(
    chosen: Sequence[Question],
    tables: Tables,
    failures: dict[str, BorgtraceError],
    progress: Callable[[str, int, int], None] | None,
) -> Iterator[Section]:
    for number, (recipe, subject) in enumerate(with_subjects(chosen, tables)):
        if progress:
            progress(recipe.name, number, len(chosen))
        try:
            yield section(recipe.run(subject))
        # Anything else is a mistake of ours and ends the report: a page with a silent gap would look complete.
        except BorgtraceError as error:
            failures[recipe.name] = error
            yield refused(recipe, str(error))
