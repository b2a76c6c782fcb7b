"""Recognize a file by its first bytes and its first rows; the name only helps where rows cannot.

The bucket calls plain Parquet ``.parquet.gz``, people unpack or rename parts, and copies mix
folders, so magic bytes and the shape of the first row decide.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

from borgtrace.errors import SourceError
from borgtrace.ingest.files.packing import packing_of
from borgtrace.ingest.files.partitions import partition_columns
from borgtrace.ingest.files.raw_file import RawFile
from borgtrace.ingest.files.separators import (
    DOUBLE_QUOTE,
    SEPARATORS,
    quote_of,
    separator_of,
    split_fields,
    whole_lines,
)
from borgtrace.ingest.files.sources import SERIES, Source
from borgtrace.ingest.files.streams import plain_file
from borgtrace.ingest.find.begun_file import (
    EXPECTED,
    BegunFile,
    begun_files,
    in_its_encoding,
)
from borgtrace.ingest.find.beside_data import may_be_beside_data
from borgtrace.ingest.find.known_columns import (
    NOT_A_TRACE,
    not_a_trace,
    source_of,
    tables_by_header,
    tables_by_names,
    tables_of,
    two_formats,
)
from borgtrace.ingest.find.near_misses import near_miss
from borgtrace.ingest.find.placed_fields import table_by_places
from borgtrace.ingest.find.workload_logs import (
    first_job,
    fits_workload_table,
    is_workload_log,
    read_workload_header,
)
from borgtrace.ingest.read.logs import log_of
from borgtrace.ingest.read.series_forms import has_series
from borgtrace.ingest.read.tables import (
    PARTITIONED,
    TableKind,
    columns_in,
    kind_of,
    layout_of_text,
    text_kind_of,
)
from borgtrace.schema import DIALECTS, Dialect
from borgtrace.schema.dialects.declaration import SECTIONS
from borgtrace.storage import (
    open_regular,
    refuse_shortage,
)

_UNREAD = {
    b"Obj\x01": (
        "Avro",
        "export it as JSON lines or Parquet: "
        "bq extract --destination_format=NEWLINE_DELIMITED_JSON (or PARQUET)",
    ),
    b"7z\xbc\xaf\x27\x1c": ("7-Zip", "unpack it first: 7z x"),
    b"Rar!\x1a\x07": ("RAR", "unpack it first: unrar x"),
    b"\x1f\x9d": ("the packing of compress", "unpack it first: uncompress"),
    b"\x89HDF\r\n\x1a\n": ("HDF5", "write it as Parquet: pandas.read_hdf(…).to_parquet(…)"),
    b"\xd0\xcf\x11\xe0": ("a workbook of Excel 97", "save it as .xlsx or CSV"),
    b"%PDF": ("PDF", "export its table as CSV"),
    b"\x93NUMPY": ("an array of NumPy", "write it as Parquet, with the names of its columns"),
    b"\x80\x03": ("a pickle of Python", "write it as Parquet: pandas.read_pickle(…).to_parquet(…)"),
    b"\x80\x04": ("a pickle of Python", "write it as Parquet: pandas.read_pickle(…).to_parquet(…)"),
    b"\x80\x05": ("a pickle of Python", "write it as Parquet: pandas.read_pickle(…).to_parquet(…)"),
    b"<table": ("a table of a web page", "export it as CSV: pandas.read_html(…)[0].to_csv(…)"),
    b"<!DOCTYPE": (
        "a web page",
        "fetch the file itself: this is what a server answered in its place",
    ),
    b"<html": ("a web page", "fetch the file itself: this is what a server answered in its place"),
}
"""What is not read, by its first bytes: what it is, and what to do."""
_PARQUET_MAGIC = b"PAR1"
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_ROWS_BELOW = 3
"""Rows that a header is compared with."""


class RecognizedFile(NamedTuple):
    """What one file holds: raw tables, parts of it that should be data but cannot be used, and tables left out."""

    sources: list[Source]
    faults: list[SourceError]
    unread: list[SourceError]


def classify(
    path: Path,
    cell: str = "",
    orders: Mapping[str, tuple[str, ...]] | None = None,
    only: Dialect | None = None,
) -> Source:
    """Recognize a raw file that holds one table.

    Parameters
    ----------
    path, cell, orders, only
        As for `recognize`.

    Raises
    ------
    SourceError
        When the file is empty, unreadable, damaged at its start or not part of a trace.
    """
    recognized = recognize(path, cell, orders, only)
    if not recognized.sources:
        raise (*recognized.faults, *recognized.unread)[0]
    return recognized.sources[0]


def _unread_table(file: RawFile, dialects: Sequence[Dialect]) -> SourceError | None:
    """Return why a published table is not read, as its file is called; None for any other file."""
    for dialect in dialects:
        for name, reason in dialect.unread.items():
            if file.file_name.startswith(name):
                return SourceError(
                    file.label,
                    f"{name} of {dialect.name} is not read",
                    expected="its other tables",
                    got=reason,
                    way_out="leave it out",
                )
    return None


def recognize(
    path: Path,
    cell: str = "",
    orders: Mapping[str, tuple[str, ...]] | None = None,
    only: Dialect | None = None,
) -> RecognizedFile:
    """Recognize what a file holds: a raw table, several, or the files of an archive.

    Parameters
    ----------
    path
        The file.
    cell
        The cell, where the path does not say it.
    orders
        Fields of raw tables in the order that the folder's own ``schema.csv`` gives, where that differs from ours.
    only
        The format it is said to be of; any known one where None.

    Raises
    ------
    SourceError
        When an archive is damaged, or the file cannot be opened.
    """
    dialects = (only,) if only else tuple(DIALECTS.values())
    recognized = RecognizedFile([], [], [])
    descriptions = []
    for begun in begun_files(path):
        try:
            sources = _recognize(begun.file, begun.head, orders or {}, dialects)
        except SourceError as fault:
            unread = _unread_table(begun.file, dialects)
            if unread is not None:
                recognized.unread.append(unread)
            elif begun.file.member and may_be_beside_data(begun.file.member):
                descriptions.append(fault)
            else:
                recognized.faults.append(fault)
            continue
        for source in sources:
            known_cell = cell_in_path(path, source.dialect) or cell
            recognized.sources.append(replace(source, cell=known_cell))
    if not (recognized.sources or recognized.faults or recognized.unread):
        recognized.faults.extend(descriptions)
    return recognized


def _refuse_other_formats(file: RawFile, head: bytes) -> None:
    if file.packing == "gzip" and packing_of(head) == "gzip":
        raise SourceError(
            file.label,
            "gzip inside gzip",
            expected=EXPECTED,
            way_out="unpack it once",
        )
    for magic, (what, way_out) in _UNREAD.items():
        if head.startswith(magic):
            raise SourceError(file.label, f"{what} is not read", way_out=way_out)
    if not head.strip():
        raise SourceError(
            file.label,
            "the file is empty",
            expected=EXPECTED,
            way_out="fetch it again, or write it again",
        )


def _require_line_feeds(file: RawFile, head: bytes) -> None:
    if b"\r" in head and b"\n" not in head:
        raise SourceError(
            file.label,
            "lines end unlike any trace's",
            expected="line feeds",
            got="carriage returns alone",
            way_out="convert it: tr '\\r' '\\n'",
        )


def _recognize(
    file: RawFile,
    head: bytes,
    orders: Mapping[str, tuple[str, ...]],
    dialects: Sequence[Dialect],
) -> list[Source]:
    """Return the raw tables that a file holds; one for most."""
    _refuse_other_formats(file, head)
    if head.startswith(_PARQUET_MAGIC):
        try:
            return tables_by_names(file, "parquet", [_parquet_columns(file)], dialects)
        except SourceError as fault:
            return _partitioned(file, head, dialects, fault)
    kind = kind_of(head)
    if kind is not None:
        return _tables_of_kind(file, kind, dialects)
    _require_line_feeds(file, head)
    return _recognize_text(file, head, orders, dialects)


def _tables_of_kind(file: RawFile, kind: TableKind, dialects: Sequence[Dialect]) -> list[Source]:
    columns_of_table = columns_in(file, kind)
    partitions = partition_columns(file) if _is_own(dialects) else {}
    sources = []
    unknown = not_a_trace(file.label, "no tables")
    for table, columns in columns_of_table.items():
        try:
            names = [*columns, *partitions]
            fitting = tables_by_names(file, "table", [names], dialects)
        except SourceError as fault:
            unknown = fault
            continue
        for source in fitting:
            sources.append(replace(source, kind=kind.name, inner=table))
    # Tables beside those of the trace do no harm.
    if not sources:
        raise unknown
    return sources


def _recognize_text(
    file: RawFile,
    head: bytes,
    orders: Mapping[str, tuple[str, ...]],
    dialects: Sequence[Dialect],
) -> list[Source]:
    if _is_own(dialects):
        file, head = in_its_encoding(BegunFile(file, head))
    log = _job_log(file, head, dialects)
    if log is not None:
        return [log]
    if has_series(head):
        return [_series(file, dialects)]
    lines = whole_lines(head)
    if lines[0].lstrip().startswith("{"):
        try:
            return tables_by_names(file, "json", _json_keys(lines), dialects)
        except SourceError as not_lines:
            return _document(file, head, dialects, not_lines)
    kind = text_kind_of(head)
    if kind is not None:
        return _tables_of_kind(file, kind, dialects)
    return _recognize_delimited(file, head, orders, dialects)


def _is_own(dialects: Sequence[Dialect]) -> bool:
    """Return whether files are said to be of a format of one's own, rather than of a published one."""
    own_tables = {section.name for section in SECTIONS}
    return len(dialects) == 1 and set(dialects[0].tables) <= own_tables


