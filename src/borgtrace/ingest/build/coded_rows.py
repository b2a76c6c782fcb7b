"""Rows of coded parts: what collections they are of, and those of a range of collections in the order of their key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from borgtrace.ingest.build.coded_columns import (
    DamagedCodesError,
    DecodedColumn,
    decoded,
    places_of,
)
from borgtrace.ingest.build.coded_part import CodedRun, damaged_part, read_runs
from borgtrace.ingest.build.row_order import row_order, sorted_batches
from borgtrace.ingest.build.staged_relation import CONSTANTS
from borgtrace.ingest.files.staged_part import StagedPart
from borgtrace.kernels.arrays import Index
from borgtrace.kernels.coding import Records
from borgtrace.schema import Table
from borgtrace.schema.arrow import arrow_schema

_PIECE = 1 << 17
"""Rows handed to DuckDB at a time."""
_NOT_IN_RECORDS = ("collection_id", "source_part")
"""Columns that runs and parts give to all their rows."""


@dataclass(frozen=True)
class CodedParts:
    """The coded parts of a table."""

    table: Table
    parts: Sequence[StagedPart]

    def __bool__(self) -> bool:
        """Return whether there are any."""
        return bool(self.parts)

    def collections(self) -> tuple[Index, Index]:
        """Return the collections, ascending, and how many rows each has."""
        ids = np.empty(0, np.int64)
        counts = np.empty(0, np.int64)
        for part in self.parts:
            for run in read_runs(part.path, self.table):
                # One after the other: the lists of all runs of a month are larger than that of its collections.
                ids, counts = added_counts(ids, counts, run.collections, run.counts)
        return ids, counts

    def reader(self, low: int | None, high: int | None) -> pa.RecordBatchReader:
        """Return a reader of the rows of a range in no order, with all columns of the table as it declares them.

        Parameters
        ----------
        low, high
            As for `of_range`.
        """
        schema = arrow_schema(self.table)
        return pa.RecordBatchReader.from_batches(schema, self._declared_batches(schema, low, high))

    def _declared_batches(
        self, schema: pa.Schema, low: int | None, high: int | None
    ) -> Iterator[pa.RecordBatch]:
        for rows in self.of_range(low, high):
            # Run by run: those of one large collection may not fit into memory together.
            for run in rows.runs:
                for batch in CodedRows(self.table, [run]).batches(_PIECE):
                    yield _as_declared(batch, schema)

    def of_range(self, low: int | None, high: int | None) -> list[CodedRows]:
        """Return the rows of collections from `low` to below `high`, those with the same columns together.

        Parameters
        ----------
        low, high
            None for no bound.
        """
        runs_of_columns: dict[tuple[str, ...], list[_Run]] = {}
        for part in self.parts:
            for run in read_runs(part.path, self.table):
                rows = run.of_range(low, high)
                if len(rows.records):
                    runs_of_columns.setdefault(run.names, []).append(_Run(rows, part.part))
        return [CodedRows(self.table, runs) for runs in runs_of_columns.values()]

    def sorted_batches(
        self, low: int | None, high: int | None, size: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a range in the order of their key.

        Parameters
        ----------
        low, high
            As for `of_range`.
        size
            Most rows of a batch.
        """
        groups = self.of_range(low, high)
        if len(groups) == 1:
            yield from groups[0].sorted_batches(size)
        elif groups:
            tables = [pa.Table.from_batches(group.batches(size)) for group in groups]
            rows = pa.concat_tables(tables, promote_options="default")
            yield from sorted_batches(rows.unify_dictionaries(), self.table.key, size)


@dataclass(frozen=True)
class _Run:
    """A run, and the source_part of its rows."""

    rows: CodedRun
    part: int


