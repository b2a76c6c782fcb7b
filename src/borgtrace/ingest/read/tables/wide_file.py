"""Delimited text with a column of times and one column for each series, as Grafana exports panels.

It is read as three columns: that of the times, ``series`` with the name of a column, and ``value``.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

import pyarrow as pa

from borgtrace.errors import SourceError
from borgtrace.ingest.files.separators import separator_of, split_fields, whole_lines
from borgtrace.ingest.read.number_texts import MISSING
from borgtrace.ingest.read.tables.kind import Columns, TableKind, open_text
from borgtrace.ingest.read.tables.text_rows import Row, text_batches
from borgtrace.storage import open_regular

SERIES, VALUE = "series", "value"
_TIME = re.compile(r"\W*((date|time)[ _-]?(time|stamp)?|timestamp|ts|date|epoch)\W*", re.IGNORECASE)
_NO_SERIES = re.compile(
    r"(^|[^a-z0-9])(pod|task|container|namespace|node|host|instance|machine|name|id|job|user|series|metric|cluster|"
    r"value|values|end|vm|app|time|timestamp|date|step|window|label|labels|field|measurement)s?([_ -]?(id|name))?$",
    re.IGNORECASE,
)
"""Names that say what all values below are, rather than whose: a table with any of them is long, not wide."""
_RESOURCE = re.compile(r"(^|[^a-z])(cpu|mem|memory|ram|cores?)([^a-z]|$)", re.IGNORECASE)
_AMOUNT = re.compile(r"[-+]?[0-9][0-9.,]*([eE][-+]?[0-9]+)?\s*[A-Za-zµ%/]{0,12}")
_NO_AMOUNTS = ("", "undefined", *MISSING)
_LINES = 20


def _recognizes(head: bytes) -> bool:
    lines = whole_lines(head)
    rows = lines[1 : _LINES + 1]
    if not rows:
        return False
    separator = separator_of([lines[0], *rows])
    names = split_fields(lines[0], separator)
    if len(names) < 2 or not _TIME.fullmatch(names[0]) or not _are_series(names[1:]):
        return False
    amounts = [text.strip() for row in rows for text in split_fields(row, separator)[1:]]
    present = [text for text in amounts if text not in _NO_AMOUNTS]
    return bool(present) and all(_AMOUNT.fullmatch(text) for text in present)


def _are_series(names: Sequence[str]) -> bool:
    if any(not name.strip() or _NO_SERIES.search(name.strip()) for name in names):
        return False
    # time,cpu,memory is the table of one task that it does not name.
    return len(set(names)) == len(names) and not all(_RESOURCE.search(name) for name in names)


def _columns(path: Path) -> Columns:
    with open_regular(path) as file:
        first = file.readline(1 << 20).decode("utf-8", "replace")
        rest = file.read(1 << 16).decode("utf-8", "replace").splitlines()
    time = split_fields(first.strip("\r\n"), separator_of([first.strip("\r\n"), *rest[:_LINES]]))[0]
    return {"": [time, SERIES, VALUE]}


def _batches(path: Path, table: str) -> Iterator[pa.RecordBatch]:
    with open_text(path) as file:
        yield from text_batches(_rows(path, file))


def _rows(path: Path, file: TextIO) -> Iterator[Row]:
    beginning = file.read(1 << 16).splitlines()
    separator = separator_of(beginning[: _LINES + 1])
    file.seek(0)
    lines = csv.reader(file, delimiter=separator)
    time, *series = next(lines)
    for fields in lines:
        if not fields:
            continue
        if len(fields) != len(series) + 1:
            raise SourceError(
                str(path),
                f"line {lines.line_num:,} has another number of fields than the header",
                expected=str(len(series) + 1),
                got=str(len(fields)),
                way_out="correct the line, or export it again",
            )
        for name, text in zip(series, fields[1:], strict=True):
            # A series that has no value at a time was not measured then.
            if text.strip() not in _NO_AMOUNTS:
                yield {time: fields[0], SERIES: name, VALUE: text.strip()}


KIND = TableKind(
    name="wide",
    recognizes=_recognizes,
    columns=_columns,
    batches=_batches,
)
