"""Ingest beside its peers and its limit: stage, cluster, memory; CSV and JSON.

    python benchmarks/ingest.py [--rows 2400000] [--files 10] [--json-rows 400000]
    python benchmarks/ingest.py --only month --files 95

Every method handles one file per process, two processes at a time, each single-threaded.  CPU seconds are
the process's own, after a file of a thousand rows that brings in whatever is loaded on first use: a worker
reads hundreds of files.  "limit" is ISA-L decompression alone.

"month" ingests the files once, with two workers, and extrapolates to the 500 files of the month of 2011: a line through
the time of a fifth of the files and that of all of them, by rows.  Each file has rows and times of its own: were one
used under several names, tasks and windows would repeat.  95 files are written two at a time and take 12.8 GB; an
ingest of them takes 14 GB more, which it refuses to begin without.  With --keep they are used again.  Not among what is
run where --only says nothing.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil

sys.path.insert(0, str(Path(__file__).parent))
from usage_files import WINDOWS, write_records, write_usage

NAMES = (
    "start_time",
    "end_time",
    "collection_id",
    "instance_index",
    "machine_id",
    "average_cpu",
    "average_memory",
    "assigned_memory",
    "unmapped",
    "page_cache",
    "maximum_memory",
    "io",
    "disk",
    "maximum_cpu",
    "maximum_io",
    "cpi",
    "mai",
    "portion",
    "aggregation",
    "sampled_cpu",
)
_JSON = (
    "start_time: 'BIGINT', end_time: 'BIGINT', collection_id: 'BIGINT', instance_index: 'INTEGER', "
    "machine_id: 'BIGINT', alloc_collection_id: 'BIGINT', alloc_instance_index: 'BIGINT', "
    "collection_type: 'INTEGER', average_usage: 'STRUCT(cpus FLOAT, memory FLOAT)', "
    "maximum_usage: 'STRUCT(cpus FLOAT, memory FLOAT)', random_sample_usage: 'STRUCT(cpus FLOAT, memory FLOAT)', "
    "assigned_memory: 'FLOAT', page_cache_memory: 'FLOAT', cycles_per_instruction: 'FLOAT', "
    "memory_accesses_per_instruction: 'FLOAT', sample_rate: 'FLOAT', cpu_usage_distribution: 'FLOAT[]', "
    "tail_cpu_usage_distribution: 'FLOAT[]'"
)


def limit(path: str, out: str) -> None:
    from isal import igzip

    with igzip.open(path, "rb") as file:
        while file.read(1 << 20):
            pass


def borgtrace(path: str, out: str) -> None:
    from borgtrace.ingest.build.staging import stage
    from borgtrace.ingest.find.recognition import classify

    entry = stage(classify(Path(path)), Path(out))
    assert entry.quarantined == 0, entry


def polars(path: str, out: str) -> None:
    import polars as pl

    types = [
        pl.Int64,
        pl.Int64,
        pl.Int64,
        pl.Int32,
        pl.Int64,
        *[pl.Float32] * 13,
        pl.Int8,
        pl.Float32,
    ]
    frame = pl.scan_csv(path, has_header=False, schema=dict(zip(NAMES, types, strict=True)))
    frame.sink_parquet(f"{out}.parquet", compression="zstd", compression_level=1)


def duckdb(path: str, out: str) -> None:
    import duckdb

    types = ["BIGINT", "BIGINT", "BIGINT", "INTEGER", "BIGINT", *["FLOAT"] * 13, "BOOLEAN", "FLOAT"]
    columns = ", ".join(f"'{name}': '{kind}'" for name, kind in zip(NAMES, types, strict=True))
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(
            f"COPY (FROM read_csv('{path}', header=false, auto_detect=false, delim=',', "
            f"columns={{{columns}}})) TO '{out}.parquet' (COMPRESSION zstd)"
        )


def duckdb_json(path: str, out: str) -> None:
    import duckdb

    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(
            f"COPY (FROM read_json('{path}', format='newline_delimited', columns={{{_JSON}}})) "
            f"TO '{out}.parquet' (COMPRESSION zstd)"
        )


def _work(
    method: Callable[[str, str], None], small: str, path: str, out: str, answer: object
) -> None:
    os.environ["POLARS_MAX_THREADS"] = "1"
    method(small, f"{out}-small")
    before = os.times()
    method(path, out)
    after = os.times()
    cpu = after.user + after.system - before.user - before.system
    answer.put((cpu, _high_water()))  # type: ignore[attr-defined]


def _high_water() -> float:
    """Return the largest resident memory of this process in GB (getrusage would inherit the parent's)."""
    status = Path("/proc/self/status").read_text()
    return (
        int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1e6
    )


def measure(
    method: Callable[[str, str], None], paths: list[Path], out: Path
) -> tuple[float, float]:
    """Return CPU seconds a file and peak GB, with two processes busy."""
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    small = paths[0].parent / "small" / paths[0].name
    workers = [
        context.Process(
            target=_work,
            args=(method, str(small), str(path), str(out / f"{method.__name__}-{i}"), answer),
        )
        for i, path in enumerate(paths)
    ]
    for worker in workers:
        worker.start()
    found = [answer.get(timeout=120) for _ in workers]
    for worker in workers:
        worker.join()
    return statistics.mean(cpu for cpu, _ in found), max(memory for _, memory in found)


def compare(
    title: str, methods: list[Callable[[str, str], None]], paths: list[Path], out: Path, runs: int
) -> None:
    """Print methods interleaved over `runs`, medians, and ratios against each peer."""
    found: dict[str, list[tuple[float, float]]] = {method.__name__: [] for method in methods}
    for _ in range(runs):
        for method in methods:
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir(parents=True)
            found[method.__name__].append(measure(method, paths, out))
    ours = statistics.median(cpu for cpu, _ in found["borgtrace"])
    print(f"\n{title}\n\n| method | borgtrace ÷ it | CPU s a file | peak GB |\n|---|--:|--:|--:|")
    for name, rows in found.items():
        cpu = statistics.median(seconds for seconds, _ in rows)
        print(
            f"| {name} | {ours / cpu:.2f} | {cpu:.2f} | {max(memory for _, memory in rows):.2f} |"
        )


class _Peak(threading.Thread):
    """Largest resident memory of any process of this family, sampled."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.own = self.worker = 0.0
        self.done = False

    def run(self) -> None:
        me = psutil.Process()
        while not self.done:
            self.own = max(self.own, me.memory_info().rss / 1e9)
            for child in me.children(recursive=True):
                try:
                    self.worker = max(self.worker, child.memory_info().rss / 1e9)
                except psutil.Error:
                    continue
            time.sleep(0.05)


def whole(paths: list[Path], folder: Path, memory: str, runs: int) -> None:
    """Print stage alone, stage + cluster + index + traces, and Polars, of all files: medians of runs in turn."""
    from borgtrace.ingest import IngestOptions, ingest

    peak = _Peak()
    peak.start()
    seconds: dict[bool | None, list[float]] = {True: [], False: [], None: []}
    for _, stage_only in itertools.product(range(runs), (True, False, None)):
        store = folder / "store"
        if stage_only is None:
            seconds[None].append(_polars_on_two_cores(paths, folder / "polars"))
            continue
        shutil.rmtree(store, ignore_errors=True)
        before = time.perf_counter()
        result = ingest(paths, store, IngestOptions(jobs=2, memory=memory, stage_only=stage_only))
        seconds[stage_only].append(time.perf_counter() - before)
    peak.done = True
    times = {kind: statistics.median(found) for kind, found in seconds.items()}
    rows = result.manifest.tables["instance_usage"] if result.manifest else 0
    print(f"\n## {rows / 1e6:.0f} M rows, {len(paths)} files, --jobs 2 --memory {memory}\n")
    print(
        "| whole ÷ Polars | stage ÷ Polars | whole ÷ stage | Polars s | stage s | whole s | GB sorting | GB worker |"
    )
    print("|--:|--:|--:|--:|--:|--:|--:|--:|")
    print(
        f"| {times[False] / times[None]:.2f} | {times[True] / times[None]:.2f} | {times[False] / times[True]:.2f} | "
        f"{times[None]:.1f} | {times[True]:.1f} | {times[False]:.1f} | {peak.own:.2f} | {peak.worker:.2f} |"
    )


REAL_ROWS = 1_233_000_000
"""Of task_usage of 2011, in 500 files."""
STORED_ROW, PACKED_ROW = 62, 57
"""Bytes that a row takes: in the store, with what is staged or half made beside it at the worst; in a file."""


def month(paths: list[Path], folder: Path, memory: str) -> None:
    """Print what the month of 2011 would take, from an ingest of a fifth of the files and one of all."""
    print(f"\n## The month of 2011 from {len(paths)} files, --jobs 2 --memory {memory}\n")
    print(
        "Disk: all in the store's folder while it is made, staged parts and the store; not the files.\n"
    )
    print(
        "| files | M rows | minutes | staged GB | bytes a staged row | peak disk GB | peak disk ÷ staged |"
    )
    print("|--:|--:|--:|--:|--:|--:|--:|")
    measured = []
    for some in (paths[: max(len(paths) // 5, 1)], paths):
        found = _timed_ingest(some, folder / "store", memory)
        measured.append(found)
        _print_month(f"{len(some)}", found)
    fewer, all_files = measured
    share = (REAL_ROWS - fewer.rows) / max(all_files.rows - fewer.rows, 1)
    pairs = zip(fewer, all_files, strict=True)
    _print_month(
        "500 (extrapolated)", Ingested(*(low + share * (high - low) for low, high in pairs))
    )


class Ingested(NamedTuple):
    """An ingest: rows, seconds, bytes that were staged, and the most bytes that the store's folder took."""

    rows: float
    seconds: float
    staged: float
    disk: float


def _print_month(files: str, found: Ingested) -> None:
    print(
        f"| {files} | {found.rows / 1e6:.1f} | {found.seconds / 60:.1f} | {found.staged / 1e9:.2f} | "
        f"{found.staged / found.rows:.0f} | {found.disk / 1e9:.2f} | {found.disk / found.staged:.2f} |",
        flush=True,
    )


def _refuse_small_disk(files: Path, n_files: int, rows: int, folder: Path) -> None:
    """End where the files that are yet to be written, and the ingest of all, do not fit on the disk."""
    n_missing = n_files - len(list(files.glob("part-*")))
    needed = rows * (n_missing * PACKED_ROW + n_files * STORED_ROW)
    free = shutil.disk_usage(folder).free
    if free < needed:
        sys.exit(
            f"{folder}: {needed / 1e9:.0f} GB are needed and {free / 1e9:.0f} GB are free; see --files"
        )


def _timed_ingest(paths: list[Path], store: Path, memory: str) -> Ingested:
    from borgtrace.ingest import IngestOptions, ingest

    shutil.rmtree(store, ignore_errors=True)
    disk = _Disk(store)
    disk.start()
    before = time.perf_counter()
    result = ingest(paths, store, IngestOptions(jobs=2, memory=memory))
    seconds = time.perf_counter() - before
    disk.done = True
    assert result.manifest is not None
    return Ingested(result.manifest.tables["instance_usage"], seconds, disk.staged, disk.peak)


class _Disk(threading.Thread):
    """Most bytes in a folder, and in its staging area, looked at once a second."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self.folder = folder
        self.peak = self.staged = 0
        self.done = False

    def run(self) -> None:
        while not self.done:
            self.staged = max(self.staged, _size_of(self.folder / "staging"))
            self.peak = max(self.peak, _size_of(self.folder))
            time.sleep(1)


def _size_of(folder: Path) -> int:
    """Return what the files of a folder take of the disk: some have holes."""
    size = 0
    for path in folder.rglob("*"):
        # Files come and go meanwhile.
        with suppress(OSError):
            size += path.stat().st_blocks * 512 if path.is_file() else 0
    return size


def _polars_on_two_cores(paths: list[Path], out: Path) -> float:
    """Return the seconds of Polars alone on all files, one a process and two at a time, as staging has them."""
    out.mkdir(exist_ok=True)
    os.environ["POLARS_MAX_THREADS"] = "1"
    context = multiprocessing.get_context("spawn")
    with context.Pool(2) as pool:
        # Loaded first, as the workers of an ingest are.
        small = paths[0].parent / "small" / paths[0].name
        pool.starmap(polars, [(str(small), str(out / f"small-{number}")) for number in range(2)], 1)
        before = time.perf_counter()
        pool.starmap(polars, [(str(path), str(out / path.name)) for path in paths], 1)
        return time.perf_counter() - before


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=2_400_000)
    parser.add_argument("--files", type=int, default=10)
    parser.add_argument("--json-rows", type=int, default=400_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--only", choices=["csv", "json", "whole", "month"])
    parser.add_argument(
        "--keep", type=Path, help="folder for the files, reused when they are there"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        wanted = {options.only} if options.only else {"csv", "json", "whole"}
        usage = folder / "task_usage"
        if "month" in wanted:
            _refuse_small_disk(usage, options.files, options.rows, Path(temporary))
        csv = _files(usage, "part-{:05d}-of-00500.csv.gz", options.files, options.rows)
        if "month" in wanted:
            month(csv, Path(temporary), options.memory)
            return
        records = _files(folder / "json", "instance_usage-{:012d}.json.gz", 2, options.json_rows)
        scratch = Path(temporary) / "scratch"
        if "csv" in wanted:
            compare(
                f"## CSV, {options.rows / 1e6:.1f} M rows × 20 columns a file",
                [limit, borgtrace, polars, duckdb],
                csv[:2],
                scratch,
                options.runs,
            )
        if "json" in wanted:
            compare(
                f"## JSON lines, {options.json_rows / 1e6:.1f} M rows a file",
                [limit, borgtrace, duckdb_json],
                records,
                scratch,
                options.runs,
            )
        shutil.rmtree(scratch, ignore_errors=True)
        if "whole" in wanted:
            whole(csv, Path(temporary), options.memory, options.runs)


def _files(folder: Path, pattern: str, count: int, rows: int) -> list[Path]:
    """Write `count` files of `rows` rows, and a small one in a folder below, two at a time."""
    (folder / "small").mkdir(parents=True, exist_ok=True)
    paths = [folder / pattern.format(number) for number in range(count)]
    small = folder / "small" / paths[0].name
    missing = []
    for number, (path, length) in enumerate([*((path, rows) for path in paths), (small, 1000)]):
        if not path.exists():
            missing.append((path, length, number))
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        pool.starmap(_write_file, missing, 1)
    return paths


def _write_file(path: Path, rows: int, number: int) -> None:
    """Write a file, which has its name once it is whole."""
    unfinished = path.with_name(f"unfinished-{path.name}")
    if "json" in path.name:
        write_records(unfinished, rows, number)
    else:
        write_usage(unfinished, rows, number, number * WINDOWS)
    unfinished.rename(path)


if __name__ == "__main__":
    main()
