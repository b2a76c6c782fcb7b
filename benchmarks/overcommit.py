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
import statistics
import tempfile
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import numba
import numpy as np

import borgtrace
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.lifecycle.by_machine import METRICS, machine_usage
from borgtrace.overcommit import REPLAY, Block, Samples, oracle, parse_policy
from borgtrace.overcommit.metrics import scores
from borgtrace.overcommit.study import DEFAULTS
from borgtrace.recipe import EngineTables
from explore import make_raw

AT_ONCE = 24
HORIZON = 288
HOURS = 48
MISSING = 0.01
POLICIES = (*DEFAULTS, "task-percentile:history=1d", "convolution", "saddlepoint", "koordinator-prod:cores=64,gib=256")


def machine(seed: int, slots: int, *, is_short: bool) -> Block:
    """Return a machine with about `AT_ONCE` tasks in each slot."""
    draw = np.random.default_rng(seed)
    lives = []
    for _ in range(AT_ONCE):
        at = -int(draw.integers(0, 300))
        while at < slots:
            length = int(draw.integers(1, 12)) if is_short and draw.random() < 0.9 else int(draw.integers(100, 900))
            lives.append((max(at, 0), min(at + length, slots)))
            at += length
    task, slot = [], []
    for number, (first, last) in enumerate(life for life in sorted(lives) if life[0] < life[1]):
        found = np.arange(first, last)
        found = found[draw.random(len(found)) > MISSING]
        if len(found) > 200:
            # One in three leaves for half an hour and returns.
            found = found[(found < first + 60) | (found > first + 60 + 6 * draw.integers(0, 2))]
        task.append(np.full(len(found), number))
        slot.append(found)
    tasks, all_slots = np.concatenate(task), np.concatenate(slot).astype(np.int64)
    limits = draw.choice([0.0125, 0.025, 0.05, 0.1], tasks.max() + 1)[tasks]
    samples = Samples(tasks.astype(np.int64), all_slots, limits * draw.beta(2, 5, len(tasks)), limits)
    n, known = len(tasks), np.ones(len(tasks), np.bool_)
    priority, capacity = np.full(n, 200), np.ones(len(samples.slots))
    return Block(samples, known, priority, np.arange(tasks.max() + 1), slots, capacity)


@numba.njit
def plain_n_sigma(task, slot, usage, limit, order, offsets, n_tasks, history, warmup, n):
    """N-sigma with a ring of the last samples of each task, and the sums of each slot anew."""
    used, limits = np.zeros((n_tasks, history)), np.zeros((n_tasks, history))
    at = np.full((n_tasks, history), -history)
    peaks = np.empty(offsets.size - 1)
    x, y, seen = np.empty(history), np.empty(history), np.empty(history)
    for j in range(peaks.size):
        x[:], y[:], seen[:] = 0.0, 0.0, 0.0
        now, cold = 0.0, 0.0
        for i in order[offsets[j] : offsets[j + 1]]:
            k, place = task[i], slot[i] % history
            used[k, place], limits[k, place], at[k, place] = usage[i], limit[i], slot[i]
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
        m, total, squares = 0, 0.0, 0.0
        for a in range(history):
            if seen[a] > 0:
                x[m] = x[a] / y[a] if y[a] > 0 else 0.0
                total += x[m]
                m += 1
        for a in range(m):
            squares += (x[a] - total / m) ** 2
        peaks[j] = cold + (min(1.0, total / m + n * np.sqrt(squares / max(m - 1, 1))) * now if m else 0.0)
    return peaks


@numba.njit
def plain_oracle(task, slot, usage, limit, order, offsets, judged, horizon):
    """The oracle with a row of sums for each slot."""
    peaks, sums = np.empty(judged), np.empty(horizon)
    for j in range(judged):
        sums[:] = 0.0
        for i in order[offsets[j] : offsets[j + 1]]:
            k = i + 1
            while k < task.size and task[k] == task[i] and slot[k] <= slot[i] + horizon:
                sums[slot[k] - slot[i] - 1] += min(usage[k], limit[i])
                k += 1
        peaks[j] = sums.max()
    return peaks


