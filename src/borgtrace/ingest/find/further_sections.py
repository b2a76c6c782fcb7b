"""Sections of a declaration that one file fills: rows of usage may also hold requests and machine sizes."""

from collections.abc import Set

from borgtrace.ingest.files.sources import Source
from borgtrace.schema import RawField, RawTable
from borgtrace.schema.records import row_of

_IDENTITY = (
    "task",
    "instance",
    "machine",
    "job",
    "instance_name",
    "step",
    "cluster",
    "namespace",
    "pod",
    "container",
)
"""Columns of rows that say what they are about, but nothing of it."""
_AMOUNTS = ("cores", "bytes")


def is_further_section(main: Source, other: Source, names: Set[str]) -> bool:
    """Return whether a file is read for another section of its declaration as well.

    Parameters
    ----------
    main
        The file, read for the section that it fits best.
    other
        The file, read for the other one, whose needed columns it has.
    names
        Its columns.

    Notes
    -----
    A section adds something where it reads a column that the main one does not, or where the file has all of its
    columns. One column is not usage here and a request there, so sections that read one column as amounts of two kinds
    are of different files.
    """
    conversion = main.dialect.conversion
    if other.dialect is not main.dialect or conversion is None or not conversion.is_mixed:
        return False
    read_by_main = _telling_names(main, names)
    telling = _telling_names(other, names)
    if _amount_names(main) & _amount_names(other) & names:
        return False
    adds_columns = bool(telling - read_by_main)
    has_all_columns = bool(telling) and set(_raw_table(other).names) <= names
    return adds_columns or has_all_columns


def _raw_table(source: Source) -> RawTable:
    return source.dialect.tables[source.table]


def _telling_names(source: Source, names: Set[str]) -> set[str]:
    """Return the columns of a file that a section reads, but for those that say what a row is about."""
    return {
        field.name
        for field in _raw_table(source).fields
        if field.column and field.column not in _IDENTITY and field.name in names
    }


def _amount_names(source: Source) -> set[str]:
    raw = _raw_table(source)
    return {field.name for field in raw.fields if _is_amount(raw, field)}


def _is_amount(raw: RawTable, field: RawField) -> bool:
    return bool(field.column) and row_of(raw.table).column(field.column).unit in _AMOUNTS
