"""Policies, oracle and metrics again, over a dictionary of samples: slow, and as their definitions read."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
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
        priority = priority or {}
        rows = []
        for slot, present in self.samples.items():
            for task, (usage, limit) in present.items():
                rows.append((task, slot, usage, limit))
        rows.sort()
        tasks = sorted({row[0] for row in rows})
        samples = Samples(
            task=np.array([tasks.index(task) for task, *_ in rows], np.int64),
            slot=np.array([slot for _, slot, _, _ in rows], np.int64),
            usage=np.array([usage or 0.0 for _, _, usage, _ in rows], float),
            limit=np.array([limit for *_, limit in rows], float),
        )
        return MachineBlock(
            all=samples,
            is_known=np.array([usage is not None for _, _, usage, _ in rows], bool),
            priority=np.array([priority.get(task, 0) for task, *_ in rows], np.int64),
            identity=np.array(tasks, np.int64),
            n_slots=self.n_slots,
            capacity=np.ones(len(samples.slots)),
        )

    def history(
        self,
        task: int,
        slot: int,
        length: float,
    ) -> History:
        """The measured samples of a task within the last `length` slots, that of `slot` included."""
        rows = []
        for at in sorted(self.samples):
            if slot - length < at <= slot and task in self.samples[at]:
                usage, limit = self.samples[at][task]
                if usage is not None:
                    rows.append((at, usage, limit))
        return rows

    def predicted(
        self,
        warmup: int,
        history: float,
        warm_peak: Callable[[int, dict[int, History]], float],
    ) -> list[float]:
        """Return Predict(warm) + Σ L of the others, for each slot."""
        peaks = []
        for slot in sorted(self.samples):
            present = self.samples[slot]
            warm: dict[int, History] = {}
            cold_limits = 0.0
            for task, (usage, limit) in sorted(present.items()):
                rows = self.history(task, slot, history)
                if usage is not None and len(rows) >= warmup:
                    warm[task] = rows
                else:
                    cold_limits += limit
            peaks.append(cold_limits + (warm_peak(slot, warm) if warm else 0.0))
        return peaks

    def ratios(self, warm: dict[int, History]) -> list[float]:
        """Σ U ÷ Σ L of the warm tasks, for each slot of their history."""
        used: dict[int, float] = defaultdict(float)
        limits: dict[int, float] = defaultdict(float)
        for rows in warm.values():
            for at, usage, limit in rows:
                used[at] += usage
                limits[at] += limit
        return [used[at] / limits[at] if limits[at] > 0 else 0.0 for at in sorted(used)]

    def limit_of(self, warm: dict[int, History]) -> float:
        return sum(rows[-1][2] for rows in warm.values())

    def limits_in(self, slot: int) -> float:
        return sum(limit for _, limit in self.samples[slot].values())

    def futures(self, slot: int, horizon: int) -> list[float]:
        """What the tasks of a slot use together in each of the next ones, each at most its limit of now."""
        now = self.samples[slot]
        sums = []
        for at in range(slot + 1, slot + horizon + 1):
            later = self.samples.get(at, {})
            total = 0.0
            for task in now.keys() & later.keys():
                usage, _ = later[task]
                _, limit = now[task]
                total += min(usage or 0.0, limit)
            sums.append(total)
        return sums

    def judged(self, horizon: int) -> list[int]:
        """Slots whose horizon ends within the trace."""
        return [slot for slot in sorted(self.samples) if slot + horizon <= self.n_slots - 1]

    def is_blind(self, slot: int) -> bool:
        """Whether less than half of what ran was measured, or nothing was used where something mostly is."""
        measured = self.measured(slot)
        running = 0.0
        for task, (_, limit) in self.samples[slot].items():
            slots = [at for at in self.samples if task in self.measured(at)]
            if slots and min(slots) <= slot <= max(slots):
                running += limit
        if not measured or sum(limit for _, limit in measured.values()) < running / 2:
            return True
        totals = []
        for at in self.samples:
            if self.measured(at):
                totals.append(sum(usage for usage, _ in self.measured(at).values()))
        return statistics.median(totals) > 0 and sum(usage for usage, _ in measured.values()) == 0

    def measured(self, slot: int) -> dict[int, tuple[float, float]]:
        """Usage and limit of the tasks that were measured in a slot."""
        samples = self.samples[slot].items()
        return {task: (usage, limit) for task, (usage, limit) in samples if usage is not None}

    def is_seen(self, slot: int, horizon: int) -> bool:
        """Whether neither a slot nor any of its horizon is blind."""
        ahead = range(slot, slot + horizon + 1)
        return not any(self.is_blind(at) for at in ahead if at in self.samples)


def used_by(warm: dict[int, History]) -> list[list[float]]:
    """The usage of each task's history."""
    return [[usage for _, usage, _ in rows] for rows in warm.values()]


