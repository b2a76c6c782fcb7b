"""The files of a trace: tables cut by time as CSV, or dealt out by hash as JSON lines or Parquet."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace.schema.arrow import raw_schema
from borgtrace.schema.dialects import Dialect, RawTable
from borgtrace.synth.event_log import TraceSegment
from borgtrace.synth.event_rows import Row, event_rows
from borgtrace.synth.gzip_files import GzipFile, compressed
from borgtrace.synth.hashing import key
from borgtrace.synth.machines import Machines
from borgtrace.synth.raw_rows import RawRows

Pieces = Mapping[int, Any]
"""What belongs to each file of a table, by its number: a compressed block, or an Arrow table for Parquet."""
_SCHEMA_ORDER = (
    *(
        "job_events",
        "task_events",
        "machine_events",
        "machine_attributes",
        "task_constraints",
        "task_usage",
    ),
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
        single = "part-00000-of-00001" if tables[name].parts == 1 else "part-?????-of-?????"
        lines += [
            f"{name}/{single}.csv.gz,{number},{field.name},{field.format},{'YES' if field.is_mandatory else 'NO'}"
            for number, field in enumerate(tables[name].fields, 1)
        ]
    return "\n".join(lines) + "\n"


class RawFiles(ABC):
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
        self, out: Path, dialect: Dialect, machines: Machines, tables: Iterable[str]
    ) -> None:
        self.out, self.dialect, self.machines = out, dialect, machines
        self.rows = dict.fromkeys(sorted(tables), 0)
        self._spelled = {name: RawRows(dialect, dialect.tables[name]) for name in self.rows}

    def write(self, segment: TraceSegment) -> None:
        """Write the events of one segment."""
        found = event_rows(segment, self.machines)
        for name in self.rows:
            table = self.dialect.tables[name].table
            if table in found:
                rows = list(found[table])
                self.add(name, segment.number, self._pieces(name, rows), len(rows))

    def add(self, table: str, number: int, pieces: Pieces, rows: int) -> None:
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
        """Deal rows out to files."""

    @abstractmethod
    def _append(self, table: str, number: int, pieces: Pieces) -> None:
        """Append pieces to their files."""


class PartFiles(RawFiles):
    """Tables cut by time: one folder a table, ``part-?????-of-?????.csv.gz``, with ``schema.csv`` and ``SHA256SUM``.

    Parameters
    ----------
    out, dialect, machines, tables
        As of :class:`RawFiles`.
    parts
        Number of parts.
    """

    def __init__(
        self, out: Path, dialect: Dialect, machines: Machines, tables: Iterable[str], parts: int
    ) -> None:
        super().__init__(out, dialect, machines, tables)
        self.parts = parts
        self.n_files = {name: 1 if dialect.tables[name].parts == 1 else parts for name in self.rows}
        self._digests: dict[str, str] = {}
        # Small tables are one file in the bucket; it stays open over all parts.
        self._single = {
            name: self._open(name, 0, 1) for name in self.rows if dialect.tables[name].parts == 1
        }

    def _pieces(self, table: str, rows: list[Row]) -> Pieces:
        return {0: compressed("".join(map(self._spelled[table].csv_line, rows)))}

    def _append(self, table: str, number: int, pieces: Pieces) -> None:
        if table not in self._single and not any(piece.size for piece in pieces.values()):
            # An empty file is one that was damaged to whoever reads it.
            self.n_files[table] -= 1
            return
        file = self._single.get(table) or self._open(table, number, self.parts)
        for piece in pieces.values():
            file.append(piece)
        if table not in self._single:
            self._close(file)

    def close(self) -> None:
        """Finish the single files and write ``schema.csv`` and ``SHA256SUM``."""
        for file in self._single.values():
            self._close(file)
        (self.out / "schema.csv").write_text(schema_text(self.dialect.tables))
        lines = (f"{digest}  {name}\n" for name, digest in sorted(self._digests.items()))
        (self.out / "SHA256SUM").write_text("".join(lines))

    def _open(self, table: str, number: int, parts: int) -> GzipFile:
        return GzipFile(self.out / table / f"part-{number:05d}-of-{parts:05d}.csv.gz")

    def _close(self, file: GzipFile) -> None:
        self._digests[str(file.path.relative_to(self.out))] = file.close()


class _ParquetFile(pq.ParquetWriter):
    def append(self, rows: pa.Table) -> None:
        self.write_table(rows.cast(self.schema))


class ShardFiles(RawFiles):
    """Tables dealt out by hash: ``<table>-000000000000.json.gz`` (or Parquet), rows in no order.

    Parameters
    ----------
    out, dialect, machines
        As of :class:`RawFiles`.
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
        machines: Machines,
        shards: Mapping[str, int],
        seed: int,
        file_format: str,
    ) -> None:
        super().__init__(out, dialect, machines, shards)
        self.seed, self.n_files = seed, dict(shards)
        self._files: dict[str, list[Any]] = {}
        for name, number in shards.items():
            paths = [out / f"{name}-{n:012d}.{file_format}.gz" for n in range(number)]
            parquet = partial(
                _ParquetFile, schema=raw_schema(dialect.tables[name]), compression="snappy"
            )
            self._files[name] = list(map(GzipFile if file_format == "json" else parquet, paths))

    def _pieces(self, table: str, rows: list[Row]) -> Pieces:
        files, spelled = self._files[table], self._spelled[table]
        piles: list[list[tuple[int, Row]]] = [[] for _ in files]
        for number, row in enumerate(rows, self.rows[table]):
            # By the number of the row: the real shards are by hash too, so that a task's rows lie in all of them.
            value = key(self.seed, table, number)
            piles[value % len(piles)].append((value, row))
        pieces: dict[int, Any] = {}
        for shard, pile in enumerate(piles):
            mine = [row for _, row in sorted(pile, key=lambda item: item[0])]
            if isinstance(files[shard], GzipFile):
                # A segment of deflate for each part of the trace: the file is one gzip member all the same.
                pieces[shard] = compressed("".join(map(spelled.json_line, mine)))
            elif mine:
                pieces[shard] = pa.Table.from_pylist(
                    list(map(spelled.record, mine)), files[shard].schema
                )
        return pieces

    def _append(self, table: str, number: int, pieces: Pieces) -> None:
        for shard, piece in pieces.items():
            self._files[table][shard].append(piece)

    def close(self) -> None:
        """Finish all files."""
        for file in chain(*self._files.values()):
            file.close()
