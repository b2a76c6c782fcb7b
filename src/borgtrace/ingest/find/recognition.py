"""Recognize a file by its first bytes and its first rows; the name only helps where rows cannot.

The bucket calls plain Parquet ``.parquet.gz``, people unpack or rename parts, and copies mix
folders, so magic bytes and the shape of the first row decide.
"""

import csv
import json
import os
import re
from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq
from isal import isal_zlib

from borgtrace.errors import SourceError
from borgtrace.ingest.files.sources import Format, Source
from borgtrace.ingest.files.streams import DAMAGE, damaged, open_stream, plain_file
from borgtrace.ingest.read.range_queries import metric_of
from borgtrace.schema import DIALECTS, Dialect, RawTable
from borgtrace.storage import (
    NotRegularError,
    RemotePath,
    describe_kind,
    open_regular,
    refuse_shortage,
)

HEAD = 1 << 16
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_AVRO_MAGIC = b"Obj\x01"
_UNREAD_PACKINGS = {
    b"\xfd7zXZ\x00": ("xz", "xz -dk"),
    b"PK\x03\x04": ("zip", "unzip"),
}
"""Packings that are not read, by their first bytes: their name, and what unpacks them."""
_ANSWER = re.compile(rb'\s*\{\s*"status"\s*:')
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_ROWS_BELOW = 3
"""Rows that a header is compared with."""
_EXPECTED = "a 2011 CSV part, a 2019 JSON or Parquet shard, or the flattened 2019 CSV"


def classify(
    path: Path,
    cell: str = "",
    orders: Mapping[str, tuple[str, ...]] | None = None,
    only: Dialect | None = None,
) -> Source:
    """Recognize a raw file.

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
        When the file is empty, unreadable, damaged at its start or not part of a trace.
    """
    opened = _open(path)
    head = opened.head
    packed = packed_file(path, head, opened.size)
    if packed.is_gzip:
        head = _inflate(path, head)
    if packed.is_zstd:
        head = _decompress_zstd(packed)
    head = head.removeprefix(BOM_UTF8)
    _refuse_other_formats(path, head, is_gzip=packed.is_gzip)
    dialects = (only,) if only else tuple(DIALECTS.values())
    source = _recognize(packed, head, orders or {}, dialects)
    return replace(
        source,
        is_gzip=packed.is_gzip,
        is_zstd=packed.is_zstd,
        size=opened.size,
        cell=cell_in_path(path, source.dialect) or cell,
        version=opened.version,
    )


def packed_file(path: Path, head: bytes, size: int) -> Source:
    """Return a file of which only the compression is known.

    Parameters
    ----------
    path, size
        The file, and its bytes.
    head
        Its first bytes.
    """
    any_dialect = next(iter(DIALECTS.values()))
    return Source(
        path,
        any_dialect,
        "",
        "csv",
        # By the magic bytes, not by the name: the bucket's ``.gz`` is not always gzip.
        is_gzip=head[:2] == _GZIP_MAGIC,
        is_zstd=head[:4] == _ZSTD_MAGIC,
        size=size,
    )


class _OpenedFile(NamedTuple):
    """The size of a file, its first bytes, and the version that a bucket gives it."""

    size: int
    head: bytes
    version: str


def _refuse_other_formats(path: Path, head: bytes, *, is_gzip: bool) -> None:
    if is_gzip and head[:2] == _GZIP_MAGIC:
        raise SourceError(
            str(path),
            "gzip inside gzip",
            expected=_EXPECTED,
            way_out="unpack it once",
        )
    for magic, (packing, unpack) in _UNREAD_PACKINGS.items():
        if head.startswith(magic):
            raise SourceError(
                str(path),
                f"{packing} is not read",
                expected="a plain file, gzip or zstd",
                way_out=f"unpack it first: {unpack} {path.name}",
            )
    if head[:4] == _AVRO_MAGIC:
        raise SourceError(
            str(path),
            "Avro is not read",
            expected="JSON lines or Parquet",
            way_out="export it as one of these: "
            "bq extract --destination_format=NEWLINE_DELIMITED_JSON (or PARQUET)",
        )
    if b"\r" in head and b"\n" not in head:
        raise SourceError(
            str(path),
            "lines end unlike any trace's",
            expected="line feeds",
            got="carriage returns alone",
            way_out="convert it: tr '\\r' '\\n'",
        )
    if not head.strip():
        raise SourceError(
            str(path),
            "the file is empty",
            expected=_EXPECTED,
            way_out="fetch it again",
        )


