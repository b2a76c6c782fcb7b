"""Synthetic traces: how near to the speed of compressing them, how much memory, does the cost stay linear?

Limit: gzip-compressing the very bytes of the usage files with isal at the same level.  Both are compared in
processor seconds, which other work on the machine lengthens little.  First the usage: windows of runs measured,
printed and compressed, against compressing alone (best of three, part by part).  Then whole traces: simulation,
all tables, checksums and truth as well.  Each whole trace is made in a process of its own, with one thread and
with two; its peak memory is that of the process.  Last the same cell for more hours, and more machines: cost per
row and memory should not change with the hours.

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
import json, sys, time
from pathlib import Path
from borgtrace.synth import generate
folder, warm, generation, machines, hours, jobs, form = sys.argv[1:]
generate(warm, generation, 2, 1.0, jobs=1, file_format=form)
start, busy = time.perf_counter(), time.process_time()
generate(folder, generation, int(machines), float(hours), jobs=int(jobs), file_format=form)
seconds, busy = time.perf_counter() - start, time.process_time() - busy
status = Path("/proc/self/status").read_text()  # unlike ru_maxrss, not inherited from the parent
peak = int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e9
truth = json.loads((Path(folder) / "truth.json").read_text())
print(json.dumps([seconds, busy, peak, sum(truth["rows"].values()), truth["usage_rows"]]))
"""


def best(call):
    """Return the fewest processor seconds of three calls, and what the last returned."""
    seconds = []
    for _ in range(3):
        start = time.process_time()
        result = call()
        seconds.append(time.process_time() - start)
    return min(seconds), result


def usage(generation, machines, hours):
    """Print the rows per second of usage alone beside those of compressing its bytes."""
    from isal import igzip, isal_zlib

    from borgtrace.synth.generate import measure_usage
    from borgtrace.synth.measure.usage_windows import windows_of
    from borgtrace.synth.model.machines import draw_machines
    from borgtrace.synth.model.profiles import PROFILES
    from borgtrace.synth.options import SynthOptions, part_bounds
    from borgtrace.synth.simulate.simulation import Simulation

    options = SynthOptions(generation, machines, hours)
    profile = PROFILES[generation]
    bounds = part_bounds(hours)
    cell = draw_machines(profile, machines, options.draw_seed)
    segments = list(Simulation(profile, cell, hours, options.draw_seed, bounds).segments())
    measure_usage(windows_of(segments[0], cell.ids), options)  # compile
    busy = alone = rows = size = 0
    for segment in segments:
        spent, (pieces, blocks) = best(
            lambda segment=segment: measure_usage(windows_of(segment, cell.ids), options)
        )
        busy += spent
        rows += blocks.n_rows
        for piece in pieces.values():
            text = isal_zlib.decompress(piece.data + b"\x03\x00", -15)
            alone += best(
                lambda text=text: igzip.compress(text, isal_zlib.ISAL_DEFAULT_COMPRESSION)
            )[0]
            size += len(text)
    print(
        f"| {generation} | {alone / busy:.2f} | {rows / busy:,.0f} | {rows / alone:,.0f} | {size / busy / 1e6:,.0f} "
        f"| {rows:,} |",
        flush=True,
    )


def made(folder, generation, machines, hours, jobs, form="json"):
    """Seconds, processor seconds, peak GB, rows, usage rows of one trace, in a fresh process after compiling."""
    shutil.rmtree(folder, ignore_errors=True)
    warm = folder.with_name("warm")
    shutil.rmtree(warm, ignore_errors=True)
    arguments = [
        str(folder),
        str(warm),
        generation,
        str(machines),
        str(hours),
        str(jobs),
        form,
    ]
    done = subprocess.run(
        [sys.executable, "-c", GENERATE, *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def compressed(folder, table):
    """Processor seconds that isal takes to compress the bytes of the usage files again, and those bytes."""
    from isal import igzip, isal_zlib

    seconds = size = 0
    for path in sorted(folder.glob(f"{table}*/*.gz")) or sorted(folder.glob(f"{table}*.gz")):
        data = igzip.decompress(path.read_bytes())
        start = time.process_time()
        igzip.compress(data, isal_zlib.ISAL_DEFAULT_COMPRESSION)
        seconds += time.process_time() - start
        size += len(data)
    return seconds, size


def speed(work, machines, hours):
    """Print rows per second beside the limit, for both generations."""
    print(f"{machines} machines × {hours:g} hours\n")
    print(
        "| whole trace | usage rows/s ÷ compressing alone | threads | s | processor s | usage rows/processor s "
        "| compressing alone | usage rows | usage GB | peak GB |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for generation, table in (("2011", "task_usage"), ("2019", "instance_usage")):
        for jobs in (1, 2):
            folder = work / "trace"
            seconds, busy, peak, _, rows = made(folder, generation, machines, hours, jobs)
            alone, size = compressed(folder, table)
            print(
                f"| {generation} | {alone / busy:.2f} | {jobs} | {seconds:.1f} | {busy:.1f} | {rows / busy:,.0f} "
                f"| {rows / alone:,.0f} | {rows:,} | {size / 1e9:.2f} | {peak:.2f} |",
                flush=True,
            )
    seconds, busy, peak, _, rows = made(
        work / "trace",
        "2019",
        machines,
        hours,
        2,
        "parquet",
    )
    print(
        f"| 2019, Parquet | – | 2 | {seconds:.1f} | {busy:.1f} | {rows / busy:,.0f} | – | {rows:,} | – | {peak:.2f} |"
    )


def growth(work, machines, hours):
    """Print cost per row and memory as the hours (and the machines) grow."""
    print("\n| machines | hours | million rows | processor µs per row | peak GB |")
    print("|--:|--:|--:|--:|--:|")
    for count, length in (
        (machines, hours / 4),
        (machines, hours),
        (machines, hours * 4),
        (machines * 4, hours),
    ):
        _, busy, peak, rows, _ = made(work / "trace", "2011", count, length, 2)
        print(
            f"| {count} | {length:g} | {rows / 1e6:.2f} | {1e6 * busy / rows:.2f} | {peak:.2f} |",
            flush=True,
        )


def main(argv=None):
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--machines", type=int, default=100)
    parser.add_argument("--hours", type=float, default=24.0)
    args = parser.parse_args(argv)
    print("| usage of | rows/s ÷ compressing alone | rows/s | compressing alone | MB/s | rows |")
    print("|---|--:|--:|--:|--:|--:|")
    for generation in ("2011", "2019"):
        usage(generation, args.machines, args.hours)
    print()
    with tempfile.TemporaryDirectory() as folder:
        speed(Path(folder), args.machines, args.hours)
        growth(Path(folder), args.machines, args.hours)


if __name__ == "__main__":
    main()
