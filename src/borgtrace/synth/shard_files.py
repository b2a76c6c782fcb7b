"""Tables dealt out by hash: ``<table>-000000000000.json.gz`` (or Parquet), rows in no order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace.schema.arrow import raw_schema
from borgtrace.schema.dialects import Dialect, RawTable
from borgtrace.synth.event_log import TraceSegment
from borgtrace.synth.event_rows import Row, event_rows
from borgtrace.synth.gzip_files import CompressedBlock, GzipFile
from borgtrace.synth.hashing import key
from borgtrace.synth.machines import Machines
from borgtrace.synth.raw_rows import RawRows


class ShardFiles:
    """Writes the tables of a dialect over hash shards, which stay open until the end.

    Parameters
    ----------
    out
        The folder of the trace.
    dialect, machines
        The trace format, and the machines of the cell.
    shards
        Number of files by raw table to write.
    seed
        Seed of the hash.
    file_format
        ``"json"`` or ``"parquet"``.

    Attributes
    ----------
    rows
        Rows written so far, by raw table.
    """

    def __init__(
        self, out: Path, dialect: Dialect, machines: Machines, shards: Mapping[str, int], seed: int, file_format: str
    ) -> None:
        self.machines, self.seed = machines, seed
        self._tables = dialect.tables
        self._spelled = {name: RawRows(dialect, dialect.tables[name]) for name in shards}
        self.rows: dict[str, int] = dict.fromkeys(sorted(shards), 0)
        self._files = {
            name: [_open(out / f"{name}-{n:012d}.{file_format}.gz", dialect.tables[name]) for n in range(number)]
            for name, number in shards.items()
        }

    def write(self, segment: TraceSegment) -> None:
        """Write the events of one segment."""
        rows = event_rows(segment, self.machines)
        for name in self._spelled:
            if self._tables[name].table in rows:
                self._deal(name, rows[self._tables[name].table])

    def _deal(self, table: str, rows: Iterable[Row]) -> None:
        """Deal rows out to shards by hash, unordered inside."""
        files, spelled = self._files[table], self._spelled[table]
        piles: list[list[tuple[int, Row]]] = [[] for _ in files]
        for row in rows:
            # By the number of the row: the real shards are by hash too, so that a task's rows lie in all of them.
            value = key(self.seed, table, self.rows[table])
            piles[value % len(piles)].append((value, row))
            self.rows[table] += 1
        for file, pile in zip(files, piles, strict=True):
            mine = [row for _, row in sorted(pile, key=lambda item: item[0])]
            if isinstance(file, GzipFile):
                # A segment of deflate for each part of the trace: the file is one gzip member all the same.
                file.write("".join(map(spelled.json_line, mine)).encode())
            elif mine:
                file.write_table(pa.Table.from_pylist(list(map(spelled.record, mine)), schema=file.schema))

    def add_usage(self, table: str, number: int, pieces: Mapping[int, CompressedBlock | pa.Table], rows: int) -> None:
        """Append the usage of a segment to its shards; its `number` does not matter.

        Parameters
        ----------
        table
            The raw table.
        number
            Number of the segment.
        pieces
            By number of the shard: compressed text, or rows for Parquet.
        rows
            Rows in all of them.
        """
        self.rows[table] += rows
        for shard, piece in pieces.items():
            file: Any = self._files[table][shard]
            if isinstance(piece, CompressedBlock):
                file.append(piece)
            else:
                file.write_table(piece.cast(file.schema))

    def close(self) -> None:
        """Finish all files."""
        for files in self._files.values():
            for file in files:
                file.close()


def _open(path: Path, raw: RawTable) -> GzipFile | pq.ParquetWriter:
    if path.name.endswith(".json.gz"):
        return GzipFile(path)
    return pq.ParquetWriter(path, raw_schema(raw), compression="snappy")