def ever(
    machine: Machine,
    warmup: int,
    statistic: Callable[[list[float]], float],
) -> list[float]:
    def peak(_: int, warm: dict[int, History]) -> float:
        return sum(map(statistic, used_by(warm)))

    return machine.predicted(warmup, math.inf, peak)


def task_percentile(
    machine: Machine,
    q: float,
    history: int,
    warmup: int,
) -> list[float]:
    def peak(_: int, warm: dict[int, History]) -> float:
        total = 0.0
        for rows in warm.values():
            ratios = [usage / limit if limit else 0.0 for _, usage, limit in rows]
            _, _, limit_now = rows[-1]
            total += float(np.percentile(ratios, q)) * limit_now
        return total

    return machine.predicted(warmup, history, peak)


def n_sigma(
    machine: Machine,
    n: float,
    history: int,
    warmup: int,
) -> list[float]:
    def peak(_: int, warm: dict[int, History]) -> float:
        x = machine.ratios(warm)
        deviation = statistics.stdev(x) if len(x) > 1 else 0.0
        return min(1.0, statistics.fmean(x) + n * deviation) * machine.limit_of(warm)

    return machine.predicted(warmup, history, peak)


def machine_percentile(
    machine: Machine,
    q: float,
    history: int,
    warmup: int,
) -> list[float]:
    def peak(_: int, warm: dict[int, History]) -> float:
        percentile = float(np.percentile(machine.ratios(warm), q))
        return min(1.0, percentile) * machine.limit_of(warm)

    return machine.predicted(warmup, history, peak)


def gpa(
    machine: Machine,
    rho: float,
    history: int,
    warmup: int,
) -> list[float]:
    z = statistics.NormalDist().inv_cdf(1 - rho)

    def peak(_: int, warm: dict[int, History]) -> float:
        used = used_by(warm)
        mean = sum(map(statistics.fmean, used))
        variance = sum(map(statistics.pvariance, used))
        return min(mean + z * math.sqrt(variance), machine.limit_of(warm))

    return machine.predicted(warmup, history, peak)


def spread(values: list[float], step: float) -> dict[int, float]:
    """The distribution of equally likely values over the cells of a grid."""
    mass: dict[int, float] = defaultdict(float)
    for value in values:
        below = math.floor(value / step)
        share = value / step - below
        mass[below] += (1 - share) / len(values)
        mass[below + 1] += share / len(values)
    return mass


def joined(first: dict[int, float], second: dict[int, float]) -> dict[int, float]:
    """The distribution of a sum."""
    mass: dict[int, float] = defaultdict(float)
    for cell, probability in first.items():
        for more, other in second.items():
            mass[cell + more] += probability * other
    return mass


def convolution(
    machine: Machine,
    rho: float,
    history: int,
    warmup: int,
) -> list[float]:
    """The exact sum on a grid of a thousandth of the limits; a value between two steps is shared between them."""

    def peak(_: int, warm: dict[int, History]) -> float:
        step = machine.limit_of(warm) / 1000
        if step == 0:
            return 0.0
        sums = {0: 1.0}
        for used in used_by(warm):
            sums = joined(sums, spread(used, step))
        total = 0.0
        for cell in sorted(sums):
            total += sums[cell]
            if total >= 1 - rho - 1e-12:
                return min(cell * step, machine.limit_of(warm))
        raise AssertionError

    return machine.predicted(warmup, history, peak)


def saddlepoint(
    machine: Machine,
    rho: float,
    history: int,
    warmup: int,
) -> list[float]:
    z = statistics.NormalDist().inv_cdf(1 - rho)

    def peak(_: int, warm: dict[int, History]) -> float:
        return min(saddlepoint_quantile(used_by(warm), z), machine.limit_of(warm))

    return machine.predicted(warmup, history, peak)


