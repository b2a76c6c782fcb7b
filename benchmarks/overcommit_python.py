"""The originals of `overcommit.py` in Python: Google's, slot by slot as its simulator does it, and leaner ones."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict, deque
from itertools import pairwise

import numpy as np

from borgtrace.overcommit import MachineBlock


def python_n_sigma(
    block: MachineBlock,
    n: float,
    history: int,
    warmup: int,
) -> list[float]:
    """N-sigma with a deque per task, and one pass over them: leaner than Google's simulator."""
    samples = block.all
    columns = samples.columns
    past: dict[int, deque[tuple[int, float, float]]] = defaultdict(deque)
    peaks = []
    for j, slot in enumerate(samples.slots.tolist()):
        sums: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
        now = cold = 0.0
        present = columns.order[columns.offsets[j] : columns.offsets[j + 1]]
        for i in present.tolist():
            rows = past[int(samples.task[i])]
            rows.append((slot, float(samples.usage[i]), float(samples.limit[i])))
            while rows[0][0] <= slot - history:
                rows.popleft()
            if len(rows) < warmup:
                cold += rows[-1][2]
                continue
            now += rows[-1][2]
            for at, usage, limit in rows:
                sums[at][0] += usage
                sums[at][1] += limit
        ratios = [used / limit if limit else 0.0 for used, limit in sums.values()]
        peak = cold
        if ratios:
            deviation = statistics.stdev(ratios) if len(ratios) > 1 else 0.0
            peak += min(1.0, statistics.fmean(ratios) + n * deviation) * now
        peaks.append(peak)
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


def records(block: MachineBlock) -> list[dict]:
    """Return the samples as Google's simulator reads them, sorted by time."""
    every = block.all
    return [
        {
            "simulated_time": int(every.slot[i]),
            "simulated_machine": "m",
            "sample": {
                "info": {"unique_id": str(every.task[i])},
                "abstract_metrics": {
                    "usage": float(every.usage[i]),
                    "limit": float(every.limit[i]),
                },
            },
        }
        for i in every.columns.order
    ]


class GoogleNSigma:
    """N-sigma with the structures and loops of Google's simulator, and what its runner does for each slot.

    Dictionaries are made anew in every slot, and all tasks are looked at again for each place of the history.  Where
    the original raises an error, for want of warm tasks, this predicts 0 for them.
    """

    def __init__(
        self,
        n: float,
        history: int,
        warmup: int,
    ) -> None:
        self.n = n
        self.history = history
        self.warmup = warmup
        self.warm: dict[str, Vm] = {}
        self.cold: dict[str, Vm] = {}
        self.limits: dict[str, float] = {}

    def run(self, stream: list[dict]) -> list[float]:
        """Return the prediction of each slot."""
        results = []
        running = []
        now = stream[0]["simulated_time"]
        for record in [*stream, {"simulated_time": math.inf}]:
            if record["simulated_time"] > now:
                results.append(self.told(running))
                running = []
                now = record["simulated_time"]
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
        warm = sum(self.limits[key] for key in self.warm)
        peak = self.predicted(list(self.warm.values())) + cold
        return peak, cold + warm

    def predicted(self, vms: list[Vm]) -> float:
        """Return the prediction for the warm tasks."""
        ratios = []
        for k in range(self.history):
            used = 0.0
            limit = 0.0
            n_vms = 0
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


def python_oracle(block: MachineBlock, horizon: int) -> list[float]:
    """The oracle over snapshots of dictionaries, as Google's simulator computes it."""
    samples = block.all
    order = samples.columns.order
    snapshots = []
    for low, high in pairwise(samples.columns.offsets):
        snapshot = {}
        for i in order[low:high].tolist():
            snapshot[int(samples.task[i])] = (float(samples.usage[i]), float(samples.limit[i]))
        snapshots.append(snapshot)
    slots = samples.slots.tolist()
    peaks = []
    for j, slot in enumerate(slots):
        if slot + horizon > block.n_slots - 1:
            break
        peak = 0.0
        k = j + 1
        while k < len(slots) and slots[k] <= slot + horizon:
            later = snapshots[k]
            total = 0.0
            for task, (_, limit) in snapshots[j].items():
                if task in later:
                    usage, _ = later[task]
                    total += min(usage, limit)
            peak = max(peak, total)
            k += 1
        peaks.append(peak)
    return peaks
