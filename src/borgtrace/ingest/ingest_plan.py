"""Estimate the disk and time of an ingest before anything is written."""

import shutil
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from isal import isal_zlib

from borgtrace.errors import StoreError
from borgtrace.ingest.build.coded_part import SUFFIX
from borgtrace.ingest.build.freed_rows import can_free
from borgtrace.ingest.build.sorting_limits import MOST_WRITERS, rows_of_file
from borgtrace.ingest.files.limits import FREE_EXPANSION
from borgtrace.ingest.files.packing import DAMAGE
from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.find.discovery import Discovery
from borgtrace.schema.records import row_of
from borgtrace.storage import RemotePath, open_regular
from borgtrace.store.layout import Layout
from borgtrace.store.parts import describe_numbers

_UNPACKED = {
    "csv": 3.0,
    "json": 4.5,
    "parquet": 1.0,
    "table": 1.0,
    "kaggle": 1.0,
    "swf": 3.0,
    "log": 3.0,
    "prometheus": 1.0,
}
"""Raw bytes per byte of a gzip file (Parquet: as it is)."""
_STAGED, _STORED = 0.54, 0.40
"""Bytes of Parquet per byte of gzip, waiting and sorted; both are there at the end of an ingest that frees no rows."""
_RECORD_BYTES = {"task_usage": 46}
"""Bytes of a row that waits as a record of codes, not as Parquet: of usage of 2011."""
_WHILE_FREED = 1.2
"""What a large store takes at the most while records are freed, as a multiple of the larger of the two (same page)."""
_ROWS_PER_BYTE = {"task_usage": 1 / 40, "instance_usage": 1 / 200}
"""Of gzip, where there is no sample; only usage gets arrays."""
# Five arrays of four bytes: start, duration and three measured columns.
_ARRAY_BYTES_PER_ROW = 20
_SECONDS_PER_BYTE = 1 / 36e6
"""CPU seconds to stage a byte of gzip CSV on the machine of ``benchmarks/RESULTS.md``, where there is no sample."""
_STAGING = {"csv": 5.0, "json": 7.6}
"""Time to stage a gzip file as a multiple of decompressing it, which depends less on the machine (same page)."""
_SAMPLE = 4 << 20
_SMALLEST_SAMPLE = 1 << 20
_SAMPLE_OF_BUCKET = 1 << 18
"""From a bucket a sample takes longer to come than to decompress."""
_WHOLE_INGEST = 2.1
"""Time of a whole ingest as a multiple of its staging: 1.4 to 2.1 in the last runs of 12 M rows (same page)."""


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
    """Tables, disk and time of an ingest.

    A file that holds several tables, or is read for several sections of a declaration, counts once in `files` and
    `size`, and once in each of its tables.
    """

    generation: str
    cell: str
    tables: tuple[TablePlan, ...]
    files: int
    size: int
    disk_needed: int
    disk_free: int | None
    seconds: float


def estimate(
    discovery: Discovery,
    store: Path,
    jobs: int,
    *,
    frees_rows: bool = True,
) -> IngestPlan:
    """Estimate the disk and the time of an ingest of `discovery` into `store`.

    Parameters
    ----------
    discovery
        The raw files, at least one.
    store
        Where the store is made, which need not exist.
    jobs
        Files staged at a time.
    frees_rows
        Whether staged rows may be freed while the store is made; tasks of Spark leave them.

    Returns
    -------
    IngestPlan
        Disk in bytes, time in seconds; both are estimates from the sizes of the files.  How much is free in a bucket
        nobody knows: None.
    """
    sources_of_table: dict[str, list[Source]] = defaultdict(list)
    for source in discovery.sources:
        sources_of_table[source.table].append(source)
    sample = _measure_sample(discovery.sources)
    rows_per_byte = {
        table: sample.lines_per_byte.get(table, usual) for table, usual in _ROWS_PER_BYTE.items()
    }
    expected = _expect(discovery.sources, rows_per_byte)
    disk_needed = expected.other_bytes + expected.record_bytes + expected.stored_bytes
    if frees_rows and _frees_records(store, expected.record_bytes):
        disk_needed = expected.other_bytes + _disk_while_freed(expected, jobs)
    sizes = _sizes_of_files(discovery.sources)
    return IngestPlan(
        generation=discovery.generation,
        cell=discovery.cell,
        tables=tuple(
            _plan_table(name, sources_of_table[name]) for name in sorted(sources_of_table)
        ),
        files=len(sizes),
        size=sum(sizes.values()),
        disk_needed=int(disk_needed),
        disk_free=_free_disk(store),
        seconds=_WHOLE_INGEST * expected.gzip_bytes * sample.seconds_per_byte / jobs,
    )


class _Expected(NamedTuple):
    """What is expected of raw files: their bytes as gzip, rows of usage, and the bytes that these and others take."""

    gzip_bytes: float
    usage_rows: float
    record_bytes: float
    """Of usage that waits as records of codes."""
    other_bytes: float
    """Of what waits as Parquet."""

    @property
    def stored_bytes(self) -> float:
        """Bytes of the store."""
        return _STORED * self.gzip_bytes + _ARRAY_BYTES_PER_ROW * self.usage_rows


def _expect(sources: Iterable[Source], rows_per_byte: Mapping[str, float]) -> _Expected:
    """Return what is expected of raw files, from their sizes and the rows that a byte of gzip holds, by table."""
    gzip_bytes = 0.0
    usage_rows = 0.0
    record_bytes = 0.0
    other_bytes = 0.0
    for source in sources:
        size = _gzip_size(source)
        rows = size * rows_per_byte.get(source.table, 0)
        gzip_bytes += size
        usage_rows += rows
        if source.table in _RECORD_BYTES:
            record_bytes += rows * _RECORD_BYTES[source.table]
        else:
            other_bytes += size * _STAGED
    return _Expected(gzip_bytes, usage_rows, record_bytes, other_bytes)


