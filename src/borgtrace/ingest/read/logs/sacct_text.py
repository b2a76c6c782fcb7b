"""What Slurm's ``sacct`` prints: columns in any order, by their header; a row for each job and each of its steps.

With ``--parsable2`` (or ``--parsable``, or any ``--delimiter``), or in columns of fixed width below a line of dashes.
"""

import re
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from borgtrace.errors import SourceError
from borgtrace.ingest.files.separators import split_fields
from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.read.logs.kind import LogKind, LogShape, Record, Refused
from borgtrace.ingest.read.logs.sacct_columns import COLUMNS, PUBLISHED_ORDER
from borgtrace.ingest.read.logs.slurm_jobs import job_record
from borgtrace.ingest.read.logs.slurm_values import STATES, job_and_step, state

_DELIMITERS = ("|", "\t", ";", ",", "^", "~", "%")
_DASHES = re.compile(r"-+( -+)*")
_WORD = re.compile(r"[A-Za-z_/]+")
_IDS = ("JobID", "JobIDRaw")
_TIMES = ("Submit", "Start", "End")
_FREE_TEXTS = ("JobName", "Comment", "AdminComment", "SystemComment", "SubmitLine", "WorkDir")
"""Columns that may hold the delimiter, which ``sacct`` does not quote."""
_NAME_OF_LOWER = {name.lower(): name for name in COLUMNS}
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d.*|Unknown|None|N/A|")


def _shape(label: str, lines: Sequence[str]) -> LogShape | None:
    header = lines[0].strip()
    if len(lines) > 1 and _DASHES.fullmatch(lines[1].strip()):
        columns = _known_columns(_cut(lines[0], _widths(lines[1])))
        return _checked(label, LogShape(columns)) if columns else None
    for delimiter in _DELIMITERS:
        columns = _known_columns(_split(header, delimiter))
        if columns:
            return _checked(label, LogShape(columns, delimiter))
    return _shape_without_header(label, lines)


def _known_columns(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns as ``sacct`` spells them; none where they are not its names."""
    columns = [_NAME_OF_LOWER.get(name.strip().lower(), name.strip()) for name in names]
    # --parsable ends each line with the delimiter.
    while columns and not columns[-1]:
        columns.pop()
    n_known = sum(name in COLUMNS for name in columns)
    has_id = any(name in columns for name in _IDS)
    # A job id and a state, or a time, may be columns of anybody's: most others must be known, too.
    is_sacct = has_id and n_known >= 3 and 2 * n_known > len(columns)
    return tuple(columns) if is_sacct else ()


def _checked(label: str, shape: LogShape) -> LogShape:
    """Refuse a log of jobs without times, or with two columns of a name."""
    if not set(_TIMES) & set(shape.columns):
        raise SourceError(
            label,
            "jobs without times",
            expected="a column Submit or Start",
            got=", ".join(shape.columns[:8]),
            way_out="ask for them: sacct --allusers --parsable2 --format=JobID,User,State,Submit,Start,End,"
            "AllocTRES,ReqMem,TotalCPU,MaxRSS,NodeList",
        )
    repeated = [name for name in shape.columns if name and shape.columns.count(name) > 1]
    if repeated:
        raise SourceError(
            label,
            "two columns have one name",
            got=repeated[0],
            way_out="remove one of them",
        )
    return shape


def _shape_without_header(label: str, lines: Sequence[str]) -> LogShape | None:
    rows = [line.rstrip("\r").split("|") for line in lines]
    if len(rows[0]) < 3:
        return None
    if all(_is_in_published_order(row) for row in rows):
        return LogShape(PUBLISHED_ORDER, "|", has_header=False)
    if all(_looks_like_job(row) for row in rows):
        raise SourceError(
            label,
            "a log of sacct without a header",
            expected="a first line with the names of the columns",
            got="|".join(rows[0])[:60],
            way_out="ask again without --noheader, or write the names above: sed -i '1i JobID|State|Submit|…'",
        )
    return None


def _is_in_published_order(row: Sequence[str]) -> bool:
    if len(row) != len(PUBLISHED_ORDER):
        return False
    value_of = dict(zip(PUBLISHED_ORDER, row, strict=True))
    has_times = all(
        _INSTANT.fullmatch(value_of[name]) for name in ("Submit", "Eligible", "Start", "End")
    )
    return (
        state(value_of["State"]) in STATES
        and job_and_step(value_of["JobID"]) is not None
        and has_times
    )


def _looks_like_job(row: Sequence[str]) -> bool:
    has_state = any(state(text) in STATES for text in row)
    has_time = any(text and _INSTANT.fullmatch(text) for text in row)
    return has_state and has_time and any(job_and_step(text) for text in row)


def _widths(dashes: str) -> list[tuple[int, int]]:
    """Return where the columns of fixed width begin and end."""
    return [match.span() for match in re.finditer(r"-+", dashes)]


def _cut(line: str, widths: Sequence[tuple[int, int]]) -> list[str]:
    return [line[start:end].strip() for start, end in widths]


def _rows(stream: BinaryIO, source: Source) -> Iterator[Record | Refused]:
    widths: list[tuple[int, int]] = []
    for line_bytes in stream:
        line = line_bytes.decode("utf-8", "replace").rstrip("\r\n")
        if not line.strip():
            continue
        if not source.delimiter and _DASHES.fullmatch(line.strip()):
            widths = _widths(line)
            continue
        if not source.delimiter:
            # The line above the dashes is the header.
            texts = _cut(line, widths) if widths else list(source.order)
        else:
            texts = _fields(line, source)
        # Logs that were put together have their header more than once.
        if texts[0] in COLUMNS and _known_columns(texts) == source.order:
            continue
        if len(texts) != len(source.order):
            yield Refused(line)
            continue
        yield job_record(dict(zip(source.order, texts, strict=True))) or Refused(line)


def _split(line: str, delimiter: str) -> list[str]:
    """Return the fields of a line; ``sacct`` knows no quotes, but programs that write its rows again do."""
    is_quoted = len(line) > 1 and line[0] == line[-1] == '"'
    if is_quoted or delimiter == ",":
        return split_fields(line, delimiter)
    return line.split(delimiter)


def _fields(line: str, source: Source) -> list[str]:
    """Return the fields of a line; a name with the delimiter in it is put together again where it is clear which."""
    fields = _split(line, source.delimiter)
    n_columns = len(source.order)
    if len(fields) == n_columns + 1 and not fields[-1]:
        fields.pop()
    n_more = len(fields) - n_columns
    free_texts = [place for place, name in enumerate(source.order) if name in _FREE_TEXTS]
    if n_more > 0 and len(free_texts) == 1:
        (place,) = free_texts
        whole_text = source.delimiter.join(fields[place : place + n_more + 1])
        fields[place : place + n_more + 1] = [whole_text]
    return fields


KIND = LogKind(table="sacct", shape=_shape, rows=_rows)
