"""The files of a trace: tables cut by time as CSV, or distributed by hash as JSON lines or Parquet."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace.schema.arrow import raw_schema
from borgtrace.schema.dialects import Dialect, RawTable
from borgtrace.synth.model.hashing import key
from borgtrace.synth.model.machines import CellMachines
from borgtrace.synth.simulate.event_log import TraceSegment
from borgtrace.synth.write.event_rows import Row, event_rows
from borgtrace.synth.write.gzip_files import GzipFile, compressed
from borgtrace.synth.write.raw_rows import RawRows

Pieces = Mapping[int, Any]
"""What belongs to each file of a table, by its number: a compressed block, or an Arrow table for Parquet."""
_SCHEMA_ORDER = (
    "job_events",
    "task_events",
    "machine_events",
    "machine_attributes",
    "task_constraints",
    "task_usage",
)
"""Tables as the published ``schema.csv`` lists them."""


def schema_text(tables: Mapping[str, RawTable]) -> str:
    r"""Return ``schema.csv``: every field of every table.

    Examples
    --------
    >>> from borgtrace.schema.dialects import dialect
    >>> print(*schema_text(dialect("2011").tables).splitlines()[:2], sep="\n")
    file pattern,field number,content,format,mandatory
    job_events/part-?????-of-?????.csv.gz,1,time,INTEGER,YES
    """
    lines = ["file pattern,field number,content,format,mandatory"]
    for name in _SCHEMA_ORDER:
        table = tables[name]
        part = "part-00000-of-00001" if table.parts == 1 else "part-?????-of-?????"
        for number, field in enumerate(table.fields, start=1):
            mandatory = "YES" if field.is_mandatory else "NO"
            lines.append(f"{name}/{part}.csv.gz,{number},{field.name},{field.format},{mandatory}")
    return "\n".join(lines) + "\n"


class RawTableFiles(ABC):
    """Writes tables of a dialect, segment by segment.

    Parameters
    ----------
    out
        The folder of the trace.
    dialect, machines
        The trace format, and the machines of the cell.
    tables
        Raw tables to write.

    Attributes
    ----------
    rows
        Rows written so far, by raw table.
    n_files
        How many files the whole trace has, by raw table: a reader of some of them can tell that they are a part.
    """

    n_files: dict[str, int]

    def __init__(
        self,
        out: Path,
        dialect: Dialect,
        machines: CellMachines,
        tables: Iterable[str],
    ) -> None:
        self.out = out
        self.dialect = dialect
        self.machines = machines
        self.rows = dict.fromkeys(sorted(tables), 0)
        self._spellings = {name: RawRows(dialect, dialect.tables[name]) for name in self.rows}

    def write(self, segment: TraceSegment) -> None:
        """Write the events of one segment."""
        rows_by_table = event_rows(segment, self.machines)
        for name in self.rows:
            table = self.dialect.tables[name].table
            if table in rows_by_table:
                rows = list(rows_by_table[table])
                pieces = self._pieces(name, rows)
                self.add(name, segment.number, pieces, len(rows))

    def add(
        self,
        table: str,
        number: int,
        pieces: Pieces,
        rows: int,
    ) -> None:
        """Add what a segment has of one table.

        Parameters
        ----------
        table
            The raw table.
        number
            Number of the segment.
        pieces
            What belongs to each file.
        rows
            Rows in all of them.
        """
        self.rows[table] += rows
        self._append(table, number, pieces)

    @abstractmethod
    def close(self) -> None:
        """Finish all files."""

    @abstractmethod
    def _pieces(self, table: str, rows: list[Row]) -> Pieces:
        """Distribute rows over files."""

    @abstractmethod
    def _append(
        self,
        table: str,
        number: int,
        pieces: Pieces,
    ) -> None:
        """Append pieces to their files."""


class PartFiles(RawTableFiles):
    """Tables cut by time: one folder a table, ``part-?????-of-?????.csv.gz``, with ``schema.csv`` and ``SHA256SUM``.

    Parameters
    ----------
    out, dialect, machines, tables
        As of :class:`RawTableFiles`.
    parts
        Number of parts.
    """

    def __init__(
        self,
        out: Path,
        dialect: Dialect,
        machines: CellMachines,
        tables: Iterable[str],
        parts: int,
    ) -> None:
        super().__init__(out, dialect, machines, tables)
        self.parts = parts
        self._digests: dict[str, str] = {}
        # Small tables are one file in the bucket; it stays open over all parts.
        self._single_files: dict[str, GzipFile] = {}
        self.n_files = {}
        for name in self.rows:
            if dialect.tables[name].parts == 1:
                self.n_files[name] = 1
                self._single_files[name] = self._open(name, 0, 1)
            else:
                self.n_files[name] = parts

    def _pieces(self, table: str, rows: list[Row]) -> Pieces:
        lines = map(self._spellings[table].csv_line, rows)
        return {0: compressed("".join(lines))}

    def _append(
        self,
        table: str,
        number: int,
        pieces: Pieces,
    ) -> None:
        if table in self._single_files:
            for piece in pieces.values():
                self._single_files[table].append(piece)
        elif any(piece.size for piece in pieces.values()):
            file = self._open(table, number, self.parts)
            for piece in pieces.values():
                file.append(piece)
            self._close(file)
        else:
            # Not written: readers take an empty file for a damaged one.
            self.n_files[table] -= 1

    def close(self) -> None:
        """Finish the single files and write ``schema.csv`` and ``SHA256SUM``."""
        for file in self._single_files.values():
            self._close(file)
        (self.out / "schema.csv").write_text(schema_text(self.dialect.tables))
        with (self.out / "SHA256SUM").open("w") as sums:
            for name, digest in sorted(self._digests.items()):
                sums.write(f"{digest}  {name}\n")

    def _open(
        self,
        table: str,
        number: int,
        parts: int,
    ) -> GzipFile:
        name = f"part-{number:05d}-of-{parts:05d}.csv.gz"
        return GzipFile(self.out / table / name)

    def _close(self, file: GzipFile) -> None:
        name = str(file.path.relative_to(self.out))
        self._digests[name] = file.close()


class _ParquetFile:
    """A Parquet file that is written once, table by table."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.schema = schema
        self._writer = pq.ParquetWriter(path, schema, compression="snappy")

    def append(self, rows: pa.Table) -> None:
        """Append some rows."""
        self._writer.write_table(rows.cast(self.schema))

    def close(self) -> None:
        """Finish the file."""
        self._writer.close()


