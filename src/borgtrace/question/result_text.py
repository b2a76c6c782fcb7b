"""An answer as a few lines of text, for a prompt: its question, first rows, verdicts and origin."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import pyarrow as pa

from borgtrace.engine.answer_text import cell_text
from borgtrace.question.claims import Finding, headline

SHOWN_ROWS = 10
"""Rows of an answer that a prompt or a notebook shows."""
WIDTH = 100
"""Characters of a line."""
LONGEST_CELL = 40
"""Characters of a value."""
GAP = 2
"""Blanks between two columns."""


def result_text(
    heading: str,
    sentence: str,
    table: pa.Table | None,
    findings: Sequence[Finding],
    origin: str,
) -> str:
    """Return an answer as text, in at most twenty lines.

    Parameters
    ----------
    heading
        The question.
    sentence
        The answer in words, or why there is none; empty where it has none.
    table
        Its rows; None where the store cannot answer.
    findings
        What was claimed of it, after measuring.
    origin
        What it was computed from.
    """
    lines = [heading]
    if sentence:
        lines.append(sentence)
    if table is not None:
        lines += table_lines(table)
    if findings:
        lines.append(headline(findings))
    lines.append(origin)
    return "\n".join(lines)


def table_lines(table: pa.Table, n_rows: int = SHOWN_ROWS, width: int = WIDTH) -> list[str]:
    r"""Return the first rows of a table as lines, with what was left out.

    Parameters
    ----------
    table
        The table.
    n_rows
        Rows to show.
    width
        Characters of a line; columns that do not fit are named below.

    Examples
    --------
    >>> table = pa.table({"hour": [0, 1, 2], "n_jobs": [7, None, 12]})
    >>> print("\n".join(table_lines(table, n_rows=2)))
    hour  n_jobs
       0       7
       1       –
    first 2 of 3 rows
    """
    first_rows = table.slice(0, n_rows).to_pylist()
    columns = []
    for name in table.column_names:
        cells = [name, *(short_text(row[name]) for row in first_rows)]
        length = max(map(len, cells))
        # Numbers end where others end; text begins where others begin.
        is_text = pa.types.is_string(table.schema.field(name).type)
        columns.append([cell.ljust(length) if is_text else cell.rjust(length) for cell in cells])
    n_shown = columns_that_fit(columns, width)
    gap = " " * GAP
    lines = [gap.join(cells).rstrip() for cells in zip(*columns[:n_shown], strict=True)]
    if n_shown < len(columns):
        lines.append(f"and {', '.join(table.column_names[n_shown:])}")
    if table.num_rows > n_rows:
        lines.append(f"first {n_rows} of {table.num_rows:,} rows")
    return lines


def columns_that_fit(columns: Sequence[Sequence[str]], width: int) -> int:
    """Return how many of the first columns a line holds; one at least."""
    ends = accumulate(len(cells[0]) + GAP for cells in columns)
    return max(sum(end - GAP <= width for end in ends), min(len(columns), 1))


def short_text(value: object) -> str:
    """Return a value as the text of a cell."""
    text = "–" if value is None else cell_text(value, "{:.6g}".format)
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_CELL else f"{text[: LONGEST_CELL - 1]}…"
