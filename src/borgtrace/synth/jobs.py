"""Jobs and tasks: when they arrive, how large they are, what they ask for and how they use it."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from borgtrace.schema.time import HOUR, TRACE_START
from borgtrace.synth.classes import CLASSES, LEVEL_LIMIT, SHARES
from borgtrace.synth.hashing import generator
from borgtrace.synth.machines import MODES, Machines, hashed
from borgtrace.synth.profiles import Profile, Tier

BURST: Final = 0.4
"""Share of arrivals that follow the one before within 12 ms."""
SIZE_ATOMS: Final = (2, 11, 50, 15, 9, 110, 100, 14)
"""Frequent sizes of jobs with several tasks."""
TAIL: Final = 0.585
"""Pareto exponent of tasks per job from 10 on."""
USERS: Final = 933
BUSIEST: Final = (0.1463, 0.1044, 0.0783, 0.0502, 0.0381)
"""Shares of jobs of the five busiest users; the others follow a power law."""
COMMONEST: Final = (0.0465, 0.0310, 0.0219)
"""The same of the three commonest logical names."""
NAMES: Final = 39_730
CONSTRAINED: Final = 0.25
"""Share of jobs with constraints; with 2.4 rows each this gives .197 rows per task event."""
LOOPING: Final = 0.010
"""Share of production jobs of up to three tasks that are in a crash loop."""
SMALL: Final = 0.95
"""Share of jobs whose short tasks hardly use any CPU (58.7 % of tasks peak below 5 % of the request)."""
LIGHT: Final = 0.48
"""Share of those whose short tasks hardly use any memory either (46.6 % of tasks)."""
LARGEST_SHARE: Final = 0.2
"""Most of the cell's CPU (or memory) that one new job asks for: sizes grow with the cell, requests do not."""
REQUESTS: Final = (
    (0.0006, 0.0027, 0.006, 0.0103, 0.0135, 0.0187, 0.031, 0.05, 0.0625, 0.125, 0.1875, 0.3125, 0.5),
    (0.002, 0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.875, 0.94, 0.975, 0.992),
)
"""CPU requests of long tasks that do not fail, and the shares of them that ask for no more."""
LIKENESS: Final = 0.75
"""Correlation of what a job asks for and what it uses, in normal scores."""
OVERUSE: Final = 2.0
"""Largest mean CPU as a multiple of the request (a task takes up to twice its request)."""
LIFT: Final = 0.36
"""Shift of these scores: makes up for usage that is cut at twice the request."""

_ORDER: Final = tuple(np.argsort([c.median for c in CLASSES], kind="stable"))
_ORDERED_SHARES: Final = np.cumsum(SHARES[list(_ORDER)])


@dataclass(slots=True, eq=False)
class Job:
    """One collection.

    Parameters
    ----------
    id, number
        Collection id, and its rank in the trace.
    tier
        The tier it belongs to.
    size
        Number of tasks.
    cpu, memory, disk
        Requests of every task.
    kind
        Row of :data:`borgtrace.synth.classes.CLASSES`.
    constraints
        (attribute, operator, value) triples.
    allowed
        Machines that satisfy the constraints, or None for all.
    host, guest
        2019: the alloc set it runs in, and for an alloc set the job inside.
    parent, after
        2019: the job whose end kills it, and the job whose end lets it start.
    is_batch, is_held
        2019: handled by the batch scheduler, and held back by it.
    scaling
        2019: vertical scaling (1 off, 2 constrained, 3 fully automated).
    """

    id: int
    number: int
    tier: Tier
    priority: int
    scheduling_class: int
    user: int
    name: int
    size: int
    cpu: float
    memory: float
    disk: float
    different: bool
    kind: int
    wave: float
    phase: float
    is_idle: bool
    is_light: bool
    is_looping: bool
    constraints: tuple[tuple[int, int, int], ...] = ()
    allowed: NDArray[np.bool_] | None = None
    is_alloc_set: bool = False
    host: Job | None = None
    guest: Job | None = None
    parent: Job | None = None
    after: Job | None = None
    is_batch: bool = False
    is_held: bool = False
    is_cancelled: bool = False
    scaling: int = 1
    children: list[Job] = field(default_factory=list)
    followers: list[Job] = field(default_factory=list)
    alive: int = 0
    is_scheduled: bool = False
    worst: int = 0
    machines: set[int] = field(default_factory=set)
    tasks: list[Task] = field(default_factory=list)

    @property
    def user_hash(self) -> str:
        """The user as published."""
        return hashed("user", self.user)