def python_n_sigma(block: Block, n: float, history: int, warmup: int) -> list[float]:
    """N-sigma with a deque per task, and one pass over them: leaner than Google's simulator."""
    every = block.all
    past: dict[int, deque[tuple[int, float, float]]] = defaultdict(deque)
    peaks = []
    for j, slot in enumerate(every.slots.tolist()):
        sums: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
        now = cold = 0.0
        for i in every.columns.order[every.columns.offsets[j] : every.columns.offsets[j + 1]].tolist():
            rows = past[int(every.task[i])]
            rows.append((slot, float(every.usage[i]), float(every.limit[i])))
            while rows[0][0] <= slot - history:
                rows.popleft()
            if len(rows) < warmup:
                cold += rows[-1][2]
                continue
            now += rows[-1][2]
            for at, usage, limit in rows:
                sums[at][0] += usage
                sums[at][1] += limit
        x = [used / limit if limit else 0.0 for used, limit in sums.values()]
        deviation = statistics.stdev(x) if len(x) > 1 else 0.0
        peaks.append(cold + (min(1.0, statistics.fmean(x) + n * deviation) * now if x else 0.0))
    return peaks


class State:
    """History of a task, the newest first."""

    def __init__(self, history: int) -> None:
        self.usage: deque[float] = deque(maxlen=history)
        self.limit: deque[float] = deque(maxlen=history)

    def update(self, measure: dict) -> None:
        """Add a sample."""
        limit = measure["sample"]["abstract_metrics"]["limit"]
        usage = min(measure["sample"]["abstract_metrics"]["usage"], limit)
        self.usage.appendleft(usage)
        self.limit.appendleft(limit)


class Vm:
    """What Google's simulator keeps of a task."""

    def __init__(self, history: int) -> None:
        self.state = State(history)
        self.n_samples = 0


def records(block: Block) -> list[dict]:
    """Return the samples as Google's simulator reads them, sorted by time."""
    every = block.all
    return [
        {
            "simulated_time": int(every.slot[i]),
            "simulated_machine": "m",
            "sample": {
                "info": {"unique_id": str(every.task[i])},
                "abstract_metrics": {"usage": float(every.usage[i]), "limit": float(every.limit[i])},
            },
        }
        for i in every.columns.order
    ]


