"""The workload: whole jobs, those that arrive inside the trace and those alive at its start."""

import math
from itertools import chain
from statistics import NormalDist

import numpy as np

from borgtrace.kernels.arrays import Flags
from borgtrace.schema.time import SECOND
from borgtrace.synth.model.arrivals import JobArrivals
from borgtrace.synth.model.consumption import Consumption, Places, TaskUse
from borgtrace.synth.model.draws import BalancedStrata, Stratified, pick, systematic
from borgtrace.synth.model.hashing import generator, python_random
from borgtrace.synth.model.jobs import Job, JobConstraint, Relation, Task
from borgtrace.synth.model.machines import MODES, CellMachines
from borgtrace.synth.model.plans import JobPlans
from borgtrace.synth.model.profile import Profile, Tier

LARGE = 20
"""Tasks of a job whose requests are not left to chance: few such jobs own most tasks."""
LARGEST_SHARE = 0.2
"""Most of the cell's CPU (or memory) that one new job asks for: sizes grow with the cell, requests do not."""
LIKENESS_OF_CLASS = 0.5
"""Share of new jobs whose class follows from how long they run."""
LARGE_OF_CELL = 0.25
"""Tasks per machine from which on the tasks of a job come one after the other."""
TASKS_PER_HOUR = 0.8
"""So many of them an hour and machine."""
LONGEST_WAVE = 6 * 3600.0
"""Longest time until the last of them is there, s."""
_N_CONSTRAINTS = (1, 2, 2, 3, 3, 4)
"""Numbers of constraints that a job may ask for, by how common they are."""
_RELATIONS = (
    Relation.EQUAL,
    Relation.NOT_EQUAL,
    Relation.NOT_EQUAL,
    Relation.NOT_EQUAL,
    Relation.LESS_THAN,
    Relation.GREATER_THAN,
)
"""Relations of constraints, by how common they are."""