@dataclass(slots=True, eq=False)
class Task:
    """One instance, its mean CPU (`level`) and memory, its present run and its past."""

    job: Job
    index: int
    serial: int
    level: float
    memory: float
    attempt: int = 0
    scale: float = 1.0
    machine: int = -1
    start: int = -1
    state: str = ""
    cpu_share: float = 1.0
    memory_share: float = 1.0


class Workload:
    """Draws jobs; every draw comes from one seeded stream, in arrival order."""

    def __init__(self, profile: Profile, machines: Machines, hours: float, seed: int) -> None:
        self.profile, self.machines = profile, machines
        self.random = random.Random(int(generator(seed, "jobs").integers(2**62)))
        self.rng = generator(seed, "tasks")
        self.largest = max(10, 10 * len(machines))
        self._hourly = generator(seed, "hours").gamma(12.0, 1.0 / 12.0, size=int(hours) + 2)
        self._id = 3_418_309 if profile.generation == "2011" else 330_587_000_000
        self._number = 0
        self._tasks = 0

    def next_arrival(self, now: int) -> int:
        """Return the time (µs) of the arrival after `now`: a burst or an exponential gap."""
        if self.random.random() < BURST:
            return now + 1 + int(self.random.lognormvariate(math.log(2500.0), 1.0))
        hour = (now - TRACE_START) / HOUR
        rate = self.profile.jobs_per_hour * len(self.machines) * self._season(hour)
        return now + 1 + int(self.random.expovariate(rate * (1.0 - BURST)) * HOUR)

    def _season(self, hour: float) -> float:
        day = 1.0 + 0.15 * math.cos(2 * math.pi * (hour - 5.0) / 24.0)
        week = 1.0 + 0.10 * math.cos(2 * math.pi * (hour - 60.0) / 174.0)
        return day * week * float(self._hourly[min(int(max(hour, 0.0)), len(self._hourly) - 1)])

    def tier(self) -> Tier:
        """Draw the tier of a new job."""
        return self.random.choices(self.profile.tiers, [t.jobs for t in self.profile.tiers])[0]

    def new_size(self, tier: Tier) -> int:
        """Draw the number of tasks of a new job."""
        u = self.random.random()
        if u < tier.single:
            return 1
        u = (u - tier.single) / (1.0 - tier.single)
        largest = min(self.largest, tier.largest)
        if u < 0.20:
            return min(self.random.choices(SIZE_ATOMS, (8, 6, 5, 4, 3, 3, 3, 2))[0], largest)
        if u < 0.45:
            return min(self.random.randint(2, 10), largest)
        low, high = 10.0**-TAIL, (largest + 1.0) ** -TAIL
        return min(largest, int((low - self.random.random() * (low - high)) ** (-1.0 / TAIL)))

    def new_job(self, tier: Tier, size: int) -> Job:
        """Draw a job that arrives inside the trace: requests per job are log-normal (FACTS §4.4)."""
        z = self.random.gauss(0.0, 1.0)
        like = self.profile.likeness
        y = like * z + math.sqrt(1.0 - like**2) * self.random.gauss(0.0, 1.0)
        cpu_scale, memory_scale = self.profile.request_scale
        cpu = min(0.5, math.exp(-4.03 + 1.01 * z)) * cpu_scale
        memory = min(0.5, math.exp(-5.14 + 1.6 * y)) * memory_scale
        cpu = min(cpu, LARGEST_SHARE * float(self.machines.cpu.sum()) / size)
        memory = min(memory, LARGEST_SHARE * float(self.machines.memory.sum()) / size)
        priority = self.random.choices(tier.priorities, tier.priority_weights)[0]
        scheduling_class = self.random.choices(range(4), tier.classes)[0]
        different = self._may_differ(size) and self.random.random() < tier.different_machines
        return self._job(tier, size, cpu, memory, priority, scheduling_class, different)

    def alloc_set(self, guest: Job) -> Job:
        """Draw the alloc set around a job: one alloc instance per task, somewhat larger than it."""
        host = self._job(
            guest.tier, guest.size, min(1.0, guest.cpu * 1.3), min(1.0, guest.memory * 1.4), guest.priority,
            guest.scheduling_class, guest.different,
        )  # fmt: skip
        host.is_alloc_set, host.guest, guest.host = True, guest, host
        host.kind, host.wave, host.phase = guest.kind, guest.wave, guest.phase
        for mine, inside in zip(host.tasks, guest.tasks, strict=True):
            mine.level, mine.memory = min(inside.level * 1.08, 0.5), inside.memory * 1.15
        host.user, host.is_looping, host.constraints, host.allowed = guest.user, False, (), None
        guest.constraints, guest.allowed, guest.different = (), None, False
        guest.is_idle = host.is_idle = False
        return host

    def snapshot_jobs(self, tier: Tier, tasks: int) -> list[Job]:
        """Draw the jobs of the tasks alive at the start.

        Requests are spread evenly over tasks (systematic sampling), so that the published quantiles
        hold for any seed although a few jobs own most tasks.
        """
        sizes: list[int] = []
        while sum(sizes) < tasks:
            size = round(tier.snapshot_sizes.at(self.random.random()))
            sizes.append(min(size, self.largest, max(1, tasks // 10), tasks - sum(sizes)))
        cpu = self._systematic(sizes, [self.random.random() for _ in sizes])
        memory = self._systematic(sizes, [0.5 * u + 0.5 * self.random.random() for u in cpu])
        rank = self._systematic(sizes, [self.random.random() for _ in sizes])
        order = self._systematic(sizes, [self.random.random() for _ in sizes])
        different = self._systematic(sizes, [self.random.random() for _ in sizes])
        cpu_scale, memory_scale = self.profile.request_scale
        jobs = []
        for i, size in enumerate(sizes):
            jobs.append(self._job(
                tier, size, tier.cpu.at(cpu[i]) * cpu_scale, tier.memory.at(memory[i]) * memory_scale,
                _pick(tier.snapshot_priorities, tier.snapshot_weights, rank[i]),
                _pick(range(4), tier.snapshot_classes, order[i]),
                self._may_differ(size) and different[i] < tier.snapshot_different,
            ))  # fmt: skip
        return jobs

    def _may_differ(self, size: int) -> bool:
        """Return whether so many tasks can find different machines with some to spare."""
        return 1 < size <= len(self.machines) // 2

    @staticmethod
    def _systematic(sizes: list[int], keys: list[float]) -> list[float]:
        """Return per job its mid position among all tasks when jobs are sorted by key."""
        total, before = float(sum(sizes)), 0.0
        places = [0.0] * len(sizes)
        for i in sorted(range(len(sizes)), key=lambda j: (keys[j], j)):
            places[i] = (before + 0.5 * sizes[i]) / total
            before += sizes[i]
        return places

    def _job(
        self, tier: Tier, size: int, cpu: float, memory: float, priority: int, scheduling_class: int,
        different: bool,
    ) -> Job:  # fmt: skip
        draw = self.random.random
        self._id += 1 + int(draw() * 9_000 * 2)
        self._number += 1
        kind, levels, ratio = self._use(tier, cpu, size)
        is_production = tier.name in ("production", "monitoring")
        is_service, looping = is_production and scheduling_class >= 2, LOOPING * is_production
        job = Job(
            self._id, self._number, tier, priority, scheduling_class,
            user=_ranked(draw(), BUSIEST, 2.1, USERS, 13.0),
            name=_ranked(draw(), COMMONEST, 0.95, NAMES, 3.5), size=size,
            cpu=cpu, memory=memory, disk=math.exp(-8.6 + 1.3 * self.random.gauss(0, 1)), different=different,
            kind=kind, wave=0.4 + 0.8 * draw() if is_service else 0.0, phase=1.0 + draw(),
            is_idle=draw() < SMALL, is_light=draw() < LIGHT, is_looping=draw() < looping and size <= 3, alive=size,
        )  # fmt: skip
        used = zip(np.minimum(levels, OVERUSE * cpu).tolist(), (ratio * memory).tolist(), strict=True)
        job.tasks = [Task(job, i, self._tasks + i, *mine) for i, mine in enumerate(used)]
        self._tasks += size
        if draw() < CONSTRAINED:
            self._constrain(job)
        return job

    def _use(self, tier: Tier, cpu: float, size: int) -> tuple[int, NDArray[np.float64], NDArray[np.float64]]:
        """Draw a class, the mean CPU of every task, and their memory as a share of the request.

        2011: by class (Janus & Rzadca).  2019: as the tier's share of the request.
        """
        z, y = self.random.gauss(0.0, 1.0), self.random.gauss(0.0, 1.0)
        own, other = self.rng.standard_normal(size), self.rng.standard_normal(size)
        if tier.cpu_use:
            kind = len(CLASSES) + self.random.choices(range(len(CLASSES)), SHARES.tolist())[0]
            levels = np.minimum(cpu * tier.cpu_use * np.exp(1.6 * z + 0.1 * own), LEVEL_LIMIT)
            y = 0.9 * z + math.sqrt(0.19) * y
        else:
            kind = self._kind(cpu)
            levels = CLASSES[kind].levels(z * math.sqrt(0.8) + own * math.sqrt(0.2))
        return kind, levels, np.clip(tier.memory_use * np.exp(0.45 * y + 0.1 * other), 0.02, 1.05)

    def _kind(self, cpu: float) -> int:
        """Draw a class: tasks that ask for much tend to use much."""
        z = float(special.ndtri(np.interp(math.log(max(cpu, 1e-4)), np.log(REQUESTS[0]), REQUESTS[1])))
        own = math.sqrt(1.0 - LIKENESS**2) * self.random.gauss(0.0, 1.0)
        u = float(special.ndtr(LIKENESS * z + own + LIFT))
        return int(_ORDER[min(int(np.searchsorted(_ORDERED_SHARES, u)), len(_ORDER) - 1)])

    def _constrain(self, job: Job) -> None:
        """Give a job one to five constraints that at least a quarter of the machines satisfy."""
        allowed = np.ones(len(self.machines), dtype=bool)
        constraints: list[tuple[int, int, int]] = []
        for attribute in self.random.sample(range(len(MODES)), self.random.choice((1, 2, 2, 3, 3, 4))):
            operator = self.random.choice((0, 1, 1, 1, 2, 3))
            value = self.random.randint(1, MODES[attribute])
            column = self.machines.attributes[:, attribute]
            mask = (column == value, column != value, column < value, column > value)[operator]
            if (allowed & mask).sum() * 4 >= len(self.machines):
                allowed &= mask
                constraints.append((attribute, operator, value))
        if constraints:
            job.constraints, job.allowed = tuple(constraints), allowed


def _ranked(u: float, head: tuple[float, ...], exponent: float, count: int, shift: float) -> int:
    """Draw a rank 1 … `count`: the first ranks by their shares, the rest by a power law."""
    for rank, share in enumerate(head, start=1):
        if u < share:
            return rank
        u -= share
    return len(head) + _zipf(u / (1.0 - sum(head)), exponent, count - len(head), shift)


def _zipf(u: float, exponent: float, count: int, shift: float = 0.0) -> int:
    """Draw a rank 1 … `count` with probability ∝ (rank + shift)^−exponent, by inversion."""
    power = 1.0 - exponent
    low, high = (1.0 + shift) ** power, (count + 1.0 + shift) ** power
    return min(count, int((low + u * (high - low)) ** (1.0 / power) - shift))


def _pick(values: range | tuple[int, ...], weights: tuple[float, ...], u: float) -> int:
    threshold = u * sum(weights)
    for value, weight in zip(values, weights, strict=True):
        threshold -= weight
        if threshold < 0.0:
            return value
    return values[-1]