def _open(path: Path) -> _OpenedFile:
    if isinstance(path, RemotePath):
        return _OpenedFile(*path.head(HEAD))
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            return _OpenedFile(size, file.read(HEAD), "")
    except NotRegularError as error:
        raise SourceError(
            str(path),
            "not a file",
            expected=_EXPECTED,
            got=describe_kind(path.stat().st_mode),
            way_out="remove it, or name the file itself",
        ) from error
    except PermissionError as error:
        raise SourceError(
            str(path),
            "permission denied",
            way_out="make the file readable",
        ) from error
    except FileNotFoundError as error:
        raise SourceError(
            str(path),
            "a link to a file that is not there",
            way_out="remove it, or correct it",
        ) from error
    except OSError as error:  # a link to itself, a disk that fails
        refuse_shortage(error, path)
        raise SourceError(
            str(path),
            f"cannot be read ({error.strerror})",
            way_out="remove it, or correct it",
        ) from error


def _inflate(path: Path, head: bytes) -> bytes:
    try:
        # At most so many bytes: a file of zeros would otherwise fill memory before it is found to be no trace.
        return isal_zlib.decompressobj(wbits=31).decompress(head, 4 * HEAD)
    except DAMAGE as error:
        raise damaged(path, error) from error


def _decompress_zstd(packed: Source) -> bytes:
    with open_stream(packed) as stream:
        return stream.read(HEAD)


def whole_lines(head: bytes) -> list[str]:
    """Return the whole lines at the start of a file (its only line even without a newline)."""
    lines = head.decode("utf-8", "replace").split("\n")
    whole = [line.removesuffix("\r") for line in lines[:-1] if line.strip()]
    return whole or lines[:1]


def _recognize(
    packed: Source,
    head: bytes,
    orders: Mapping[str, tuple[str, ...]],
    dialects: Sequence[Dialect],
) -> Source:
    path = packed.path
    if head[:4] == b"PAR1":
        return _by_names(path, "parquet", [_parquet_columns(packed)], dialects)
    if _ANSWER.match(head):
        return _range_query(path, head, dialects)
    lines = whole_lines(head)
    if lines[0].lstrip().startswith("{"):
        return _by_names(path, "json", _json_keys(lines), dialects)
    if path.name.removesuffix(".gz").endswith(".swf") or lines[0].startswith(";"):
        return _workload_format(path, dialects)
    header = _header(lines[0])
    source = _by_header(path, header, dialects)
    has_open_quote = lines[0].count('"') % 2 == 1
    if source is not None and not has_open_quote:
        return source
    # Its names say what the columns are, and none of them is one of ours: places must not guess otherwise.
    if _names_columns(header, lines[1:]):
        raise not_a_trace(path, lines[0])
    widths = [line.count(",") + 1 for line in lines]
    # Not only the first line: it may be the one that is damaged, and its file still has a table.
    for line in lines[:20]:
        source = _by_places(path, line.split(","), orders, widths, dialects)
        if source is not None:
            return source
    if has_open_quote:
        raise SourceError(
            str(path),
            "a line break in the name of a column",
            expected="a header of one line",
            way_out="rename the column",
        )
    raise not_a_trace(path, lines[0])


def _range_query(path: Path, head: bytes, dialects: Sequence[Dialect]) -> Source:
    for dialect in dialects:
        if "prometheus" in dialect.formats:
            return Source(path, dialect, metric_of(path, head, dialect), "prometheus")
    raise not_a_trace(path, "an answer of Prometheus")


def _workload_format(path: Path, dialects: Sequence[Dialect]) -> Source:
    for dialect, raw in _tables("swf", dialects, is_positional=True):
        return Source(
            path,
            dialect,
            raw.name,
            "swf",
            order=raw.names,
        )
    raise not_a_trace(path, "the Standard Workload Format")


def _header(line: str) -> list[str]:
    try:
        return next(csv.reader([line]), [])
    # A "field" of more than 128 KB, or a return inside it: no header of ours.
    except csv.Error:
        return []


def _names_columns(header: Sequence[str], rows: Sequence[str]) -> bool:
    """Return whether a first line names the columns of the rows below: words alone, one for each field."""
    names = {name.strip() for name in header}
    if len(header) < 2 or len(names) < len(header):
        return False
    if any(not name or _NUMBER.fullmatch(name) for name in names):
        return False
    return bool(rows) and all(len(_header(row)) == len(header) for row in rows[:_ROWS_BELOW])


