"""Files without a header, whose fields are known by their places: told by their published name, or by what fields hold.

As many columns as a table of Google's has are no sign of one: a file of another name must hold what its table holds,
row by row.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from borgtrace.ingest.files.raw_file import RawFile
from borgtrace.ingest.files.separators import split_fields
from borgtrace.ingest.files.task_files import day_of
from borgtrace.schema import Dialect, RawField, RawTable

_PUBLISHED_NAME = re.compile(r"part-\d{5}-of-\d{5}\.csv.*")
_PARTS = re.compile(r"-of-(\d+)")
_ROWS = 200
"""Rows that are looked at."""
_MOST_DAMAGED = 0.1
"""Share of rows that may hold something else than their table: one may always, they are damaged."""
_FIRST_LINES = 20
"""Lines any of which tells the table: the first one may be the one that is damaged."""

_INTEGER = re.compile(r"-?\d+(\.0)?")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_HASH = re.compile(r"[A-Za-z0-9+/]{20,}={0,2}")


def _is_hash_or_integer(text: str) -> bool:
    return bool(_HASH.fullmatch(text) or _INTEGER.fullmatch(text))


_TESTS: Mapping[str, Callable[[str], object]] = {
    "INTEGER": _INTEGER.fullmatch,
    "FLOAT": _NUMBER.fullmatch,
    "STRING_HASH": _HASH.fullmatch,
    "STRING_HASH_OR_INTEGER": _is_hash_or_integer,
    "BOOLEAN": lambda text: text in ("0", "1"),
}
"""What a text must be, by the publisher's word for the type of its field."""


class PlacedTable(NamedTuple):
    """The table of a file without a header, its fields in the order of the file, and formats that fit as well."""

    dialect: Dialect
    table: str
    order: tuple[str, ...]
    rivals: tuple[Dialect, ...] = ()


class _Candidate(NamedTuple):
    dialect: Dialect
    raw: RawTable
    order: tuple[str, ...]


def table_by_places(
    file: RawFile,
    lines: Sequence[str],
    orders: Mapping[str, tuple[str, ...]],
    tables: Sequence[tuple[Dialect, RawTable]],
) -> PlacedTable | None:
    """Return the table that the rows of a file can only belong to; None where there is none.

    Parameters
    ----------
    file
        The file.
    lines
        Its first lines.
    orders
        Fields of raw tables in the order that the folder's own ``schema.csv`` gives.
    tables
        Tables whose fields are known by their places.
    """
    is_told = len({dialect.name for dialect, _ in tables}) == 1
    possible = [
        (dialect, raw) for dialect, raw in tables if is_told or _may_name_task(file, raw, lines)
    ]
    rows = [split_fields(line) for line in lines[:_ROWS]]
    for row in rows[:_FIRST_LINES]:
        candidate = _best_candidate(row, orders, possible)
        if candidate is None:
            continue
        if _is_named_so(file, candidate.raw) or _holds(candidate, rows):
            widths = [len(row) for row in rows if len(row) in candidate.raw.field_counts]
            # The first legal width tells the version.
            order = candidate.order[: widths[0]]
            return _told_by_parts(file, candidate, order, possible)
    return None


def _told_by_parts(
    file: RawFile,
    candidate: _Candidate,
    order: tuple[str, ...],
    tables: Sequence[tuple[Dialect, RawTable]],
) -> PlacedTable:
    """Return the table of a file, of those that two versions of a trace have alike: their numbers of files tell."""
    alike = [
        (dialect, raw)
        for dialect, raw in tables
        if raw.name == candidate.raw.name and _patterns(raw) == _patterns(candidate.raw)
    ]
    named = _PARTS.search(file.file_name)
    for dialect, raw in alike:
        if named and raw.parts == int(named[1]):
            return PlacedTable(dialect, raw.name, order)
    rivals = tuple(dialect for dialect, _ in alike if dialect is not candidate.dialect)
    return PlacedTable(candidate.dialect, candidate.raw.name, order, rivals)


def _patterns(raw: RawTable) -> list[str]:
    return [field.pattern for field in raw.fields]


def _may_name_task(file: RawFile, raw: RawTable, lines: Sequence[str]) -> bool:
    """Return whether a file may be of a table whose files name their task: by its folder, and by each of its lines."""
    task_file = raw.task_file
    if task_file is None:
        return True
    has_day = not task_file.day or day_of(task_file, file.place) is not None
    (field,) = raw.fields
    are_alike = all(re.fullmatch(field.pattern, line) for line in lines)
    # A last line without its line feed is not among the lines.
    has_rows = task_file.n_rows in (None, len(lines), len(lines) + 1)
    return has_day and are_alike and has_rows


def _is_named_so(file: RawFile, raw: RawTable) -> bool:
    """Return whether a file is called as its publisher calls it, or as its table, or lies in a folder of that name."""
    folder = PurePosixPath(file.member).parent.name if file.member else file.path.parent.name
    is_published_name = bool(_PUBLISHED_NAME.fullmatch(file.file_name))
    return is_published_name or folder == raw.name or file.file_name.startswith(raw.name)


def _best_candidate(
    row: Sequence[str],
    orders: Mapping[str, tuple[str, ...]],
    tables: Sequence[tuple[Dialect, RawTable]],
) -> _Candidate | None:
    best = None
    most_patterns = -1
    for dialect, raw in tables:
        order = orders.get(raw.name, tuple(field.name for field in raw.fields))
        patterns = {order.index(field.name): field.pattern for field in raw.fields if field.pattern}
        if len(row) not in raw.field_counts or not _match(row, patterns):
            continue
        # The more fields have a pattern, the more the match says: six fields alone are those of two tables.
        if len(patterns) > most_patterns:
            most_patterns = len(patterns)
            best = _Candidate(dialect, raw, order)
    return best


def _match(row: Sequence[str], patterns: Mapping[int, str]) -> bool:
    return all(
        re.fullmatch(pattern, row[place]) for place, pattern in patterns.items() if place < len(row)
    )


def _holds(candidate: _Candidate, rows: Sequence[Sequence[str]]) -> bool:
    """Return whether rows hold what a table holds, by the publisher's types of its fields."""
    fields = {field.name: field for field in candidate.raw.fields}
    ordered = [fields[name] for name in candidate.order]
    if not any(field.format for field in ordered):
        return True
    n_damaged = sum(not _is_right(candidate.dialect, ordered, row) for row in rows)
    is_mostly_right = n_damaged <= max(1, _MOST_DAMAGED * len(rows))
    return is_mostly_right and n_damaged < len(rows) and _has_hashes(ordered, rows)


def _is_right(dialect: Dialect, fields: Sequence[RawField], row: Sequence[str]) -> bool:
    for field, text in zip(fields, row, strict=False):
        if text and field.format and not _TESTS[field.format](text):
            return False
        if text and field.column == "type" and text.removesuffix(".0") not in _codes(dialect):
            return False
    return len(row) <= len(fields)


def _codes(dialect: Dialect) -> set[str]:
    """Return the codes of all events, of tasks and of machines."""
    enums = ("event_type", "machine_event_type")
    return {str(code) for name, codes in dialect.codes.items() if name in enums for code in codes}


def _has_hashes(fields: Sequence[RawField], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether any row has a hash where the table has such fields: numbers alone are anybody's."""
    places = [place for place, field in enumerate(fields) if field.format == "STRING_HASH"]
    if not places:
        return True
    return any(row[place] for row in rows for place in places if place < len(row))
