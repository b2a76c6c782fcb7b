"""Recognize a table of a known format by the names of its columns, or else by the name of the file."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import NamedTuple

from borgtrace.errors import SourceError
from borgtrace.ingest.files.raw_file import RawFile
from borgtrace.ingest.files.sources import Format, Source
from borgtrace.ingest.find.begun_file import (
    EXPECTED,
)
from borgtrace.ingest.find.further_sections import is_further_section
from borgtrace.ingest.find.near_misses import near_miss
from borgtrace.schema import Dialect, RawTable

NOT_A_TRACE = "not part of a trace"


def source_of(
    file: RawFile,
    dialect: Dialect,
    table: str,
    format: Format,
    order: tuple[str, ...] = (),
    *,
    has_header: bool = False,
) -> Source:
    """Return a raw file with what it holds."""
    return Source(
        file.path,
        dialect,
        table,
        format,
        member=file.member,
        packing=file.packing,
        encoding=file.encoding,
        size=file.size,
        version=file.version,
        skipped_bytes=file.skipped_bytes,
        skipped_lines=file.skipped_lines,
        remark=file.remark,
        order=order,
        has_header=has_header,
    )


def tables_of(
    kind: Format,
    dialects: Sequence[Dialect],
    *,
    is_positional: bool = False,
) -> list[tuple[Dialect, RawTable]]:
    """Return the raw tables that may come in a kind of file.

    Parameters
    ----------
    kind
        How the file is read.
    dialects
        The formats that it may be of.
    is_positional
        Whether fields are known by their place, rather than by name.
    """
    tables = []
    for dialect in dialects:
        # Whatever comes with names of columns may come as a table of any kind of file.
        comes_as_table = not {"csv", "parquet"}.isdisjoint(dialect.formats)
        has_kind = kind in dialect.formats or (kind == "table" and comes_as_table)
        for raw in dialect.tables.values():
            if has_kind and raw.is_positional == is_positional:
                tables.append((dialect, raw))
    return tables


def tables_by_names(
    file: RawFile,
    kind: Format,
    records: Sequence[Sequence[str]],
    dialects: Sequence[Dialect],
) -> list[Source]:
    """Return the table that the first record which fits one can only belong to, and further sections of own data.

    Several tables may fit a record with few fields; the file's name then decides, if it can.
    """
    # JSON leaves NULL fields out, so a record shows some of its table's names, but never others.
    for record in records:
        fitting = []
        for dialect, raw in tables_of(kind, dialects):
            if _fits_names(file, dialect, raw, record):
                fitting.append(source_of(file, dialect, raw.name, kind))
        if fitting:
            sources = _best_and_further(fitting, set(record))
            for source in sources:
                raw = source.dialect.tables[source.table]
                _require_different_names(file.label, record, raw)
            # A record of JSON leaves out what it has no value for: others may have further names.
            return sources if kind == "json" else [_with_unread(each, record) for each in sources]
    missed = near_miss(file.label, records[0], tables_of(kind, dialects)) if records else None
    raise missed or not_a_trace(file.label, ", ".join(records[0][:6]) if records else "no records")


def _best_and_further(fitting: Sequence[Source], names: set[str]) -> list[Source]:
    """Return the table that a file with some names fits best, and those of the same format that it is read for too."""
    best = _likest(fitting, names)
    sources = [best]
    for other in fitting:
        if other is not best and is_further_section(best, other, names):
            sources.append(other)
    return sources


def _fits_names(file: RawFile, dialect: Dialect, raw: RawTable, names: Sequence[str]) -> bool:
    """Return whether a file of these names may be of a table."""
    keys = {raw.spelled(name) for name in names}
    # Own data may hold more than is declared; another file if its name names the table.
    may_hold_more = bool(dialect.conversion) or file.file_name.startswith(raw.name)
    is_marked = not raw.marks or not keys.isdisjoint(raw.marks)
    is_known = may_hold_more or keys <= set(raw.names)
    return set(raw.mandatory) <= keys and is_marked and is_known


def tables_by_header(
    file: RawFile, header: Sequence[str], dialects: Sequence[Dialect]
) -> list[Source]:
    """Return the table of delimited text with a header, and further sections of own data; none for others."""
    for dialect in dialects:
        if dialect.flattened and dialect.flattened.header <= set(header):
            return [source_of(file, dialect, "kaggle", "kaggle")]
    names = set(header)
    fitting = []
    for dialect, raw in tables_of("csv", dialects):
        if _fits_names(file, dialect, raw, header):
            order = tuple(raw.spelled(name) for name in header)
            fitting.append(source_of(file, dialect, raw.name, "csv", order, has_header=True))
    for dialect, raw in tables_of("csv", dialects, is_positional=True):
        # Somebody wrote the published names above the rows of a table that has none.
        order = _published_names(header, raw)
        if raw.task_file is None and order:
            fitting.append(source_of(file, dialect, raw.name, "csv", order, has_header=True))
    if not fitting:
        return []
    sources = _best_and_further(fitting, names)
    for source in sources:
        _require_different_names(file.label, header, source.dialect.tables[source.table])
    return [_with_unread(source, header) for source in sources]


def _published_names(header: Sequence[str], raw: RawTable) -> tuple[str, ...]:
    """Return the published names of a header that has all of them, as people spell them: ``job_id`` is ``job ID``."""
    published = {_letters(name): name for name in raw.names}
    spelled = [_letters(name) for name in header]
    if sorted(spelled) != sorted(published):
        return ()
    return tuple(published[name] for name in spelled)


def _letters(name: str) -> str:
    letters = re.sub(r"[^a-z0-9]", "", name.lower())
    return "time" if letters == "timestamp" else letters


def _with_unread(source: Source, names: Sequence[str]) -> Source:
    """Return a file with the columns that its table does not have; what belongs to own data is not known."""
    if source.dialect.conversion:
        return source
    raw = source.dialect.tables[source.table]
    known = {field.path[0] for field in raw.fields}
    if source.format != "csv":
        known.update(raw.names)
    unread = tuple(name for name in names if raw.spelled(name) not in known)
    return replace(source, unread=unread)


def _require_different_names(label: str, header: Sequence[str], raw: RawTable) -> None:
    """Refuse two columns of a name that is read, or of two spellings of it: nothing says which one is meant."""
    for name in raw.names:
        alike = [other for other in header if raw.spelled(other) == name]
        if len(alike) > 1:
            raise SourceError(
                label,
                "two columns have one name",
                got=" and ".join(dict.fromkeys(alike)),
                way_out="rename or remove one of them",
            )


def _likest(fitting: Sequence[Source], names: set[str]) -> Source:
    """Return what a file is most like; where two formats fit equally well, the user has to say which one it is."""
    likenesses = [_likeness(source, names) for source in fitting]
    most = max(likenesses)
    equal = [
        source for source, likeness in zip(fitting, likenesses, strict=True) if likeness == most
    ]
    best = equal[0]
    rivals = [source for source in equal if source.dialect is not best.dialect]
    if rivals:
        raise two_formats([best, *rivals])
    return best


def two_formats(fitting: Sequence[Source]) -> SourceError:
    """Return the error for a file that fits several formats equally well, with what speaks for each."""
    reasons = []
    for source in fitting:
        columns = ", ".join(source.dialect.tables[source.table].mandatory)
        reasons.append(f"{source.dialect.name} ({source.table} has {columns})")
    options = " or ".join(f"--dialect {source.dialect.name}" for source in fitting)
    return SourceError(
        fitting[0].label,
        "fits more than one format",
        got="; ".join(reasons),
        way_out=f"say which one it is: {options}",
    )


class _Likeness(NamedTuple):
    """How well a file fits a table; the first of equal ones is taken."""

    has_no_strange_fields: bool
    is_named_so: bool
    n_declared: int


def _likeness(source: Source, names: set[str]) -> _Likeness:
    raw = source.dialect.tables[source.table]
    declared = set(raw.names)
    names = {raw.spelled(name) for name in names}
    is_own_data = bool(source.dialect.conversion)
    folder = source.member or str(source.path)
    return _Likeness(
        has_no_strange_fields=is_own_data or names <= declared,
        # BigQuery writes a table into a folder, as files whose names are numbers.
        is_named_so=source.file_name.startswith(source.table)
        or PurePosixPath(folder).parent.name == source.table,
        n_declared=len(names & declared),
    )


def not_a_trace(label: str, got: str) -> SourceError:
    """Return the error for a file that is no part of a trace; long texts are shortened."""
    shown = repr(got if len(got) <= 40 else got[:40] + "…")
    return SourceError(
        label,
        NOT_A_TRACE,
        expected=EXPECTED,
        got=shown,
        way_out="borgtrace dialect list shows what is read, borgtrace dialect sniff FILE what a table may be",
    )
