"""What a store holds, as one number: independent of its files, row groups, codecs, encodings and column names.

A column is summed value by value (:mod:`borgtrace.store._content_sums`), each value with its row in the table's key
order, so that any number of threads may share the work and how it is split does not matter.  SHA-256 over the sums
of a table's columns, each under its stable number, is the table's digest; over those of the tables, the store's.
A column that is NULL throughout adds nothing: a store keeps its digest when the schema gains a column.

The sums guard against mistakes, not against forgers; the SHA-256 of each file beside them does.  Measured on a busy
core: 1.5 ns a value (3 where some are NULL), after 3 to 5 ns for decoding it; SHA-256 takes 0.9 ns a byte.  A row of
2011 costs 0.17 µs in all, an ingest 2.8 µs.  A file notes its sums when it is written, so that an ingest decodes
nothing for them; to verify a store is to read all values again.
"""

import hashlib
import json
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace.engine.processes import map_threads
from borgtrace.schema import TABLES, Table
from borgtrace.schema.evolution import all_names, column_number
from borgtrace.storage import readable
from borgtrace.store._content_sums import add_lists, add_values, hash_texts
from borgtrace.store.digest import digest_of_all
from borgtrace.store.layout import Layout

BATCH = 1 << 16
"""Rows decoded at a time: a few megabytes, which stay in the second-level cache between decoding and summing."""
_NOTE = "borgtrace.content"
_NO_BITMAP = np.frombuffer(b"", np.uint8)

Array = npt.NDArray[Any]
Sums = dict[str, npt.NDArray[np.uint64]]


def content_digests(root: Path, threads: int = 1) -> dict[str, str]:
    """Return the content digest of each table of the store at `root`, of this or an earlier version.

    Parameters
    ----------
    root
        The store's folder; only its Parquet files are read.
    threads
        Row groups worked on at a time.
    """
    layout = Layout(root)
    return {
        name: table_digest(table, layout.parts(name), threads) for name, table in TABLES.items()
    }


def store_digest(tables: Mapping[str, str]) -> str:
    """Return the digest of a whole store from its tables' content digests; empty tables do not count.

    Examples
    --------
    >>> store_digest({"tasks": "12", "machine_events": ""}) == store_digest({"tasks": "12"})
    True
    """
    return digest_of_all({name: content for name, content in tables.items() if content})


def table_digest(table: Table, parts: Sequence[Path], threads: int = 1) -> str:
    """Return the content digest of a table, from its files in order; empty where it has no rows.

    Parameters
    ----------
    table
        Declares the columns and their numbers.
    parts
        Its Parquet files, in the order of their rows.
    threads
        Row groups worked on at a time.
    """
    rows, pieces = 0, list[_Piece]()
    for path in parts:
        file = pq.read_metadata(readable(path))
        pieces += _pieces(path, file, rows)
        rows += file.num_rows
    # Threads suffice: Arrow's decoding and our kernels release the GIL.
    return digest_of_sums(
        table, rows, map_threads(partial(_sum_piece, table), pieces, workers=threads)
    )


def file_sums(table: Table, path: Path, first: int) -> Sums:
    """Return the sums of a file: what it notes itself if it noted that for these rows, else from its rows.

    Parameters
    ----------
    table
        Declares the columns.
    path
        The file.
    first
        Number of its first row in the whole table.
    """
    file = pq.read_metadata(readable(path))
    if (noted := _noted(file, first)) is not None:
        return noted
    total = Sums()
    for piece in _pieces(path, file, first):
        _merge(total, _sum_piece(table, piece))
    return total


def digest_of_sums(table: Table, rows: int, parts: Iterable[Sums]) -> str:
    """Return the content digest of a table from the sums of all its rows; empty where it has none.

    Parameters
    ----------
    table
        Declares the columns and their numbers.
    rows
        How many there are.
    parts
        Sums of some of them each.
    """
    total = Sums()
    for found in parts:
        _merge(total, found)
    return _combine(table, rows, total) if rows else ""


def _merge(total: Sums, found: Sums) -> None:
    for name, sums in found.items():
        # uint64 wraps round, which is what a sum modulo 2⁶⁴ needs.
        total[name] = total.get(name, np.zeros(2, np.uint64)) + sums


def _combine(table: Table, rows: int, total: Sums) -> str:
    # The number of rows first: trailing rows that are NULL in every column add nothing to the sums.
    digest = hashlib.sha256(rows.to_bytes(8, "big"))
    # By number, not by name: a renamed column keeps its number, and with it the digest.
    numbered = sorted(
        (column_number(table.name, name), tuple(sums.tolist())) for name, sums in total.items()
    )
    for number, sums in numbered:
        if any(sums):
            digest.update(struct.pack(">3Q", number, *sums))
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class _Piece:
    """A row group of one file, and its first row in the whole table."""

    path: Path
    file: pq.FileMetaData
    group: int
    first: int

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return int(self.file.row_group(self.group).num_rows)

    def chunks(self) -> dict[str, pq.ColumnChunkMetaData]:
        """Return what the footer says of each column (of a list: of its elements)."""
        group = self.file.row_group(self.group)
        return {
            chunk.path_in_schema.split(".")[0]: chunk
            for chunk in map(group.column, range(group.num_columns))
        }


