"""Stores of other versions: columns that they lack, and columns that this version can no longer read."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from borgtrace.engine.stored import stored_types
from borgtrace.errors import StoreError, shell_word
from borgtrace.schema import TABLES, Table
from borgtrace.schema.evolution import incompatible_columns, names_in_files, schema_digest
from borgtrace.storage import RemotePath, refuse_shortage
from borgtrace.store.layout import FORMAT_VERSION, Layout


def lacking_columns(layout: Layout, schema: str, format_version: str) -> tuple[str, ...]:
    """Return the columns that a store lacks, which read as NULL; none where its schema is this version's.

    Parameters
    ----------
    layout
        The store.
    schema, format_version
        What its manifest says. A later minor version may have columns that are unknown here.

    Raises
    ------
    StoreError
        When a column has been removed, has another type, or is a key column that the store lacks.
    """
    # The usual case: no file is opened.
    if schema == schema_digest(TABLES.values()):
        return ()
    lacking: list[str] = []
    for table, types in _stored_types(layout):
        faults = incompatible_columns(table, types, is_newer=is_newer(format_version))
        if faults:
            raise unreadable(
                layout.root,
                "its tables are those of another version",
                "; ".join(faults[:3]),
                "the columns of `borgtrace info --schema`",
            )
        for name, stored in names_in_files(table, types).items():
            if stored is None:
                lacking.append(f"{table.name}.{name}")
    return tuple(lacking)


def unreadable(
    root: Path,
    what: str,
    got: str,
    expected: str | None = None,
) -> StoreError:
    """Return the error of a store that has to be built again.

    Parameters
    ----------
    root
        The store.
    what
        What is wrong with it.
    got, expected
        What was found, and what would have been right.
    """
    if isinstance(root, RemotePath):
        way_out = "copy it there again"
    else:
        way_out = f"build it again: borgtrace ingest SRC --store {shell_word(root)} --rebuild"
    return StoreError(
        str(root),
        what,
        expected=expected,
        got=got,
        way_out=way_out,
    )


def is_newer(format_version: str) -> bool:
    """Return whether a store is of a later minor version, whose columns may be unknown here."""
    return _minor(format_version) > _minor(FORMAT_VERSION)


def _stored_types(layout: Layout) -> Iterator[tuple[Table, dict[str, str]]]:
    for name, table in TABLES.items():
        # One version wrote all files of a table, so the first one speaks for them.
        for part in layout.parts(name)[:1]:
            try:
                yield table, stored_types(part)
            # Damage is for `verify` and the engine to report.
            except (OSError, pa.ArrowException) as error:
                refuse_shortage(error, part)
                continue


def _minor(version: str) -> int:
    return int(version.partition(".")[2] or 0)
