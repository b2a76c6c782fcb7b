"""Show what was guessed about own data as a table, and ask on a terminal whether it is right."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table as Grid
from typer import Exit, confirm

from borgtrace.cli.console import talk
from borgtrace.cli.harmless_console import HarmlessConsole
from borgtrace.errors import shell_word

if TYPE_CHECKING:
    from borgtrace.ingest.find.draft import DraftedColumn
    from borgtrace.ingest.find.raw_files import RawFiles

DECLINED = 1
"""Exit code where the user says that the guess is wrong."""
HEADINGS = ("column", "role", "unit", "kind", "values")
LEAST_WIDTH = 20
"""Characters of a name, a role, a unit or a kind that are always shown."""


def guess_grid(columns: Sequence[DraftedColumn]) -> Grid:
    """Return the table of a guess: each column, what it was taken for, and what some of its texts become.

    Parameters
    ----------
    columns
        All columns of the file.
    """
    has_sections = len({column.section for column in columns}) > 1
    rows = []
    for column in columns:
        role = f"{column.section}: {column.role}" if has_sections else column.role
        samples = "\n".join(_sample(text, value) for text, value in column.samples)
        rows.append((column.name, role, column.unit, column.kind, samples))
    grid = Grid(box=None, pad_edge=False)
    for position, heading in enumerate(HEADINGS):
        longest = max(len(text) for text in (heading, *(row[position] for row in rows)))
        # What is cut first is a value.
        least = len(heading) if heading == "values" else min(longest, LEAST_WIDTH)
        # On one line: a name that is long must not begin a line of its own.
        grid.add_column(heading, no_wrap=True, overflow="ellipsis", min_width=least)
    for row in rows:
        grid.add_row(*row)
    return grid


def _sample(text: str, value: str) -> str:
    return f"{text} → {value}" if value and value != text else text


def show_guess(raw_files: RawFiles, console: HarmlessConsole = talk) -> None:
    """Show what was guessed of own data, where anything was."""
    if not raw_files.columns:
        return
    console.print(guess_grid(raw_files.columns), soft_wrap=False)
    for guess in raw_files.guesses:
        console.print(guess)


def can_ask() -> bool:
    """Whether somebody sees a question, and can answer it."""
    return sys.stdin.isatty() and talk.is_terminal


def confirm_guess(
    raw_files: RawFiles,
    *,
    is_accepted: bool,
    question: str = "Ingest like this?",
) -> None:
    """Show a guess on a terminal and ask whether it is right; elsewhere a guess without a question is taken.

    Parameters
    ----------
    raw_files
        The files of an ingest.
    is_accepted
        Whether the user accepted it before (``--yes``).
    question
        What is asked.

    Raises
    ------
    Exit
        The answer is no.
    """
    if not raw_files.columns or not can_ask():
        return
    show_guess(raw_files)
    if is_accepted or confirm(question, err=True):
        return
    # A file may hold several tables, and then is several sources.
    names = dict.fromkeys(shell_word(source.path) for source in raw_files.discovery.sources)
    talk.print(
        f"Nothing was stored. To correct the guess: borgtrace dialect sniff {' '.join(names)} > own.toml, "
        "then --dialect own.toml"
    )
    raise Exit(DECLINED)