def _document(
    file: RawFile,
    head: bytes,
    dialects: Sequence[Dialect],
    not_lines: SourceError,
) -> list[Source]:
    """Return the tables of a JSON document; what keeps it from being records on lines is said where it has none."""
    kind = text_kind_of(head)
    if kind is None:
        raise not_lines
    try:
        return _tables_of_kind(file, kind, dialects)
    except SourceError as no_document:
        # What its columns are is said best by its own lines, where it has any.
        raise (no_document if no_document.what != NOT_A_TRACE else not_lines) from None


def _recognize_delimited(
    file: RawFile,
    head: bytes,
    orders: Mapping[str, tuple[str, ...]],
    dialects: Sequence[Dialect],
) -> list[Source]:
    lines = whole_lines(head)
    if is_workload_log(file.file_name, lines):
        return [_workload_log(file, lines, dialects)]
    separator = separator_of(lines)
    quote = quote_of(lines) if _is_own(dialects) else DOUBLE_QUOTE
    header = [name.strip() for name in split_fields(lines[0], separator, quote)]
    sources = _tables_of_header(file, lines[0], separator, dialects, quote)
    if not sources and _is_own(dialects):
        # Names may hold what separates the fields of other files: the declared names tell.
        separator, sources = _by_any_separator(file, lines[0], dialects) or (separator, sources)
    has_open_quote = lines[0].count('"') % 2 == 1
    if sources and not has_open_quote:
        return [replace(source, delimiter=separator, quote=quote) for source in sources]
    laid_out = _tables_of_layout(file, head, dialects)
    if laid_out:
        return laid_out
    if _is_own(dialects):
        return _partitioned(file, head, dialects, not_a_trace(file.label, lines[0]))
    # Its names say what the columns are, and none of them is one of ours: places must not guess otherwise.
    if _names_columns(header, lines[1:], separator):
        missed = near_miss(file.label, header, tables_of("csv", dialects))
        raise missed or not_a_trace(file.label, lines[0])
    by_places = _table_by_places(file, lines, orders, dialects)
    if by_places:
        return by_places
    if has_open_quote:
        raise _with_open_header(file)
    if len(header) > 1 and any(_NUMBER.fullmatch(name.strip()) for name in header):
        raise _without_header(file, lines[0])
    raise not_a_trace(file.label, lines[0])


