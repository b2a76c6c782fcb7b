"""Policies, oracle and metrics again, over a dictionary of samples: slow, and as their definitions read."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable

import numpy as np

from borgtrace.overcommit.block import MachineBlock, Samples

History = list[tuple[int, float, float]]
"""Slot, usage and limit of one task, by slot."""


class Machine:
    """Samples by slot and task; usage is None where nothing was measured."""

    def __init__(
        self, samples: dict[int, dict[int, tuple[float | None, float]]], n_slots: int
    ) -> None:
        self.samples = samples
        self.n_slots = n_slots

    def block(self, priority: dict[int, int] | None = None) -> MachineBlock:
        rows = sorted(
            (task, slot, *pair)
            for slot, found in self.samples.items()
            for task, pair in found.items()
        )
        tasks = sorted({row[0] for row in rows})
        numbers = np.array([tasks.index(row[0]) for row in rows], np.int64)
        slots = np.array([row[1] for row in rows], np.int64)
        usage = np.array([row[2] or 0.0 for row in rows], float)
        limits = np.array([row[3] for row in rows], float)
        known = np.array([row[2] is not None for row in rows], bool)
        ranks = np.array([(priority or {}).get(row[0], 0) for row in rows], np.int64)
        samples = Samples(numbers, slots, usage, limits)
        return MachineBlock(
            samples,
            known,
            ranks,
            np.array(tasks, np.int64),
            self.n_slots,
            np.ones(len(samples.slots)),
        )

    def history(self, task: int, slot: int, length: float) -> History:
        """The measured samples of a task within the last `length` slots, that of `slot` included."""
        found = (
            (at, self.samples[at].get(task))
            for at in sorted(self.samples)
            if slot - length < at <= slot
        )
        return [
            (at, pair[0], pair[1]) for at, pair in found if pair is not None and pair[0] is not None
        ]

    def predicted(
        self, warmup: int, history: float, warm_peak: Callable[[int, dict[int, History]], float]
    ) -> list[float]:
        """Return Predict(warm) + Σ L of the others, for each slot."""
        peaks = []
        for slot in sorted(self.samples):
            present = self.samples[slot]
            past = {task: self.history(task, slot, history) for task in sorted(present)}
            warm = {
                task: rows
                for task, rows in past.items()
                if present[task][0] is not None and len(rows) >= warmup
            }
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
            sums.append(
                sum(
                    min(later[task][0] or 0.0, limit)
                    for task, (_, limit) in now.items()
                    if task in later
                )
            )
        return sums

    def judged(self, horizon: int) -> list[int]:
        """Slots whose horizon ends within the trace."""
        return [slot for slot in sorted(self.samples) if slot + horizon <= self.n_slots - 1]


def ever(machine: Machine, warmup: int, statistic: Callable[[list[float]], float]) -> list[float]:
    return machine.predicted(
        warmup,
        math.inf,
        lambda _, warm: sum(statistic([usage for _, usage, _ in rows]) for rows in warm.values()),
    )


def task_percentile(machine: Machine, q: float, history: int, warmup: int) -> list[float]:
    def peak(_: int, warm: dict[int, History]) -> float:
        return sum(
            float(np.percentile([usage / limit if limit else 0.0 for _, usage, limit in rows], q))
            * rows[-1][2]
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
        mean = sum(map(statistics.fmean, used))
        variance = sum(map(statistics.pvariance, used))
        return min(mean + z * math.sqrt(variance), machine.limit_of(warm))

    return machine.predicted(warmup, history, peak)


def convolution(machine: Machine, rho: float, history: int, warmup: int) -> list[float]:
    """The exact sum on a grid of a thousandth of the limits; a value between two steps is shared between them."""

    def peak(_: int, warm: dict[int, History]) -> float:
        step = machine.limit_of(warm) / 1000
        if step == 0:
            return 0.0
        sums = {0: 1.0}
        for rows in warm.values():
            own: dict[int, float] = {}
            for _, usage, _ in rows:
                below = math.floor(usage / step)
                share = usage / step - below
                own[below] = own.get(below, 0.0) + (1 - share) / len(rows)
                own[below + 1] = own.get(below + 1, 0.0) + share / len(rows)
            joined: dict[int, float] = {}
            for at, mass in sums.items():
                for more, other in own.items():
                    joined[at + more] = joined.get(at + more, 0.0) + mass * other
            sums = joined
        total = 0.0
        for at in sorted(sums):
            total += sums[at]
            if total >= 1 - rho - 1e-12:
                return min(at * step, machine.limit_of(warm))
        raise AssertionError

    return machine.predicted(warmup, history, peak)


def saddlepoint(machine: Machine, rho: float, history: int, warmup: int) -> list[float]:
    z = statistics.NormalDist().inv_cdf(1 - rho)

    def peak(_: int, warm: dict[int, History]) -> float:
        used = [[usage for _, usage, _ in rows] for rows in warm.values()]

        def at(theta: float) -> tuple[float, float, float]:
            k = mean = variance = 0.0
            for values in used:
                top = max(values)
                weights = [math.exp(theta * (value - top)) for value in values]
                first = sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)
                k += theta * top + math.log(statistics.fmean(weights))
                mean += first
                variance += sum(
                    w * (v - first) ** 2 for w, v in zip(weights, values, strict=True)
                ) / sum(weights)
            return k, mean, variance

        def root(theta: float) -> float:
            k, mean, variance = at(theta)
            w = math.sqrt(max(2 * (theta * mean - k), 0.0))
            u = theta * math.sqrt(variance)
            return w + math.log(u / w) / w if w > 0 and u > 0 else -math.inf

        def searched() -> float:
            _, mean, variance = at(0.0)
            if variance == 0:
                return mean
            low = 0.0
            high = 1 / math.sqrt(variance)
            last = -math.inf
            while (found := root(high)) < z:
                if found <= last:
                    return sum(map(max, used))
                low = high
                high = 2 * high
                last = found
            if found <= last:
                return sum(map(max, used))
            for _ in range(200):
                middle = (low + high) / 2
                low, high = (middle, high) if root(middle) < z else (low, middle)
            return at(high)[1]

        return min(searched(), machine.limit_of(warm))

    return machine.predicted(warmup, history, peak)


ReplayInput = dict[int, list[tuple[int, float]]]
"""Hour in which a window of a task ended, and its usage, of all tasks of the cell."""


def online_gpa(
    machine: Machine,
    cell: ReplayInput,
    names: dict[int, str],
    rho: float,
    half_life: int,
    prior: float,
    warmup: int,
) -> list[float]:
    z = statistics.NormalDist().inv_cdf(1 - rho)
    peaks = []
    for slot in sorted(machine.samples):
        mean = variance = most = cold = 0.0
        for task, (usage, limit) in machine.samples[slot].items():
            pooled = [
                used
                for other, rows in cell.items()
                if task in names and names.get(other) == names[task]
                for hour, used in rows
                if hour < (slot + 1) // 12
            ]
            own = [
                (2.0 ** ((at - slot) / half_life), used)
                for at, used, _ in machine.history(task, slot, math.inf)
            ]
            if not pooled and (usage is None or len(own) < warmup):
                cold += limit
                continue
            both = own + [(prior / len(pooled), used) for used in pooled]
            weight = sum(w for w, _ in both)
            center = sum(w * used for w, used in both) / weight
            mean += center
            variance += sum(w * (used - center) ** 2 for w, used in both) / weight
            most += limit
        peaks.append(min(mean + z * math.sqrt(variance), most) + cold)
    return peaks


def katalyst_hourly(
    machine: Machine, jobs: dict[int, list[tuple[int, float]]], n: float
) -> list[float]:
    """Jobs by task: hour in which a slot ended, and the highest usage of a task in it; capacity 1, defaults of CPU."""
    peaks = []
    for slot in sorted(machine.samples):
        now = (slot + 1) // 12
        hours = [0.0] * 24
        for task, (_, limit) in machine.samples[slot].items():
            rows = [(hour, used) for hour, used in jobs.get(task, []) if now - 168 <= hour < now]
            for k in range(24):
                values = [used for hour, used in rows if hour % 24 == k]
                if not rows or max(rows)[0] - min(rows)[0] < 24:
                    hours[k] += limit
                elif values:
                    hours[k] += statistics.fmean(values) + n * statistics.pstdev(values)
        used = max(hours)
        requested = sum(limit for _, limit in machine.samples[slot].values())
        load = max(min(used / requested, 1.0), 0.4) if requested > 0 else 1.0
        peaks.append(requested / max((0.6 - used) / load + requested, 1.0))
    return peaks
