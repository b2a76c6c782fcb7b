"""Staging: one raw file → one checked Parquet part; single-threaded, so that one runs per core."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from borgtrace.ingest.classify import first_line_width
from borgtrace.ingest.sources import Source
from borgtrace.ingest.stage_csv import stage_csv
from borgtrace.ingest.stage_kaggle import stage_kaggle
from borgtrace.ingest.stage_v3 import stage_v3
from borgtrace.ingest.staged import StagedPaths, read_entry, staged_key, write_entry
from borgtrace.schema import TRACE_TABLES
from borgtrace.store.manifest import SourceEntry


def stage(source: Source, staging: Path) -> SourceEntry:
    """Stage one raw file, unless it is staged already, and return its ledger entry.

    Raises
    ------
    SourceError
        When the file cannot be read to its end; nothing of it is kept.
    """
    paths = StagedPaths(staging, staged_key(source.name))
    if paths.entry.exists():
        return read_entry(paths.entry)
    pa.set_cpu_count(1)
    for table in TRACE_TABLES:
        paths.table(table).parent.mkdir(parents=True, exist_ok=True)
    entry = _stage_as(source, paths)
    write_entry(paths.entry, entry)
    return entry


def _stage_as(source: Source, paths: StagedPaths) -> SourceEntry:
    if source.format == "csv":
        return stage_csv(source, paths, first_line_width(source))
    if source.format == "kaggle":
        return stage_kaggle(source, paths)
    return stage_v3(source, paths)
