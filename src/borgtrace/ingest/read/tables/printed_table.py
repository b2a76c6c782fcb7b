"""Tables as ``kubectl top`` and other programs print them: fields apart by blanks, under a header in capitals.

A line that is a date and time alone, such as ``date`` prints between two tables, is the time of the rows below.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

import pyarrow as pa

from borgtrace.errors import SourceError
from borgtrace.ingest.files.separators import SEPARATORS, split_fields, whole_lines
from borgtrace.ingest.read.tables.kind import Columns, TableKind, open_text
from borgtrace.ingest.read.tables.text_rows import Row, names_of, text_batches

TIME = "time"
_KUBECTL = re.compile(r".*\bNAME\s+CPU\(cores\)\s.*\bMEMORY\(bytes\).*")
_NUMBER = re.compile(r"[-+]?[0-9]")
_RULE = re.compile(r"[-=+\s]+")
"""A line under a header."""
_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?\s?(Z|[+-]\d\d:?\d\d|UTC)?"
    r"|\d{10}|\d{13}"
    r"|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [A-Z]{3,4} \d{4})"
)
_LINES = 20
_ROWS_LOOKED_AT = 1_000


def _recognizes(head: bytes) -> bool:
    whole = [line.strip() for line in whole_lines(head) if not _is_no_row(line)]
    if whole and _KUBECTL.fullmatch(whole[0]):
        return True
    if len(whole) < 2 or any(_NUMBER.match(field) for field in _fields(whole[0])):
        return False
    if any(len(split_fields(whole[0], separator)) > 1 for separator in SEPARATORS):
        return False
    names = _names(whole[0])
    rows = [line for line in whole[1:_LINES] if line != whole[0]]
    return len(names) > 2 and bool(rows) and all(_is_row(line, names) for line in rows)


def _is_no_row(line: str) -> bool:
    return not line.strip() or bool(_RULE.fullmatch(line) or _time_in(line))


def _is_row(line: str, names: Sequence[str]) -> bool:
    """Return whether a line has a field for each name, and a number among them: words alone may be prose."""
    fields = _fields_under(line, names)
    return len(fields) == len(names) and any(_NUMBER.match(field) for field in fields)


def _names(header: str) -> list[str]:
    """Return the names of the columns that a header gives."""
    return _kubectl_names(header.split()) if _KUBECTL.fullmatch(header.strip()) else _fields(header)


def _fields(line: str) -> list[str]:
    apart_by_two = re.split(r"\s{2,}|\t+", line.strip())
    return apart_by_two if len(apart_by_two) > 2 else line.split()


def _fields_under(line: str, names: Sequence[str]) -> list[str]:
    fields = line.split()
    return fields if len(fields) == len(names) else _fields(line)


def _kubectl_names(fields: Sequence[str]) -> list[str]:
    """Return our names of the columns of ``kubectl top``; NAME is a container where POD stands beside it."""
    is_of_nodes = any(field.startswith("CPU") and "%" in field for field in fields)
    of_name = "node" if is_of_nodes else "pod"
    known = {
        "NAME": "container" if "POD" in fields else of_name,
        "CPU(cores)": "cpu",
        "MEMORY(bytes)": "memory",
    }
    return [known.get(field, field.lower()) for field in fields]


def _time_in(line: str) -> str:
    """Return the time that a line is, decorations aside; empty where it is anything else."""
    match = _TIME.fullmatch(line.strip(" -=#*\r\n\t"))
    return match[0] if match else ""


def _columns(path: Path) -> Columns:
    with open_text(path) as file:
        looked_at = []
        for row in _rows(path, file):
            looked_at.append(row)
            if len(looked_at) == _ROWS_LOOKED_AT:
                break
    return {"": names_of(looked_at)}


def _batches(path: Path, table: str) -> Iterator[pa.RecordBatch]:
    with open_text(path) as file:
        yield from text_batches(_rows(path, file))


def _rows(path: Path, file: TextIO) -> Iterator[Row]:
    header = ""
    time = ""
    for number, line in enumerate(file, 1):
        bare = line.strip()
        time_of_rows = _time_in(bare)
        if time_of_rows:
            time = time_of_rows
        elif not _is_no_row(bare):
            header = header or bare
            # It is printed again with each table.
            if bare != header:
                row = _row(path, number, bare, _names(header))
                yield {TIME: time, **row} if time else row


def _row(path: Path, number: int, line: str, names: Sequence[str]) -> Row:
    fields = _fields_under(line, names)
    if len(fields) != len(names):
        raise SourceError(
            str(path),
            f"line {number:,} has another number of fields than the header",
            expected=", ".join(names),
            got=repr(line[:60]),
            way_out="correct the line, or print it again",
        )
    return dict(zip(names, fields, strict=True))


KIND = TableKind(
    name="printed",
    recognizes=_recognizes,
    columns=_columns,
    batches=_batches,
    time_column=TIME,
)