def cumulants(used: list[list[float]], theta: float) -> tuple[float, float, float]:
    """K, K′ and K″ of a sum of tasks."""
    k = mean = variance = 0.0
    for values in used:
        top = max(values)
        weights = np.exp(theta * (np.array(values) - top))
        mean_of_task = float(np.average(values, weights=weights))
        squares = (np.array(values) - mean_of_task) ** 2
        k += theta * top + math.log(weights.mean())
        mean += mean_of_task
        variance += float(np.average(squares, weights=weights))
    return k, mean, variance


def saddlepoint_root(used: list[list[float]], theta: float) -> float:
    k, mean, variance = cumulants(used, theta)
    w = math.sqrt(max(2 * (theta * mean - k), 0.0))
    u = theta * math.sqrt(variance)
    if w > 0 and u > 0:
        return w + math.log(u / w) / w
    return -math.inf


def saddlepoint_quantile(used: list[list[float]], z: float) -> float:
    _, mean, variance = cumulants(used, 0.0)
    if variance == 0:
        return mean
    low = 0.0
    high = 1 / math.sqrt(variance)
    before = -math.inf
    root = saddlepoint_root(used, high)
    while before < root < z:
        low = high
        high = 2 * high
        before = root
        root = saddlepoint_root(used, high)
    if root <= before:
        return sum(map(max, used))
    for _ in range(200):
        middle = (low + high) / 2
        if saddlepoint_root(used, middle) < z:
            low = middle
        else:
            high = middle
    _, mean, _ = cumulants(used, high)
    return mean


HoursOfTasks = dict[int, list[tuple[int, float]]]
"""Hour in which a window of a task ended, and its usage, of all tasks of the cell."""


def used_under_name(
    cell: HoursOfTasks,
    names: dict[int, str],
    task: int,
    before: int,
) -> list[float]:
    """What the tasks with the name of a task used in the hours before one."""
    if task not in names:
        return []
    used = []
    for other, rows in cell.items():
        if names.get(other) == names[task]:
            used += [usage for hour, usage in rows if hour < before]
    return used


def online_gpa(
    machine: Machine,
    cell: HoursOfTasks,
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
            pooled = used_under_name(
                cell,
                names,
                task,
                before=(slot + 1) // 12,
            )
            values = []
            weights = []
            for at, used, _ in machine.history(task, slot, math.inf):
                values.append(used)
                weights.append(2.0 ** ((at - slot) / half_life))
            if not pooled and (usage is None or len(values) < warmup):
                cold += limit
                continue
            for used in pooled:
                values.append(used)
                weights.append(prior / len(pooled))
            center = float(np.average(values, weights=weights))
            squares = (np.array(values) - center) ** 2
            mean += center
            variance += float(np.average(squares, weights=weights))
            most += limit
        peaks.append(min(mean + z * math.sqrt(variance), most) + cold)
    return peaks


def katalyst_hourly(
    machine: Machine,
    jobs: dict[int, list[tuple[int, float]]],
    n: float,
) -> list[float]:
    """Jobs by task: hour in which a slot ended, and the highest usage of a task in it; capacity 1, defaults of CPU.

    Target .6, least load .5 (NewOvercommitOptions of katalyst's controller); nothing where the estimate is 0.
    """
    peaks = []
    for slot in sorted(machine.samples):
        now = (slot + 1) // 12
        hours = [0.0] * 24
        for task, (_, limit) in machine.samples[slot].items():
            week = [(hour, used) for hour, used in jobs.get(task, []) if now - 168 <= hour < now]
            is_young = not week or max(week)[0] - min(week)[0] < 24
            for k in range(24):
                values = [used for hour, used in week if hour % 24 == k]
                if is_young:
                    hours[k] += limit
                elif values:
                    hours[k] += statistics.fmean(values) + n * statistics.pstdev(values)
        used = max(hours)
        requested = machine.limits_in(slot)
        load = max(min(used / requested, 1.0), 0.5) if requested > 0 else 1.0
        ratio = (0.6 - used) / load + requested if used > 0 else 1.0
        peaks.append(requested / max(ratio, 1.0))
    return peaks
