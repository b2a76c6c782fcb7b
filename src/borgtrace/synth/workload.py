"""The workload: when jobs arrive, and whole jobs, those that arrive inside the trace and those alive at its start."""

import math
import random
from itertools import chain
from statistics import NormalDist

import numpy as np

from borgtrace.schema.time import HOUR, TRACE_START
from borgtrace.synth.consumption import Consumption, Places
from borgtrace.synth.draws import BalancedStrata, Stratified, pick, ranked, systematic
from borgtrace.synth.hashing import generator
from borgtrace.synth.jobs import Job, Task
from borgtrace.synth.machines import MODES, Machines
from borgtrace.synth.profiles import Profile, Tier

SIZE_ATOMS = {2: 8, 11: 6, 50: 5, 15: 4, 9: 3, 110: 3, 100: 3, 14: 2}
"""Frequent sizes of jobs with several tasks, in the order of their frequency in the real trace, and their weights."""
TAIL = 0.585
"""Pareto exponent of tasks per job from 10 on."""


class Arrivals:
    """Draws the times, tiers and sizes of the jobs that arrive inside the trace.

    Parameters
    ----------
    profile
        Rates and tiers.
    machines
        Number of machines; arrivals and the largest job grow with it.
    hours
        Length of the trace.
    seed
        Decides how busy each hour is.
    rng
        Where all else is drawn from, in arrival order.
    """

    def __init__(
        self, profile: Profile, machines: int, hours: float, seed: int, rng: random.Random
    ) -> None:
        self.profile, self.machines, self.random = profile, machines, rng
        # The tail below has no finite mean: cut at a size that grows with the cell (the largest real job: 90,050).
        self.largest = max(10, 10 * machines)
        self._tiers = Stratified(rng)
        # Mean 1, deviation .29: with the day and the week about as much as between the real hours (340 of 960 jobs).
        self._hourly = generator(seed, "hours").gamma(12.0, 1.0 / 12.0, size=int(hours) + 2)
        self._sizes = {tier.name: Stratified(rng) for tier in profile.tiers}
        if profile.is_even:
            self._hourly /= np.mean([self._season(hour) for hour in np.arange(hours) + 0.5])

    def after(self, now: int) -> int:
        """Return the time (µs) of the arrival after `now`: a burst or an exponential gap."""
        if self.random.random() < self.profile.burst:
            # Median 2.5 ms: 39.1 % of the real gaps are below 10 ms, and their first quartile is 2.9 ms.
            return now + 1 + int(self.random.lognormvariate(math.log(2500.0), 1.0))
        hour = (now - TRACE_START) / HOUR
        rate = self.profile.jobs_per_hour * self.machines * self._season(hour)
        # A burst takes no time, so the other gaps are longer by its share: the mean rate stays the published one.
        return now + 1 + int(self.random.expovariate(rate * (1.0 - self.profile.burst)) * HOUR)

    def _season(self, hour: float) -> float:
        # Most jobs arrive in the hour after midnight EDT (1,292 of a mean of 960), five hours after the trace begins;
        # the wave is weak, and the strongest period of all is 174 hours.
        day = 1.0 + 0.15 * math.cos(2 * math.pi * (hour - 5.0) / 24.0)
        week = 1.0 + 0.10 * math.cos(2 * math.pi * (hour - 60.0) / 174.0)
        # Clamped: a job may be asked for from before the first hour or beyond the last.
        return day * week * float(self._hourly[min(int(max(hour, 0.0)), len(self._hourly) - 1)])

    def tier(self) -> Tier:
        """Draw the tier of a new job."""
        return pick({tier: tier.jobs for tier in self.profile.tiers}, self._tiers.draw())

    def size(self, tier: Tier) -> int:
        """Draw the number of tasks of a new job."""
        # Even where the distribution is a store's: its few largest jobs have most of the tasks.
        u = self._sizes[tier.name].draw() if tier.sizes else self.random.random()
        if u < tier.single:
            return 1
        u = (u - tier.single) / (1.0 - tier.single)
        largest = min(self.largest, tier.largest)
        if tier.sizes:
            return min(round(tier.sizes.at(u)), largest)
        if u < 0.20:
            return min(pick(SIZE_ATOMS, self.random.random()), largest)
        if u < 0.45:
            return min(self.random.randint(2, 10), largest)
        # Inverse of the Pareto distribution cut at `largest`. Uncut it has a mean near 156 tasks, where the real one
        # is 37.8, and the mean of a sample swings from 82 to 236 between seeds.
        low, high = 10.0**-TAIL, (largest + 1.0) ** -TAIL
        return min(largest, int((low - self.random.random() * (low - high)) ** (-1.0 / TAIL)))


