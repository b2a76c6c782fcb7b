"""The line of its file in which a row stands, so that people find it."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice

from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.files.streams import BoundedLines, open_stream
from borgtrace.ingest.files.workload_lines import numbers_of_rows

_FORMATS_OF_LINES = ("csv", "json")
"""A row of these is a line; a header alone stands before."""


def line_numbers(source: Source, rows: Sequence[int]) -> list[int | None]:
    """Return the lines, from 1, in which rows stand; None for files that have no lines.

    Parameters
    ----------
    source
        The file.
    rows
        Rows from 0, in ascending order.

    Raises
    ------
    SourceError
        The file cannot be read any more.
    """
    if source.format in _FORMATS_OF_LINES:
        first = (2 if source.has_header else 1) + source.skipped_lines
        return [row + first for row in rows]
    if source.format == "swf" and rows:
        with closing(_lines_of_log(source)) as numbers:  # type: ignore[type-var]
            return _chosen(numbers, rows)
    return [None] * len(rows)


def _lines_of_log(source: Source) -> Iterator[int]:
    with open_stream(source) as stream:
        yield from numbers_of_rows(BoundedLines(stream, source.path))


def _chosen(numbers: Iterator[int], rows: Sequence[int]) -> list[int | None]:
    """Return those of ascending places."""
    chosen: list[int | None] = []
    n_passed = 0
    for row in rows:
        chosen.append(next(islice(numbers, row - n_passed, None), None))
        n_passed = row + 1
    return chosen