def _pieces(path: Path, file: pq.FileMetaData, first: int) -> Iterator[_Piece]:
    for group in range(file.num_row_groups):
        piece = _Piece(path, file, group, first)
        yield piece
        first += piece.rows


@dataclass(slots=True)
class ContentSums:
    """The sums of rows of a table that follow each other.

    Attributes
    ----------
    first
        Number of their first row in the whole table.
    rows
        How many have been added.
    total
        Two sums of each column by its name.
    """

    first: int
    rows: int = 0
    total: Sums = field(default_factory=dict)

    def add(self, batch: pa.RecordBatch) -> None:
        """Add the next rows."""
        for start in range(0, batch.num_rows, BATCH):
            piece = batch.slice(start, BATCH)
            for name, column in zip(piece.schema.names, piece.columns, strict=True):
                if column.null_count < len(column):
                    _add(
                        column,
                        self.first + self.rows,
                        self.total.setdefault(name, np.zeros(2, np.uint64)),
                    )
            self.rows += piece.num_rows

    def note(self) -> dict[str, str]:
        """Return what the footer of a file with these rows says of them."""
        total = {name: sums.tolist() for name, sums in self.total.items()}
        return {_NOTE: json.dumps({"first": self.first, "total": total})}


def _noted(file: pq.FileMetaData, first: int) -> Sums | None:
    """Return the sums that a file's footer notes, if they are of rows that begin at `first`."""
    note = json.loads((file.metadata or {}).get(_NOTE.encode(), "{}"))
    # Rows that were added before them move the rows of a file, and each counts with its number.
    if note.get("first") != first:
        return None
    return {name: np.array(sums, np.uint64) for name, sums in note["total"].items()}


def _sum_piece(table: Table, piece: _Piece) -> Sums:
    """Sum the declared columns of one row group."""
    chunks = piece.chunks()
    names = ((name, stored) for name in table.names for stored in all_names(table.name, name))
    # A column NULL throughout is left out as one that the files lack is: both add nothing.
    held = {
        name: stored for name, stored in names if stored in chunks and not _is_null(chunks[stored])
    }
    texts = [stored for stored in held.values() if _is_dictionary(chunks[stored])]
    sums = ContentSums(piece.first)
    with pq.ParquetFile(readable(piece.path), metadata=piece.file, read_dictionary=texts) as file:
        # `use_threads=False`: the row groups are already spread over threads.
        for batch in file.iter_batches(
            BATCH, [piece.group], list(held.values()), use_threads=False
        ):
            sums.add(batch.select(list(held.values())).rename_columns(list(held)))
    return sums.total


def _is_null(chunk: pq.ColumnChunkMetaData) -> bool:
    """Whether the footer says that a flat column holds nothing but NULL, so that it need not be decoded."""
    known, is_flat = chunk.statistics, "." not in chunk.path_in_schema
    return bool(is_flat and known and known.has_null_count and known.null_count == chunk.num_values)


def _is_dictionary(chunk: pq.ColumnChunkMetaData) -> bool:
    """Whether texts can be decoded to a dictionary, each distinct one once: a third of the time."""
    return chunk.physical_type == "BYTE_ARRAY" and "DELTA_BYTE_ARRAY" not in chunk.encodings


def _add(column: pa.Array, row: int, sums: npt.NDArray[np.uint64]) -> None:
    """Add a batch of a column, whose first row is `row`, to the column's sums."""
    if not pa.types.is_list(column.type):
        add_values(*_flat(column), row, sums)
        return
    # Offsets of a sliced array begin at its own offset, and point into the unsliced elements.
    starts = _buffer(column, 1, np.int32)[column.offset : column.offset + len(column) + 1]
    add_lists(starts, _validity(column), column.offset, *_flat(column.values), row, sums)


def _flat(column: pa.Array) -> tuple[Array, Array, Array, int]:
    """Return an Arrow array as the sums take it: values, their bits, validity and where it begins."""
    if pa.types.is_dictionary(column.type) or pa.types.is_string(column.type):
        column = _hashed(column)
    elif not pa.types.is_floating(column.type):
        column = column.cast(
            pa.int64()
        )  # so that flags and int32 need no compiled functions of their own
    kind = np.dtype(column.type.to_pandas_dtype())
    values = _buffer(column, 1, kind)[column.offset : column.offset + len(column)]
    bits = values.view(f"u{kind.itemsize}") if kind.kind == "f" else values
    return values, bits, _validity(column), column.offset


def _hashed(column: pa.Array) -> pa.Array:
    """Return the hashes of a column's texts; each distinct one is hashed once a batch."""
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    texts = encoded.dictionary
    words = np.empty(len(texts), np.uint64)
    starts = _buffer(texts, 1, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    hash_texts(starts, _buffer(texts, 2, np.uint8), words)
    # `take` carries the NULLs of the indices over: a missing text stays missing.
    return pa.array(words.view(np.int64)).take(encoded.indices)


def _validity(column: pa.Array) -> npt.NDArray[np.uint8]:
    """Return the bits that say which values are not NULL; empty where none is NULL."""
    return _buffer(column, 0, np.uint8) if column.null_count else _NO_BITMAP


def _buffer(column: pa.Array, number: int, kind: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return one of an array's buffers, read-only like all others: one compiled function serves them."""
    buffer = column.buffers()[number]
    array = np.frombuffer(buffer, kind) if buffer else np.empty(1, kind)[:0]
    array.flags.writeable = False
    return array