@dataclass(frozen=True)
class CodedRows:
    """Rows of runs with the same columns, which are read when they are asked for."""

    table: Table
    runs: Sequence[_Run]

    def sorted_batches(self, size: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows in the order of their key, `size` at a time."""
        order = row_order(self._keys(), self.table.key)
        for first in range(0, len(order), size):
            yield self._batch(order[first : first + size])

    def batches(self, size: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows in no order, `size` at a time."""
        for first in range(0, len(self._records), size):
            yield self._batch(np.arange(first, min(first + size, len(self._records))))

    @cached_property
    def _records(self) -> Records:
        # Copied: rows in their order come from all over the parts, which are on a disk.
        return np.concatenate([run.rows.records for run in self.runs])

    @cached_property
    def _run_of_row(self) -> npt.NDArray[np.int32]:
        sizes = [len(run.rows.records) for run in self.runs]
        return np.repeat(np.arange(len(self.runs), dtype=np.int32), sizes)

    @cached_property
    def _collections(self) -> Index:
        ids = [np.repeat(run.rows.collections, run.rows.counts) for run in self.runs]
        return np.concatenate(ids)

    @cached_property
    def _parts(self) -> npt.NDArray[np.int32]:
        return np.array([run.part for run in self.runs], np.int32)

    @cached_property
    def _columns(self) -> dict[str, DecodedColumn]:
        schema = arrow_schema(self.table)
        columns = {}
        for place in places_of(self.runs[0].rows.names, self.table):
            distinct = np.empty(0, np.uint64)
            starts = np.zeros(1, np.int64)
            if place.is_coded:
                values = [run.rows.distinct[place.name] for run in self.runs]
                sizes = [len(some) for some in values]
                distinct = np.concatenate(values)
                starts = np.cumsum([0, *sizes])
            column_type = schema.field(place.name).type
            columns[place.name] = DecodedColumn(place, column_type, distinct, starts)
        return columns

    def _keys(self) -> pa.Table:
        everywhere = np.arange(len(self._records))
        names = [name for name in self.table.key if name not in _NOT_IN_RECORDS]
        columns = [self._columns[name] for name in names]
        values = self._decoded(columns, everywhere)
        keys = dict(zip(names, values, strict=True))
        keys["collection_id"] = pa.array(self._collections)
        keys["source_part"] = pa.array(self._parts[self._run_of_row])
        return pa.table(keys)

    def _decoded(self, columns: Sequence[DecodedColumn], order: Index) -> list[pa.Array]:
        try:
            return decoded(columns, self._records, self._run_of_row, order)
        except DamagedCodesError as error:
            folder = self.runs[0].rows.path.parent
            raise damaged_part(folder, folder.parent) from error

    def _batch(self, order: Index) -> pa.RecordBatch:
        values = self._decoded(list(self._columns.values()), order)
        columns = dict(zip(self._columns, values, strict=True))
        columns["collection_id"] = pa.array(self._collections[order])
        columns["source_part"] = pa.array(self._parts[self._run_of_row[order]])
        for name, constant in CONSTANTS.items():
            if name in self.table.names and name not in columns:
                columns[name] = _repeated(constant, len(order))
        ordered = {name: columns[name] for name in self.table.names if name in columns}
        return pa.record_batch(ordered)


def rows_of_run(run: CodedRun, table: Table) -> pa.Table:
    """Return the rows of a run in their order; the source_part of all is 0.

    Parameters
    ----------
    run
        The run.
    table
        The canonical table.
    """
    return pa.Table.from_batches(CodedRows(table, [_Run(run, 0)]).batches(_PIECE))


def _repeated(constant: str | bool | int, n_rows: int) -> pa.Array:
    if not isinstance(constant, str):
        return pa.repeat(constant, n_rows)
    codes = pa.array(np.zeros(n_rows, np.uint8))
    return pa.DictionaryArray.from_arrays(codes, pa.array([constant]))


def _as_declared(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = []
    for field in schema:
        if field.name in batch.schema.names:
            columns.append(batch.column(field.name).cast(field.type))
        else:
            columns.append(pa.nulls(len(batch), field.type))
    return pa.record_batch(columns, names=schema.names).cast(schema)


def added_counts(
    ids: Index, counts: Index, more_ids: Index, more_counts: Index
) -> tuple[Index, Index]:
    """Return the distinct ids of two lists, ascending, and the sums of their counts.

    Examples
    --------
    >>> ids, counts = added_counts(*(np.array(values) for values in ([1, 5], [2, 2], [5, 9], [1, 7])))
    >>> ids.tolist(), counts.tolist()
    ([1, 5, 9], [2, 3, 7])
    """
    distinct, place = np.unique(np.append(ids, more_ids), return_inverse=True)
    sums = np.zeros(len(distinct), np.int64)
    np.add.at(sums, place, np.append(counts, more_counts))
    return distinct, sums
