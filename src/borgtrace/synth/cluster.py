"""The cluster: places tasks on machines, evicts, fails, kills, resubmits.

A discrete-event simulation with one heap; entries are (time, number, action), so equal times keep the
order in which they were scheduled.  It yields one :class:`~borgtrace.synth.records.Stretch` per part
and forgets what is over: memory depends on the machines, not on the hours.
"""

from __future__ import annotations

import heapq
import math
import random
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from borgtrace.schema.time import AFTER_TRACE, BEFORE_TRACE, SECOND, TRACE_START
from borgtrace.synth.hashing import generator
from borgtrace.synth.jobs import Job, Task
from borgtrace.synth.machines import MachineEvent, Machines, attribute_events, machine_events
from borgtrace.synth.placement import Placement
from borgtrace.synth.profiles import Profile, Tier
from borgtrace.synth.records import CollectionEvent, InstanceEvent, Run, Stretch
from borgtrace.synth.workload import Workload

GAP: Final = {"EVICT": 7, "FAIL": 12, "KILL": 3}
"""Microseconds from the end of a run to the resubmission (medians of the real trace)."""
KILLED_PENDING: Final = 0.0367
"""Submissions that are killed before they run."""
EVICTED_PENDING: Final = 3.1e-4
FIRST_EVICTED: Final = 100
"""This wait (or the next whose task nobody kills before) ends in an eviction, so that small traces have one too."""
PARENTS: Final = 0.35
"""Jobs of 2019 with a parent."""
HELD: Final = 0.5
"""Batch jobs that wait in the batch queue (a tenth of all collections of cell a)."""
FOLLOWING: Final = 0.4
"""Of these, jobs that start after another one; the rest is let go after a while."""
REMEMBERED: Final = 60
"""Recent jobs among which parents and predecessors are chosen."""
UPDATED: Final = 3e-4
"""Runs (and waits, a hundredth as often) with an update."""
SCALED: Final = 0.1
"""The same where requests are fully automated."""
LOST: Final = 1.8e-4
LOOPING: Final = 0.985
"""Chance that a task in a crash loop comes back after it failed."""
BRIEF: Final = 7200.0
"""Seconds below which a run is short; short tasks use less of what they ask for than long ones."""
IDLE: Final = 0.015
"""What a short task that hardly does anything uses of the CPU that its class uses."""
EASY: Final = 0.12
"""The same of the other short tasks."""
EMPTY: Final = 0.04
"""What a short task that hardly holds anything uses of its job's memory."""
OVERRUN: Final = 0.2
"""Runs whose last window goes on for some seconds after the end."""
_RANK: Final = {"FINISH": 0, "EVICT": 1, "LOST": 2, "FAIL": 3, "KILL": 4}


