"""Logs of jobs and JSON of one's own → store, beside DuckDB's reader of the same file → Parquet.

    python benchmarks/job_logs.py [--rows 400000] [--runs 3] [--only swf sacct json]

SWF: a workload log of as many jobs as RICC's.  sacct: jobs as `sacct --parsable2` prints them.  JSON: one array of
measurements of pods.  Each way runs in a process of its own with two threads or workers; CPU seconds are those of the
process and its children, beyond what a hundredth of the rows takes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from cpu_of_process import cpu_of

SWF_FIELDS = 18
CONTAINERS = 400
STEP = 300


def swf(path: Path, rows: int) -> None:
    """Write jobs that come one after the other, with the fields that RICC's log fills."""
    random = np.random.default_rng(0)
    submitted = np.sort(random.integers(0, 150 * 86_400, rows))
    runs = random.lognormal(6, 2, rows).astype(int) + 1
    processors = 2 ** random.integers(0, 8, rows)
    memory = random.integers(1, 4_000_000, rows)
    users = random.integers(1, 176, rows)
    with path.open("w") as file:
        file.write("; UnixStartTime: 1272639895\n; TimeZoneString: Asia/Tokyo\n; MaxProcs: 8192\n")
        for job in range(rows):
            fields = [-1] * SWF_FIELDS
            fields[:5] = [job + 1, submitted[job], 10, runs[job], processors[job]]
            fields[6:12] = [memory[job], processors[job], 86_400, memory[job], 1, users[job]]
            file.write(" ".join(map(str, fields)) + "\n")


def sacct(path: Path, rows: int) -> None:
    """Write jobs with the columns that the page of public traces asks for."""
    random = np.random.default_rng(1)
    begun = np.datetime64("2026-10-01T00:00:00") + np.sort(random.integers(0, 2_000_000, rows))
    ended = begun + random.integers(1, 100_000, rows)
    cores = 2 ** random.integers(0, 7, rows)
    with path.open("w") as file:
        file.write("JobID|User|Account|Partition|Submit|Start|End|State|ReqCPUS|ReqMem|NNodes\n")
        for job in range(rows):
            file.write(
                f"{job + 1}|u{job % 90}|a{job % 9}|batch|{begun[job]}|{begun[job]}|{ended[job]}"
                f"|COMPLETED|{cores[job]}|{4 * cores[job]}G|1\n"
            )


def own_json(path: Path, rows: int) -> None:
    """Write measurements of pods as one array."""
    random = np.random.default_rng(2)
    begun = np.datetime64("2026-10-01T00:00:00")
    cores = random.gamma(2, 0.2, rows).round(4)
    memory = random.integers(0, 1 << 33, rows)

    def records() -> Iterator[dict[str, object]]:
        for row in range(rows):
            time = begun + row // CONTAINERS * STEP
            yield {
                "pod": f"web-{row % CONTAINERS}",
                "node": f"n{row % 40}",
                "timestamp": f"{time}Z",
                "cpu_cores": cores[row],
                "memory_bytes": int(memory[row]),
            }

    with path.open("w") as file:
        for row, record in enumerate(records()):
            file.write(("[" if row == 0 else ",\n") + json.dumps(record))
        file.write("]\n")


FILES: dict[str, tuple[str, Callable[[Path, int], None]]] = {
    "swf": ("log.swf", swf),
    "sacct": ("sacct.txt", sacct),
    "json": ("usage.json", own_json),
}
READERS = {
    "swf": "read_csv(?, delim=' ', comment=';', header=false)",
    "sacct": "read_csv(?, delim='|', header=true)",
    "json": "read_json(?)",
}
CAPACITIES = {"swf": "", "sacct": "128cores,512GiB", "json": "200cores,4TiB"}


def run(way: str, name: str, path: Path, out: Path) -> None:
    """Do it once."""
    if way == "duckdb":
        import duckdb

        with duckdb.connect(config={"threads": 2}) as connection:
            rows = connection.sql(f"FROM {READERS[name]}", params=[str(path)])
            rows.write_parquet(str(out), compression="zstd")
        return
    from borgtrace.ingest import IngestOptions, ingest

    options = IngestOptions(jobs=2, stage_only=way == "stage", capacity=CAPACITIES[name])
    ingest([path], out, options)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=FILES, default=list(FILES))
    parser.add_argument("--once", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.once:
        way, name, path, out = options.once
        run(way, name, Path(path), Path(out))
        return
    print(
        "| file | stage ÷ DuckDB | whole ÷ DuckDB | DuckDB CPU s | stage | whole |\n|---|--:|--:|--:|--:|--:|"
    )
    with tempfile.TemporaryDirectory() as temporary:
        for name in options.only:
            compare(name, options.rows, options.runs, Path(temporary))


def compare(name: str, rows: int, runs: int, folder: Path) -> None:
    """Print how long each way takes for a file, and the ratios."""
    file_name, write = FILES[name]
    paths = []
    for number in (rows, max(rows // 100, 4 * CONTAINERS)):
        path = folder / str(number) / file_name
        path.parent.mkdir(exist_ok=True)
        write(path, number)
        paths.append(path)
    seconds = {}
    for way in ("duckdb", "stage", "whole"):
        differences = []
        for _ in range(runs):
            large, small = (
                cpu_of([__file__, "--once", way, name, str(path)], folder / "out") for path in paths
            )
            differences.append(large - small)
        seconds[way] = statistics.median(differences)
    ratios = [seconds[way] / seconds["duckdb"] for way in ("stage", "whole")]
    cells = (f"{value:.2f}" for value in (*ratios, *seconds.values()))
    print("|", " | ".join([name, *cells]), "|", flush=True)


if __name__ == "__main__":
    main()