class GoogleNSigma:
    """N-sigma with the structures and loops of Google's simulator, and what its runner does for each slot.

    Dictionaries are made anew in every slot, and all tasks are looked at again for each place of the history.  Where
    the original raises an error, for want of warm tasks, this predicts 0 for them.
    """

    def __init__(self, n: float, history: int, warmup: int) -> None:
        self.n, self.history, self.warmup = n, history, warmup
        self.warm: dict[str, Vm] = {}
        self.cold: dict[str, Vm] = {}
        self.limits: dict[str, float] = {}

    def run(self, stream: list[dict]) -> list[float]:
        """Return the prediction of each slot."""
        results, running, now = [], [], stream[0]["simulated_time"]
        for record in [*stream, {"simulated_time": math.inf}]:
            if record["simulated_time"] > now:
                results.append(self.told(running))
                running, now = [], record["simulated_time"]
            running.append(record)
        return [result["predicted_peak"] for result in results]

    def told(self, measures: list[dict]) -> dict:
        """Return what the simulator writes of a slot."""
        peak, limit = self.updated(measures)
        usages = [measure["sample"]["abstract_metrics"]["usage"] for measure in measures]
        limits = [measure["sample"]["abstract_metrics"]["limit"] for measure in measures]
        capped = [min(usage, most) for usage, most in zip(usages, limits, strict=True)]
        return {
            "simulated_time": measures[0]["simulated_time"],
            "simulated_machine": measures[0]["simulated_machine"],
            "predicted_peak": peak,
            "total_usage": sum(capped),
            "limit": limit,
        }

    def updated(self, measures: list[dict]) -> tuple[float, float]:
        """Return prediction and limits of a slot."""
        keys = []
        for measure in list(measures):
            key = measure["sample"]["info"]["unique_id"]
            if key in self.warm:
                self.warm[key].state.update(measure)
                self.warm[key].n_samples += 1
            else:
                if key not in self.cold:
                    self.cold[key] = Vm(self.history)
                self.cold[key].state.update(measure)
                self.cold[key].n_samples += 1
                if self.cold[key].n_samples >= self.warmup:
                    self.warm[key] = self.cold.pop(key)
            self.limits[key] = measure["sample"]["abstract_metrics"]["limit"]
            keys.append(key)
        self.warm = {key: self.warm[key] for key in keys if key in self.warm}
        self.cold = {key: self.cold[key] for key in keys if key in self.cold}
        self.limits = {key: self.limits[key] for key in keys if key in self.limits}
        cold = sum(self.limits[key] for key in self.cold)
        return self.predicted(list(self.warm.values())) + cold, cold + sum(self.limits[key] for key in self.warm)

    def predicted(self, vms: list[Vm]) -> float:
        """Return the prediction for the warm tasks."""
        ratios = []
        for k in range(self.history):
            used, limit, n_vms = 0.0, 0.0, 0
            for vm in vms:
                if k < len(vm.state.usage):
                    used += vm.state.usage[k]
                    limit += vm.state.limit[k]
                    n_vms += 1
            if n_vms > 0:
                ratios.append(used / limit if limit > 0 else 0.0)
        if len(ratios) < 2:
            return 0.0
        ratio = min(1.0, float(np.mean(ratios)) + self.n * statistics.stdev(ratios))
        return ratio * sum(vm.state.limit[0] for vm in vms if len(vm.state.limit) > 0)


def python_oracle(block: Block, horizon: int) -> list[float]:
    """The oracle over snapshots of dictionaries, as Google's simulator computes it."""
    every = block.all
    order, offsets = every.columns.order, every.columns.offsets
    snapshots = [
        {int(every.task[i]): (float(every.usage[i]), float(every.limit[i])) for i in order[low:high].tolist()}
        for low, high in pairwise(offsets)
    ]
    slots = every.slots.tolist()
    peaks = []
    for j, slot in enumerate(slots):
        if slot + horizon > block.n_slots - 1:
            break
        peak, k = 0.0, j + 1
        while k < len(slots) and slots[k] <= slot + horizon:
            later = snapshots[k]
            peak = max(peak, sum(min(later[t][0], limit) for t, (_, limit) in snapshots[j].items() if t in later))
            k += 1
        peaks.append(peak)
    return peaks


def seconds(function: Callable[[], object], times: int = 3) -> float:
    """Return the least time of several."""
    found = []
    for _ in range(times):
        begin = time.thread_time()
        function()
        found.append(time.thread_time() - begin)
    return min(found)