def _with_open_header(file: RawFile) -> SourceError:
    return SourceError(
        file.label,
        "a line break in the name of a column",
        expected="a header of one line",
        way_out="rename the column",
    )


def _table_by_places(
    file: RawFile,
    lines: Sequence[str],
    orders: Mapping[str, tuple[str, ...]],
    dialects: Sequence[Dialect],
) -> list[Source]:
    """Return the table whose columns have the places of those of a file without a header; none where it has none."""
    tables = tables_of("csv", dialects, is_positional=True)
    placed = table_by_places(file, lines, orders, tables)
    if placed is None:
        return []
    fitting = [
        source_of(file, dialect, placed.table, "csv", placed.order)
        for dialect in (placed.dialect, *placed.rivals)
    ]
    if placed.rivals:
        raise two_formats(fitting)
    return fitting


def _by_any_separator(
    file: RawFile,
    line: str,
    dialects: Sequence[Dialect],
) -> tuple[str, list[Source]] | None:
    """Return what separates the names of a header so that they are those of a format, and its tables."""
    for separator in SEPARATORS:
        sources = _tables_of_header(file, line, separator, dialects)
        if sources:
            return separator, sources
    return None


def _tables_of_header(
    file: RawFile,
    line: str,
    separator: str,
    dialects: Sequence[Dialect],
    quote: str = DOUBLE_QUOTE,
) -> list[Source]:
    """Return the tables of a header, whose names may stand between blanks that are none of theirs."""
    names = split_fields(line, separator, quote)
    between_blanks = [name.strip() for name in names]
    return tables_by_header(file, names, dialects) or tables_by_header(
        file, between_blanks, dialects
    )


def _tables_of_layout(file: RawFile, head: bytes, dialects: Sequence[Dialect]) -> list[Source]:
    """Return the table of a text that is laid out otherwise than by fields under a header; none where it is not."""
    kind = layout_of_text(head)
    if kind is None:
        return []
    try:
        return _tables_of_kind(file, kind, dialects)
    except SourceError as fault:
        if fault.what != NOT_A_TRACE:
            raise
        return []


