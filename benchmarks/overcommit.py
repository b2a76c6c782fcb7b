"""Policies and oracle on machines like a cell's, beside a plain loop of the same definition, and beside Python.

Machines × slots with about 24 tasks at a time, gaps and tasks that return; once with long lives and once with half of
the tasks living under an hour.  One thread, and its processor time: others may use the machine; and by the clock a
thread on each core, for the kernels hold no lock.  The plain loops are what one writes first with Numba: a ring of the
last samples for N-sigma, a row of sums for the oracle.  The original
algorithm in Python is Google's, twice: as its simulator does it slot by slot, and leaner, as one would write it anew.

The pass and the default table (both resources, 24 h ahead) are measured on stores of two sizes, 48 hours of 150 and 600
machines (the raw files are those of `explore.py`), processor time of the whole process: what grows faster than the
rows would show.

    python benchmarks/overcommit.py [--machines 60] [--slots 2016] [--cells 150 600] [--only-rates]
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np

import borgtrace
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.lifecycle.by_machine import METRICS, machine_usage
from borgtrace.overcommit import (
    DEFAULTS,
    REPLAY,
    SWEEP,
    MachineBlock,
    Samples,
    oracle,
    parse_policy,
)
from borgtrace.overcommit.metrics import scores
from borgtrace.question import EngineTables
from explore import make_raw
from overcommit_python import GoogleNSigma, python_n_sigma, python_oracle, records

AT_ONCE = 24
CORES = len(os.sched_getaffinity(0))
HORIZON = 288
HOURS = 48
MISSING = 0.01
POLICIES = (
    *DEFAULTS,
    "task-percentile:history=1d",
    "convolution",
    "saddlepoint",
    "koordinator-prod:cores=64,gib=256",
)


def machine(
    seed: int,
    slots: int,
    *,
    is_short: bool,
) -> MachineBlock:
    """Return a machine with about `AT_ONCE` tasks in each slot."""
    draw = np.random.default_rng(seed)
    lives = []
    for _ in range(AT_ONCE):
        at = -int(draw.integers(0, 300))
        while at < slots:
            lasts_under_an_hour = is_short and draw.random() < 0.9
            shortest, longest = (1, 12) if lasts_under_an_hour else (100, 900)
            length = int(draw.integers(shortest, longest))
            first = max(at, 0)
            end = min(at + length, slots)
            if first < end:
                lives.append((first, end))
            at += length
    tasks_of_lives = []
    slots_of_lives = []
    for number, (first, end) in enumerate(sorted(lives)):
        present = np.arange(first, end)
        present = present[draw.random(len(present)) > MISSING]
        if len(present) > 200:
            # One in three leaves for half an hour and returns.
            leaves = first + 60
            returns = leaves + 6 * draw.integers(0, 2)
            present = present[(present < leaves) | (present > returns)]
        tasks_of_lives.append(np.full(len(present), number))
        slots_of_lives.append(present)
    task = np.concatenate(tasks_of_lives).astype(np.int64)
    slot = np.concatenate(slots_of_lives).astype(np.int64)
    n = len(task)
    n_tasks = task.max() + 1
    limit = draw.choice([0.0125, 0.025, 0.05, 0.1], n_tasks)[task]
    samples = Samples(
        task,
        slot,
        limit * draw.beta(2, 5, n),
        limit,
    )
    return MachineBlock(
        all=samples,
        is_known=np.ones(n, np.bool_),
        priority=np.full(n, 200),
        identity=np.arange(n_tasks),
        n_slots=slots,
        capacity=np.ones(len(samples.slots)),
    )


@numba.njit
def plain_n_sigma(task, slot, usage, limit, order, offsets, n_tasks, history, warmup, n):
    """N-sigma with a ring of the last samples of each task, and the sums of each slot anew."""
    used = np.zeros((n_tasks, history))
    limits = np.zeros((n_tasks, history))
    at = np.full((n_tasks, history), -history)
    peaks = np.empty(offsets.size - 1)
    x = np.empty(history)
    y = np.empty(history)
    seen = np.empty(history)
    for j in range(peaks.size):
        x[:] = 0.0
        y[:] = 0.0
        seen[:] = 0.0
        now = 0.0
        cold = 0.0
        for i in order[offsets[j] : offsets[j + 1]]:
            k = task[i]
            place = slot[i] % history
            used[k, place] = usage[i]
            limits[k, place] = limit[i]
            at[k, place] = slot[i]
            have = 0
            for a in range(history):
                have += at[k, a] > slot[i] - history
            if have < warmup:
                cold += limit[i]
                continue
            now += limit[i]
            for a in range(history):
                if at[k, a] > slot[i] - history:
                    x[a] += used[k, a]
                    y[a] += limits[k, a]
                    seen[a] = 1.0
        m = 0
        total = 0.0
        squares = 0.0
        for a in range(history):
            if seen[a] > 0:
                x[m] = x[a] / y[a] if y[a] > 0 else 0.0
                total += x[m]
                m += 1
        for a in range(m):
            squares += (x[a] - total / m) ** 2
        peaks[j] = cold
        if m:
            deviation = np.sqrt(squares / max(m - 1, 1))
            peaks[j] += min(1.0, total / m + n * deviation) * now
    return peaks


@numba.njit
def plain_oracle(task, slot, usage, limit, order, offsets, judged, horizon):
    """The oracle with a row of sums for each slot."""
    peaks = np.empty(judged)
    sums = np.empty(horizon)
    for j in range(judged):
        sums[:] = 0.0
        for i in order[offsets[j] : offsets[j + 1]]:
            k = i + 1
            while k < task.size and task[k] == task[i] and slot[k] <= slot[i] + horizon:
                sums[slot[k] - slot[i] - 1] += min(usage[k], limit[i])
                k += 1
        peaks[j] = sums.max()
    return peaks


def seconds(function: Callable[[], object], times: int = 5) -> float:
    """Return the least time of several."""
    durations = []
    for _ in range(times):
        begin = time.thread_time()
        function()
        durations.append(time.thread_time() - begin)
    return min(durations)


def clock_seconds(
    function: Callable[[MachineBlock], object], blocks: Sequence[MachineBlock]
) -> float:
    """Return the least time by the clock of several runs over machines, on all cores."""
    durations = []
    parts = [blocks[core::CORES] for core in range(CORES)]
    with ThreadPoolExecutor(CORES) as threads:
        for _ in range(5):
            begin = time.perf_counter()
            # Of many machines each, for handing one over takes as long as replaying it.
            list(threads.map(partial(run_all, function), parts))
            durations.append(time.perf_counter() - begin)
    return min(durations)


def run_all(function: Callable[[MachineBlock], object], blocks: Sequence[MachineBlock]) -> None:
    """Call a function with each of some machines."""
    for block in blocks:
        function(block)


def compare(blocks: Sequence[MachineBlock]) -> None:
    """Print rates of the two policies that have a plain loop, and of Python's on one machine."""
    n = sum(len(block.all) for block in blocks)
    share_of_first = len(blocks[0].all) / n
    policy = parse_policy("nsigma:warmup=2h")

    def our_n_sigma() -> list[np.ndarray]:
        # A block keeps what policies have in common: each run has blocks of its own.
        return [policy.predict(replace(block)).peak for block in blocks]

    def loop_n_sigma() -> list[np.ndarray]:
        peaks = []
        for block in blocks:
            task, slot, usage, limit, order, _, offsets, _ = block.all.columns
            n_tasks = len(block.identity)
            peaks.append(
                plain_n_sigma(
                    task,
                    slot,
                    usage,
                    limit,
                    order,
                    offsets,
                    n_tasks,
                    history=24,
                    warmup=24,
                    n=5.0,
                )
            )
        return peaks

    def our_oracle() -> list[np.ndarray]:
        return [oracle(block, HORIZON) for block in blocks]

    n_judged = [len(peaks) for peaks in our_oracle()]

    def loop_oracle() -> list[np.ndarray]:
        peaks = []
        for block, n_slots in zip(blocks, n_judged, strict=True):
            task, slot, usage, limit, order, _, offsets, _ = block.all.columns
            peaks.append(
                plain_oracle(
                    task,
                    slot,
                    usage,
                    limit,
                    order,
                    offsets,
                    n_slots,
                    HORIZON,
                )
            )
        return peaks

    contenders = (
        (
            "nsigma",
            lambda block: policy.predict(replace(block)),
            our_n_sigma,
            loop_n_sigma,
            lambda: python_n_sigma(blocks[0], 5.0, 24, 24),
        ),
        (
            "oracle 24 h",
            lambda block: oracle(block, HORIZON),
            our_oracle,
            loop_oracle,
            lambda: python_oracle(blocks[0], HORIZON),
        ),
    )
    for name, of_block, ours, loop, python in contenders:
        for peaks, expected in zip(ours(), loop(), strict=True):
            np.testing.assert_allclose(peaks, expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(
            ours()[0],
            python(),
            rtol=1e-12,
            atol=1e-12,
        )
        our_seconds = seconds(ours)
        loop_seconds = seconds(loop)
        python_seconds = seconds(python) / share_of_first
        seconds_of_cores = clock_seconds(of_block, blocks)
        print(
            f"  {name:12} {n / our_seconds / 1e6:7.1f} M/s, "
            f"plain loop {n / loop_seconds / 1e6:7.1f} M/s: × {loop_seconds / our_seconds:.2f}; "
            f"lean Python {n / python_seconds / 1e3:.1f} k/s: × {python_seconds / our_seconds:,.0f}; "
            f"{CORES} cores {n / seconds_of_cores / 1e6:.1f} M/s: × {python_seconds / seconds_of_cores:,.0f}"
        )
    # Google's forgets a task that misses a slot.
    forgetful = blocks[0].forgetful()
    stream = records(forgetful)
    expected = GoogleNSigma(5.0, 24, 24).run(stream)
    np.testing.assert_allclose(policy.predict(forgetful).peak, expected, rtol=1e-12)
    python_seconds = seconds(lambda: GoogleNSigma(5.0, 24, 24).run(stream), 1) / share_of_first
    our_seconds = seconds(our_n_sigma)
    print(
        f"  nsigma       as Google's simulator, Python {n / python_seconds / 1e3:.1f} k/s: "
        f"× {python_seconds / our_seconds:,.0f}"
    )


def compare_sweep(blocks: Sequence[MachineBlock]) -> None:
    """Print the rate of the N-sigmas of the sweep, replayed together, beside Python's one by one."""
    n = sum(len(block.all) for block in blocks)
    share_of_first = len(blocks[0].all) / n
    policies = [parse_policy(text) for text in SWEEP if text.startswith("nsigma")]
    python_seconds = 0.0
    for history in {policy.history for policy in policies}:
        alike = [policy for policy in policies if policy.history == history]
        # However many deviations: they take the same time.
        of_one = partial(python_n_sigma, blocks[0], alike[0].n, history, alike[0].warmup)
        python_seconds += seconds(of_one, 1) / share_of_first * len(alike)

    def ours(block: MachineBlock) -> None:
        own = replace(block)
        for policy in policies:
            policy.predict(own)

    n_predicted = n * len(policies)
    our_seconds = seconds(partial(run_all, ours, blocks))
    seconds_of_cores = clock_seconds(ours, blocks)
    print(
        f"  {len(policies)} nsigmas of the sweep: {n_predicted / our_seconds / 1e6:.1f} M/s, "
        f"lean Python {n_predicted / python_seconds / 1e3:.1f} k/s: × {python_seconds / our_seconds:,.0f}; "
        f"{CORES} cores × {python_seconds / seconds_of_cores:,.0f}"
    )


class StoreTimes(NamedTuple):
    """Processor time of the pass over a store, and of the default table."""

    n_rows: int
    sorting: float
    table: float


def whole(cells: Sequence[int]) -> None:
    """Print rate and exponent of the pass and of the default table on stores of several sizes."""
    times_of_stores = []
    for machines in cells:
        times = measure_store(machines)
        times_of_stores.append(times)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(
            f"  {machines:,} machines, {times.n_rows:,} rows: pass {times.sorting:.1f} s, "
            f"table of both resources {times.table:.1f} s; "
            f"most memory so far, ingest included: {peak:.1f} GB",
            flush=True,
        )
    small = times_of_stores[0]
    large = times_of_stores[-1]
    growth = math.log(large.n_rows / small.n_rows)
    of_pass = math.log(large.sorting / small.sorting) / growth
    of_table = math.log(large.table / small.table) / growth
    print(f"  exponents {of_pass:.2f} (pass) and {of_table:.2f} (table)")
    cells_per_store = 1.23e9 / large.n_rows
    pass_minutes = cells_per_store * large.sorting / 60
    table_minutes = cells_per_store * large.table / 60 / 2
    print(
        f"  1.23e9 rows: pass {pass_minutes:.1f} min on one core and "
        f"table {table_minutes:.1f} min on two: {pass_minutes + table_minutes:.1f} min"
    )


def measure_store(machines: int) -> StoreTimes:
    """Return the times of a store of so many machines."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        make_raw(root / "raw", machines, HOURS)
        ingest(
            [root / "raw"],
            root / "store",
            IngestOptions(jobs=1),
        )
        store = borgtrace.open(root / "store")
        tables = EngineTables.of(store)
        attempts = tables.instance_attempts
        begin = time.process_time()
        machine_usage(
            store,
            tables.instance_events,
            attempts,
            cpu=METRICS["average_cpu"],
            memory=METRICS["average_memory"],
        )
        sorted_at = time.process_time()
        REPLAY.run(store)
        end = time.process_time()
        n_rows = store.manifest.tables["instance_usage"]
        return StoreTimes(n_rows, sorted_at - begin, end - sorted_at)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machines", type=int, default=60)
    parser.add_argument("--slots", type=int, default=2016)
    parser.add_argument(
        "--cells",
        type=int,
        nargs="+",
        default=[150, 600],
    )
    parser.add_argument("--only-rates", action="store_true", help="leave out the stores")
    options = parser.parse_args()
    if not options.only_rates:
        whole(options.cells)
    for is_short in (False, True):
        blocks = []
        for seed in range(options.machines):
            blocks.append(machine(seed, options.slots, is_short=is_short))
        n = sum(len(block.all) for block in blocks)
        lives = "half of the tasks in a slot under an hour" if is_short else "long lives"
        print(f"{len(blocks)} machines × {options.slots} slots, {n:,} samples, {lives}")
        compare(blocks)
        compare_sweep(blocks)
        table(blocks)


def table(blocks: Sequence[MachineBlock]) -> None:
    """Print the rate of each policy of the table and of judging them."""
    n = sum(len(block.all) for block in blocks)
    predictions = []
    for text in POLICIES:
        policy = parse_policy(text)
        policy.predict(blocks[0])
        begin = time.thread_time()
        # A maximum of several has been predicted by then.
        predictions.append([policy.predicted(block) for block in blocks])
        rate = n / (time.thread_time() - begin) / 1e6
        print(f"  {text:34} {rate:8.1f} M samples/s")
    predictions_of_blocks = list(zip(*predictions, strict=True))
    # Compiled before it is measured.
    scores(blocks[0], HORIZON, predictions_of_blocks[0])
    begin = time.thread_time()
    for block, predictions_of_block in zip(blocks, predictions_of_blocks, strict=True):
        scores(block, HORIZON, predictions_of_block)
    rate = n / (time.thread_time() - begin) / 1e6
    print(f"  judging {len(POLICIES)} policies: {rate:.1f} M samples/s")


if __name__ == "__main__":
    main()
