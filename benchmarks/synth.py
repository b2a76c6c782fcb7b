"""Synthetic traces: how near to the speed of compressing them, how much memory, does the cost stay linear?

Limit: gzip-compressing the very bytes of the usage files with isal at the same level, one thread, in a
process of its own.  Each trace is made in a process of its own with one thread and with two; its peak memory
is that of the process.  Then the same cell for more hours: rows per second and memory should not change.

    python benchmarks/synth.py [--machines 100] [--hours 24]
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

GENERATE = """
import json, resource, sys, time
from pathlib import Path
from borgtrace.synth import generate
folder, warm, generation, machines, hours, jobs, form = sys.argv[1:]
generate(warm, generation, 2, 1.0, jobs=1, file_format=form)
start = time.perf_counter()
generate(folder, generation, int(machines), float(hours), jobs=int(jobs), file_format=form)
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
truth = json.loads((Path(folder) / "truth.json").read_text())
print(json.dumps([seconds, peak, sum(truth["rows"].values()), truth["usage_rows"]]))
"""


def made(folder, generation, machines, hours, jobs, form="json"):
    """Seconds, peak GB, rows and usage rows of one trace, made in a fresh process after compiling."""
    shutil.rmtree(folder, ignore_errors=True)
    warm = folder.with_name("warm")
    shutil.rmtree(warm, ignore_errors=True)
    arguments = [str(folder), str(warm), generation, str(machines), str(hours), str(jobs), form]
    done = subprocess.run(
        [sys.executable, "-c", GENERATE, *arguments], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def compressed(folder, table):
    """Seconds that isal takes to compress the bytes of the usage files again, and those bytes."""
    from isal import igzip, isal_zlib

    seconds = size = 0
    for path in sorted(folder.glob(f"{table}*/*.gz")) or sorted(folder.glob(f"{table}*.gz")):
        data = igzip.decompress(path.read_bytes())
        start = time.perf_counter()
        igzip.compress(data, isal_zlib.ISAL_DEFAULT_COMPRESSION)
        seconds += time.perf_counter() - start
        size += len(data)
    return seconds, size


def speed(work, machines, hours):
    """Print rows per second beside the limit, for both generations."""
    print(f"{machines} machines × {hours:g} hours\n")
    print(
        "| trace | usage rows/s ÷ compressing alone | threads | s | usage rows/s | compressing alone rows/s "
        "| usage rows | usage GB | peak GB |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for generation, table in (("2011", "task_usage"), ("2019", "instance_usage")):
        for jobs in (1, 2):
            folder = work / "trace"
            seconds, peak, _, rows = made(folder, generation, machines, hours, jobs)
            alone, size = compressed(folder, table)
            print(
                f"| {generation} | {alone / seconds:.2f} | {jobs} | {seconds:.1f} | {rows / seconds:,.0f} "
                f"| {rows / alone:,.0f} | {rows:,} | {size / 1e9:.2f} | {peak:.2f} |",
                flush=True,
            )
    seconds, peak, _, rows = made(work / "trace", "2019", machines, hours, 2, "parquet")
    print(
        f"| 2019, Parquet | – | 2 | {seconds:.1f} | {rows / seconds:,.0f} | – | {rows:,} | – | {peak:.2f} |"
    )


def growth(work, machines, hours):
    """Print cost per row and memory as the hours (and the machines) grow."""
    print("\n| machines | hours | million rows | µs per row | peak GB |")
    print("|--:|--:|--:|--:|--:|")
    for count, length in (
        (machines, hours / 4),
        (machines, hours),
        (machines, hours * 4),
        (machines * 4, hours),
    ):
        seconds, peak, rows, _ = made(work / "trace", "2011", count, length, 2)
        print(
            f"| {count} | {length:g} | {rows / 1e6:.2f} | {1e6 * seconds / rows:.2f} | {peak:.2f} |",
            flush=True,
        )


def main(argv=None):
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--machines", type=int, default=100)
    parser.add_argument("--hours", type=float, default=24.0)
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        speed(Path(folder), args.machines, args.hours)
        growth(Path(folder), args.machines, args.hours)


if __name__ == "__main__":
    main()
