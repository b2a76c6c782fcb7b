"""Policies and oracle on machines like a cell's, beside a plain loop of the same definition, and beside Python.

Machines × slots with about 24 tasks at a time, gaps and tasks that return; once with long lives and once with half of
the tasks living under an hour.  One thread, and its processor time: others may use the machine.  The plain loops are
what one writes first with Numba: a ring of the last samples for N-sigma, a row of sums for the oracle.  The original
algorithm in Python is Google's, twice: as its simulator does it slot by slot, and leaner, as one would write it anew.

The pass and the default table (both resources, 24 h ahead) are measured on stores of two sizes, 48 hours of 150 and 600
machines (the raw files are those of `explore.py`), processor time of the whole process: what grows faster than the
rows would show.

    python benchmarks/overcommit.py [--machines 60] [--slots 2016] [--cells 150 600]
"""

from __future__ import annotations

import argparse
import math
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numba
import numpy as np

import borgtrace
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.lifecycle.by_machine import METRICS, machine_usage
from borgtrace.overcommit import DEFAULTS, REPLAY, MachineBlock, Samples, oracle, parse_policy
from borgtrace.overcommit.metrics import scores
from borgtrace.question import EngineTables
from explore import make_raw
from overcommit_python import GoogleNSigma, python_n_sigma, python_oracle, records

