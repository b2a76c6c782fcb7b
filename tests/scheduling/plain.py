"""The same schedulers in plain Python: every machine is looked at for every task."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from borgtrace.scheduling.machines import UNIT

SCORES = {
    "least-stranded": lambda a, b, x, y: a + b + 2 * abs(a - b),
    "best-fit": lambda a, b, x, y: a + b,
    "worst-fit": lambda a, b, x, y: -(a + b),
    "first-fit": lambda a, b, x, y: 0.0,
    "dot-product": lambda a, b, x, y: -(x * (a + x) + y * (b + y)),
}


class PlainCell:
    """Machines as lists; `allowed` is one list of flags for each set of constraints.

    `extended` is what each task takes of the resources behind CPU and memory in `capacity`.
    """

    def __init__(
        self,
        capacity,
        ids,
        allowed=(),
        variances=None,
        z=0.0,
        extended=None,
    ) -> None:
        # Lists of Python's own numbers: reading single elements of arrays takes far longer.
        self.variances = None if variances is None else variances.tolist()
        self.z = z
        self.extended = None if extended is None else extended.tolist()
        self.spread = [[0, 0] for _ in capacity]
        self.capacity = [tuple(map(int, row)) for row in capacity]
        self.free = [list(row) for row in self.capacity]
        self.ids = list(ids)
        self.allowed = allowed.tolist() if isinstance(allowed, np.ndarray) else allowed
        self.groups: list[list[int]] = [[] for _ in self.capacity]
        self.is_up = [True] * len(self.capacity)

    def open(
        self,
        machine,
        cpu,
        memory,
        group,
        demand,
        task=None,
    ) -> bool:
        if self.variances is not None:
            for place, size in enumerate((cpu, memory)):
                spread = self.spread[machine][place] + self.variances[task][place]
                left = self.free[machine][place] - size
                if left < 0 or left**2 < self.z**2 * spread:
                    return False
        for left, size in zip(self.free[machine][2:], self.extended_of(task), strict=True):
            if left < size:
                return False
        return (
            self.is_up[machine]
            and self.free[machine][0] >= cpu
            and self.free[machine][1] >= memory
            and (demand == 0 or self.allowed[demand - 1][machine])
            and (group < 0 or group not in self.groups[machine])
        )

    def choose(
        self,
        policy,
        cpu,
        memory,
        group,
        demand,
        task=None,
    ) -> int:
        ranked = []
        for machine, (cpu_capacity, memory_capacity, *_) in enumerate(self.capacity):
            if self.open(machine, cpu, memory, group, demand, task):
                a = (self.free[machine][0] - cpu) / cpu_capacity
                b = (self.free[machine][1] - memory) / memory_capacity
                score = SCORES[policy](a, b, cpu / cpu_capacity, memory / memory_capacity)
                ranked.append((score, self.ids[machine], machine))
        if not ranked:
            return -1
        _, _, best = min(ranked)
        return best

    def place(
        self,
        machine,
        cpu,
        memory,
        group,
        task=None,
    ) -> None:
        self.groups[machine].append(group)
        self.take(machine, cpu, memory, task, 1)

    def remove(
        self,
        machine,
        cpu,
        memory,
        group,
        task=None,
    ) -> None:
        self.groups[machine].remove(group)
        self.take(
            machine,
            cpu,
            memory,
            task,
            -1,
        )

    def extended_of(self, task) -> list[int]:
        return [] if self.extended is None else self.extended[task]

    def take(
        self,
        machine,
        cpu,
        memory,
        task,
        sign,
    ) -> None:
        self.free[machine][0] -= sign * cpu
        self.free[machine][1] -= sign * memory
        for place, size in enumerate(self.extended_of(task), 2):
            self.free[machine][place] -= sign * size
        if self.variances is not None and task is not None:
            for place in range(2):
                self.spread[machine][place] += sign * self.variances[task][place]


def plain_pack(
    sizes,
    groups,
    sets,
    order,
    cell,
    policy,
) -> list[int]:
    out = [-1] * len(sizes)
    sizes, groups, sets, order = (
        np.asarray(each).tolist() for each in (sizes, groups, sets, order)
    )
    for task in order:
        cpu, memory = sizes[task]
        out[task] = cell.choose(
            policy,
            cpu,
            memory,
            groups[task],
            sets[task],
            task,
        )
        if out[task] >= 0:
            cell.place(out[task], cpu, memory, groups[task], task)
    return out


def plain_needed(
    sizes,
    groups,
    sets,
    allowed,
    priority,
    jobs,
    capacity,
    seed,
) -> tuple[int, int]:
    """Machines needed, and tasks that are then pending."""
    rng = np.random.default_rng(seed)
    n = len(sizes)
    size = len(capacity)
    of_job = np.bincount(jobs)[jobs].tolist()
    is_large = [of_job[task] * 2 > size for task in range(n)]
    groups = [-1 if is_large[task] else groups[task] for task in range(n)]
    sets = [0 if is_large[task] else sets[task] for task in range(n)]
    place = rng.permutation(int(jobs.max()) + 1)
    order = sorted(range(n), key=lambda task: (-priority[task], place[jobs[task]], task))
    lines = rng.permutation(size).tolist()

    def pending(count) -> int:
        while len(lines) < count:
            lines.extend(rng.permutation(size).tolist())
        part = lines[:count]
        here = [[row[line] for line in part] for row in allowed]
        copies = [(line, part[:at].count(line)) for at, line in enumerate(part)]
        cell = PlainCell(capacity[part], copies, here)
        return plain_pack(sizes, groups, sets, order, cell, "least-stranded").count(-1)

    low = 0
    high = size
    while pending(high) > n // 500:
        low = high
        high = high + -(-high // 4)
    while high - low > 1:
        middle = (low + high) // 2
        if pending(middle) <= n // 500:
            high = middle
        else:
            low = middle
    return high, pending(high)


class RandomCell(NamedTuple):
    """Machines and tasks of a small random cell."""

    capacity: np.ndarray
    sizes: np.ndarray
    groups: np.ndarray
    sets: np.ndarray
    allowed: np.ndarray
    priority: np.ndarray
    jobs: np.ndarray


def random_cell(seed, machines=40, tasks=300) -> RandomCell:
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, machines))
    n = int(rng.integers(1, tasks))
    shapes = np.array(
        [
            [UNIT // 2, UNIT // 2],
            [UNIT // 2, UNIT // 4],
            [UNIT, UNIT],
            [UNIT // 4, UNIT // 4],
        ]
    )
    capacity = shapes[rng.integers(0, 4, m)]
    shares = rng.lognormal(-3, 1, (8, 2)).clip(0, 0.25)
    kinds = np.rint(shares * UNIT).astype(np.int64)
    kinds[0] = 0
    jobs = np.sort(rng.integers(0, 20, n))
    groups = np.where(jobs % 3 == 0, jobs, -1)
    sets = np.where(
        jobs % 4 == 0,
        jobs % 2 + 1,
        0,
    )
    allowed = rng.random((2, m)) < 0.7
    # A constraint that no machine meets is a case of its own.
    allowed[:, 0] = True
    return RandomCell(
        capacity=capacity,
        sizes=kinds[jobs % 8],
        groups=groups,
        sets=sets,
        allowed=allowed,
        priority=jobs % 5,
        jobs=jobs,
    )
