"""What an ingest will take, said before anything is written."""

import shutil
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from isal import isal_zlib

from borgtrace.errors import StoreError
from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.files.streams import DAMAGE
from borgtrace.ingest.find.discovery import Discovery
from borgtrace.schema.records import row_of
from borgtrace.storage import RemotePath
from borgtrace.store.parts import describe_numbers

_UNPACKED = {"csv": 3.0, "json": 4.5, "parquet": 1.0, "kaggle": 1.0, "swf": 3.0, "prometheus": 1.0}
"""Raw bytes per byte of a gzip file (Parquet: as it is)."""
_STAGED, _STORED = 0.54, 0.40
"""Bytes of Parquet per byte of gzip, waiting and sorted; at the end of an ingest both are there."""
_ROWS_PER_BYTE = {"task_usage": 1 / 40, "instance_usage": 1 / 200}
"""Of gzip, where there is no sample; only usage gets arrays."""
# Five arrays of four bytes: start, duration and three measured columns.
_ARRAY_BYTES_PER_ROW = 20
_SECONDS_PER_BYTE = 1 / 36e6
"""CPU seconds to stage a byte of gzip CSV on the machine of ``benchmarks/RESULTS.md``, where there is no sample."""
_STAGING = {"csv": 5.0, "json": 7.6}
"""Staging a gzip file beside decompressing it, which depends less on the machine (same page)."""
_SAMPLE = 4 << 20
_SMALLEST_SAMPLE = 1 << 20
_WHOLE_INGEST = 2.1
"""A whole ingest beside its staging: 1.4 to 2.1 in the last runs of 12 M rows, 3.4 before (same page)."""


@dataclass(frozen=True, slots=True)
class TablePlan:
    """One raw table of a plan: its files, which parts they are, and the columns they fill."""

    table: str
    files: int
    size: int
    parts: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IngestPlan:
    """Tables, disk and time of an ingest."""

    generation: str
    cell: str
    tables: tuple[TablePlan, ...]
    disk_needed: int
    disk_free: int | None
    seconds: float


def plan(discovery: Discovery, store: Path, jobs: int) -> IngestPlan:
    """Estimate what an ingest of `discovery` into `store` takes.

    Parameters
    ----------
    discovery
        The raw files, at least one.
    store
        Where the store is made, which need not exist.
    jobs
        Files staged at a time.

    Returns
    -------
    IngestPlan
        Disk in bytes, time in seconds; both are estimates from the sizes of the files.  How much is free in a bucket
        nobody knows: None.
    """
    groups: dict[str, list[Source]] = defaultdict(list)
    for source in discovery.sources:
        groups[source.table].append(source)
    gzip_size = sum(_gzip_size(source) for source in discovery.sources)
    seconds, lines = _sample(discovery.sources)
    per_byte = {name: lines.get(name, known) for name, known in _ROWS_PER_BYTE.items()}
    rows = sum(_gzip_size(source) * per_byte.get(source.table, 0) for source in discovery.sources)
    return IngestPlan(
        discovery.generation,
        discovery.cell,
        tuple(_table_plan(name, groups[name]) for name in sorted(groups)),
        int((_STAGED + _STORED) * gzip_size + _ARRAY_BYTES_PER_ROW * rows),
        None if isinstance(store, RemotePath) else _free(store),
        _WHOLE_INGEST * gzip_size * seconds / jobs,
    )


def _free(store: Path) -> int:
    # The store's folder is not made for a plan; its file system is that of the nearest folder that exists.
    existing = next(folder for folder in (store, *store.absolute().parents) if folder.exists())
    return shutil.disk_usage(existing).free


def require_disk(planned: IngestPlan, store: Path) -> None:
    """Refuse to begin what cannot end: the disk is too small.

    Parameters
    ----------
    planned
        From `plan`.
    store
        The store's folder, for the message.

    Raises
    ------
    StoreError
        With both numbers.
    """
    # What is there, of the store and waiting for it, is written once more beside itself.
    needed = planned.disk_needed + sum(
        path.stat().st_size for path in store.rglob("*") if path.is_file()
    )
    if planned.disk_free is not None and needed > planned.disk_free:
        expected, got = f"about {needed / 1e9:.1f} GB", f"{planned.disk_free / 1e9:.1f} GB"
        way_out = "free some, or ingest the trace part by part with --stage-only"
        raise StoreError(
            str(store), "not enough free disk", expected=expected, got=got, way_out=way_out
        )


def _table_plan(name: str, sources: list[Source]) -> TablePlan:
    folders = sorted({source.folder for source in sources if source.folder})
    beside = f" in {', '.join(folders[:3])}{', …' * (len(folders) > 3)}" if folders else ""
    return TablePlan(
        name,
        len(sources),
        sum(source.size for source in sources),
        describe_numbers(
            (s.part for s in sources), next((s.parts for s in sources if s.parts), None)
        )
        + beside,
        _columns(sources[0]),
    )


def _sample(sources: Sequence[Source]) -> tuple[float, dict[str, float]]:
    """Decompress the beginning of the largest file: seconds to stage a byte of gzip, and lines in one of its table."""
    packed = [
        one
        for one in sources
        if one.is_gzip and one.format in _STAGING and one.size >= _SMALLEST_SAMPLE
    ]
    # A file that cannot be read is for the ingest to name.
    with suppress(OSError, ValueError, *DAMAGE):
        largest = max(packed, key=lambda one: one.size)
        with largest.path.open("rb") as file:
            head = file.read(_SAMPLE)
        started = time.perf_counter()
        text = isal_zlib.decompressobj(wbits=31).decompress(head)
        seconds = _STAGING[largest.format] * (time.perf_counter() - started) / len(head)
        return seconds, {largest.table: text.count(b"\n") / len(head)}
    return _SECONDS_PER_BYTE, {}


def _columns(source: Source) -> tuple[str, ...]:
    """Return the canonical columns that a raw table fills, in published order where its fields have places."""
    raw = source.dialect.tables.get(source.table)
    if raw is None:
        return ()
    filled = [field.column for field in raw.fields]
    return tuple(
        filled
        if raw.is_positional
        else (name for name in row_of(raw.table).names if name in filled)
    )


def _gzip_size(source: Source) -> float:
    return source.size if source.is_gzip else source.size / _UNPACKED[source.format]
