"""What a file is, by its first bytes and its first rows; the name only helps where rows cannot.

The bucket calls plain Parquet ``.parquet.gz``, people unpack or rename parts, and copies mix
folders, so magic bytes and the shape of the first row decide.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
from isal import isal_zlib

from borgtrace.errors import SourceError
from borgtrace.ingest.sources import Format, Source
from borgtrace.schema import DIALECTS, Dialect, RawTable

HEAD = 1 << 16
_DAMAGE: tuple[type[Exception], ...] = (isal_zlib.error, zlib.error)  # type: ignore[assignment]
_EXPECTED = "a 2011 CSV part, a 2019 JSON or Parquet shard, or the flattened 2019 CSV"


def classify(path: Path, cell: str = "") -> Source:
    """Tell what a raw file is.

    Parameters
    ----------
    path
        The file.
    cell
        The cell, where the caller knows it; else it is taken from a folder named like the bucket.

    Raises
    ------
    SourceError
        When the file is empty, unreadable, damaged at its start or not part of a trace.
    """
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
        size = path.stat().st_size
    except PermissionError as error:
        raise SourceError(str(path), "permission denied", way_out="make the file readable") from error
    is_gzip = head[:2] == b"\x1f\x8b"
    if is_gzip:
        head = _inflate(path, head)
    if not head.strip():
        raise SourceError(str(path), "the file is empty", expected=_EXPECTED, way_out="fetch it again")
    dialect, table, kind = _recognize(path, head, is_gzip)
    return Source(path, dialect, table, kind, is_gzip, size, cell or _cell_of(path, dialect))


def first_line_width(source: Source) -> int:
    """Return how many fields a 2011 file has: the width of the first line that has a legal one."""
    allowed = source.dialect.tables[source.table].field_counts
    widths = [len(line.split(",")) for line in _lines(_head_of(source.path, source.is_gzip))]
    return next((width for width in widths if width in allowed), allowed[-1])


def _head_of(path: Path, is_gzip: bool) -> bytes:
    with path.open("rb") as file:
        head = file.read(HEAD)
    return _inflate(path, head) if is_gzip else head


def _inflate(path: Path, head: bytes) -> bytes:
    try:
        return isal_zlib.decompressobj(wbits=31).decompress(head, 4 * HEAD)
    except _DAMAGE as error:
        raise SourceError(str(path), f"gzip data are damaged ({error})", way_out="fetch it again") from error


def _lines(head: bytes) -> list[str]:
    """Return the whole lines at the start of a file (its only line even without a newline)."""
    lines = head.decode("utf-8", "replace").split("\n")
    return [line.removesuffix("\r") for line in lines[:-1] if line.strip()] or lines[:1]


def _recognize(path: Path, head: bytes, is_gzip: bool) -> tuple[Dialect, str, Format]:
    if head[:4] == b"PAR1":
        return *_by_names(path, "parquet", [_parquet_columns(path, is_gzip)]), "parquet"
    lines = _lines(head)
    if lines[0].lstrip().startswith("{"):
        return *_by_names(path, "json", _json_keys(lines)), "json"
    header = set(next(csv.reader(io.StringIO(lines[0])), []))
    for dialect in DIALECTS.values():
        if dialect.flattened and dialect.flattened.header <= header:
            return dialect, "kaggle", "kaggle"
    for line in lines[:20]:
        found = _by_places(line.split(","))
        if found:
            return *found, "csv"
    raise _not_a_trace(path, lines[0])


def _parquet_columns(path: Path, is_gzip: bool) -> list[str]:
    try:
        plain = io.BytesIO(gzip.decompress(path.read_bytes())) if is_gzip else path
        return list(pq.read_schema(plain).names)
    except Exception as error:  # pyarrow raises OSError, ArrowInvalid … for damaged footers
        raise SourceError(str(path), "damaged Parquet file", way_out="fetch it again") from error


def _json_keys(lines: Sequence[str]) -> list[list[str]]:
    """Return the keys of each record among the first lines."""
    found = []
    for line in lines[:50]:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            found.append(sorted(record))
    return found


def _by_names(path: Path, kind: Format, records: Sequence[Sequence[str]]) -> tuple[Dialect, str]:
    """Return the dialect and the table that the first record which fits one can only belong to.

    Several tables may fit a record with few fields; the file's name then decides, if it can.
    """
    tables = [(one, raw) for one in DIALECTS.values() if kind in one.formats for raw in one.tables.values()]
    for keys in map(set, records):
        fitting = [(one, raw.name) for one, raw in tables if set(raw.mandatory) <= keys <= set(raw.names)]
        if fitting:
            return next((found for found in fitting if path.name.startswith(found[1])), fitting[0])
    raise _not_a_trace(path, ", ".join(records[0][:6]) if records else "no records")


def _by_places(fields: Sequence[str]) -> tuple[Dialect, str] | None:
    """Return the dialect and the table that a row of these fields can only belong to."""
    fitting = [
        (one, raw)
        for one in DIALECTS.values()
        if "csv" in one.formats
        for raw in one.tables.values()
        if _fits(raw, fields)
    ]
    one, raw = max(fitting, key=lambda found: len(found[1].signature), default=(None, None))
    return (one, raw.name) if one and raw else None


def _fits(raw: RawTable, fields: Sequence[str]) -> bool:
    return (
        len(fields) in raw.field_counts
        and fields[0].isdecimal()
        and all(re.fullmatch(pattern, fields[place]) for place, pattern in raw.signature.items())
    )


def _cell_of(path: Path, dialect: Dialect) -> str:
    """Return the cell that a folder named like the bucket says."""
    if not dialect.publication or not dialect.cells:
        return ""
    pattern = dialect.publication.bucket.format(cell=f"([{''.join(dialect.cells)}])")
    found = re.search(rf"{pattern}(?![a-z])", str(path.resolve().parent))
    return found.group(1) if found else ""


def _not_a_trace(path: Path, got: str) -> SourceError:
    shown = repr(got if len(got) <= 40 else got[:40] + "…")
    return SourceError(
        str(path), "not part of a trace", expected=_EXPECTED, got=shown, way_out="leave it out, or fetch it again"
    )
