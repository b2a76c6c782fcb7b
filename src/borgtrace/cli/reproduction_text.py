"""What ``borgtrace reproduce`` prints: papers, their items, and the outcome of each."""

import sys
from collections.abc import Sequence

from borgtrace.cli.grid import TextColumn, print_grid
from borgtrace.cli.printing import print_csv
from borgtrace.engine.csv_text import csv_text
from borgtrace.reproduction import PublishedPaper, Reproduction, papers
from borgtrace.reproduction.reproduction import CLAIM_COLUMNS


def print_papers() -> None:
    """List the papers: name, how many items, and what each is called."""
    all_papers = papers()
    print_columns(
        {
            "paper": [paper.name for paper in all_papers],
            "items": [str(len(paper.items)) for paper in all_papers],
            "title": [paper.citation.text.partition(": ")[2] for paper in all_papers],
        }
    )


def print_items(paper: PublishedPaper) -> None:
    """List the tables and figures of a paper, and which questions answer them."""
    questions = []
    for item in paper.items:
        names = dict.fromkeys(asked.question for asked in item.answers)
        questions.append(", ".join(names) or item.needs)
    print_columns(
        {
            "item": [item.slug for item in paper.items],
            "what it shows": [item.title for item in paper.items],
            "question": questions,
        }
    )


def print_outcomes(reproduction: Reproduction, *, raw: bool = False) -> None:
    """Print what came of each item on a terminal; published beside measured as CSV in a pipe.

    Parameters
    ----------
    reproduction
        The reproduced paper.
    raw
        Whether texts of CSV stay as they are.
    """
    if not sys.stdout.isatty():
        rows = [[row[column] for column in CLAIM_COLUMNS] for row in reproduction.rows()]
        print_csv(csv_text([CLAIM_COLUMNS, *rows], raw=raw))
        return
    outcomes = []
    for item in reproduction.items:
        outcomes.append(f"{item.outcome}: {item.reason}" if item.reason else item.outcome)
    print_columns(
        {
            "item": [item.item.name for item in reproduction.items],
            "outcome": outcomes,
        }
    )


def print_columns(columns: dict[str, Sequence[str]]) -> None:
    """Print columns of text, which are folded where the terminal is narrow."""
    print_grid([TextColumn(name, texts, is_folded=True) for name, texts in columns.items()])
