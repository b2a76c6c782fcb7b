"""An answer on a terminal: its most important columns, as many as fit, and the answer in words below."""

import sys
import textwrap
from typing import Any

import pyarrow as pa

from borgtrace.cli.console import talk
from borgtrace.cli.grid import TextColumn, grid_text, is_number, line_of, print_grid
from borgtrace.notation.amounts import UNITS
from borgtrace.notation.numbers import value_text
from borgtrace.question import Result

SHOWN_ROWS = 40
"""Rows of a single answer on a terminal; files and pipes get all."""
SMALLEST_ID = 10**8
"""Counts of rows and tasks are smaller; of the ids of a trace most are larger."""
FOLDED = frozenset({"policy", "recommender", "estimator"})
"""Columns whose texts are names with parameters: cut ones could not be used."""


def print_rows(result: Result) -> None:
    """Print the first rows of an answer for people, and say on stderr what is left out and where it is.

    Parameters
    ----------
    result
        The answer.
    """
    table, declared = result.in_own_units()
    columns = [text_column(table, name) for name in table.column_names]
    n_shown = print_grid(columns, result.question.answer.most_important)
    # Headings are cut where columns are many.
    own_units = [column for column in declared.columns if column.unit in UNITS.values()]
    if own_units:
        words = ", ".join(f"{column.name} in {column.unit}" for column in own_units)
        print(f"{words}.", file=sys.stderr)
    left_out = []
    if table.num_rows > SHOWN_ROWS:
        left_out.append(f"{SHOWN_ROWS:,} of {table.num_rows:,} rows")
    if n_shown < len(columns):
        left_out.append(f"{n_shown} of {len(columns)} columns")
    if left_out:
        print(
            f"{', '.join(left_out)}; all of them: add --out DIR, or > answer.csv", file=sys.stderr
        )


def text_column(table: pa.Table, name: str) -> TextColumn:
    """Return a column of an answer as text: numbers with four digits, names with parameters whole.

    Parameters
    ----------
    table, name
        The answer, and the name of the column.
    """
    values = table[name].slice(0, SHOWN_ROWS).to_pylist()
    return TextColumn(
        line_of(name),
        [cell_of(value) for value in values],
        is_number=is_number(table.schema.field(name).type),
        is_folded=name in FOLDED,
    )


def cell_of(value: Any) -> str:
    """Return a value as people read it in a table.

    Examples
    --------
    >>> cell_of(0.09999999999999996), cell_of(12345.678), cell_of(123456), cell_of(None), cell_of(True)
    ('0.1', '12,346', '123,456', '–', 'yes')
    """
    # Ids of jobs and machines are numbers, too, and are copied.
    is_id = isinstance(value, int) and abs(value) >= SMALLEST_ID
    is_plain = value is None or isinstance(value, float | int)
    return value_text(value) if is_plain and not is_id else grid_text(value)


def print_answer(words: str) -> None:
    """Print the answer in words on stderr, in lines of the terminal.

    Parameters
    ----------
    words
        Sentences, one a line.
    """
    # Rows of the table that wait in a buffer would come after it.
    sys.stdout.flush()
    for line in words.splitlines():
        # A file has no edge, and long names are never torn apart.
        wrapped = textwrap.fill(
            line, talk.width - 1, break_long_words=False, break_on_hyphens=False
        )
        print(wrapped if talk.is_terminal else line, file=sys.stderr)