def _parquet_columns(packed: Source) -> list[str]:
    try:
        if packed.is_gzip or packed.is_zstd:
            with plain_file(packed) as plain_path:
                return list(pq.read_schema(plain_path).names)
        with open_regular(packed.path) as file:
            return list(pq.read_schema(file).names)
    except SourceError:
        raise
    except Exception as error:  # pyarrow raises OSError, ArrowInvalid … for damaged footers
        refuse_shortage(error, packed.path)
        raise SourceError(
            str(packed.path),
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
        if isinstance(record, dict):
            keys.append(sorted(record))
    return keys


def _tables(
    kind: Format,
    dialects: Sequence[Dialect],
    *,
    is_positional: bool = False,
) -> list[tuple[Dialect, RawTable]]:
    tables = []
    for dialect in dialects:
        if kind in dialect.formats:
            for raw in dialect.tables.values():
                if raw.is_positional == is_positional:
                    tables.append((dialect, raw))
    return tables


def _by_names(
    path: Path,
    kind: Format,
    records: Sequence[Sequence[str]],
    dialects: Sequence[Dialect],
) -> Source:
    """Return the table that the first record which fits one can only belong to.

    Several tables may fit a record with few fields; the file's name then decides, if it can.
    """
    # JSON leaves NULL fields out, so a record shows some of its table's names, but never others.
    for record in records:
        keys = set(record)
        fitting = []
        for dialect, raw in _tables(kind, dialects):
            # Own data may hold more than is declared; another file if its name names the table.
            may_hold_more = bool(dialect.conversion) or path.name.startswith(raw.name)
            if set(raw.mandatory) <= keys and (may_hold_more or keys <= set(raw.names)):
                fitting.append(Source(path, dialect, raw.name, kind))
        if fitting:
            likenesses = [_likeness(source, keys) for source in fitting]
            return fitting[likenesses.index(max(likenesses))]
    raise not_a_trace(path, ", ".join(records[0][:6]) if records else "no records")


def _by_header(path: Path, header: Sequence[str], dialects: Sequence[Dialect]) -> Source | None:
    """Return the table that delimited text with a header belongs to."""
    for dialect in dialects:
        if dialect.flattened and dialect.flattened.header <= set(header):
            return Source(path, dialect, "kaggle", "kaggle")
    names = set(header)
    fitting = []
    for dialect, raw in _tables("csv", dialects):
        if set(raw.mandatory) <= names:
            fitting.append(
                Source(
                    path,
                    dialect,
                    raw.name,
                    "csv",
                    order=tuple(header),
                    has_header=True,
                )
            )
    best = max(fitting, key=lambda source: _likeness(source, names), default=None)
    if best is not None:
        _require_different_names(path, header, best.dialect.tables[best.table])
    return best


def _require_different_names(path: Path, header: Sequence[str], raw: RawTable) -> None:
    """Refuse two columns of a name that is read: nothing says which one is meant."""
    for name in raw.names:
        if header.count(name) > 1:
            raise SourceError(
                str(path),
                "two columns have one name",
                got=name,
                way_out="rename or remove one of them",
            )


class _Likeness(NamedTuple):
    """How well a file fits a table; the first of equal ones is taken."""

    has_no_strange_fields: bool
    is_named_so: bool
    n_declared: int


def _likeness(source: Source, names: set[str]) -> _Likeness:
    declared = set(source.dialect.tables[source.table].names)
    is_own_data = bool(source.dialect.conversion)
    file = source.path
    return _Likeness(
        has_no_strange_fields=is_own_data or names <= declared,
        # BigQuery writes a table into a folder, as files whose names are numbers.
        is_named_so=file.name.startswith(source.table) or file.parent.name == source.table,
        n_declared=len(names & declared) if is_own_data else 0,
    )


def _by_places(
    path: Path,
    fields: Sequence[str],
    orders: Mapping[str, tuple[str, ...]],
    widths: Sequence[int],
    dialects: Sequence[Dialect],
) -> Source | None:
    """Return the table that a row of these fields can only belong to; the first legal width tells its version."""
    best_source = None
    most_patterns = -1
    for dialect, raw in _tables("csv", dialects, is_positional=True):
        order = orders.get(raw.name, tuple(field.name for field in raw.fields))
        pattern_at = {
            order.index(field.name): field.pattern for field in raw.fields if field.pattern
        }
        if len(fields) not in raw.field_counts or not _match_patterns(fields, pattern_at):
            continue
        # The more fields have a pattern, the more the match says: six fields alone are those of two tables.
        if len(pattern_at) > most_patterns:
            most_patterns = len(pattern_at)
            width = next(width for width in widths if width in raw.field_counts)
            best_source = Source(
                path,
                dialect,
                raw.name,
                "csv",
                order=order[:width],
            )
    return best_source


def _match_patterns(fields: Sequence[str], pattern_at: Mapping[int, str]) -> bool:
    for place, pattern in pattern_at.items():
        if place < len(fields) and not re.fullmatch(pattern, fields[place]):
            return False
    return True


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


def not_a_trace(path: Path, got: str) -> SourceError:
    """Return the error for a file that is no part of a trace; long texts are shortened."""
    shown = repr(got if len(got) <= 40 else got[:40] + "…")
    return SourceError(
        str(path),
        "not part of a trace",
        expected=_EXPECTED,
        got=shown,
        way_out="remove it, or fetch it again",
    )
