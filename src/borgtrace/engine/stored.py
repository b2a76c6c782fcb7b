"""What the columns of stored Parquet files are called and of which type, in the words of the declared tables.

Files of an earlier version may lack a column (it reads as NULL) or call it by a former name.
"""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace.schema import Table
from borgtrace.schema.evolution import names_in_files
from borgtrace.storage import as_path, readable

_WORDS = {pa.float32(): "float32", pa.float64(): "float64", pa.large_string(): "string"}
"""Column types for which Arrow has another word."""
_FOOTERS = 16
"""Footers read at a time: from a bucket each takes a while, nearly all of it waiting."""


def footers(paths: Iterable[Path]) -> list[pq.FileMetaData]:
    """Return what the footers of Parquet files say, in their order; of a bucket several are read at a time."""
    with ThreadPoolExecutor(_FOOTERS) as pool:
        return list(pool.map(lambda path: pq.read_metadata(readable(path)), paths))


def stored_types(path: str | Path) -> dict[str, str]:
    """Return the columns of a Parquet file with their types as tables declare them; an enum is a string."""
    return {field.name: _word(field.type) for field in pq.read_schema(readable(as_path(path)))}


def stored_names(table: Table, paths: Sequence[str | Path]) -> dict[str, str | None]:
    """Return what the files of a table call each declared column, None where they lack it.

    All files of a table were written by one version, so the first one tells.

    Parameters
    ----------
    table
        What this version declares.
    paths
        Parquet files of the table, at least one.
    """
    return names_in_files(table, stored_types(paths[0]))


def _word(type_: pa.DataType) -> str:
    if pa.types.is_list(type_):
        return f"list<{_word(type_.value_type)}>"
    if pa.types.is_dictionary(type_):
        return _word(type_.value_type)
    return _WORDS.get(type_, str(type_))


def is_current(table: Table, paths: Sequence[str | Path]) -> bool:
    """Whether files hold every declared column under its present name.

    Parameters
    ----------
    table
        What this version declares.
    paths
        Parquet files of the table, at least one.
    """
    return all(stored == column for column, stored in stored_names(table, paths).items())
