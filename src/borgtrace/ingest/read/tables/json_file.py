"""JSON documents: a list of records, pandas' orients, answers of monitoring systems, one or several in a file."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from borgtrace.errors import SourceError
from borgtrace.ingest.files.streams import LONGEST_LINE
from borgtrace.ingest.read.json_walker import JsonFormError, JsonWalker
from borgtrace.ingest.read.tables.json_shapes import (
    NAMES_OF_COLUMNS,
    around_rows,
    document_rows,
    listed_rows,
    names_in,
)
from borgtrace.ingest.read.tables.kind import Columns, TableKind
from borgtrace.ingest.read.tables.monitoring_records import without_repeats
from borgtrace.ingest.read.tables.text_rows import NoRowsError, TableRow, text_batches
from borgtrace.storage import open_regular

_BEGINS = re.compile(rb'\s*(\[\s*(\[(?!\s*[A-Za-z_][\w.-]*\]\])|[{\]])|\{\s*["}])')
"""``[[name]]`` begins a list of tables in TOML."""
LARGEST_WHOLE = LONGEST_LINE
"""Bytes of a file whose documents are read whole; of a larger one a list of records is read piece by piece."""
_ROWS_LOOKED_AT = 20_000
"""Rows of a table by which its columns are known: what stands behind so many is not looked for."""
_MOST_KNOWN = 32
"""Files whose columns are remembered: more than are guessed together."""


def _columns(path: Path) -> Columns:
    state = path.stat()
    return _columns_of_file(path, state.st_ino, state.st_size, state.st_mtime_ns)


# Asked for as a known format, to guess one, and as that: each time 20,000 rows would be parsed again.
@lru_cache(maxsize=_MOST_KNOWN)
def _columns_of_file(path: Path, *_state: int) -> Columns:
    columns: dict[str, dict[str, None]] = {}
    n_rows: dict[str, int] = {}
    with _readable(path):
        for table, row in _rows(path):
            known_names = columns.setdefault(table, {})
            # Nearly all rows have the columns of the first.
            if not row.keys() <= known_names.keys():
                known_names.update(dict.fromkeys(row))
            n_rows[table] = n_rows.get(table, 0) + 1
            if n_rows[table] == _ROWS_LOOKED_AT:
                break
    return {table: list(names) for table, names in columns.items()}


def _batches(path: Path, table: str) -> Iterator[pa.RecordBatch]:
    with _readable(path):
        yield from text_batches(row for name, row in _rows(path) if name == table)


def _rows(path: Path) -> Iterator[TableRow]:
    return without_repeats(_all_rows(path))


def _all_rows(path: Path) -> Iterator[TableRow]:
    is_large = path.stat().st_size > LARGEST_WHOLE
    with open_regular(path) as file:
        walker = JsonWalker(file, LONGEST_LINE)
        while mark := walker.peek():
            if mark == "[":
                yield from listed_rows("", walker.items(), {})
            elif is_large:
                yield from _rows_of_large_object(walker)
            else:
                yield from document_rows(walker.value())


def _rows_of_large_object(walker: JsonWalker) -> Iterator[TableRow]:
    """Yield the rows of an object of which only one entry at a time is in memory."""
    names: list[str] = []
    single: dict[str, Any] = {}
    has_list = False
    for key in walker.entries():
        if walker.peek() != "[":
            single[key] = walker.value()
        elif key in NAMES_OF_COLUMNS:
            names = names_in(walker.value())
        else:
            has_list = True
            around = around_rows(single)
            for item in walker.items():
                if isinstance(item, dict):
                    yield from listed_rows(key, [item], around)
                elif isinstance(item, list):
                    yield from listed_rows(key, [names, item] if names else [item], around)
    if not has_list:
        yield from document_rows(single)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn what is wrong with a document into an error that names the file."""
    try:
        yield
    except JsonFormError as error:
        raise SourceError(
            str(path),
            "damaged JSON file",
            expected=str(error),
            way_out="fetch it again, or write it again",
        ) from error
    except RecursionError as error:
        raise SourceError(
            str(path),
            "damaged JSON file",
            expected="values that are less nested",
            way_out="fetch it again, or write it again",
        ) from error
    except NoRowsError as error:
        raise SourceError(
            str(path),
            f"no table in this JSON: {error}",
            expected="a list of records",
            way_out="write it as to_json(…, orient='records', lines=True) does",
        ) from error


KIND = TableKind(
    name="JSON",
    recognizes=lambda head: bool(_BEGINS.match(head)),
    columns=_columns,
    batches=_batches,
)