class ShardFiles(RawTableFiles):
    """Tables distributed by hash: ``<table>-000000000000.json.gz`` (or Parquet), rows in no order.

    Parameters
    ----------
    out, dialect, machines
        As of :class:`RawTableFiles`.
    shards
        Number of files by raw table to write; they stay open until the end.
    seed
        Seed of the hash.
    file_format
        ``"json"`` or ``"parquet"``.
    """

    def __init__(
        self,
        out: Path,
        dialect: Dialect,
        machines: CellMachines,
        shards: Mapping[str, int],
        seed: int,
        file_format: str,
    ) -> None:
        super().__init__(out, dialect, machines, shards)
        self.seed = seed
        self.n_files = dict(shards)
        self._files: dict[str, list[GzipFile | _ParquetFile]] = {}
        for name, n_files in shards.items():
            paths = [out / f"{name}-{number:012d}.{file_format}.gz" for number in range(n_files)]
            if file_format == "json":
                self._files[name] = [GzipFile(path) for path in paths]
            else:
                schema = raw_schema(dialect.tables[name])
                self._files[name] = [_ParquetFile(path, schema) for path in paths]

    def _pieces(self, table: str, rows: list[Row]) -> Pieces:
        spelling = self._spellings[table]
        files = self._files[table]
        pieces: dict[int, Any] = {}
        for shard, members in enumerate(self._rows_by_shard(table, rows)):
            file = files[shard]
            if isinstance(file, GzipFile):
                # A segment of deflate for each part of the trace: the file is one gzip member all the same.
                pieces[shard] = compressed("".join(map(spelling.json_line, members)))
            elif members:
                records = [spelling.record(row) for row in members]
                pieces[shard] = pa.Table.from_pylist(records, file.schema)
        return pieces

    def _rows_by_shard(
        self,
        table: str,
        rows: list[Row],
    ) -> list[list[Row]]:
        """Return the rows of each file, in the order of their hashes."""
        hashed_rows: list[list[tuple[int, Row]]] = [[] for _ in self._files[table]]
        for number, row in enumerate(rows, start=self.rows[table]):
            # By the number of the row: the real shards are by hash too, so that a task's rows lie in all of them.
            value = key(self.seed, table, number)
            hashed_rows[value % len(hashed_rows)].append((value, row))
        return [
            [row for _, row in sorted(shard, key=lambda hashed_row: hashed_row[0])]
            for shard in hashed_rows
        ]

    def _append(
        self,
        table: str,
        number: int,
        pieces: Pieces,
    ) -> None:
        for shard, piece in pieces.items():
            self._files[table][shard].append(piece)

    def close(self) -> None:
        """Finish all files."""
        for file in chain(*self._files.values()):
            file.close()
