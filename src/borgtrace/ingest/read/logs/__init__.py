"""Logs of jobs whose rows are assembled from what a program printed; a new kind is a module and a line here."""

import json
from collections.abc import Iterator, Sequence
from itertools import count, islice
from typing import NamedTuple

import pyarrow as pa

from borgtrace.errors import SourceError
from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.files.streams import check_expansion, open_lines, open_stream
from borgtrace.ingest.read.json_walker import JsonFormError
from borgtrace.ingest.read.logs import philly_json, philly_table, sacct_json, sacct_text
from borgtrace.ingest.read.logs.kind import LogKind, LogShape, Record, Refused

KINDS: tuple[LogKind, ...] = (
    sacct_text.KIND,
    sacct_json.KIND,
    philly_json.KIND,
    philly_table.KIND,
    philly_table.MACHINES,
)
"""All kinds, in the order in which they are asked."""
ROWS_PER_BLOCK = 1 << 16


class RecognizedLog(NamedTuple):
    """A kind of log, and how its rows are written."""

    table: str
    shape: LogShape


def log_of(label: str, lines: Sequence[str]) -> RecognizedLog | None:
    """Return the kind of log that begins with some lines; None where it is none.

    Parameters
    ----------
    label
        The file, for messages.
    lines
        Its first lines, at least one.

    Raises
    ------
    SourceError
        It is one that cannot be read.
    """
    for kind in KINDS:
        shape = kind.shape(label, lines)
        if shape is not None:
            return RecognizedLog(kind.table, shape)
    return None


def log_blocks(source: Source) -> Iterator[pa.Table]:
    """Yield the rows of a log as numbered lines of JSON.

    Raises
    ------
    SourceError
        It is no whole log.
    """
    check_expansion(source)
    kind = next(kind for kind in KINDS if kind.table == source.table)
    opened = open_lines(source) if source.order else open_stream(source)
    with opened as stream:
        rows = kind.rows(stream, source)
        for first in count(0, ROWS_PER_BLOCK):
            try:
                lines = [_line(row) for row in islice(rows, ROWS_PER_BLOCK)]
            except JsonFormError as error:
                raise SourceError(
                    source.label,
                    "not a whole log",
                    expected=str(error),
                    way_out="write it again, and keep all of it",
                ) from error
            numbers = pa.array(range(first, first + len(lines)), pa.int64())
            yield pa.table({"source_row": numbers, "line": pa.array(lines, pa.string())})
            if len(lines) < ROWS_PER_BLOCK:
                return


def _line(row: Record | Refused) -> str:
    # As a list, since an object that lacks a field might be taken for a row without it.
    return json.dumps([row.text] if isinstance(row, Refused) else row)


__all__ = ["KINDS", "RecognizedLog", "log_blocks", "log_of"]
