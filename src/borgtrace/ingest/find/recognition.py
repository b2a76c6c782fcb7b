"""What a file is, by its first bytes and its first rows; the name only helps where rows cannot.

The bucket calls plain Parquet ``.parquet.gz``, people unpack or rename parts, and copies mix
folders, so magic bytes and the shape of the first row decide.
"""

import csv
import gzip
import io
import json
import re
import stat
from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
from isal import isal_zlib

from borgtrace.errors import SourceError
from borgtrace.ingest.files.sources import Format, Source
from borgtrace.ingest.files.streams import DAMAGE, damaged, open_stream
from borgtrace.ingest.read.range_queries import metric_of
from borgtrace.schema import DIALECTS, Dialect, RawTable
from borgtrace.storage import RemotePath

HEAD = 1 << 16
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_AVRO_MAGIC = b"Obj\x01"
_ANSWER = re.compile(rb'\s*\{\s*"status"\s*:')
_EXPECTED = "a 2011 CSV part, a 2019 JSON or Parquet shard, or the flattened 2019 CSV"


def classify(
    path: Path,
    cell: str = "",
    orders: Mapping[str, tuple[str, ...]] | None = None,
    only: Dialect | None = None,
) -> Source:
    """Tell what a raw file is.

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
    size, head, version = _open(path)
    # By the magic bytes, not by the name: the bucket's ``.gz`` is not always gzip.
    is_gzip = head[:2] == _GZIP_MAGIC
    if is_gzip:
        head = _inflate(path, head)
        if head[:2] == _GZIP_MAGIC:
            raise SourceError(
                str(path), "gzip inside gzip", expected=_EXPECTED, way_out="unpack it once"
            )
    is_zstd = head[:4] == _ZSTD_MAGIC
    if is_zstd:
        with open_stream(
            Source(path, next(iter(DIALECTS.values())), "", "csv", is_zstd=True)
        ) as stream:
            head = stream.read(HEAD)
    head = head.removeprefix(BOM_UTF8)
    if head[:4] == _AVRO_MAGIC:
        way_out = "export it as one of these: bq extract --destination_format=NEWLINE_DELIMITED_JSON (or PARQUET)"
        raise SourceError(
            str(path), "Avro is not read", expected="JSON lines or Parquet", way_out=way_out
        )
    if b"\r" in head and b"\n" not in head:
        got, way_out = "carriage returns alone", "convert it: tr '\\r' '\\n'"
        raise SourceError(
            str(path),
            "lines end unlike any trace's",
            expected="line feeds",
            got=got,
            way_out=way_out,
        )
    if not head.strip():
        raise SourceError(
            str(path), "the file is empty", expected=_EXPECTED, way_out="fetch it again"
        )
    dialects = (only,) if only else tuple(DIALECTS.values())
    found = _recognize(path, head, is_gzip, orders or {}, dialects)
    cell = cell_in_path(path, found.dialect) or cell
    return replace(found, is_gzip=is_gzip, is_zstd=is_zstd, size=size, cell=cell, version=version)


def _open(path: Path) -> tuple[int, bytes, str]:
    """Return the size of a file, its first bytes, and what a bucket says of it."""
    if isinstance(path, RemotePath):
        return path.head(HEAD)
    try:
        found = path.stat()
        # Asked before it is opened: to open a pipe is to wait for whoever writes to it.
        if not stat.S_ISREG(found.st_mode):
            way_out = "remove it, or name the file itself"
            raise SourceError(
                str(path),
                "not a file",
                expected=_EXPECTED,
                got=describe_kind(found.st_mode),
                way_out=way_out,
            )
        with path.open("rb") as file:
            return found.st_size, file.read(HEAD), ""
    except PermissionError as error:
        raise SourceError(
            str(path), "permission denied", way_out="make the file readable"
        ) from error
    except FileNotFoundError as error:
        raise SourceError(
            str(path), "a link to a file that is not there", way_out="remove it, or mend it"
        ) from error
    except OSError as error:  # a link to itself, a disk that fails
        raise SourceError(
            str(path), f"cannot be read ({error.strerror})", way_out="remove it, or mend it"
        ) from error


def describe_kind(mode: int) -> str:
    """Return what a path is that is no file, by its mode."""
    if stat.S_ISFIFO(mode):
        return "a pipe"
    if stat.S_ISDIR(mode):
        return "a folder"
    if stat.S_ISSOCK(mode):
        return "a socket"
    return "a device"


def _inflate(path: Path, head: bytes) -> bytes:
    try:
        # At most so many bytes: a file of zeros would otherwise fill memory before it is found to be no trace.
        return isal_zlib.decompressobj(wbits=31).decompress(head, 4 * HEAD)
    except DAMAGE as error:
        raise damaged(path, error) from error


def whole_lines(head: bytes) -> list[str]:
    """Return the whole lines at the start of a file (its only line even without a newline)."""
    lines = head.decode("utf-8", "replace").split("\n")
    return [line.removesuffix("\r") for line in lines[:-1] if line.strip()] or lines[:1]


def _recognize(
    path: Path,
    head: bytes,
    is_gzip: bool,
    orders: Mapping[str, tuple[str, ...]],
    dialects: Sequence[Dialect],
) -> Source:
    if head[:4] == b"PAR1":
        return _by_names(path, "parquet", [_parquet_columns(path, is_gzip)], dialects)
    if _ANSWER.match(head):
        return _range_query(path, head, dialects)
    lines = whole_lines(head)
    if lines[0].lstrip().startswith("{"):
        return _by_names(path, "json", _json_keys(lines), dialects)
    if path.name.removesuffix(".gz").endswith(".swf") or lines[0].startswith(";"):
        return _workload_format(path, dialects)
    found = _by_header(path, _header(lines[0]), dialects)
    # Not the first line alone: it may be the one that is damaged, and its file still has a table.
    for line in lines[:20]:
        widths = [each.count(",") + 1 for each in lines]
        found = found or _by_places(path, line.split(","), orders, widths, dialects)
    if found is None:
        raise not_a_trace(path, lines[0])
    return found


def _range_query(path: Path, head: bytes, dialects: Sequence[Dialect]) -> Source:
    for dialect in dialects:
        if "prometheus" in dialect.formats:
            return Source(path, dialect, metric_of(path, head, dialect), "prometheus")
    raise not_a_trace(path, "an answer of Prometheus")


def _workload_format(path: Path, dialects: Sequence[Dialect]) -> Source:
    for dialect, raw in _tables("swf", dialects, is_positional=True):
        return Source(path, dialect, raw.name, "swf", order=raw.names)
    raise not_a_trace(path, "the Standard Workload Format")


def _header(line: str) -> list[str]:
    try:
        return next(csv.reader([line]), [])
    # A "field" of more than 128 KB, or a return inside it: no header of ours.
    except csv.Error:
        return []


def _parquet_columns(path: Path, is_gzip: bool) -> list[str]:
    try:
        with path.open("rb") as file:
            return list(
                pq.read_schema(io.BytesIO(gzip.decompress(file.read())) if is_gzip else file).names
            )
    except Exception as error:  # pyarrow raises OSError, ArrowInvalid … for damaged footers
        raise SourceError(str(path), "damaged Parquet file", way_out="fetch it again") from error


def _json_keys(lines: Sequence[str]) -> list[list[str]]:
    """Return the keys of each record among the first lines."""
    found = []
    for line in lines[:50]:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            # The head may end in the middle of a record, and one that is damaged or nested too deep says nothing.
            continue
        if isinstance(record, dict):
            found.append(sorted(record))
    return found


def _tables(
    kind: Format, dialects: Sequence[Dialect], *, is_positional: bool = False
) -> list[tuple[Dialect, RawTable]]:
    return [
        (dialect, raw)
        for dialect in dialects
        if kind in dialect.formats
        for raw in dialect.tables.values()
        if raw.is_positional == is_positional
    ]


def _by_names(
    path: Path, kind: Format, records: Sequence[Sequence[str]], dialects: Sequence[Dialect]
) -> Source:
    """Return the table that the first record which fits one can only belong to.

    Several tables may fit a record with few fields; the file's name then decides, if it can.
    """
    # JSON leaves NULL fields out, so a record shows some of its table's names, but never others.
    for keys in map(set, records):
        fitting = [
            Source(path, dialect, raw.name, kind)
            for dialect, raw in _tables(kind, dialects)
            # Own data may hold more than is declared; another file where its name says what it is.
            if set(raw.mandatory) <= keys
            and (dialect.conversion or keys <= set(raw.names) or path.name.startswith(raw.name))
        ]
        if fitting:
            return max(fitting, key=lambda found: _likeness(found, keys))
    raise not_a_trace(path, ", ".join(records[0][:6]) if records else "no records")


def _by_header(path: Path, header: Sequence[str], dialects: Sequence[Dialect]) -> Source | None:
    """Return the table that delimited text with a header belongs to."""
    for dialect in dialects:
        if dialect.flattened and dialect.flattened.header <= set(header):
            return Source(path, dialect, "kaggle", "kaggle")
    fitting = [
        Source(path, dialect, raw.name, "csv", order=tuple(header), has_header=True)
        for dialect, raw in _tables("csv", dialects)
        if set(raw.mandatory) <= set(header)
    ]
    return max(fitting, key=lambda found: _likeness(found, set(header)), default=None)


def _likeness(found: Source, names: set[str]) -> tuple[bool, bool, int]:
    """Whether a file has no strange fields, its name says that it holds the table, how much of the declared it has.

    `max` takes the first where several are alike.
    """
    raw = found.dialect.tables[found.table]
    shared = len(names & set(raw.names)) if found.dialect.conversion else 0
    is_plain = bool(found.dialect.conversion) or names <= set(raw.names)
    # BigQuery writes a table into a folder, as files whose names are numbers.
    is_named = found.path.name.startswith(found.table) or found.path.parent.name == found.table
    return is_plain, is_named, shared


def _by_places(
    path: Path,
    fields: Sequence[str],
    orders: Mapping[str, tuple[str, ...]],
    widths: Sequence[int],
    dialects: Sequence[Dialect],
) -> Source | None:
    """Return the table that a row of these fields can only belong to; the first legal width tells its version."""
    fitting = []
    for dialect, raw in _tables("csv", dialects, is_positional=True):
        order = orders.get(raw.name, tuple(field.name for field in raw.fields))
        patterns = {order.index(field.name): field.pattern for field in raw.fields if field.pattern}
        if len(fields) in raw.field_counts and all(
            re.fullmatch(pattern, fields[place])
            for place, pattern in patterns.items()
            if place < len(fields)
        ):
            width = next(width for width in widths if width in raw.field_counts)
            fitting.append(
                (len(patterns), Source(path, dialect, raw.name, "csv", order=order[:width]))
            )
    # The more fields have a pattern, the more the match says: six fields alone are those of two tables.
    return max(fitting, key=lambda found: found[0], default=(0, None))[1]


def cell_in_path(path: Path, dialect: Dialect) -> str:
    """Return the cell that the path says, the nearest: by a folder or a file named like the bucket, or ``cell_a``."""
    if not dialect.publication or not dialect.cells:
        return ""
    cell = f"([{''.join(dialect.cells)}])"
    # Not part of a longer word: ``clusterdata_2019_archive`` is not cell a.  A folder is called so by its whole name.
    bucket = f"{dialect.publication.bucket.format(cell=cell)}(?![a-z])"
    pattern = rf"{bucket}|/cell[-_=]{cell}(?=/)|[/._-]cell[-_=]{cell}(?=[._-][^/]*$)"
    found = [
        match[match.lastindex or 0]
        for match in re.finditer(pattern, str(path.parent.resolve() / path.name))
    ]
    return found[-1] if found else ""


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
