"""Staging one 2011 CSV file: the fast path, and the careful one where the fast path trips."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa

from borgtrace.ingest.careful import line_blocks, sift
from borgtrace.ingest.columns2011 import RawColumn, raw_columns
from borgtrace.ingest.counts import count_out_of_order, count_suspicions
from borgtrace.ingest.fast_csv import GENERAL, Reader, Tripped, read_chunks
from borgtrace.ingest.fast_numbers import NUMBERS, Strange, suits
from borgtrace.ingest.fields import csv_field
from borgtrace.ingest.sources import Source
from borgtrace.ingest.staged import StagedPaths, StagedWriter, make_entry
from borgtrace.ingest.streams import open_stream
from borgtrace.store.manifest import SourceEntry


def stage_csv(source: Source, paths: StagedPaths, width: int) -> SourceEntry:
    """Check a 2011 file of `width` fields row by row and write its staged part.

    Raises
    ------
    SourceError
        When the file cannot be read to its end.
    """
    table = source.dialect.tables[source.table].table
    columns = raw_columns(source.dialect, source.table, width)
    writer = StagedWriter(paths.table(table))
    try:
        try:
            sha256, counters = _fast(source, columns, writer)
            refused: Counter[str] = Counter()
        except Tripped:
            # Anything refused, or not understood: read again, with care.
            writer.abandon()
            sha256, counters, refused = _careful(source, columns, writer, paths, table)
    except BaseException:
        writer.abandon()
        raise
    writer.finish()
    rows_in = writer.rows + sum(refused.values())
    return make_entry(source, table, sha256, rows_in, writer, refused, counters)


def _fast(source: Source, columns: tuple[RawColumn, ...], writer: StagedWriter) -> tuple[str, Counter[str]]:
    if suits(columns):
        try:
            return _read(source, columns, writer, NUMBERS)
        except Strange:
            writer.abandon()
    return _read(source, columns, writer, GENERAL)


def _read(
    source: Source, columns: tuple[RawColumn, ...], writer: StagedWriter, reader: Reader
) -> tuple[str, Counter[str]]:
    counters: Counter[str] = Counter()
    with open_stream(source.path, is_gzip=source.is_gzip) as (stream, raw):
        for table, found in read_chunks(stream, columns, reader):
            counters += found
            rows = pa.array(np.arange(writer.rows, writer.rows + table.num_rows))
            writer.write(table.append_column("source_row", rows))
        return raw.hexdigest(), counters


def _careful(
    source: Source, columns: tuple[RawColumn, ...], writer: StagedWriter, paths: StagedPaths, table: str
) -> tuple[str, Counter[str], Counter[str]]:
    fields = [csv_field(column, position) for position, column in enumerate(columns, 1)]
    prelude = "SELECT source_row, line, string_split(line, ',') AS fields FROM lines"
    whole_row = f"CASE WHEN len(fields) != {len(columns)} THEN 'wrong_column_count' END"
    quarantine = StagedWriter(paths.quarantine(table))
    quarantine.path.parent.mkdir(parents=True, exist_ok=True)
    counters: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    time = "start_time" if any(c.column.name == "start_time" for c in columns) else "time"
    previous = 0
    with open_stream(source.path, is_gzip=source.is_gzip) as (stream, raw):
        for block in sift(line_blocks(stream), fields, prelude, whole_row):
            rows = block.rows.select([*(field.name for field in fields), "source_row"])
            writer.write(rows)
            quarantine.write(block.refused)
            counters += count_suspicions(rows)
            times = rows.column(time).to_numpy()
            counters["time_out_of_order"] += count_out_of_order(times, previous)
            previous = int(times[-1]) if len(times) else previous
            refused.update(block.refused.column("reason").to_pylist())
        sha256 = raw.hexdigest()
    quarantine.finish()
    return sha256, +counters, refused
