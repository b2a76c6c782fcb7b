"""The staged parts of a table and its present files, as one relation with canonical columns."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from borgtrace.engine.embedded import columns_sql, files_sql, select_sql
from borgtrace.engine.identifiers import number, quoted
from borgtrace.engine.stored import footers
from borgtrace.ingest.files.staged_part import StagedPart
from borgtrace.schema import Table
from borgtrace.storage import RemotePath
from borgtrace.store.manifest import SourceEntry

CONSTANTS: Mapping[str, str | bool | int] = {
    "collection_type": "JOB",
    "is_on_dedicated_machine": False,
    "position": 0,
}
"""What 2011 does not publish because it has but one value."""
_CONSTANTS_SQL = {
    "collection_type": "'JOB'",
    "is_on_dedicated_machine": "false",
    "position": "0",
}

PartsByColumns = Mapping[tuple[str, ...], Sequence[StagedPart]]
"""Parts that are read together, by their columns: files of 19 and of 20 may lie side by side (v2.0 and v2.1)."""


def by_columns(numbers: Mapping[Path, int]) -> PartsByColumns:
    """Group staged files, with the source_part of each, by the names of their columns, which their footers say."""
    parts_of_columns: dict[tuple[str, ...], list[StagedPart]] = {}
    for (path, part), footer in zip(numbers.items(), footers(numbers), strict=True):
        columns = tuple(footer.schema.to_arrow_schema().names)
        parts_of_columns.setdefault(columns, []).append(StagedPart(path, part))
    return parts_of_columns


def number_parts(entries: Sequence[SourceEntry]) -> dict[str, int]:
    """Give every source its source_part: the number in its name, else its rank by content digest.

    Ranks begin after the largest number of the same table, so that no two sources share one.  Where numbers come again
    in other folders, places in their order stand for them: parts of one folder stay in order.

    Examples
    --------
    >>> number_parts([])
    {}
    """
    number_of_source: dict[str, int] = {}
    for table in sorted({entry.raw_table for entry in entries}):
        numbered = []
        others = []
        for entry in entries:
            if entry.raw_table != table:
                continue
            if entry.part is None:
                others.append((entry.sha256, entry.name))
            else:
                numbered.append((entry.part, entry.sha256, entry.name))
        numbered.sort()
        others.sort()
        parts: Sequence[int] = [part for part, _, _ in numbered]
        if len(set(parts)) < len(parts):
            parts = range(len(parts))
        for (_, _, name), part in zip(numbered, parts, strict=True):
            number_of_source[name] = part
        first_rank = max(parts, default=-1) + 1
        for rank, (_, name) in enumerate(others, first_rank):
            number_of_source[name] = rank
    return number_of_source


def moved_parts(
    table: str,
    present: Sequence[SourceEntry],
    numbers: Mapping[str, int],
) -> dict[int, int | None]:
    """Return what the source_part of each row of a store becomes, None where the row goes.

    Parameters
    ----------
    table
        Canonical table.
    present
        Sources of the store.
    numbers
        Numbers of the sources that stay, by name.
    """
    numbers_before = number_parts(present)
    moved = {}
    for entry in present:
        if entry.table == table or entry.also.get(table):
            moved[numbers_before[entry.name]] = numbers.get(entry.name)
    return moved


def staged_relation(table: Table, parts: PartsByColumns) -> str:
    """Write the query that yields the canonical columns of `table` over staged parts.

    A column that a part lacks is NULL, or what its generation implies.  Parts of a bucket are read from the views that
    `show_parts` makes.

    Parameters
    ----------
    table
        The canonical table.
    parts
        Its staged files, from `by_columns`; none gives a relation without rows.
    """
    if not parts:
        values_sql = columns_sql(table, _CONSTANTS_SQL)
        return f"SELECT {values_sql} WHERE false"
    return " UNION ALL ".join(
        _parts_sql(table, columns, parts_alike) for columns, parts_alike in parts.items()
    )


def _parts_sql(table: Table, columns: Sequence[str], parts: Sequence[StagedPart]) -> str:
    """Write the rows of parts that have the same columns."""
    column_sql = {
        **_CONSTANTS_SQL,
        **{column: quoted(column) for column in columns},
        "source_part": "part_number",
    }
    values_sql = columns_sql(table, column_sql, is_typed=False)
    is_remote = isinstance(parts[0].path, RemotePath)
    rows_sql = quoted(_view_name(columns)) if is_remote else _numbered_sql(parts)
    return f"SELECT {values_sql} FROM {rows_sql}"


def _numbered_sql(parts: Sequence[StagedPart]) -> str:
    numbers_sql = ", ".join(number(part.part) for part in parts)
    parts_sql = files_sql([part.path for part in parts])
    # By the file's number among those read: a map searched by its name costs each row more with each part.
    return f"""(
        SELECT *, ([{numbers_sql}])[CAST(file_index AS BIGINT) + 1] AS part_number
        FROM {parts_sql}
    )"""


def _view_name(columns: Sequence[str]) -> str:
    return " ".join(columns)


def show_parts(connection: duckdb.DuckDBPyConnection, parts: PartsByColumns) -> None:
    """Make the views that a relation of staged parts of a bucket reads; none for parts of this machine.

    Parameters
    ----------
    connection
        Where the relation will be asked.
    parts
        Those that the relation was made of.

    Notes
    -----
    Arrow reads the parts: it is handed the columns and the range of collections, and skips row groups by it.
    """
    import pyarrow.dataset as ds

    file_format = ds.ParquetFileFormat()
    for columns, parts_alike in parts.items():
        fragments = []
        for part in parts_alike:
            if isinstance(part.path, RemotePath):
                filesystem, key = part.path.located
                is_part = ds.field("part_number") == part.part
                fragments.append(file_format.make_fragment(key, filesystem, is_part))
        if fragments:
            schema = fragments[0].physical_schema.append(pa.field("part_number", pa.int32()))
            rows = ds.FileSystemDataset(fragments, schema, file_format, filesystem)
            connection.from_arrow(rows).create_view(_view_name(columns), replace=True)


def present_relation(
    table: Table,
    paths: Sequence[Path],
    renumbered: Mapping[int, int | None],
) -> str:
    """Write the query of the rows a store holds already, with source_part as it is now numbered, or without (None).

    Parameters
    ----------
    table
        The canonical table.
    paths
        Its files in the store, at least one.
    renumbered
        By present source_part: the new number, or None where the rows are not kept.
    """
    cases = []
    gone = []
    for old, new in sorted(renumbered.items()):
        if new is None:
            gone.append(number(old))
        elif new != old:
            # Only ranks move, when a file without a number in its name comes in between.
            cases.append(f"WHEN {number(old)} THEN {number(new)}")
    part_sql = "source_part"
    if cases:
        cases_sql = " ".join(cases)
        part_sql = f"CASE source_part {cases_sql} ELSE source_part END"
    rows_sql = select_sql(table, paths, {"source_part": part_sql})
    if not gone:
        return rows_sql
    gone_sql = ", ".join(gone)
    return f"{rows_sql} WHERE source_part NOT IN ({gone_sql})"