class Cluster:
    """One cell over time.

    Parameters
    ----------
    profile, machines
        What arrives, and where it runs.
    hours
        Length of the trace.
    seed
        The same seed gives the same cell.
    bounds
        Limits of the parts, µs: the first is the start of the trace, the last its end.
    """

    def __init__(
        self, profile: Profile, machines: Machines, hours: float, seed: int, bounds: list[int]
    ) -> None:
        self.profile, self.machines, self.bounds, self.seed = profile, machines, bounds, seed
        self.end = bounds[-1]
        self.workload = Workload(profile, machines, hours, seed)
        self.random = random.Random(int(generator(seed, "cluster").integers(2**62)))
        self.placement = Placement(machines, self.random)
        self._heap: list[tuple[int, int, Callable[..., None], tuple[object, ...]]] = []
        self._count = 0
        self._now = 0
        self._waits = 0
        self._owes_eviction = False
        self._recent: deque[Job] = deque(maxlen=REMEMBERED)
        self._running: dict[int, Task] = {}
        self._stretch = Stretch(0, bounds[0], bounds[1])

    # -- the clock ---------------------------------------------------------------------------

    def _at(self, time: int, action: Callable[..., None], *arguments: object) -> None:
        if time < self.end:
            self._count += 1
            heapq.heappush(self._heap, (time, self._count, action, arguments))

    def stretches(self) -> Iterator[Stretch]:
        """Run the simulation and yield its parts one after the other."""
        changes = machine_events(len(self.machines), self.end, self.seed)
        attributes = iter([*attribute_events(self.machines, self.end, self.seed), None])
        change = next(attributes)
        self._snapshot()
        for event in changes:
            self._at(event.time, self._machine_event, event)
        self._at(self.workload.arrivals.after(TRACE_START), self._arrive)
        for number, limit in enumerate(self.bounds[1:]):
            while self._heap and self._heap[0][0] < limit:
                self._now, _, action, arguments = heapq.heappop(self._heap)
                action(*arguments)
            stretch = self._stretch
            while change is not None and change.time < limit:
                stretch.attributes.append(change)
                change = next(attributes)
            stretch.is_last = limit == self.end
            stretch.runs += [
                Run(t, t.machine, t.start, AFTER_TRACE, AFTER_TRACE) for t in self._running.values()
            ]
            self._stretch = Stretch(number + 1, limit, self.bounds[min(number + 2, len(self.bounds) - 1)])
            yield stretch

    # -- what is written down -------------------------------------------------------------------

    def _emit(self, kind: str, task: Task, machine: int = -1) -> None:
        event = InstanceEvent(self._now, kind, task, task.state, machine, scale=task.scale)
        self._stretch.instances.append(event)
        task.state = kind

    def _emit_job(self, kind: str, job: Job) -> None:
        self._stretch.collections.append(CollectionEvent(self._now, kind, job))

    # -- the start ------------------------------------------------------------------------------

    def _snapshot(self) -> None:
        """Place the tasks that run when the trace begins, and queue those that wait."""
        self._now = BEFORE_TRACE
        running: list[Task] = []
        waiting: list[Task] = []
        count = len(self.machines)
        jobs: list[Job] = []
        for tier in self.profile.tiers:
            for share, tasks in ((tier.running, running), (tier.pending, waiting)):
                drawn = self.workload.snapshot_jobs(tier, max(1, round(share * count)))
                jobs += drawn
                tasks += [task for job in drawn for task in job.tasks]
        self._relate_snapshot(jobs, running)
        for job in jobs:
            self._announce(job)
        for task in sorted(running, key=lambda t: (t.job.host is not None, -t.job.cpu, t.serial)):
            task.machine = self.placement.choose(task, insist=True)
            self.placement.add(task)
        for task in running:
            hint = task.machine if self.random.random() < 0.602 else -1
            self._emit("SUBMIT", task, hint)
            if self.profile.has_queue:
                self._emit("ENABLE", task)
        for task in waiting:
            self._emit("SUBMIT", task)
        for task in sorted(running, key=lambda t: (t.job.host is not None, t.serial)):
            task.attempt = 1
            self._begin(task, residual=True)
        for task in waiting:
            self._queue(task, TRACE_START)

    def _relate_snapshot(self, jobs: list[Job], running: list[Task]) -> None:
        """Put some production jobs into alloc sets (2019); appends the alloc instances to `running`."""
        if self.profile.alloc_jobs == 0.0:
            return
        inside = {task.job.number for task in running}
        for job in list(jobs):
            if job.number in inside and self._wants_host(job):
                host = self.workload.alloc_set(job)
                jobs.append(host)
                running += host.tasks

    def _wants_host(self, job: Job) -> bool:
        return job.priority >= self.profile.evicting and self.random.random() < self.profile.alloc_jobs

    # -- life of a task -------------------------------------------------------------------------

    def _arrive(self) -> None:
        job = self.workload.arriving()
        if self.profile.has_queue:
            self._relate(job)
        self._announce(job)
        for i, task in enumerate(job.tasks):
            self._at(self._now + 3 * i, self._submit, task)
        self._at(self.workload.arrivals.after(self._now), self._arrive)

    def _announce(self, job: Job) -> None:
        """Write the first events of a job: SUBMIT, and in 2019 QUEUE or ENABLE."""
        self._emit_job("SUBMIT", job)
        if self.profile.has_queue:
            self._emit_job("QUEUE" if job.is_held else "ENABLE", job)

    def _relate(self, job: Job) -> None:
        """Give a new job of 2019 a parent, a predecessor, a wait in the batch queue, an alloc set."""
        job.scaling = self.random.choices((1, 2, 3), (0.55, 0.15, 0.30))[0]
        job.is_batch = job.tier.name == "beb" and self.random.random() < 0.5
        others = [other for other in self._recent if other.alive > 0 and not other.is_cancelled]
        if others and self.random.random() < PARENTS:
            job.parent = self.random.choice(others)
            job.parent.children.append(job)
        if job.is_batch and self.random.random() < HELD:
            job.is_held = True
            if others and self.random.random() < FOLLOWING:
                job.after = self.random.choice(others)
                job.after.followers.append(job)
            else:
                hold = self.random.lognormvariate(math.log(120.0), 1.5)
                self._at(self._now + round(hold * SECOND), self._release, job)
        if self._wants_host(job):
            host = self.workload.alloc_set(job)
            self._announce(host)
            for i, task in enumerate(host.tasks):
                self._at(self._now + i, self._submit, task)
        self._recent.append(job)

    def _release(self, job: Job) -> None:
        """Let a job out of the batch queue."""
        if job.is_cancelled or not job.is_held:
            return
        job.is_held = False
        self._emit_job("ENABLE", job)
        for task in job.tasks:
            if task.state == "QUEUE":
                self._emit("ENABLE", task)
                self._wait(task, self._now)

    def _submit(self, task: Task) -> None:
        if task.job.is_cancelled:
            self._bury(task.job, "KILL")
            return
        self._emit("SUBMIT", task)
        self._queue(task, self._now)

    def _queue(self, task: Task, since: int) -> None:
        """Begin a wait: in 2019 eligible at once or held back, else just pending."""
        task.attempt += 1
        if self.profile.has_queue:
            self._emit("QUEUE" if task.job.is_held else "ENABLE", task)
            if task.job.is_held:
                return
        self._wait(task, since)

    def _wait(self, task: Task, since: int) -> None:
        """Decide how a wait ends: scheduled, killed, evicted."""
        self._waits += 1
        self._owes_eviction |= self._waits == FIRST_EVICTED
        u = self.random.random()
        wait = round(task.job.tier.delay.at(self.random.random()) * SECOND)
        if task.job.is_alloc_set:
            self._at(since + wait, self._try, task, task.attempt, 0)
        elif self._owes_eviction:
            self._owes_eviction = False
            self._at(since + wait, self._leave, task, task.attempt, "EVICT")
        elif u < KILLED_PENDING:
            patience = round(math.exp(8.9 + 1.2 * self.random.gauss(0.0, 1.0)) * SECOND)
            self._at(since + patience, self._leave, task, task.attempt, "KILL")
        elif u < KILLED_PENDING + EVICTED_PENDING:
            self._at(since + wait, self._leave, task, task.attempt, "EVICT")
        else:
            if u > 1.0 - UPDATED / 100:
                self._at(since + wait // 2, self._update, task, task.attempt, "UPDATE_PENDING")
            self._at(since + wait, self._try, task, task.attempt, 0)

    def _leave(self, task: Task, attempt: int, kind: str) -> None:
        if task.attempt == attempt and task.machine < 0:
            self._over(task, kind, -1)
        elif kind == "EVICT":
            self._owes_eviction = True

    def _update(self, task: Task, attempt: int, kind: str) -> None:
        is_running = task.machine >= 0
        if task.attempt == attempt and is_running == (kind == "UPDATE_RUNNING"):
            task.scale = 0.7 + 0.6 * self.random.random()
            self._emit(kind, task, task.machine)

    def _try(self, task: Task, attempt: int, tries: int) -> None:
        """Place a task, if need be by evicting others of lower priority; else wait and try again."""
        if task.attempt != attempt or task.machine >= 0:
            return
        machine = self.placement.choose(task)
        if machine < 0 and task.job.host is None and task.job.priority >= self.profile.evicting:
            machine = self.placement.choose_victim(task)
            if machine >= 0:
                for victim in self.placement.victims(task, machine):
                    self._finish(victim, victim.attempt, "EVICT")
        if machine < 0:
            pause = (30 + 90 * self.random.random()) * min(1 + tries, 10)
            self._at(self._now + round(pause * SECOND), self._try, task, attempt, tries + 1)
            return
        task.machine = machine
        self.placement.add(task)
        self._begin(task)

    def _begin(self, task: Task, residual: bool = False) -> None:
        job, tier = task.job, task.job.tier
        if not job.is_scheduled:
            job.is_scheduled = True
            self._emit_job("SCHEDULE", job)
        self._emit("SCHEDULE", task, task.machine)
        task.start = self._now
        self._running[task.serial] = task
        seconds, kind = self._fate(job, tier, residual)
        since = TRACE_START if residual else self._now
        self._at(since + round(seconds * SECOND), self._finish, task, task.attempt, kind)
        if task.attempt <= 1 and not residual and seconds < BRIEF and not tier.cpu_use:
            task.cpu_share = IDLE if job.is_idle else EASY
            task.memory_share = EMPTY if job.is_idle and job.is_light else 1.0
        updated = SCALED if job.scaling == 3 else UPDATED
        if self.random.random() < updated:
            self._at(since + round(seconds * SECOND / 2), self._update, task, task.attempt, "UPDATE_RUNNING")

    def _fate(self, job: Job, tier: Tier, residual: bool) -> tuple[float, str]:
        """Draw how long a run lasts (s) and how it ends."""
        u, v = self.random.random(), self.random.random()
        if job.is_alloc_set:
            return tier.residual.at(0.05 + 0.95 * u), "KILL"
        if job.is_looping and not residual:
            return 30.0 + 300.0 * u, "FAIL"
        if v < LOST:
            return (tier.residual if residual else tier.run).at(u), "LOST"
        if residual:
            seconds = tier.residual.at(u)
            return seconds, tier.residual_endings.draw(seconds, self.random.random())
        seconds = tier.run.at(u)
        return seconds, tier.endings.draw(seconds, self.random.random())

    def _finish(self, task: Task, attempt: int, kind: str) -> None:
        """End a run, unless it was ended by something else before."""
        if task.attempt != attempt or task.machine < 0:
            return
        machine = task.machine
        if task.job.is_alloc_set and task.job.guest is not None:
            inside = task.job.guest.tasks[task.index]
            self._finish(inside, inside.attempt, kind)
        self.placement.remove(task)
        del self._running[task.serial]
        self._stretch.runs.append(Run(task, machine, task.start, self._now, self._usage_end()))
        task.machine = -1
        self._over(task, kind, machine)

    def _usage_end(self) -> int:
        late = round(self.random.expovariate(1 / 25.0)) if self.random.random() < OVERRUN else 0
        return min(self._now + late * SECOND, self.end)

    def _over(self, task: Task, kind: str, machine: int) -> None:
        """Write the end of a run or a wait, and resubmit or bury the task."""
        if kind == "KILL" and machine >= 0 and self.random.random() < 0.2:
            self._emit(kind, task)
        else:
            self._emit(kind, task, machine)
        task.attempt += 1
        chance = LOOPING if task.job.is_looping and kind == "FAIL" else self.profile.resubmitted[kind]
        if self.random.random() < chance and not task.job.is_cancelled:
            self._at(self._now + self._pause(kind), self._submit, task)
        else:
            self._bury(task.job, kind)

    def _pause(self, kind: str) -> int:
        if kind == "FINISH":
            return round(self.random.lognormvariate(math.log(54.6e6), 1.88))
        return max(1, round(self.random.lognormvariate(math.log(GAP[kind]), 0.8)))

    def _bury(self, job: Job, kind: str) -> None:
        job.alive -= 1
        job.worst = max(job.worst, _RANK[kind])
        if job.alive == 0:
            ending = next(name for name, rank in _RANK.items() if rank == job.worst)
            self._emit_job(ending, job)
            self._after(job)

    def _after(self, job: Job) -> None:
        """What the end of a job of 2019 brings: followers start, children are killed."""
        for follower in job.followers:
            self._release(follower)
        for child in job.children:
            if child.alive > 0:
                self._cancel(child)
        job.followers, job.children = [], []

    def _cancel(self, job: Job) -> None:
        """Kill what is left of a job."""
        job.is_cancelled = True
        for task in job.tasks:
            if task.machine >= 0:
                self._finish(task, task.attempt, "KILL")
            elif task.state in ("SUBMIT", "QUEUE", "ENABLE", "UPDATE_PENDING"):
                self._over(task, "KILL", -1)

    # -- machines -------------------------------------------------------------------------------

    def _machine_event(self, event: MachineEvent) -> None:
        self._stretch.machines.append(event)
        if event.type == "REMOVE":
            self.placement.is_up[event.machine] = False
            for task in self.placement.tasks_on(event.machine):
                self._finish(task, task.attempt, self._removed(task))
        elif event.type == "ADD":
            self.placement.is_up[event.machine] = True

    def _removed(self, task: Task) -> str:
        """Return how a task ends when its machine goes: production is rarely said to be evicted."""
        if task.job.priority < self.profile.evicting:
            return "EVICT"
        return self.random.choices(("EVICT", "FAIL", "KILL"), (0.32, 0.46, 0.22))[0]


def part_bounds(hours: float, parts: int | None = None) -> list[int]:
    """Return the limits of the parts, µs, on the 300 s grid; the real trace has 500 in 29 days.

    Examples
    --------
    >>> [b // 1_000_000 for b in part_bounds(2)]
    [600, 7800]
    >>> len(part_bounds(24)) - 1
    17
    """
    windows = max(1, math.ceil(round(hours * 12, 6)))
    parts = min(windows, parts or max(1, round(hours * 500 / 696)))
    edges = np.round(np.arange(parts + 1) * windows / parts).astype(int)
    bounds = [TRACE_START + int(edge) * 300 * SECOND for edge in edges]
    bounds[-1] = TRACE_START + round(hours * 3600) * SECOND
    return bounds