def _disk_while_freed(expected: _Expected, jobs: int) -> float:
    """Return the most that records and the store take, where records of finished files are freed."""
    n_rows = expected.usage_rows
    # Those of files that are being made are not: of a small store all, where there are as many writers.
    rows_in_work = min(jobs, MOST_WRITERS) * rows_of_file(int(n_rows))
    in_work = min(1, rows_in_work / n_rows)
    smaller, larger = sorted((expected.record_bytes, expected.stored_bytes))
    return min(smaller + larger, in_work * smaller + _WHILE_FREED * larger)


def require_disk(plan: IngestPlan, store: Path) -> None:
    """Refuse to begin what cannot end: the disk is too small.

    Parameters
    ----------
    plan
        From `estimate`.
    store
        The store's folder, for the message.

    Raises
    ------
    StoreError
        With both numbers.
    """
    if plan.disk_free is None:
        return
    needed = plan.disk_needed + _disk_to_rewrite(store)
    if needed > plan.disk_free:
        raise StoreError(
            str(store),
            "not enough free disk",
            expected=f"about {needed / 1e9:.1f} GB",
            got=f"{plan.disk_free / 1e9:.1f} GB",
            way_out="free some, or ingest the trace part by part with --stage-only",
        )


def _disk_to_rewrite(store: Path) -> float:
    """Return what a store, and what is staged for it, takes once more: it is written again beside itself."""
    present = {path: path.stat().st_size for path in store.rglob("*") if path.is_file()}
    record_bytes = sum(size for path, size in present.items() if path.suffix == SUFFIX)
    other_bytes = sum(present.values()) - record_bytes
    if _frees_records(store, record_bytes):
        return other_bytes + (_WHILE_FREED - 1) * record_bytes
    return other_bytes + record_bytes


def _frees_records(store: Path, n_bytes: float) -> bool:
    """Whether staged records are freed while the store is made."""
    if isinstance(store, RemotePath) or Layout(store).manifest.exists():
        return False
    return can_free(_existing_folder(store), int(n_bytes))


def _free_disk(store: Path) -> int | None:
    if isinstance(store, RemotePath):
        return None
    return shutil.disk_usage(_existing_folder(store)).free


def _existing_folder(store: Path) -> Path:
    """Return the nearest folder that exists, whose file system is that of the store: none is made for a plan."""
    folders = (store, *store.absolute().parents)
    return next(folder for folder in folders if folder.exists())


def _sizes_of_files(sources: Sequence[Source]) -> dict[tuple[Path, str], int]:
    """Return the size of each file, by its path and its name in an archive."""
    return {(source.path, source.member): source.size for source in sources}


def _plan_table(name: str, sources: Sequence[Source]) -> TablePlan:
    numbers = (source.part for source in sources)
    n_parts = next((source.parts for source in sources if source.parts), None)
    return TablePlan(
        table=name,
        files=len(sources),
        size=sum(source.size for source in sources),
        parts=describe_numbers(numbers, n_parts) + _describe_folders(sources),
        columns=_filled_columns(sources[0]),
    )


def _describe_folders(sources: Sequence[Source]) -> str:
    folders = sorted({source.folder for source in sources if source.folder})
    if not folders:
        return ""
    more = ", …" if len(folders) > 3 else ""
    return f" in {', '.join(folders[:3])}{more}"


def _filled_columns(source: Source) -> tuple[str, ...]:
    """Return the canonical columns that a raw table fills, in published order where its fields have places."""
    raw = source.dialect.tables.get(source.table)
    if raw is None:
        return ()
    filled = [item.column for item in raw.fields]
    if raw.is_positional:
        return tuple(filled)
    return tuple(name for name in row_of(raw.table).names if name in filled)


def _gzip_size(source: Source) -> float:
    return source.size if source.packing else source.size / _UNPACKED[source.format]


@dataclass(frozen=True)
class _Sample:
    """How long a byte of gzip takes to stage, and how many lines it holds, by table."""

    seconds_per_byte: float = _SECONDS_PER_BYTE
    lines_per_byte: Mapping[str, float] = field(default_factory=dict)


def _measure_sample(sources: Sequence[Source]) -> _Sample:
    """Decompress the beginning of the largest file."""
    packed = [
        source
        for source in sources
        if source.packing == "gzip"
        and source.format in _STAGING
        and source.size >= _SMALLEST_SAMPLE
    ]
    if not packed:
        return _Sample()
    largest = max(packed, key=lambda source: source.size)
    # A file that cannot be read is for the ingest to name.
    with suppress(OSError, ValueError, *DAMAGE):
        size = _SAMPLE_OF_BUCKET if isinstance(largest.path, RemotePath) else _SAMPLE
        with open_regular(largest.path) as file:
            head = file.read(size)
        started = time.perf_counter()
        inflater = isal_zlib.decompressobj(wbits=31)
        # At most so many bytes: the largest file may be one that expands beyond all reason.
        text = inflater.decompress(head, FREE_EXPANSION)
        seconds = time.perf_counter() - started
        n_inflated = len(head) - len(inflater.unconsumed_tail)
        return _Sample(
            seconds_per_byte=_STAGING[largest.format] * seconds / n_inflated,
            lines_per_byte={largest.table: text.count(b"\n") / n_inflated},
        )
    return _Sample()
