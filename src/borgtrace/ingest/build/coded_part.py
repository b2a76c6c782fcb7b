"""Staged usage as records of codes, which need no decoding to be cut at collections, nor Parquet to be made twice.

A part is a number of runs.  A run is a stream of Arrow with one row, which lists its collections, how many rows each
has, and the distinct values of its columns; behind it the records of its rows, by collection.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from borgtrace.errors import StoreError
from borgtrace.ingest.build.coded_columns import (
    NotCodableError,
    bits_type,
    coded_records,
    collection_order,
    places_of,
    record_width,
)
from borgtrace.kernels.arrays import Index
from borgtrace.kernels.coding import Records
from borgtrace.schema import Table
from borgtrace.schema.arrow import arrow_schema
from borgtrace.storage import open_regular

SUFFIX = ".runs"
"""Of the names of such parts."""
_ROWS_AT_A_TIME = 1 << 14
_COLLECTIONS, _COUNTS = "collections", "rows of collections"
"""Columns of a head beside those of the values of columns."""
_ROWS, _NAMES = b"rows", b"names"
"""What else the head says: how many rows the run has, and its columns."""
_ALIGNMENT = 64


@dataclass(frozen=True)
class CodedRun:
    """Rows of a part that were sorted together, as they lie in its file.

    Parameters
    ----------
    path
        The part.
    collections, counts
        The collections, ascending, and how many rows each has.
    distinct
        Values of each coded column, by its name.
    names
        Its columns in the order of their places, without the collection.
    records
        The rows.
    start
        The byte of the part at which they begin.
    """

    path: Path
    collections: Index
    counts: Index
    distinct: dict[str, Any]
    names: tuple[str, ...]
    records: Records
    start: int

    def of_range(self, low: int | None, high: int | None) -> CodedRun:
        """Return the rows of collections from `low` to below `high`; None for no bound."""
        first = 0 if low is None else int(np.searchsorted(self.collections, low))
        end = len(self.collections)
        if high is not None:
            end = int(np.searchsorted(self.collections, high))
        before = int(self.counts[:first].sum())
        n_rows = int(self.counts[first:end].sum())
        return CodedRun(
            self.path,
            self.collections[first:end],
            self.counts[first:end],
            self.distinct,
            self.names,
            self.records[before : before + n_rows],
            self.start + before * self._row_bytes,
        )

    def bounds(self, cuts: Sequence[int]) -> Index:
        """Return where the rows of ranges of collections lie in the part.

        Parameters
        ----------
        cuts
            First collection of each range but the first, ascending.

        Returns
        -------
        Index
            The byte at which the rows of each range begin, and the one behind the last; shape (ranges + 1,).
        """
        rows_before = np.append(0, np.cumsum(self.counts))
        first_rows = rows_before[np.searchsorted(self.collections, np.array(cuts, np.int64))]
        rows = np.concatenate([[0], first_rows, rows_before[-1:]])
        return self.start + rows * self._row_bytes

    @property
    def _row_bytes(self) -> int:
        return self.records.shape[1] * self.records.itemsize


def write_run(file: BinaryIO, rows: pa.Table, table: Table) -> None:
    """Write rows by collection behind what a file has already.

    Parameters
    ----------
    file
        The part.
    rows
        Rows with the columns of `table`, or some of them.
    table
        The canonical table.

    Raises
    ------
    NotCodableError
        They have no codes; nothing is written.
    """
    names = [name for name in rows.column_names if name != "collection_id"]
    places = places_of(names, table)
    declared = arrow_schema(table)
    if any(rows.schema.field(name).type != declared.field(name).type for name in rows.column_names):
        raise NotCodableError
    (whole,) = rows.combine_chunks().to_batches()
    all_collections = whole.column("collection_id").to_numpy()
    order = collection_order(all_collections)
    records, distinct = coded_records(whole, places)
    by_collection = all_collections[order]
    starts = np.flatnonzero(np.append(True, by_collection[1:] != by_collection[:-1]))
    counts = np.diff(np.append(starts, len(by_collection)))
    head = {_COLLECTIONS: by_collection[starts], _COUNTS: counts, **distinct}
    _write_head(file, head, names, len(whole))
    for first in range(0, len(order), _ROWS_AT_A_TIME):
        file.write(records[order[first : first + _ROWS_AT_A_TIME]].data)


def _write_head(file: BinaryIO, lists: dict[str, Any], names: Sequence[str], n_rows: int) -> None:
    arrays = []
    for values in lists.values():
        offsets = pa.array([0, len(values)], pa.int32())
        arrays.append(pa.ListArray.from_arrays(offsets, pa.array(values)))
    facts = {_ROWS: str(n_rows), _NAMES: json.dumps(list(names))}
    batch = pa.record_batch(arrays, names=list(lists)).replace_schema_metadata(facts)
    with pa.ipc.new_stream(file, batch.schema) as stream:
        stream.write_batch(batch)
    file.write(bytes(-file.tell() % _ALIGNMENT))


def read_runs(path: Path, table: Table) -> Iterator[CodedRun]:
    """Yield the runs of a part, whose records are mapped, not read.

    Parameters
    ----------
    path
        The part.
    table
        The canonical table.

    Raises
    ------
    StoreError
        It is damaged.
    """
    try:
        with open_regular(path) as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        end = 0
        while end < len(content):
            run, end = _read_run(path, content, end, table)
            yield run
    # An empty file cannot be mapped; the rest is what a head says that is none.
    except (pa.ArrowException, ValueError, LookupError, NotCodableError) as error:
        raise damaged_part(path, path.parent.parent) from error


def _read_run(path: Path, content: mmap.mmap, start: int, table: Table) -> tuple[CodedRun, int]:
    """Return the run that begins at a byte, and the byte behind it."""
    source = pa.BufferReader(pa.py_buffer(content))
    source.seek(start)
    head = pa.ipc.open_stream(source).read_all()
    facts = head.schema.metadata
    names = tuple(json.loads(facts[_NAMES]))
    places = places_of(names, table)
    n_rows = int(facts[_ROWS])
    width = record_width(places)
    records_start = source.tell() + -source.tell() % _ALIGNMENT
    records = np.frombuffer(content, np.uint16, n_rows * width, records_start)
    lists = {
        name: column.combine_chunks().flatten().to_numpy()
        for name, column in zip(head.column_names, head.columns, strict=True)
    }
    run = CodedRun(
        path,
        collections=lists.pop(_COLLECTIONS),
        counts=lists.pop(_COUNTS),
        distinct=lists,
        names=names,
        records=records.reshape(n_rows, width),
        start=records_start,
    )
    types = {place.name: bits_type(place, table) for place in places if place.is_coded}
    is_whole = len(run.collections) == len(run.counts) and run.counts.sum() == n_rows
    if not is_whole or {name: values.dtype for name, values in lists.items()} != types:
        raise ValueError
    return run, records_start + records.nbytes


def damaged_part(path: Path, staging: Path) -> StoreError:
    """Return the error about a part that cannot be read.

    Parameters
    ----------
    path
        The part, or the folder that it is in.
    staging
        The staging area of the store.
    """
    return StoreError(
        str(path),
        "what is staged is damaged",
        way_out=f"remove {staging} and ingest the files again",
    )