def _partitioned(
    file: RawFile,
    head: bytes,
    dialects: Sequence[Dialect],
    fault: SourceError,
) -> list[Source]:
    """Return the table of a file that has columns in the names of its folders, or raise what is wrong without them."""
    if not (_is_own(dialects) and partition_columns(file)):
        raise fault
    kind = next(kind for kind in PARTITIONED if kind.recognizes(head))
    return _tables_of_kind(file, kind, dialects)


def _without_header(file: RawFile, line: str) -> SourceError:
    return SourceError(
        file.label,
        "no line names the columns",
        expected="a first line such as task,time,cpu; or a file named as published, part-00000-of-00500.csv",
        got=repr(line if len(line) <= 40 else line[:40] + "…"),
        way_out="add a first line with their names",
    )


def _series(file: RawFile, dialects: Sequence[Dialect]) -> Source:
    for dialect in dialects:
        if "prometheus" in dialect.formats:
            return source_of(file, dialect, SERIES, "prometheus")
    raise not_a_trace(file.label, "series of Prometheus")


def _job_log(file: RawFile, head: bytes, dialects: Sequence[Dialect]) -> Source | None:
    """Return a log whose program is known by what it printed; None where it is none, or of no format that is meant."""
    log = log_of(file.label, whole_lines(head))
    if log is None:
        return None
    for dialect, raw in tables_of("log", dialects):
        if raw.name == log.table:
            source = source_of(
                file,
                dialect,
                raw.name,
                "log",
                log.shape.columns,
                has_header=log.shape.has_header and bool(log.shape.delimiter),
            )
            return replace(source, delimiter=log.shape.delimiter)
    return None


def _workload_log(file: RawFile, lines: Sequence[str], dialects: Sequence[Dialect]) -> Source:
    row = first_job(lines)
    fitting = []
    for dialect, raw in tables_of("swf", dialects, is_positional=True):
        if fits_workload_table(raw, row):
            source = source_of(file, dialect, raw.name, "swf", raw.names)
            fitting.append(source)
    if not fitting:
        raise not_a_trace(file.label, "the Standard Workload Format")
    # The one with most fields: that of 18 fits every line. Without a line nothing speaks for more.
    choose = max if row else min
    best = choose(fitting, key=lambda source: len(source.order))
    header = read_workload_header(lines, row)
    return replace(
        best,
        epoch=header.epoch,
        time_zone=header.time_zone,
        machines=header.machines,
    )


def _names_columns(header: Sequence[str], rows: Sequence[str], separator: str) -> bool:
    """Return whether a first line names the columns of the rows below: words alone, one for each field."""
    names = {name.strip() for name in header}
    if len(header) < 2 or len(names) < len(header):
        return False
    if any(not name or _NUMBER.fullmatch(name) for name in names):
        return False
    return bool(rows) and all(
        len(split_fields(row, separator)) == len(header) for row in rows[:_ROWS_BELOW]
    )


def _parquet_columns(file: RawFile) -> list[str]:
    try:
        if not file.is_plain:
            with plain_file(file) as plain_path:
                return list(pq.read_schema(plain_path).names)
        with open_regular(file.path) as opened:
            return list(pq.read_schema(opened).names)
    except SourceError:
        raise
    except Exception as error:  # pyarrow raises OSError, ArrowInvalid … for damaged footers
        refuse_shortage(error, file.path)
        raise SourceError(
            file.label,
            "damaged Parquet file",
            way_out="fetch it again",
        ) from error


def _json_keys(lines: Sequence[str]) -> list[list[str]]:
    """Return the keys of each record among the first lines."""
    keys = []
    for line in lines[:50]:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            # The head may end in the middle of a record, and one that is damaged or nested too deep says nothing.
            continue
        # An object of nothing but columns is a whole table on one line.
        if isinstance(record, dict) and not _is_table(record):
            keys.append(sorted(record))
    return keys


def _is_table(record: Mapping[str, object]) -> bool:
    return bool(record) and all(isinstance(value, dict | list) for value in record.values())


def cell_in_path(path: Path, dialect: Dialect) -> str:
    """Return the cell that the path says, the nearest: by a folder or a file named like the bucket, or ``cell_a``."""
    if not dialect.publication or not dialect.cells:
        return ""
    cell = f"([{''.join(dialect.cells)}])"
    # Not part of a longer word: ``clusterdata_2019_archive`` is not cell a.  A folder is called so by its whole name.
    bucket = f"{dialect.publication.bucket.format(cell=cell)}(?![a-z])"
    folder = rf"/cell[-_=]{cell}(?=/)"
    file = rf"[/._-]cell[-_=]{cell}(?=[._-][^/]*$)"
    matches = list(re.finditer(f"{bucket}|{folder}|{file}", str(path.parent.resolve() / path.name)))
    if not matches:
        return ""
    nearest = matches[-1]
    return nearest[nearest.lastindex or 0]
