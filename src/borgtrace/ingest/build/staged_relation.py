"""The staged parts of a table, and its present files, as one relation with canonical columns."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from borgtrace.engine.embedded import columns_sql, files_sql, select_sql
from borgtrace.engine.stored import footers
from borgtrace.ingest.files.staged_part import StagedPart
from borgtrace.schema import Table
from borgtrace.schema.sql import quoted
from borgtrace.storage import RemotePath
from borgtrace.store.manifest import SourceEntry

# What 2011 does not publish because it has but one value.
_CONSTANTS = {"collection_type": "'JOB'", "is_on_dedicated_machine": "false", "position": "0"}


PartsByColumns = Mapping[tuple[str, ...], Sequence[StagedPart]]
"""Parts that are read together, by their columns: files of 19 and of 20 may lie side by side (v2.0 and v2.1)."""


def by_columns(numbers: Mapping[Path, int]) -> PartsByColumns:
    """Group staged files, with the source_part of each, by the names of their columns, which their footers say."""
    groups: dict[tuple[str, ...], list[StagedPart]] = {}
    for (path, number), footer in zip(numbers.items(), footers(numbers), strict=True):
        groups.setdefault(tuple(footer.schema.to_arrow_schema().names), []).append(
            StagedPart(path, number)
        )
    return groups


def number_parts(entries: Sequence[SourceEntry]) -> dict[str, int]:
    """Give every source its source_part: the number in its name, else its rank by content digest.

    Ranks begin after the largest number of the same table, so that no two sources share one.  Where numbers come again
    in other folders, places in their order stand for them: parts of one folder stay in order.

    Examples
    --------
    >>> number_parts([])
    {}
    """
    numbers: dict[str, int] = {}
    for table in sorted({entry.raw_table for entry in entries}):
        mine = [entry for entry in entries if entry.raw_table == table]
        named = sorted(
            (entry.part, entry.sha256, entry.name) for entry in mine if entry.part is not None
        )
        parts: Sequence[int] = [part for part, *_ in named]
        if len(set(parts)) < len(parts):
            parts = range(len(parts))
        unnamed = sorted((entry.sha256, entry.name) for entry in mine if entry.part is None)
        numbers |= {name: part for (*_, name), part in zip(named, parts, strict=True)}
        numbers |= {
            name: rank for rank, (_, name) in enumerate(unnamed, max(parts, default=-1) + 1)
        }
    return numbers


def moved_parts(
    table: str, held: Sequence[SourceEntry], now: Mapping[str, int]
) -> dict[int, int | None]:
    """Return what the source_part of each row of a store becomes, None where the row goes.

    Parameters
    ----------
    table
        Canonical table.
    held
        Sources of the store.
    now
        Numbers of the sources that stay, by name.
    """
    before = number_parts(held)
    return {before[e.name]: now.get(e.name) for e in held if e.table == table or e.also.get(table)}


def staged_relation(table: Table, parts: PartsByColumns) -> str:
    """Return SQL yielding the canonical columns of `table` over staged parts.

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
        return f"SELECT {columns_sql(table, _CONSTANTS)} WHERE false"
    return " UNION ALL ".join(
        f"SELECT {columns_sql(table, {**_CONSTANTS, **quoted(names), 'source_part': 'part_number'}, is_typed=False)} "
        f"FROM {_view(names) if isinstance(found[0].path, RemotePath) else _numbered(found)}"
        for names, found in parts.items()
    )


def _numbered(parts: Sequence[StagedPart]) -> str:
    numbers = ", ".join(str(part.part) for part in parts)
    return (
        # By the file's number among those read: a map searched by its name costs each row more with each part.
        f"(SELECT *, ([{numbers}])[CAST(file_index AS BIGINT) + 1] AS part_number "
        f"FROM {files_sql([part.path for part in parts])})"
    )


def _view(names: tuple[str, ...]) -> str:
    return f'"{" ".join(names)}"'


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
    Arrow reads the parts: it is told the columns and the range of collections, and skips row groups by it.
    """
    import pyarrow.dataset as ds

    for names, found in parts.items():
        if located := [
            (*part.path.located, part.part) for part in found if isinstance(part.path, RemotePath)
        ]:
            system, kind = located[0][0], ds.ParquetFileFormat()
            fragments = [
                kind.make_fragment(path, system, ds.field("part_number") == part)
                for _, path, part in located
            ]
            schema = fragments[0].physical_schema.append(pa.field("part_number", pa.int32()))
            rows = ds.FileSystemDataset(fragments, schema, kind, system)
            connection.from_arrow(rows).create_view(" ".join(names), replace=True)


def present_relation(
    table: Table, paths: Sequence[Path], renumbered: Mapping[int, int | None]
) -> str:
    """Return SQL yielding the rows a store holds already, with source_part as it is now numbered, or without (None).

    Parameters
    ----------
    table
        The canonical table.
    paths
        Its files in the store, at least one.
    renumbered
        By present source_part: the new number, or None where the rows are not kept.
    """
    # Only ranks move, when a file without a number in its name comes in between.
    changed = " ".join(
        f"WHEN {old} THEN {new}"
        for old, new in sorted(renumbered.items())
        if new not in (old, None)
    )
    part = f"CASE source_part {changed} ELSE source_part END" if changed else "source_part"
    gone = ", ".join(str(old) for old, new in renumbered.items() if new is None)
    return select_sql(table, paths, {"source_part": part}) + (
        f" WHERE source_part NOT IN ({gone})" if gone else ""
    )
