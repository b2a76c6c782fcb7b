"""Policies, oracle and metrics again, over a dictionary of samples: slow, and as their definitions read."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable

import numpy as np

from borgtrace.overcommit.block import Block, Samples

History = list[tuple[int, float, float]]
"""Slot, usage and limit of one task, by slot."""


class Machine:
    """Samples by slot and task; usage is None where nothing was measured."""

    def __init__(self, samples: dict[int, dict[int, tuple[float | None, float]]], n_slots: int) -> None:
        self.samples, self.n_slots = samples, n_slots

    def block(self, priority: dict[int, int] | None = None) -> Block:
        rows = sorted((task, slot, *pair) for slot, found in self.samples.items() for task, pair in found.items())
        tasks = sorted({row[0] for row in rows})
        numbers = np.array([tasks.index(row[0]) for row in rows], np.int64)
        slots = np.array([row[1] for row in rows], np.int64)
        usage = np.array([row[2] or 0.0 for row in rows], float)
        limits = np.array([row[3] for row in rows], float)
        known = np.array([row[2] is not None for row in rows], bool)
        ranks = np.array([(priority or {}).get(row[0], 0) for row in rows], np.int64)
        samples = Samples(numbers, slots, usage, limits)
        return Block(samples, known, ranks, np.array(tasks, np.int64), self.n_slots, np.ones(len(samples.slots)))

    def history(self, task: int, slot: int, length: float) -> History:
        """The measured samples of a task within the last `length` slots, that of `slot` included."""
        found = ((at, self.samples[at].get(task)) for at in sorted(self.samples) if slot - length < at <= slot)
        return [(at, pair[0], pair[1]) for at, pair in found if pair is not None and pair[0] is not None]

    def predicted(
        self, warmup: int, history: float, warm_peak: Callable[[int, dict[int, History]], float]
    ) -> list[float]:
        """Return Predict(warm) + Σ L of the others, for each slot."""
        peaks = []
        for slot in sorted(self.samples):
            present = self.samples[slot]
            past = {task: self.history(task, slot, history) for task in sorted(present)}
            warm = {task: rows for task, rows in past.items() if present[task][0] is not None and len(rows) >= warmup}
            cold = sum(limit for task, (_, limit) in present.items() if task not in warm)
            peaks.append(cold + (warm_peak(slot, warm) if warm else 0.0))
        return peaks

    def ratios(self, warm: dict[int, History]) -> list[float]:
        """Σ U ÷ Σ L of the warm tasks, for each slot of their history."""
        sums: dict[int, list[float]] = {}
        for rows in warm.values():
            for at, usage, limit in rows:
                sums.setdefault(at, [0.0, 0.0])[0] += usage
                sums[at][1] += limit
        return [used / limit if limit > 0 else 0.0 for _, (used, limit) in sorted(sums.items())]

    def limit_of(self, warm: dict[int, History]) -> float:
        return sum(rows[-1][2] for rows in warm.values())

    def futures(self, slot: int, horizon: int) -> list[float]:
        """What the tasks of a slot use together in each of the next ones, each at most its limit of now."""
        now = self.samples[slot]
        sums = []
        for at in range(slot + 1, slot + horizon + 1):
            later = self.samples.get(at, {})
            sums.append(sum(min(later[task][0] or 0.0, limit) for task, (_, limit) in now.items() if task in later))
        return sums

    def judged(self, horizon: int) -> list[int]:
        """Slots whose horizon ends within the trace."""
        return [slot for slot in sorted(self.samples) if slot + horizon <= self.n_slots - 1]


def ever(machine: Machine, warmup: int, statistic: Callable[[list[float]], float]) -> list[float]:
    return machine.predicted(
        warmup, math.inf, lambda _, warm: sum(statistic([usage for _, usage, _ in rows]) for rows in warm.values())
    )


def task_percentile(machine: Machine, q: float, history: int, warmup: int) -> list[float]:
    def peak(_: int, warm: dict[int, History]) -> float:
        return sum(
            float(np.percentile([usage / limit if limit else 0.0 for _, usage, limit in rows], q)) * rows[-1][2]
            for rows in warm.values()
        )

    return machine.predicted(warmup, history, peak)


def n_sigma(machine: Machine, n: float, history: int, warmup: int) -> list[float]:
    def peak(_: int, warm: dict[int, History]) -> float:
        x = machine.ratios(warm)
        deviation = statistics.stdev(x) if len(x) > 1 else 0.0
        return min(1.0, statistics.fmean(x) + n * deviation) * machine.limit_of(warm)

    return machine.predicted(warmup, history, peak)


def machine_percentile(machine: Machine, q: float, history: int, warmup: int) -> list[float]:
    def peak(_: int, warm: dict[int, History]) -> float:
        return min(1.0, float(np.percentile(machine.ratios(warm), q))) * machine.limit_of(warm)

    return machine.predicted(warmup, history, peak)


def gpa(machine: Machine, rho: float, history: int, warmup: int) -> list[float]:
    z = statistics.NormalDist().inv_cdf(1 - rho)

    def peak(_: int, warm: dict[int, History]) -> float:
        used = [[usage for _, usage, _ in rows] for rows in warm.values()]
        mean, variance = sum(map(statistics.fmean, used)), sum(map(statistics.pvariance, used))
        return min(mean + z * math.sqrt(variance), machine.limit_of(warm))

    return machine.predicted(warmup, history, peak)
