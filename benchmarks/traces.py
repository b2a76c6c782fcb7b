"""One task's trace, and a hundred thousand of them, beside one SQLite file a job.

The peer is the layout this project started from: a file per job with the table ``task_usage``, opened and asked
once a trace; "indexed" has an index on task and time, which the original had not.  Everything is warm.

    python benchmarks/traces.py [--files 9] [--rows 2400000] [--tasks 100000] [--sample 5000] [--keep DIR]
"""

from __future__ import annotations

import argparse
import itertools
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import borgtrace
from borgtrace.ingest import IngestOptions, ingest

sys.path.insert(0, str(Path(__file__).parent))
from usage_files import WINDOWS, write_usage

Pairs = list[tuple[int, int]]
TABLE = "CREATE TABLE `task_usage` (`start time` INTEGER, `job ID` INTEGER, `task index` INTEGER, `CPU rate` REAL)"
QUERY = (
    "SELECT `start time`, `CPU rate` FROM `task_usage` WHERE `task index` = ? ORDER BY `start time`"
)


def make_store(folder: Path, files: int, rows: int) -> borgtrace.Store:
    """Ingest usage files of their own; a store that is there already is used again."""
    if not (folder / "store" / "manifest.json").exists():
        raw = folder / "raw" / "task_usage"
        raw.mkdir(parents=True, exist_ok=True)
        for number in range(files):
            write_usage(raw / f"part-{number:05d}-of-00500.csv.gz", rows, number, number * WINDOWS)
        ingest([folder / "raw"], folder / "store", IngestOptions(jobs=2))
    return borgtrace.open(folder / "store")


def choose(store: borgtrace.Store, number: int, seed: int = 1) -> Pairs:
    """Draw random tasks of the index."""
    keys = store.sql("SELECT collection_id, instance_index FROM tasks ORDER BY ALL")
    rows = np.random.default_rng(seed).choice(
        keys.num_rows, min(number, keys.num_rows), replace=False
    )
    chosen = keys.take(rows)
    jobs, tasks = (chosen.column(k).to_pylist() for k in range(2))
    return list(zip(jobs, tasks, strict=True))


def write_jobs(store: borgtrace.Store, chosen: Pairs, folder: Path, *, is_indexed: bool) -> None:
    """Write the whole jobs of some tasks, one file each, rows in the order of the raw files: by time."""
    folder.mkdir()
    wanted = ",".join(str(job) for job in {job for job, _ in chosen})
    usage = store.sql(
        "SELECT collection_id, start_time, instance_index, average_cpu FROM instance_usage "
        f"WHERE collection_id IN ({wanted}) ORDER BY collection_id, start_time, instance_index"
    )
    columns = [usage.column(k).to_numpy() for k in range(4)]
    bounds = [0, *(np.flatnonzero(np.diff(columns[0])) + 1).tolist(), usage.num_rows]
    for low, high in itertools.pairwise(bounds):
        job = int(columns[0][low])
        with sqlite3.connect(folder / f"{job}.sqlite3") as file:
            file.execute(TABLE)
            rows = zip(
                columns[1][low:high].tolist(),
                columns[2][low:high].tolist(),
                columns[3][low:high].astype(float).tolist(),
                strict=True,
            )
            file.executemany(
                "INSERT INTO `task_usage` VALUES (?, ?, ?, ?)", ((t, job, i, c) for t, i, c in rows)
            )
            if is_indexed:
                file.execute("CREATE INDEX `by task` ON `task_usage` (`task index`, `start time`)")
        file.close()


def ask_sqlite(folder: Path, pair: tuple[int, int]) -> np.ndarray:
    connection = sqlite3.connect(folder / f"{pair[0]}.sqlite3")
    found = np.array(connection.execute(QUERY, (pair[1],)).fetchall())
    connection.close()
    return found


def latencies(ask: Callable[[tuple[int, int]], object], chosen: Pairs) -> np.ndarray:
    """Return microseconds of each call, after one pass that warms everything."""
    for pair in chosen:
        ask(pair)
    taken = np.empty(len(chosen))
    for k, pair in enumerate(chosen):
        before = time.perf_counter_ns()
        ask(pair)
        taken[k] = (time.perf_counter_ns() - before) / 1000
    return taken


def report(store: borgtrace.Store, chosen: Pairs, sample: Pairs, folder: Path) -> None:
    """Print one table: each way, its ratio to ours, percentiles; then the bulk reading."""
    ways = {"Store.trace": latencies(lambda pair: store.trace(*pair), sample)}
    for name, is_indexed in (("SQLite a job", False), ("SQLite a job, indexed", True)):
        place = folder / ("indexed" if is_indexed else "plain")
        write_jobs(store, sample, place, is_indexed=is_indexed)
        first = store.trace(*sample[0])["average_cpu"]
        assert np.array_equal(
            np.sort(ask_sqlite(place, sample[0])[:, 1]), np.sort(first).astype(float)
        )
        ways[name] = latencies(lambda pair, place=place: ask_sqlite(place, pair), sample)
    ours = ways["Store.trace"]
    print(
        f"{store.manifest.tables['instance_usage']:,} rows, {store.manifest.tables['tasks']:,} tasks\n"
    )
    print("| one task | × Store.trace | p50 µs | p99 µs |\n|---|--:|--:|--:|")
    for name, taken in ways.items():
        print(
            f"| {name} | {np.median(taken) / np.median(ours):.0f} | {np.median(taken):.1f} | "
            f"{np.quantile(taken, 0.99):.1f} |"
        )
    seconds = []
    for _ in range(5):
        before = time.perf_counter()
        found = store.traces(chosen)
        seconds.append(time.perf_counter() - before)
    each = ways["SQLite a job"].mean() / 1e6
    print(
        "\n| many tasks | × faster than SQLite a job | s, best of 5 | points |\n|---|--:|--:|--:|"
    )
    print(
        f"| Store.traces of {len(chosen):,} random tasks | {each * len(chosen) / min(seconds):.0f} | "
        f"{min(seconds):.3f} | {found.offsets[-1]:,} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=int, default=9)
    parser.add_argument("--rows", type=int, default=2_400_000)
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--sample", type=int, default=5_000)
    parser.add_argument("--keep", type=Path, help="folder for the store, reused when it is there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        store = make_store(options.keep or Path(temporary), options.files, options.rows)
        chosen = choose(store, options.tasks)
        report(store, chosen, chosen[: options.sample], Path(temporary))


if __name__ == "__main__":
    main()