AT_ONCE = 24
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
            length = (
                int(draw.integers(1, 12))
                if is_short and draw.random() < 0.9
                else int(draw.integers(100, 900))
            )
            lives.append((max(at, 0), min(at + length, slots)))
            at += length
    task = []
    slot = []
    for number, (first, last) in enumerate(life for life in sorted(lives) if life[0] < life[1]):
        found = np.arange(first, last)
        found = found[draw.random(len(found)) > MISSING]
        if len(found) > 200:
            # One in three leaves for half an hour and returns.
            found = found[(found < first + 60) | (found > first + 60 + 6 * draw.integers(0, 2))]
        task.append(np.full(len(found), number))
        slot.append(found)
    tasks = np.concatenate(task)
    all_slots = np.concatenate(slot).astype(np.int64)
    limits = draw.choice([0.0125, 0.025, 0.05, 0.1], tasks.max() + 1)[tasks]
    samples = Samples(
        tasks.astype(np.int64),
        all_slots,
        limits * draw.beta(2, 5, len(tasks)),
        limits,
    )
    n = len(tasks)
    known = np.ones(len(tasks), np.bool_)
    priority = np.full(n, 200)
    capacity = np.ones(len(samples.slots))
    return MachineBlock(
        samples,
        known,
        priority,
        np.arange(tasks.max() + 1),
        slots,
        capacity,
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
        peaks[j] = cold + (
            min(1.0, total / m + n * np.sqrt(squares / max(m - 1, 1))) * now if m else 0.0
        )
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


def seconds(function: Callable[[], object], times: int = 3) -> float:
    """Return the least time of several."""
    found = []
    for _ in range(times):
        begin = time.thread_time()
        function()
        found.append(time.thread_time() - begin)
    return min(found)


def compare(blocks: Sequence[MachineBlock]) -> None:
    """Print rates of the two policies that have a plain loop, and of Python's on one machine."""
    n = sum(len(block.all) for block in blocks)
    policy = parse_policy("nsigma")
    columns = [
        (*b.all.columns[:4], b.all.columns.order, b.all.columns.offsets, len(b.identity))
        for b in blocks
    ]
    judged = [len(oracle(block.all, HORIZON, block.n_slots)) for block in blocks]
    pairs = {
        "nsigma": (
            lambda: [policy.predict(block).peak for block in blocks],
            lambda: [plain_n_sigma(*given, 24, 24, 5.0) for given in columns],
            lambda: python_n_sigma(blocks[0], 5.0, 24, 24),
        ),
        "oracle 24 h": (
            lambda: [oracle(block.all, HORIZON, block.n_slots) for block in blocks],
            lambda: [
                plain_oracle(*given[:6], m, HORIZON)
                for given, m in zip(columns, judged, strict=True)
            ],
            lambda: python_oracle(blocks[0], HORIZON),
        ),
    }
    for name, (ours, plain, python) in pairs.items():
        for one, other in zip(ours(), plain(), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(
            ours()[0],
            python(),
            rtol=1e-12,
            atol=1e-12,
        )
        mine = seconds(ours)
        theirs = seconds(plain)
        slow = seconds(python, 1) * n / len(blocks[0].all)
        print(
            f"  {name:12} {n / mine / 1e6:7.1f} M/s, plain loop {n / theirs / 1e6:7.1f} M/s: × {theirs / mine:.2f}; "
            f"lean Python {n / slow / 1e3:.1f} k/s: × {slow / mine:,.0f}"
        )
    # Google's forgets a task that misses a slot.
    forgetful = blocks[0].forgetful()
    stream = records(forgetful)
    expected = GoogleNSigma(5.0, 24, 24).run(stream)
    np.testing.assert_allclose(policy.predict(forgetful).peak, expected, rtol=1e-12)
    slow = seconds(lambda: GoogleNSigma(5.0, 24, 24).run(stream), 1) * n / len(blocks[0].all)
    mine = seconds(pairs["nsigma"][0])
    print(
        f"  nsigma       as Google's simulator, Python {n / slow / 1e3:.1f} k/s: × {slow / mine:,.0f}"
    )


def whole(cells: Sequence[int]) -> None:
    """Print rate and exponent of the pass and of the default table on stores of several sizes."""
    found = []
    for machines in cells:
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
            rows = store.manifest.tables["instance_usage"]
            begin = time.process_time()
            usual = METRICS["average_cpu"], METRICS["average_memory"]
            machine_usage(
                store,
                tables.instance_events,
                attempts,
                *usual,
            )
            dealt = time.process_time()
            REPLAY.run(store)
            found.append((rows, dealt - begin, time.process_time() - dealt))
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
            print(
                f"  {machines:,} machines, {rows:,} rows: pass {found[-1][1]:.1f} s, table of both resources",
                end="",
            )
            print(
                f" {found[-1][2]:.1f} s; most memory so far, ingest included: {peak:.1f} GB",
                flush=True,
            )
    (few, *spent), (many, *later) = found[0], found[-1]
    exponents = [math.log(b / a) / math.log(many / few) for a, b in zip(spent, later, strict=True)]
    print(f"  exponents {exponents[0]:.2f} (pass) and {exponents[1]:.2f} (table)")
    dealt, replayed = (1.23e9 / many * spent / 60 for spent in later)
    print(
        f"  1.23e9 rows: pass {dealt:.1f} min on one core and table {replayed / 2:.1f} min on two",
        end="",
    )
    print(f": {dealt + replayed / 2:.1f} min")


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
    given = parser.parse_args()
    whole(given.cells)
    for is_short in (False, True):
        blocks = [machine(seed, given.slots, is_short=is_short) for seed in range(given.machines)]
        n = sum(len(block.all) for block in blocks)
        lives = "half of the tasks in a slot under an hour" if is_short else "long lives"
        print(f"{len(blocks)} machines × {given.slots} slots, {n:,} samples, {lives}")
        compare(blocks)
        table(blocks)


def table(blocks: Sequence[MachineBlock]) -> None:
    """Print the rate of each policy of the table and of judging them."""
    n = sum(len(block.all) for block in blocks)
    found = []
    for text in POLICIES:
        policy = parse_policy(text)
        policy.predict(blocks[0])
        begin = time.thread_time()
        # A maximum of several has been predicted by then.
        found.append([policy.predicted(block) for block in blocks])
        print(f"  {text:34} {n / (time.thread_time() - begin) / 1e6:8.1f} M samples/s")
    scores(
        blocks[0],
        HORIZON,
        [each[0] for each in found],
    )
    begin = time.thread_time()
    for block, *predictions in zip(blocks, *found, strict=True):
        scores(block, HORIZON, predictions)
    print(
        f"  judging {len(POLICIES)} policies: {n / (time.thread_time() - begin) / 1e6:.1f} M samples/s"
    )


if __name__ == "__main__":
    main()
