"""Writing the rows of one staged part: in runs by collection, as Parquet or as records of codes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace.ingest.build.coded_columns import NotCodableError
from borgtrace.ingest.build.coded_part import read_runs, write_run
from borgtrace.ingest.build.coded_rows import rows_of_run
from borgtrace.ingest.build.row_order import sorted_batches
from borgtrace.ingest.build.table_files import differing_columns, parquet_writer
from borgtrace.schema import Table
from borgtrace.storage import incomplete_path

ROW_GROUP = 1 << 17
"""Rows: DuckDB skips the rows of a group outside a range of collections, and larger groups take less disk."""
LARGEST_RUN = 1 << 28
"""Bytes of rows that are sorted together; a usage file of the 2011 trace takes as much."""
UNSORTED_RUN = 1 << 25
"""Bytes of rows that need no sort: their memory is soon used again, where new memory took a third of the time."""


@dataclass
class StagedWriter:
    """Collects the rows of one raw file for one canonical table (and its quarantine).

    Rows of collections are written in runs sorted by collection: what reads a range of collections skips the others
    by the statistics of row groups, and within one.
    """

    path: Path
    key: tuple[str, ...] = ()
    rows: int = 0
    columns: tuple[str, ...] = ()
    _run: list[pa.Table] = field(default_factory=list, repr=False)
    _writer: pq.ParquetWriter | None = field(default=None, repr=False)

    @cached_property
    def unfinished(self) -> Path:
        """The file while it is written; its name is this writer's own, should two ever meet."""
        return incomplete_path(self.path)

    def write(self, table: pa.Table) -> None:
        """Append rows; the first table fixes the columns."""
        if self._writer is None:
            self._begin(table)
        self._run.append(table)
        self.rows += table.num_rows
        largest_run = LARGEST_RUN if self._is_sorted else UNSORTED_RUN
        if sum(part.nbytes for part in self._run) > largest_run:
            self._write_run()

    def _begin(self, rows: pa.Table) -> None:
        schema = rows.schema
        self.columns = tuple(schema.names)
        doubles = [field.name for field in schema if pa.types.is_float64(field.type)]
        plain = doubles
        if not self._is_sorted:
            # A dictionary of times of a log, or of amounts with many digits, takes a third of the time of writing, and
            # more disk; without one, percents take half as long again, and three times the disk.
            integers = [field.name for field in schema if pa.types.is_integer(field.type)]
            plain = differing_columns(rows.select([*integers, *doubles]))
        # lz4, as it is read only once: half the cost of zstd, and as small here.
        self._writer = parquet_writer(
            self.unfinished,
            schema,
            "lz4",
            plain,
            write_statistics=["collection_id"],
        )

    @property
    def _is_sorted(self) -> bool:
        return self.key[:1] == ("collection_id",)

    def _write_run(self) -> None:
        rows = pa.concat_tables(self._run)
        self._run = []
        if self._writer is None or not len(rows):
            return
        if not self._is_sorted:
            self._writer.write_table(rows, row_group_size=ROW_GROUP)
            return
        # Not by the whole key: parts are read by collection, and clustering sorts again.
        for batch in sorted_batches(rows, ("collection_id",), ROW_GROUP):
            self._writer.write_batch(batch)

    def finish(self) -> None:
        """Close the file and give it its name; nothing where nothing was written."""
        if self._writer is None:
            return
        # Nothing is left where the last rows filled a run.
        if self._run:
            self._write_run()
        self._writer.close()
        self.unfinished.replace(self.path)

    def abandon(self) -> None:
        """Close and remove the unfinished file."""
        if self._writer is None:
            return
        self._writer.close()
        self.unfinished.unlink(missing_ok=True)
        self._writer = None
        self.rows = 0
        self._run = []


@dataclass
class CodedWriter(StagedWriter):
    """Writes records of codes, which take half of the time of Parquet; Parquet where a column has too many values.

    Parameters
    ----------
    coded_path
        The part, where it has records; `path` where it is Parquet.
    table
        The canonical table.
    largest_run
        Bytes of rows that are sorted together.
    """

    coded_path: Path = field(kw_only=True)
    table: Table = field(kw_only=True)
    largest_run: int = field(default=LARGEST_RUN, kw_only=True)
    _file: BinaryIO | None = field(default=None, repr=False)
    _schema: pa.Schema | None = field(default=None, repr=False)

    @cached_property
    def _unfinished_runs(self) -> Path:
        return incomplete_path(self.coded_path)

    def write(self, table: pa.Table) -> None:
        """Append rows; the first table fixes the columns."""
        if self._schema is None:
            self.columns = tuple(table.column_names)
            self._schema = table.schema
            self._file = self._unfinished_runs.open("wb")
        self._run.append(table)
        self.rows += table.num_rows
        if sum(part.nbytes for part in self._run) > self.largest_run:
            self._write_run()

    def _write_run(self) -> None:
        if self._file is None:
            super()._write_run()
            return
        rows = pa.concat_tables(self._run)
        if not len(rows):
            self._run = []
            return
        try:
            write_run(self._file, rows, self.table)
        except NotCodableError:
            self._go_on_as_parquet(rows)
        self._run = []

    def _go_on_as_parquet(self, rows: pa.Table) -> None:
        """Write what is coded already, and some rows, as Parquet."""
        self._close_runs()
        self._begin(rows)
        # Mostly none: it is the first run that has no codes.
        has_runs = self._unfinished_runs.stat().st_size > 0
        for run in read_runs(self._unfinished_runs, self.table) if has_runs else ():
            self._run = [rows_of_run(run, self.table).select(self.columns).cast(rows.schema)]
            super()._write_run()
        self._unfinished_runs.unlink()
        self._run = [rows]
        super()._write_run()

    def _close_runs(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def finish(self) -> None:
        """Close the file and give it its name; nothing where nothing was written."""
        if self._run:
            self._write_run()
        if self._file is None:
            super().finish()
            return
        self._close_runs()
        if self.rows:
            self._unfinished_runs.replace(self.coded_path)
        else:
            self._unfinished_runs.unlink()

    def abandon(self) -> None:
        """Close and remove the unfinished files."""
        self._close_runs()
        if self._schema is not None:
            self._unfinished_runs.unlink(missing_ok=True)
        self._schema = None
        super().abandon()
        self.rows = 0
        self._run = []
