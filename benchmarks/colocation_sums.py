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

from borgtrace.colocation import ColocationOptions, synthetic_pool
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
    """Return bytes read per second: the best of three readings of everything."""
    words = rows.view(np.int64)
    out = np.empty(len(rows), np.int64)
    read(words[:2], out)
    seconds = min(timed(lambda: read(words, out)) for _ in range(3))
    return rows.nbytes / seconds


def sorting(rows, samples):
    """Return the seconds to sort `samples` sums of each size with two threads, from a thousand of each."""
    total = 0.0
    for size in SIZES:
        n_sums = min(1000, samples)
        sums = np.empty((n_sums, rows.shape[1]), np.float32)
        add_samples(rows, draw_subsets(len(rows), size, n_sums, SEED), sums)
        halves = np.array_split(sums, 2)
        with ThreadPoolExecutor(2) as workers:
            seconds = timed(lambda halves=halves: list(workers.map(np.ndarray.sort, halves)))
        total += seconds / n_sums * samples
    return total


def plain(rows, samples, measured):
    """Return the seconds that NumPy and SciPy take on one thread, from `measured` samples of each size."""
    total = 0.0
    for size in SIZES:
        members = draw_subsets(len(rows), size, measured, SEED)
        stats.anderson(rows[members[0]].sum(0), method="interpolate")
        seconds = timed(lambda members=members: [judged(rows, sample) for sample in members])
        total += seconds / measured * samples
    return total


def judged(rows, members):
    """Judge one sample as a careful script does."""
    total = rows[members].sum(axis=0)
    statistic = stats.anderson(total, method="interpolate").statistic
    return statistic, np.percentile(total, 100 * LEVELS)


def timed(call):
    """Return the seconds that one call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def peak():
    """Return the largest resident size so far, GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def print_table(headings, rows):
    """Print a Markdown table."""
    print(f"\n| {' | '.join(headings)} |")
    print("|--:" * len(headings) + "|")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def report(pool, rows, args):
    """Measure everything on one matrix of realizations and print the tables."""
    judge_samples(rows[:600, :200], SIZES, 2, SEED)  # compile
    speed_before = bandwidth(rows)
    sums = []
    ours = timed(lambda: sums.extend(judge_samples(rows, SIZES, args.samples, SEED)))
    memory = peak() - rows.nbytes / 1e9
    speed = max(speed_before, bandwidth(rows))
    gathered = 4 * rows.shape[1] * sum(SIZES) * args.samples
    reading = gathered / speed
    sort = sorting(rows, args.samples)
    numpy = plain(rows, args.samples, args.peer)
    floor = reading + sort
    columns = {
        "× floor": f"{ours / floor:.2f}",
        "× plain": f"{numpy / ours:.1f}",
        "ours s": f"{ours:.1f}",
        "floor s": f"{floor:.1f}",
        "= reading + sorting s": f"{reading:.1f} + {sort:.1f}",
        "plain s": f"{numpy:.0f}",
        "read GB/s": f"{speed / 1e9:.1f}",
        "gathered GB": f"{gathered / 1e9:.0f}",
        "peak GB beyond the realizations": f"{memory:.2f}",
    }
    print_table(list(columns), [list(columns.values())])
    print_beside_paper(pool, args, sums)


def print_beside_paper(pool, args, sums):
    """Print what was measured beside what the paper printed."""
    study = Study(pool)
    options = {
        "tasks": args.tasks,
        "realizations": args.realizations,
        "samples": args.samples,
        "seed": SEED,
    }
    study.once(("sums", ColocationOptions(**options)), lambda: sums)
    table = TABLE_1.run(study, **options)
    figure = FIGURE_6.run(study, **options)
    rows = []
    for row in table.table.to_pylist():
        size = row["size"]
        rows.append(
            [
                str(size),
                f"{row['rejected']:.3f}",
                f"{PUBLISHED[size]:.3f}",
                f"{row['rejected_1974']:.3f}",
                f"{row['mean_usage']:.2f}",
                f"{PUBLISHED_MEAN[size]:.2f}",
            ]
        )
    print_table(
        [
            "N",
            "rejected",
            "published",
            "rejected, critical value 0.787",
            "mean total",
            "published",
        ],
        rows,
    )
    rows = []
    for row in figure.table.to_pylist():
        if row["cell"] == 0:
            quartiles = f"{row['p25']:+.4f} … {row['p75']:+.4f}"
            percentile = f"{row['percentile']:g}"
            rows.append([str(row["size"]), percentile, f"{row['median']:+.4f}", quartiles])
    print_table(["N", "percentile", "median error", "quartiles"], rows)
    for finding in (*table.findings, *figure.findings):
        print(f"- {finding}")


def main(argv=None):
    """Draw the realizations and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--realizations", type=int, default=10_000)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--peer", type=int, default=12)
    args = parser.parse_args(argv)
    pool = synthetic_pool(args.tasks, SEED)
    start = time.perf_counter()
    rows = pool.draw(np.arange(len(pool)), args.realizations, SEED)
    drawn = time.perf_counter() - start
    threads = numba.get_num_threads()
    print(
        f"{len(pool):,} tasks × {args.realizations:,} realizations "
        f"drawn in {drawn:.1f} s ({rows.nbytes / 1e9:.1f} GB), "
        f"{args.samples:,} samples per size, {threads} threads"
    )
    report(pool, rows, args)


if __name__ == "__main__":
    main()
