"""Table 1 and Fig. 6 at the paper's scale: how near to the machine's limit, how much faster than SciPy?

100,000 tasks of the calibrated pool × 10,000 realizations; per size N = 10 … 500, 10,000 independent random
samples of N tasks are summed over all realizations, sorted, tested for normality, read at three percentiles.

Floor: bytes of rows that independent samples gather ÷ the bandwidth of reading the realizations with two
threads, plus sorting every sum with two threads.  Peer: ``rows[sample].sum(axis=0)``,
``scipy.stats.anderson`` and ``numpy.percentile`` on one thread, timed on a few samples of each size.

    python benchmarks/colocation_sums.py [--tasks 100000] [--realizations 10000] [--samples 10000] [--peer 12]
"""

from __future__ import annotations

import argparse
import resource
import time
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
from scipy import stats

from borgtrace.colocation import synthetic_pool
from borgtrace.colocation.experiments.sums.percentile_error import QUESTION as FIGURE_6
from borgtrace.colocation.experiments.sums.sum_normality import QUESTION as TABLE_1
from borgtrace.colocation.study import Study
from borgtrace.colocation.sums.row_sums import add_samples
from borgtrace.colocation.sums.sample_sums import LEVELS, SIZES, judge_samples
from borgtrace.colocation.tasks.subsets import draw_subsets

SEED = 0
PUBLISHED = {
    10: 0.991,
    20: 0.965,
    30: 0.923,
    50: 0.784,
    100: 0.493,
    250: 0.183,
    500: 0.087,
}
"""Table 1: share of rejected samples per N."""
PUBLISHED_MEAN = {
    10: 0.27,
    20: 0.55,
    30: 0.82,
    50: 1.37,
    100: 2.74,
    250: 6.85,
    500: 13.69,
}
"""Table 1: mean total usage per N."""


@numba.njit(parallel=True)
def read(rows, out):
    """Read all rows once; sums of integers, which the compiler turns into the widest loads there are."""
    for i in numba.prange(rows.shape[0]):
        total = np.int64(0)
        for value in rows[i]:
            total += value
        out[i] = total


def bandwidth(rows):
    """Best of three readings of everything, bytes per second."""
    words = rows.view(np.int64)
    out = np.empty(len(rows), np.int64)
    read(words[:2], out)
    return max(rows.nbytes / timed(lambda: read(words, out)) for _ in range(3))


def sorting(rows, samples):
    """Seconds to sort `samples` sums of each size with two threads, from a thousand of each."""
    total = 0.0
    for size in SIZES:
        sums = np.empty((min(1000, samples), rows.shape[1]), np.float32)
        add_samples(rows, draw_subsets(len(rows), size, len(sums), SEED), sums)
        with ThreadPoolExecutor(2) as workers:
            halves = np.array_split(sums, 2)
            total += (
                timed(lambda halves=halves: list(workers.map(np.ndarray.sort, halves)))
                / len(sums)
                * samples
            )
    return total


def plain(rows, samples, measured):
    """Seconds that NumPy and SciPy take on one thread, from `measured` samples of each size."""
    total = 0.0
    for size in SIZES:
        members = draw_subsets(len(rows), size, measured, SEED)
        stats.anderson(rows[members[0]].sum(0), method="interpolate")
        total += (
            timed(lambda members=members: [judged(rows, m) for m in members]) / measured * samples
        )
    return total


def judged(rows, members):
    """What a careful script does with one sample."""
    total = rows[members].sum(axis=0)
    return stats.anderson(total, method="interpolate").statistic, np.percentile(total, 100 * LEVELS)


def timed(call):
    """Seconds one call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def peak():
    """Largest resident size so far, GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def report(pool, rows, args):
    """Measure everything on one matrix of realizations and print the tables."""
    judge_samples(rows[:600, :200], SIZES, 2, SEED)  # compile
    before = bandwidth(rows)
    found = []
    ours = timed(lambda: found.extend(judge_samples(rows, SIZES, args.samples, SEED)))
    memory = peak()
    speed = max(before, bandwidth(rows))
    gathered = 4 * rows.shape[1] * sum(SIZES) * args.samples
    sort = sorting(rows, args.samples)
    numpy = plain(rows, args.samples, args.peer)
    floor = gathered / speed + sort
    print(
        "\n| × floor | × plain | ours s | floor s | = reading + sorting s | plain s | read GB/s "
        "| gathered GB | peak GB beyond the realizations |"
    )
    print("|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    print(
        f"| {ours / floor:.2f} | {numpy / ours:.1f} | {ours:.1f} | {floor:.1f} "
        f"| {gathered / speed:.1f} + {sort:.1f} | {numpy:.0f} | {speed / 1e9:.1f} | {gathered / 1e9:.0f} "
        f"| {memory - rows.nbytes / 1e9:.2f} |"
    )
    paper(pool, args, found)


def paper(pool, args, found):
    """Print what was measured beside what the paper printed."""
    tables = Study(pool)
    parameters = {
        "tasks": args.tasks,
        "realizations": args.realizations,
        "samples": args.samples,
        "seed": SEED,
    }
    tables.once(("sums", *parameters.values(), "sampled"), lambda: found)
    table = TABLE_1.run(tables, **parameters)
    figure = FIGURE_6.run(tables, **parameters)
    print(
        "\n| N | rejected | published | rejected, critical value 0.787 | mean total | published |"
    )
    print("|--:|--:|--:|--:|--:|--:|")
    for row in table.table.to_pylist():
        size = row["size"]
        print(
            f"| {size} | {row['rejected']:.3f} | {PUBLISHED[size]:.3f} | {row['rejected_1974']:.3f} "
            f"| {row['mean_usage']:.2f} | {PUBLISHED_MEAN[size]:.2f} |"
        )
    print("\n| N | percentile | median error | quartiles |\n|--:|--:|--:|--:|")
    for row in figure.table.to_pylist():
        print(
            f"| {row['size']} | {row['percentile']:g} | {row['median']:+.4f} | {row['p25']:+.4f} … {row['p75']:+.4f} |"
        )
    for finding in (*table.findings, *figure.findings):
        print(f"- {finding}")


def main(argv=None):
    """Draw the realizations and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (
        ("tasks", 100_000),
        ("realizations", 10_000),
        ("samples", 10_000),
        ("peer", 12),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args(argv)
    pool = synthetic_pool(args.tasks, SEED)
    start = time.perf_counter()
    rows = pool.draw(np.arange(len(pool)), args.realizations, SEED)
    drawn = time.perf_counter() - start
    print(
        f"{len(pool):,} tasks × {args.realizations:,} realizations drawn in {drawn:.1f} s "
        f"({rows.nbytes / 1e9:.1f} GB), {args.samples:,} samples per size, {numba.get_num_threads()} threads"
    )
    report(pool, rows, args)


if __name__ == "__main__":
    main()
