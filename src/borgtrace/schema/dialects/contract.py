"""Check that a trace format fits the declared tables and enumerations, for its author to run."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from borgtrace.errors import SchemaError, did_you_mean
from borgtrace.schema.dialects.raw import RawTable
from borgtrace.schema.dialects.trace_format import Dialect
from borgtrace.schema.enums import ENUMS
from borgtrace.schema.records import RECORDS, USAGE_ROWS, row_of
from borgtrace.schema.tables import TABLES
from borgtrace.schema.time import is_time_zone

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,40}")
_RAW_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_:-]{0,99}")
_NEEDS_NO_FIELD = frozenset(
    {
        "collection_type",
        "is_on_dedicated_machine",
        "position",
        "source_part",
        "source_row",
    }
)
"""Mandatory columns that ingest fills where a format has no field for them."""


def check_dialect(dialect: Dialect) -> None:
    """Refuse a trace format that does not fit the declared tables.

    Parameters
    ----------
    dialect
        The format.

    Raises
    ------
    SchemaError
        It names all faults at once: fields of columns that do not exist, codes of names that an enumeration does not
        have, tiers with gaps …

    Examples
    --------
    >>> from borgtrace.schema import Dialect, RawField, RawTable
    >>> fields = RawField("ts", "tme"), RawField("cell", "cell"), RawField("pdu", "pdu")
    >>> load = RawTable("load", "power_measurements", fields)
    >>> check_dialect(Dialect(name="own", title="Own trace", tables={"load": load}))
    Traceback (most recent call last):
    borgtrace.errors.SchemaError: own: not a sound trace format: got load.ts fills tme, which power_measurements does \
not have (did you mean time?); no field of load fills time, which power_measurements must have
    """
    faults = faults_of(dialect)
    if faults:
        raise SchemaError(dialect.name, "not a sound trace format", got="; ".join(faults))


def faults_of(dialect: Dialect) -> list[str]:
    """Return what keeps a trace format from fitting the declared tables, one sentence each.

    Parameters
    ----------
    dialect
        The format.
    """
    return [
        *_faults_of_names(dialect),
        *_faults_of_tables(dialect),
        *_faults_of_missing_fields(dialect),
        *_faults_of_codes(dialect),
        *_faults_of_tiers(dialect),
        *_faults_of_patterns(dialect),
        *_faults_of_time_zones(dialect),
    ]


def _raw_tables(dialect: Dialect) -> Iterator[RawTable]:
    for raw in dialect.tables.values():
        yield raw
        yield from raw.lists


def _faults_of_names(dialect: Dialect) -> Iterator[str]:
    """Find names that could not be those of options, folders and files."""
    if not _NAME.fullmatch(dialect.name):
        yield f"its name is {dialect.name!r}: small letters, digits and hyphens"
    if not dialect.tables:
        yield "it has no tables"
    for key, raw in dialect.tables.items():
        if key != raw.name:
            yield f"the table {raw.name} is listed as {key}"
    for raw in _raw_tables(dialect):
        if not _RAW_NAME.fullmatch(raw.name):
            yield f"the name of a table is {raw.name!r}: letters, digits, _ and -"


def _faults_of_patterns(dialect: Dialect) -> Iterator[str]:
    patterns = {
        f"{raw.name}.{field.name}": field.pattern
        for raw in _raw_tables(dialect)
        for field in raw.fields
    }
    if dialect.conversion is not None:
        patterns["conversion.dependency_pattern"] = dialect.conversion.dependency_pattern
    for where, pattern in patterns.items():
        try:
            re.compile(pattern)
        except re.error as error:
            yield f"{where} has a pattern that is no regular expression ({error}): {pattern}"


def _faults_of_tables(dialect: Dialect) -> Iterator[str]:
    for raw in _raw_tables(dialect):
        is_converted = raw.table in RECORDS
        if is_converted and dialect.conversion is None:
            yield f"{raw.name} has {raw.table}, which need a conversion"
        if dialect.conversion is not None and not is_converted:
            yield f"{raw.name} has rows of {raw.table}, which are not converted"
        if raw.table not in RECORDS and raw.table not in TABLES:
            yield f"{raw.name} has rows of {raw.table}, which is no table"
        else:
            yield from _faults_of_fields(raw)


def _faults_of_fields(raw: RawTable) -> Iterator[str]:
    columns = row_of(raw.table).names
    for field in raw.fields:
        if field.column and field.column not in columns:
            question = did_you_mean(field.column, columns)
            hint = f" ({question})" if question else ""
            yield f"{raw.name}.{field.name} fills {field.column}, which {raw.table} does not have{hint}"
    fills = Counter(field.column for field in raw.fields if field.column)
    yield from (f"{raw.name} fills {name} twice" for name, n in fills.items() if n > 1)
    names = Counter(field.name for field in raw.fields)
    yield from (f"{raw.name} has the field {name} twice" for name, n in names.items() if n > 1)


def _faults_of_missing_fields(dialect: Dialect) -> Iterator[str]:
    """Find raw tables whose every row would be refused, since nothing fills a mandatory column."""
    for raw in dialect.tables.values():
        is_converted = raw.table in RECORDS
        if raw.table not in TABLES and not (is_converted and dialect.conversion is not None):
            continue
        filled_columns = {field.column for field in raw.fields}
        if raw.task_file:
            filled_columns.update(raw.task_file.columns)
        for column in row_of(raw.table).columns:
            is_needed = not column.nullable and column.name not in _NEEDS_NO_FIELD
            if is_needed and column.name not in filled_columns:
                yield f"no field of {raw.name} fills {column.name}, which {raw.table} must have"
        # Windows without a time of their own follow one another; means over the life of an instance have its window.
        has_window = filled_columns & {"time", "length", "instance_name"}
        if raw.table == USAGE_ROWS.name and not has_window:
            yield f"no field of {raw.name} fills time or length, one of which {raw.table} must have"


def _faults_of_codes(dialect: Dialect) -> Iterator[str]:
    for enum, codes in dialect.codes.items():
        if enum not in ENUMS:
            yield f"codes of {enum}, which is no enumeration"
            continue
        unknown = set(codes.values()) - set(ENUMS[enum].names)
        yield from (f"{name} is no name of {enum}" for name in sorted(unknown))
        doubled = set(codes) & set(dialect.null_codes.get(enum, ()))
        yield from (f"code {code} of {enum} is NULL too" for code in sorted(doubled, key=str))
    for raw in _raw_tables(dialect):
        if raw.table not in RECORDS and raw.table not in TABLES:
            continue
        for column in row_of(raw.table).columns:
            is_filled = any(field.column == column.name for field in raw.fields)
            if is_filled and column.enum and column.enum not in dialect.codes:
                yield f"{raw.name} fills {column.name}, but there are no codes of {column.enum}"


def _faults_of_tiers(dialect: Dialect) -> Iterator[str]:
    if not dialect.tiers:
        yield "no tiers"
        return
    name, lowest, _ = dialect.tiers[0]
    if lowest != 0:
        yield f"the first tier, {name}, begins at {lowest} rather than 0"
    for (_, _, before), (name, first, _) in pairwise(dialect.tiers):
        if first != before + 1:
            yield f"the tier {name} begins at {first} rather than {before + 1}"


def _faults_of_time_zones(dialect: Dialect) -> Iterator[str]:
    for cell, zone in dialect.time_zones.items():
        if not is_time_zone(zone):
            where = f" of cell {cell}" if cell else ""
            yield f"no such time zone{where}: {zone}"