def compare(blocks: Sequence[Block]) -> None:
    """Print rates of the two policies that have a plain loop, and of Python's on one machine."""
    n = sum(len(block.all) for block in blocks)
    policy = parse_policy("nsigma")
    columns = [(*b.all.columns[:4], b.all.columns.order, b.all.columns.offsets, len(b.identity)) for b in blocks]
    judged = [len(oracle(block.all, HORIZON, block.n_slots)) for block in blocks]
    pairs = {
        "nsigma": (
            lambda: [policy.predict(block).peak for block in blocks],
            lambda: [plain_n_sigma(*given, 24, 24, 5.0) for given in columns],
            lambda: python_n_sigma(blocks[0], 5.0, 24, 24),
        ),
        "oracle 24 h": (
            lambda: [oracle(block.all, HORIZON, block.n_slots) for block in blocks],
            lambda: [plain_oracle(*given[:6], m, HORIZON) for given, m in zip(columns, judged, strict=True)],
            lambda: python_oracle(blocks[0], HORIZON),
        ),
    }
    for name, (ours, plain, python) in pairs.items():
        for one, other in zip(ours(), plain(), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(ours()[0], python(), rtol=1e-12, atol=1e-12)
        mine, theirs, slow = seconds(ours), seconds(plain), seconds(python, 1) * n / len(blocks[0].all)
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
    print(f"  nsigma       as Google's simulator, Python {n / slow / 1e3:.1f} k/s: × {slow / mine:,.0f}")


def whole(cells: Sequence[int]) -> None:
    """Print rate and exponent of the pass and of the default table on stores of several sizes."""
    found = []
    for machines in cells:
        with tempfile.TemporaryDirectory() as name:
            root = Path(name)
            make_raw(root / "raw", machines, HOURS)
            ingest([root / "raw"], root / "store", IngestOptions(jobs=1))
            store = borgtrace.open(root / "store")
            tables = EngineTables.of(store)
            attempts, rows = tables.instance_attempts, store.manifest.tables["instance_usage"]
            begin = time.process_time()
            usual = METRICS["average_cpu"], METRICS["average_memory"]
            machine_usage(store, tables.instance_events, attempts, *usual)
            dealt = time.process_time()
            REPLAY.run(store)
            found.append((rows, dealt - begin, time.process_time() - dealt))
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
            print(f"  {machines:,} machines, {rows:,} rows: pass {found[-1][1]:.1f} s, table of both resources", end="")
            print(f" {found[-1][2]:.1f} s; most memory so far, ingest included: {peak:.1f} GB", flush=True)
    (few, *spent), (many, *later) = found[0], found[-1]
    exponents = [math.log(b / a) / math.log(many / few) for a, b in zip(spent, later, strict=True)]
    print(f"  exponents {exponents[0]:.2f} (pass) and {exponents[1]:.2f} (table)")
    dealt, replayed = (1.23e9 / many * spent / 60 for spent in later)
    print(f"  1.23e9 rows: pass {dealt:.1f} min on one core and table {replayed / 2:.1f} min on two", end="")
    print(f": {dealt + replayed / 2:.1f} min")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machines", type=int, default=60)
    parser.add_argument("--slots", type=int, default=2016)
    parser.add_argument("--cells", type=int, nargs="+", default=[150, 600])
    given = parser.parse_args()
    whole(given.cells)
    for is_short in (False, True):
        blocks = [machine(seed, given.slots, is_short=is_short) for seed in range(given.machines)]
        n = sum(len(block.all) for block in blocks)
        lives = "half of the tasks in a slot under an hour" if is_short else "long lives"
        print(f"{len(blocks)} machines × {given.slots} slots, {n:,} samples, {lives}")
        compare(blocks)
        table(blocks)


def table(blocks: Sequence[Block]) -> None:
    """Print the rate of each policy of the table and of judging them."""
    n, found = sum(len(block.all) for block in blocks), []
    for text in POLICIES:
        policy = parse_policy(text)
        policy.predict(blocks[0])
        begin = time.thread_time()
        # A maximum of several has been predicted by then.
        found.append([policy.predicted(block) for block in blocks])
        print(f"  {text:34} {n / (time.thread_time() - begin) / 1e6:8.1f} M samples/s")
    scores(blocks[0], HORIZON, [each[0] for each in found])
    begin = time.thread_time()
    for block, *predictions in zip(blocks, *found, strict=True):
        scores(block, HORIZON, predictions)
    print(f"  judging {len(POLICIES)} policies: {n / (time.thread_time() - begin) / 1e6:.1f} M samples/s")


if __name__ == "__main__":
    main()
