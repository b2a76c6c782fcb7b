"""Staging one 2019 shard: JSON lines or Parquet, fast where it is clean, with care where not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import duckdb
import numpy as np
import pyarrow as pa

from borgtrace.engine.embedded import SQL_TYPES
from borgtrace.ingest.careful_v3 import sift_shard
from borgtrace.ingest.chunk_v3 import canonical_chunk
from borgtrace.ingest.columns2019 import CONSTRAINT, read_types, v3_columns
from borgtrace.ingest.constraints import unnest_constraints
from borgtrace.ingest.counts import count_suspicions
from borgtrace.ingest.fast_csv import Tripped
from borgtrace.ingest.marks import Marks, marks_of
from borgtrace.ingest.pipes import RecordPipe, plain_file
from borgtrace.ingest.sources import Source
from borgtrace.ingest.staged import StagedPaths, StagedWriter, make_entry
from borgtrace.ingest.streams import sha256_of
from borgtrace.store.manifest import SourceEntry

ROWS_PER_CHUNK = 1 << 18


@dataclass
class _Output:
    """Where the rows of one shard go, and what is counted on the way."""

    paths: StagedPaths
    table: str
    counters: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.rows = StagedWriter(self.paths.table(self.table))
        self.constraints = StagedWriter(self.paths.table("instance_constraints"))
        self.quarantine = StagedWriter(self.paths.quarantine(self.table))

    @property
    def has_constraints(self) -> bool:
        return self.table == "instance_events"

    def write(self, rows: pa.Table, lists: pa.ChunkedArray | None) -> None:
        self.counters += count_suspicions(rows)
        self.rows.write(rows)
        if lists is not None:
            unnested = unnest_constraints(rows, lists)
            if unnested.num_rows:
                self.constraints.write(unnested)

    def restart(self) -> None:
        self.abandon()
        self.counters, self.refused = Counter(), Counter()

    def abandon(self) -> None:
        for writer in (self.rows, self.constraints, self.quarantine):
            writer.abandon()

    def finish(self) -> None:
        for writer in (self.rows, self.constraints, self.quarantine):
            writer.finish()


def stage_v3(source: Source, paths: StagedPaths) -> SourceEntry:
    """Check a 2019 shard row by row and write its staged part.

    Raises
    ------
    SourceError
        When the file cannot be read to its end.
    """
    output = _Output(paths, source.table)
    try:
        try:
            sha256 = _fast_json(source, output) if source.format == "json" else _fast_parquet(source, output)
        except Tripped:
            output.restart()
            sha256 = _careful(source, output)
    except BaseException:
        output.abandon()
        raise
    output.finish()
    rows_in = output.rows.rows + sum(output.refused.values())
    also = {"instance_constraints": output.constraints.rows} if output.has_constraints else {}
    return make_entry(source, source.table, sha256, rows_in, output.rows, output.refused, output.counters, also=also)


def _fast_json(source: Source, output: _Output) -> str:
    """Read JSON lines through a pipe: decompressed and hashed by us, parsed by DuckDB."""
    with RecordPipe(source) as pipe:
        if not pipe.has_quoted_integers:
            raise Tripped
        columns = ", ".join(f"\"{name}\": '{kind}'" for name, kind in read_types(source.table).items())
        reader = (
            f"read_json('{pipe.path}', format='newline_delimited', compression='uncompressed', "
            f"maximum_object_size=16777216, columns={{{columns}}})"
        )
        try:
            values = _run(reader, source.table, output)
        except (duckdb.Error, Tripped) as error:
            pipe.raise_fault()
            raise Tripped from error
        pipe.finish()
        if Marks(output.rows.rows, values.colons, values.quotes) != pipe.marks:
            raise Tripped
        return pipe.sha256


def _fast_parquet(source: Source, output: _Output) -> str:
    with plain_file(source) as path:
        present = pa.parquet.read_schema(path).names
        try:
            _run(f"read_parquet('{path}')", source.table, output, present)
        except duckdb.Error as error:
            raise Tripped from error
    return sha256_of(source.path)


def _run(reader: str, table: str, output: _Output, present: list[str] | None = None) -> Marks:
    """Stage what `reader` yields; return the marks that the text of these records must have."""
    connection = duckdb.connect(config={"threads": 1})
    try:
        values = Marks()
        done = 0
        for flat in _chunks(connection.sql(_flat_query(reader, table, present))):
            values += marks_of(flat)
            rows = canonical_chunk(table, flat)
            numbers = pa.array(np.arange(done, done + len(rows)))
            done += len(rows)
            lists = flat.column(CONSTRAINT) if output.has_constraints else None
            output.write(rows.append_column("source_row", numbers), lists)
        return values
    finally:
        connection.close()


def _flat_query(reader: str, table: str, present: list[str] | None) -> str:
    """Flatten records: canonical columns, constraints as they are, and whether each record is there."""
    fields = read_types(table)
    known = [name for name in fields if present is None or name in present]
    missing = [name for name in fields if name not in known]
    parts = []
    for v3 in v3_columns(table):
        kind = "INTEGER" if v3.column.type == "enum" else None
        value = "NULL" if v3.path[0] in missing else v3.sql
        cast = f"CAST({value} AS {kind or SQL_TYPES[v3.column.type]})"
        parts.append(f'{cast} AS "{v3.column.name}"')
    if table == "instance_events":
        lists = f'"{CONSTRAINT}"' if CONSTRAINT in known else "NULL"
        parts.append(f'CAST({lists} AS {fields[CONSTRAINT]}) AS "{CONSTRAINT}"')
    parts += [f'("{name}" IS NOT NULL) AS "has {name}"' for name in _records(table) if name in known]
    parts += ['(random_sample_usage.memory IS NOT NULL) AS "has memory sample"'] * ("random_sample_usage" in known)
    return f"SELECT {', '.join(parts)} FROM {reader}"


def _records(table: str) -> list[str]:
    return [name for name, kind in read_types(table).items() if kind.startswith("STRUCT") and "[]" not in kind]


def _chunks(result: duckdb.DuckDBPyRelation) -> Iterator[pa.Table]:
    """Yield chunks; a parser's error in mid-stream reaches us through Arrow, as an OSError."""
    try:
        for batch in result.to_arrow_reader(ROWS_PER_CHUNK):
            if batch.num_rows:
                yield pa.Table.from_batches([batch])
    except OSError as error:
        raise Tripped from error


def _careful(source: Source, output: _Output) -> str:
    output.quarantine.path.parent.mkdir(parents=True, exist_ok=True)
    for sifted, lists in sift_shard(source):
        output.write(sifted.rows, lists if output.has_constraints else None)
        output.quarantine.write(sifted.refused)
        output.refused.update(sifted.refused.column("reason").to_pylist())
    return sha256_of(source.path)