class WorkloadModel:
    """Draws jobs; every draw comes from one seeded stream, in arrival order.

    Parameters
    ----------
    profile, machines
        What the cell is like.
    hours
        Length of the trace.
    seed
        Decides everything.

    Attributes
    ----------
    arrivals, consumption
        Draw when jobs arrive, and what their tasks use.
    requests
        Spreads the requests of large jobs evenly over their tasks.
    plans
        Draws how jobs live.
    """

    def __init__(
        self,
        profile: Profile,
        machines: CellMachines,
        hours: float,
        seed: int,
    ) -> None:
        self.profile = profile
        self.machines = machines
        self.seconds = hours * 3600.0
        self.random = python_random(seed, "jobs")
        self.arrivals = JobArrivals(
            profile,
            len(machines),
            hours,
            seed,
            self.random,
        )
        self.consumption = Consumption(profile, self.random, generator(seed, "tasks"))
        self.requests = BalancedStrata()
        self.plans = JobPlans(python_random(seed, "plans"))
        # Stratified draws: shares of users, names and classes come out within a few thousand jobs.
        self._users = Stratified(self.random)
        self._names = Stratified(self.random)
        self._classes = Stratified(self.random)
        self._loops = Stratified(self.random, block=100)
        self._last_id = profile.first_id
        self._jobs = 0
        self._tasks = 0

    def arriving(self) -> Job:
        """Draw the job that arrives next."""
        tier = self.arrivals.tier()
        return self.new_job(tier, self.arrivals.sizes.draw(tier))

    def new_job(self, tier: Tier, size: int) -> Job:
        """Draw a job that arrives inside the trace: requests per job are log-normal."""
        profile = self.profile
        cell_cpu = float(self.machines.cpu.sum())
        cell_memory = float(self.machines.memory.sum())
        at_once = self._tasks_at_once(size)
        most_cpu = LARGEST_SHARE * cell_cpu / at_once
        most_memory = LARGEST_SHARE * cell_memory / at_once
        cpu_scale, memory_scale = profile.request_scale
        cpu_mean, cpu_deviation = profile.request
        memory_mean, memory_deviation = profile.memory_request
        cpu_score = self.request_score(size, most_cpu / cpu_scale)
        correlation = profile.request_correlation
        own_score = self.random.gauss(0.0, 1.0)
        memory_score = correlation * cpu_score + math.sqrt(1.0 - correlation**2) * own_score
        cpu = math.exp(cpu_mean + cpu_deviation * cpu_score)
        memory = math.exp(memory_mean + memory_deviation * memory_score)
        priority = pick(tier.priorities, self.random.random())
        place = self.plans.place()
        scheduling_class = self._class_of(tier, place)
        different = self.may_differ(size) and self.random.random() < tier.different_machines
        plan = self.plans.new(tier, size, place, scheduling_class)
        # No request of the real trace is above .5 CPU.
        job = Job(
            tier=tier,
            size=size,
            cpu=min(min(0.5, cpu) * cpu_scale, most_cpu),
            memory=min(min(0.5, memory) * memory_scale, most_memory),
            priority=priority,
            scheduling_class=scheduling_class,
            different=different,
            plan=plan,
            gap=self._gap(size) if plan else 3,
        )
        return self._complete(job, self.consumption.place_new(job))

    def _class_of(self, tier: Tier, place: float) -> int:
        """Draw the scheduling class of a job whose runs lie at a place of the run times of its tier."""
        # The later in the order of run times, the higher tends the class to be: sensitive tasks run longer.
        follows = tier.lives is not None and self.random.random() < LIKENESS_OF_CLASS
        return pick(tier.classes, place if follows else self._classes.draw())

    def _tasks_at_once(self, size: int) -> int:
        """Return how many tasks of a job run at the same time, at most about."""
        # What comes in waves is over in waves.
        has_waves = self.profile.tasks_per_job is not None
        return min(size, 2 * len(self.machines)) if has_waves else size

    def _gap(self, size: int) -> int:
        """Return the time (µs) from the submission of one task of a job to the next."""
        if size <= LARGE_OF_CELL * len(self.machines):
            return 3
        # A job that is large for its cell comes in waves: at once it would be a flood that no large cell sees.
        seconds = min(3600.0 / (TASKS_PER_HOUR * len(self.machines)), LONGEST_WAVE / size)
        return round(seconds * SECOND)

    def successor(self, job: Job) -> Job:
        """Draw the job that follows a service: it asks for the same and uses the same."""
        follower = Job(
            tier=job.tier,
            size=job.size,
            cpu=job.cpu,
            memory=job.memory,
            priority=job.priority,
            scheduling_class=job.scheduling_class,
            different=job.different,
            plan=self.plans.service(job.tier),
        )
        self._complete(follower, np.full(job.size, 0.5))
        follower.user = job.user
        follower.name = job.name
        follower.wave = job.wave
        follower.phase = job.phase
        follower.constraints = job.constraints
        follower.allowed = job.allowed
        for task, before in zip(follower.tasks, job.tasks, strict=True):
            task.level = before.level
            task.memory = before.memory
            task.kind = before.kind
        return follower

    def request_score(self, size: int, most: float) -> float:
        """Draw the normal score of a request of at most `most`; those of large jobs are spread evenly over tasks."""
        if size < LARGE:
            return self.random.gauss(0.0, 1.0)
        # Places above the cell's limit are not offered: cut requests would pile up at it.
        requests = NormalDist(*self.profile.request)
        below = requests.cdf(math.log(most))
        place = self.requests.place(self.random.random(), size, below)
        inside = min(max(place, 1e-6), 1.0 - 1e-6)
        return NormalDist().inv_cdf(inside)

    def alloc_set(self, guest: Job) -> Job:
        """Draw the alloc set around a job: one alloc instance per task, somewhat larger than it."""
        host = Job(
            tier=guest.tier,
            size=guest.size,
            cpu=min(1.0, guest.cpu * 1.3),
            memory=min(1.0, guest.memory * 1.4),
            priority=guest.priority,
            scheduling_class=guest.scheduling_class,
            different=guest.different,
        )
        self._complete(host, np.full(guest.size, 0.5))
        host.is_alloc_set = True
        host.guest = guest
        host.wave = guest.wave
        host.phase = guest.phase
        host.user = guest.user
        host.is_looping = False
        host.constraints = ()
        host.allowed = None
        for task, inside in zip(host.tasks, guest.tasks, strict=True):
            task.level = min(inside.level * 1.08, 0.5)
            task.memory = inside.memory * 1.15
            task.kind = inside.kind
        # The alloc set decides where the job runs.
        guest.host = host
        guest.constraints = ()
        guest.allowed = None
        guest.different = False
        return host

    def alive_jobs(self, *, is_waiting: bool = False) -> list[Job]:
        """Draw the jobs whose tasks run, or wait, at the start.

        Requests, and what is used of them, are spread evenly over tasks (systematic sampling), so that the
        published quantiles hold for any seed although a few jobs own most tasks.
        """
        jobs_by_tier: list[list[Job]] = []
        for tier in self.profile.tiers:
            per_machine = tier.pending if is_waiting else tier.running
            expected_tasks = per_machine * len(self.machines)
            tasks = max(1, round(expected_tasks))
            jobs_by_tier.append(self._alive_jobs_of(tier, tasks))
        # Where classes determine the use, the tasks of all tiers share one order of use.
        is_by_tier = self.profile.has_use_by_tier
        groups = jobs_by_tier if is_by_tier else [list(chain(*jobs_by_tier))]
        jobs: list[Job] = []
        for group in groups:
            weights = [1.0 if is_waiting else job.tier.lasting(self.seconds) for job in group]
            places = self.consumption.place_alive(group, weights)
            jobs += map(self._complete, group, places)
        for job in jobs:
            job.plan = self.plans.alive(job.tier, job.scheduling_class, is_waiting=is_waiting)
        return jobs

    def _alive_jobs_of(self, tier: Tier, tasks: int) -> list[Job]:
        """Draw jobs of a tier with so many tasks in all."""
        sizes = self._alive_sizes(tier, tasks)
        # A separate key for each trait: traits of a job are independent, except for memory, which follows CPU.
        cpu = systematic(sizes, self._uniform(len(sizes)))
        memory_keys = [0.5 * u + 0.5 * self.random.random() for u in cpu]
        memory = systematic(sizes, memory_keys)
        priority = systematic(sizes, self._uniform(len(sizes)))
        scheduling_class = systematic(sizes, self._uniform(len(sizes)))
        different = systematic(sizes, self._uniform(len(sizes)))
        cpu_scale, memory_scale = self.profile.request_scale
        return [
            Job(
                tier=tier,
                size=size,
                cpu=pick(tier.cpu, cpu[i]) * cpu_scale,
                memory=pick(tier.memory, memory[i]) * memory_scale,
                priority=pick(tier.snapshot_priorities, priority[i]),
                scheduling_class=pick(tier.snapshot_classes, scheduling_class[i]),
                different=self.may_differ(size) and different[i] < tier.snapshot_different,
            )
            for i, size in enumerate(sizes)
        ]

    def _alive_sizes(self, tier: Tier, tasks: int) -> list[int]:
        # No job has more than a tenth of its tier's tasks: in a small cell one job would otherwise be the tier.
        limit = min(self.arrivals.sizes.largest, max(1, tasks // 10))
        sizes: list[int] = []
        while sum(sizes) < tasks:
            size = round(tier.snapshot_sizes.at(self.random.random()))
            sizes.append(min(size, limit, tasks - sum(sizes)))
        return sizes

    def _uniform(self, count: int) -> list[float]:
        return [self.random.random() for _ in range(count)]

    def may_differ(self, size: int) -> bool:
        """Return whether so many tasks can find different machines with some to spare."""
        return 1 < size <= len(self.machines) // 2

    def _complete(self, job: Job, places: Places) -> Job:
        """Add a job's identity, its tasks at their places in the order of use, and its constraints."""
        draw = self.random.random
        # 9,000 apart on average; the 672,074 jobs of 2011 are 9,600 apart.
        gap = int(draw() * 9_000 * 2)
        self._last_id += 1 + gap
        self._jobs += 1
        job.id = self._last_id
        job.number = self._jobs
        job.alive = job.size
        use = self.consumption.draw(job, places)
        job.user = self.profile.users.rank_at(self._users.draw())
        job.name = self.profile.names.rank_at(self._names.draw())
        disk_score = self.random.gauss(0, 1)
        job.disk = math.exp(-8.6 + 1.3 * disk_score)
        is_production = job.tier.name in ("production", "monitoring")
        is_service = is_production and job.scheduling_class >= 2
        # No publication shows a strong wave: with twice as much, services have other windows by day than by night, and
        # hours of jobs resemble their neighbors too much (an autocorrelation of .7; published .49).
        job.wave = 0.2 + 0.4 * draw() if is_service else 0.0
        job.phase = 1.0 + draw()
        # Half of the failures of the real first hours come from ten jobs; production submits 5.8 times per task.
        may_loop = is_production and job.size <= 3
        job.is_looping = may_loop and self._loops.draw() < self.profile.looping
        job.tasks = self._tasks_of(job, use)
        if draw() < self.profile.constrained:
            self._constrain(job)
        return job

    def _tasks_of(self, job: Job, use: TaskUse) -> list[Task]:
        tasks = [
            Task(job, index, self._tasks + index, *values)
            for index, values in enumerate(zip(*use, strict=True))
        ]
        self._tasks += job.size
        return tasks

    def _constrain(self, job: Job) -> None:
        """Give a job up to four constraints that at least a quarter of the machines satisfy together."""
        rng = self.random
        allowed = np.ones(len(self.machines), dtype=bool)
        constraints: list[JobConstraint] = []
        n_constraints = rng.choice(_N_CONSTRAINTS)
        for attribute in rng.sample(range(len(MODES)), n_constraints):
            relation = rng.choice(_RELATIONS)
            value = rng.randint(1, MODES[attribute])
            constraint = JobConstraint(attribute, relation, value)
            still_allowed = allowed & self._satisfying(constraint)
            # Checked against all constraints so far: each alone could be satisfied by many machines and all together
            # by none, and the job's tasks would wait forever, or share a machine though none of them may.
            n_allowed = int(still_allowed.sum())
            has_room = not job.different or n_allowed >= 2 * job.size
            if n_allowed * 4 >= len(self.machines) and has_room:
                allowed = still_allowed
                constraints.append(constraint)
        if constraints:
            job.constraints = tuple(constraints)
            job.allowed = allowed

    def _satisfying(self, constraint: JobConstraint) -> Flags:
        """Return which machines satisfy a constraint."""
        values = self.machines.attributes[:, constraint.attribute]
        match constraint.relation:
            case Relation.EQUAL:
                return values == constraint.value
            case Relation.NOT_EQUAL:
                return values != constraint.value
            case Relation.LESS_THAN:
                return values < constraint.value
            case Relation.GREATER_THAN:
                return values > constraint.value
