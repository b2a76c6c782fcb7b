"""Names and types of the columns of stored Parquet files, in the words of the declared tables.

Files of an earlier version may lack a column (it reads as NULL) or call it by a former name.
"""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace.schema import Table
from borgtrace.schema.evolution import names_in_files
from borgtrace.storage import RemotePath, as_path, readable

_DECLARED_TYPES = {
    pa.float32(): "float32",
    pa.float64(): "float64",
    pa.large_string(): "string",
}
"""Column types for which Arrow has another word."""
_FOOTERS_AT_ONCE = 16
"""Footers read at a time: from a bucket each takes a while, nearly all of it waiting."""
_TAIL = 1 << 14
"""Last bytes of a file of a bucket, which hold the footer of most files: Arrow itself reads four times as many."""


def footers(paths: Iterable[Path]) -> list[pq.FileMetaData]:
    """Return the footers of Parquet files, in their order; of a bucket several are read at a time."""
    files = list(paths)
    # Starting a thread takes longer than a footer on this machine.
    if not any(isinstance(file, RemotePath) for file in files):
        return [read_footer(file) for file in files]
    with ThreadPoolExecutor(_FOOTERS_AT_ONCE) as pool:
        return list(pool.map(read_footer, files))


def read_footer(path: Path) -> pq.FileMetaData:
    """Return the footer of a Parquet file; of one in a bucket, few other bytes are read."""
    if not isinstance(path, RemotePath):
        return pq.read_metadata(readable(path))
    with path.open() as file:
        size = file.size()
        tail = file.read_at(min(size, _TAIL), max(size - _TAIL, 0))
        # The length of the footer is followed by four letters.
        length = int.from_bytes(tail[-8:-4], "little") + 8
        if len(tail) < length <= size:
            tail = file.read_at(length, size - length)
    return pq.read_metadata(pa.BufferReader(tail))


def stored_types(path: str | Path) -> dict[str, str]:
    """Return the columns of a Parquet file with their types as tables declare them; an enum is a string."""
    schema = read_footer(as_path(path)).schema.to_arrow_schema()
    return {field.name: declared_type(field.type) for field in schema}


def stored_names(table: Table, paths: Sequence[str | Path]) -> dict[str, str | None]:
    """Return the stored name of each declared column in the files of a table, None where they lack it.

    All files of a table were written by one version, so the first one tells.

    Parameters
    ----------
    table
        What this version declares.
    paths
        Parquet files of the table, at least one.
    """
    return names_in_files(table, stored_types(paths[0]))


def declared_type(arrow_type: pa.DataType) -> str:
    """Return a type of Arrow as tables declare it; an enum is a string."""
    if pa.types.is_list(arrow_type):
        return f"list<{declared_type(arrow_type.value_type)}>"
    if pa.types.is_dictionary(arrow_type):
        return declared_type(arrow_type.value_type)
    return _DECLARED_TYPES.get(arrow_type, str(arrow_type))


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
