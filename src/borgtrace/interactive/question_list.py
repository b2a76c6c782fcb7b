"""The questions that a store can answer, by heading, each with the tables that the store lacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from borgtrace.engine.frames import import_pandas

if TYPE_CHECKING:
    import pandas as pd

    from borgtrace.store.store import Store

SHOWN_QUESTIONS = 30
"""Lines of a prompt."""


@dataclass(frozen=True, slots=True)
class ListedQuestion:
    """One question that can be asked.

    Attributes
    ----------
    name
        What :meth:`borgtrace.Store.ask` takes.
    title
        What it asks.
    heading
        Under which the report has it.
    parameters
        Names of its parameters.
    missing_tables
        Tables it needs of which the store has no rows.
    """

    name: str
    title: str
    heading: str
    parameters: tuple[str, ...]
    missing_tables: tuple[str, ...]


class QuestionList(Sequence[ListedQuestion]):
    """Questions in the order of the report; a prompt and a notebook show their names and titles.

    Parameters
    ----------
    questions
        The questions.
    """

    def __init__(self, questions: Sequence[ListedQuestion]) -> None:
        self._questions = tuple(questions)

    def __len__(self) -> int:
        """Return the number of questions."""
        return len(self._questions)

    def __getitem__(self, i: int) -> ListedQuestion:  # type: ignore[override]
        """Return the i-th question."""
        return self._questions[i]

    @property
    def names(self) -> list[str]:
        """What :meth:`borgtrace.Store.ask` takes."""
        return [question.name for question in self]

    def to_pandas(self) -> pd.DataFrame:
        """Return a row per question as a frame of pandas."""
        columns = ("name", "title", "heading", "parameters", "missing_tables")
        rows = [[getattr(question, column) for column in columns] for question in self]
        return import_pandas().DataFrame(rows, columns=columns)

    def __repr__(self) -> str:
        """List the first questions, and say how to see fewer."""
        shown = self._questions[:SHOWN_QUESTIONS]
        width = max((len(question.name) for question in shown), default=0)
        lines = [f"{question.name:{width}}  {question.title}" for question in shown]
        n_more = len(self) - len(shown)
        if n_more:
            lines.append(f'… and {n_more} more; store.questions("queue") lists those about a word')
        return "\n".join(lines) or "no such question"

    def _repr_html_(self) -> str:
        """Show all questions by heading in a notebook."""
        return "".join(self._html_rows())

    def _html_rows(self) -> Iterator[str]:
        yield "<table><thead><tr><th>name</th><th>question</th><th>lacks</th></tr></thead><tbody>"
        heading = ""
        for question in self:
            if question.heading != heading:
                heading = question.heading
                yield f"<tr><th colspan='3'>{escape(heading)}</th></tr>"
            cells = (question.name, question.title, ", ".join(question.missing_tables))
            yield "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
        yield "</tbody></table>"


def list_questions(store: Store, about: str = "") -> QuestionList:
    """Return the questions that can be asked of a store.

    Parameters
    ----------
    store
        The store.
    about
        Words of which a question has all in its name, title or heading; every question where empty.
    """
    from borgtrace.catalog import OTHER_QUESTIONS, headings, questions

    n_rows = store.manifest.tables
    listed = []
    for question in questions().values():
        heading = headings().get(question.name, OTHER_QUESTIONS)
        text = f"{question.name} {question.title} {heading}".casefold()
        if all(word in text for word in about.casefold().split()):
            missing = tuple(table for table in question.reads if not n_rows.get(table))
            listed.append(
                ListedQuestion(
                    question.name,
                    question.title,
                    heading,
                    tuple(question.parameters),
                    missing,
                )
            )
    return QuestionList(listed)
