"""The workload: whole jobs, those that arrive inside the trace and those alive at its start."""

from __future__ import annotations

import math
import random
from typing import Final

from borgtrace.synth.arrivals import Arrivals
from borgtrace.synth.constraints import constrain
from borgtrace.synth.consumption import Consumption
from borgtrace.synth.draws import pick, ranked, systematic
from borgtrace.synth.hashing import generator
from borgtrace.synth.jobs import Job, Task
from borgtrace.synth.machines import Machines
from borgtrace.synth.profiles import Profile, Tier

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


class Workload:
    """Draws jobs; every draw comes from one seeded stream, in arrival order."""

    def __init__(self, profile: Profile, machines: Machines, hours: float, seed: int) -> None:
        self.profile, self.machines = profile, machines
        self.random = random.Random(int(generator(seed, "jobs").integers(2**62)))
        self.arrivals = Arrivals(profile, len(machines), hours, seed, self.random)
        self.consumption = Consumption(self.random, generator(seed, "tasks"))
        self._id = 3_418_309 if profile.generation == "2011" else 330_587_000_000
        self._number = 0
        self._tasks = 0

    def arriving(self) -> Job:
        """Draw the job that arrives next."""
        tier = self.arrivals.tier()
        return self.new_job(tier, self.arrivals.size(tier))

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
            sizes.append(min(size, self.arrivals.largest, max(1, tasks // 10), tasks - sum(sizes)))
        cpu = systematic(sizes, [self.random.random() for _ in sizes])
        memory = systematic(sizes, [0.5 * u + 0.5 * self.random.random() for u in cpu])
        rank = systematic(sizes, [self.random.random() for _ in sizes])
        order = systematic(sizes, [self.random.random() for _ in sizes])
        different = systematic(sizes, [self.random.random() for _ in sizes])
        cpu_scale, memory_scale = self.profile.request_scale
        jobs = []
        for i, size in enumerate(sizes):
            jobs.append(self._job(
                tier, size, tier.cpu.at(cpu[i]) * cpu_scale, tier.memory.at(memory[i]) * memory_scale,
                pick(tier.snapshot_priorities, tier.snapshot_weights, rank[i]),
                pick(range(4), tier.snapshot_classes, order[i]),
                self._may_differ(size) and different[i] < tier.snapshot_different,
            ))  # fmt: skip
        return jobs

    def _may_differ(self, size: int) -> bool:
        """Return whether so many tasks can find different machines with some to spare."""
        return 1 < size <= len(self.machines) // 2

    def _job(
        self, tier: Tier, size: int, cpu: float, memory: float, priority: int, scheduling_class: int,
        different: bool,
    ) -> Job:  # fmt: skip
        draw = self.random.random
        self._id += 1 + int(draw() * 9_000 * 2)
        self._number += 1
        kind, levels, ratio = self.consumption.draw(tier, cpu, size)
        is_production = tier.name in ("production", "monitoring")
        is_service, looping = is_production and scheduling_class >= 2, LOOPING * is_production
        job = Job(
            self._id, self._number, tier, priority, scheduling_class,
            user=ranked(draw(), BUSIEST, 2.1, USERS, 13.0),
            name=ranked(draw(), COMMONEST, 0.95, NAMES, 3.5), size=size,
            cpu=cpu, memory=memory, disk=math.exp(-8.6 + 1.3 * self.random.gauss(0, 1)), different=different,
            kind=kind, wave=0.4 + 0.8 * draw() if is_service else 0.0, phase=1.0 + draw(),
            is_idle=draw() < SMALL, is_light=draw() < LIGHT, is_looping=draw() < looping and size <= 3, alive=size,
        )  # fmt: skip
        used = zip(levels.tolist(), (ratio * memory).tolist(), strict=True)
        job.tasks = [Task(job, i, self._tasks + i, *mine) for i, mine in enumerate(used)]
        self._tasks += size
        if draw() < CONSTRAINED:
            constrain(job, self.machines, self.random)
        return job