LARGE = 20
"""Tasks of a job whose requests are not left to chance: few such jobs own most tasks."""
LARGEST_SHARE = 0.2
"""Most of the cell's CPU (or memory) that one new job asks for: sizes grow with the cell, requests do not."""


class Workload:
    """Draws jobs; every draw comes from one seeded stream, in arrival order."""

    def __init__(self, profile: Profile, machines: Machines, hours: float, seed: int) -> None:
        self.profile, self.machines, self.seconds = profile, machines, hours * 3600.0
        self.random = random.Random(int(generator(seed, "jobs").integers(2**62)))
        self.arrivals = Arrivals(profile, len(machines), hours, seed, self.random)
        self.consumption = Consumption(profile, self.random, generator(seed, "tasks"))
        self._requests = BalancedStrata()
        # Stratified draws: shares of users, names and classes come out within a few thousand jobs.
        self._users, self._names, self._classes = (Stratified(self.random) for _ in range(3))
        self._loops = Stratified(self.random, block=100)
        self._id = profile.first_id
        self._number = 0
        self._tasks = 0

    def arriving(self) -> Job:
        """Draw the job that arrives next."""
        tier = self.arrivals.tier()
        return self.new_job(tier, self.arrivals.size(tier))

    def new_job(self, tier: Tier, size: int) -> Job:
        """Draw a job that arrives inside the trace: requests per job are log-normal (FACTS §4.4)."""
        most_cpu = LARGEST_SHARE * float(self.machines.cpu.sum()) / size
        most_memory = LARGEST_SHARE * float(self.machines.memory.sum()) / size
        cpu_scale, memory_scale = self.profile.request_scale
        (mean, deviation), (low, wide) = self.profile.request, self.profile.memory_request
        z = self._urge(size, most_cpu / cpu_scale)
        like = self.profile.request_correlation
        y = like * z + math.sqrt(1.0 - like**2) * self.random.gauss(0.0, 1.0)
        # No request of the real trace is above .5 CPU.
        cpu = min(min(0.5, math.exp(mean + deviation * z)) * cpu_scale, most_cpu)
        memory = min(min(0.5, math.exp(low + wide * y)) * memory_scale, most_memory)
        priority = pick(tier.priorities, self.random.random())
        scheduling_class = pick(tier.classes, self._classes.draw())
        different = self._may_differ(size) and self.random.random() < tier.different_machines
        job = Job(tier, size, cpu, memory, priority, scheduling_class, different)
        return self._complete(job, self.consumption.place_new(job))

    def _urge(self, size: int, most: float) -> float:
        """Draw the normal score of a request; those of large jobs are spread evenly over their tasks."""
        if size < LARGE:
            return self.random.gauss(0.0, 1.0)
        # Places above the cell's limit are not offered: cut requests would pile up at it.
        below = NormalDist(*self.profile.request).cdf(math.log(most))
        u = self._requests.place(self.random.random(), size, below)
        return NormalDist().inv_cdf(min(max(u, 1e-6), 1.0 - 1e-6))

    def alloc_set(self, guest: Job) -> Job:
        """Draw the alloc set around a job: one alloc instance per task, somewhat larger than it."""
        cpu, memory = min(1.0, guest.cpu * 1.3), min(1.0, guest.memory * 1.4)
        host = Job(
            guest.tier,
            guest.size,
            cpu,
            memory,
            guest.priority,
            guest.scheduling_class,
            guest.different,
        )
        self._complete(host, np.full(guest.size, 0.5))
        host.is_alloc_set, host.guest, guest.host = True, guest, host
        host.wave, host.phase = guest.wave, guest.phase
        for mine, inside in zip(host.tasks, guest.tasks, strict=True):
            mine.level, mine.memory = min(inside.level * 1.08, 0.5), inside.memory * 1.15
            mine.kind = inside.kind
        host.user, host.is_looping, host.constraints, host.allowed = guest.user, False, (), None
        guest.constraints, guest.allowed, guest.different = (), None, False
        return host

    def alive_jobs(self, *, is_waiting: bool = False) -> list[Job]:
        """Draw the jobs whose tasks run, or wait, at the start.

        Requests, and what is used of them, are spread evenly over tasks (systematic sampling), so that the
        published quantiles hold for any seed although a few jobs own most tasks.
        """
        per_machine = {
            tier: tier.pending if is_waiting else tier.running for tier in self.profile.tiers
        }
        by_tier = [
            self._ask_alive(tier, max(1, round(n * len(self.machines))))
            for tier, n in per_machine.items()
        ]
        jobs: list[Job] = []
        for asked in by_tier if self.profile.has_use_by_tier else [list(chain(*by_tier))]:
            weights = [1.0 if is_waiting else job.tier.lasting(self.seconds) for job in asked]
            jobs += map(self._complete, asked, self.consumption.place_alive(asked, weights))
        return jobs

    def _ask_alive(self, tier: Tier, tasks: int) -> list[Job]:
        sizes: list[int] = []
        while sum(sizes) < tasks:
            size = round(tier.snapshot_sizes.at(self.random.random()))
            # None has more than a tenth of its tier's tasks: in a small cell one job would else be the tier.
            sizes.append(min(size, self.arrivals.largest, max(1, tasks // 10), tasks - sum(sizes)))
        # A key of its own for each trait: traits of a job are independent, but for memory, which follows CPU.
        cpu = systematic(sizes, [self.random.random() for _ in sizes])
        memory = systematic(sizes, [0.5 * u + 0.5 * self.random.random() for u in cpu])
        rank, order, different = (
            systematic(sizes, [self.random.random() for _ in sizes]) for _ in range(3)
        )
        cpu_scale, memory_scale = self.profile.request_scale
        return [
            Job(
                tier,
                size,
                pick(tier.cpu, cpu[i]) * cpu_scale,
                pick(tier.memory, memory[i]) * memory_scale,
                pick(tier.snapshot_priorities, rank[i]),
                pick(tier.snapshot_classes, order[i]),
                self._may_differ(size) and different[i] < tier.snapshot_different,
            )
            for i, size in enumerate(sizes)
        ]

    def _may_differ(self, size: int) -> bool:
        """Return whether so many tasks can find different machines with some to spare."""
        return 1 < size <= len(self.machines) // 2

    def _complete(self, job: Job, places: Places) -> Job:
        """Add to what a job asks for who it is, its tasks at their places in the order of use, and constraints."""
        draw = self.random.random
        # 9,000 apart on average; the 672,074 jobs of 2011 lie 9,600 apart.
        self._id += 1 + int(draw() * 9_000 * 2)
        self._number += 1
        job.id, job.number, job.alive = self._id, self._number, job.size
        used = self.consumption.draw(job, places)
        job.user = ranked(self._users.draw(), *self.profile.users)
        job.name = ranked(self._names.draw(), *self.profile.names)
        job.disk = math.exp(-8.6 + 1.3 * self.random.gauss(0, 1))
        is_production = job.tier.name in ("production", "monitoring")
        is_service = is_production and job.scheduling_class >= 2
        job.wave = 0.4 + 0.8 * draw() if is_service else 0.0
        job.phase = 1.0 + draw()
        # Half of the failures of the real first hours come from ten jobs; production submits 5.8 times per task.
        job.is_looping = (
            is_production and job.size <= 3 and self._loops.draw() < self.profile.looping
        )
        job.tasks = [
            Task(job, i, self._tasks + i, *mine) for i, mine in enumerate(zip(*used, strict=True))
        ]
        self._tasks += job.size
        if draw() < self.profile.constrained:
            self._constrain(job)
        return job

    def _constrain(self, job: Job) -> None:
        """Give a job up to four constraints that, together, at least a quarter of the machines satisfy."""
        allowed, rng = np.ones(len(self.machines), dtype=bool), self.random
        constraints: list[tuple[int, int, int]] = []
        for attribute in rng.sample(range(len(MODES)), rng.choice((1, 2, 2, 3, 3, 4))):
            operator = rng.choice((0, 1, 1, 1, 2, 3))
            value = rng.randint(1, MODES[attribute])
            column = self.machines.attributes[:, attribute]
            mask = (column == value, column != value, column < value, column > value)[operator]
            # Checked against all constraints so far: each alone could be satisfied by many machines and all together
            # by none, and the job's tasks would wait for ever.
            if (allowed & mask).sum() * 4 >= len(self.machines):
                allowed &= mask
                constraints.append((attribute, operator, value))
        if constraints:
            job.constraints, job.allowed = tuple(constraints), allowed
