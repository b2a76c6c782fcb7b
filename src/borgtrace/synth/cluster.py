"""The cluster: places tasks on machines, evicts, fails, kills, resubmits.

A discrete-event simulation with one heap; entries are (time, number, action), so equal times keep the
order in which they were scheduled.  It yields one :class:`~borgtrace.synth.records.Stretch` per part
and forgets what is over: memory depends on the machines, not on the hours.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from borgtrace.schema.time import AFTER_TRACE, BEFORE_TRACE, SECOND, TRACE_START
from borgtrace.synth.hashing import generator
from borgtrace.synth.jobs import Job, Task, Workload
from borgtrace.synth.machines import MachineEvent, Machines, attribute_events, machine_events
from borgtrace.synth.placement import Placement
from borgtrace.synth.profiles import Profile, Tier
from borgtrace.synth.records import CollectionEvent, InstanceEvent, Run, Stretch

GAP: Final = {"EVICT": 7, "FAIL": 12, "KILL": 3}
"""Microseconds from the end of a run to the resubmission (medians of the real trace)."""
KILLED_PENDING: Final = 0.0367
"""Submissions that are killed before they run."""
EVICTED_PENDING: Final = 3.1e-4
UPDATED: Final = 3e-4
"""Runs (and waits, a hundredth as often) with an update."""
LOST: Final = 1.8e-4
LOOPING: Final = 0.985
"""Chance that a task in a crash loop comes back after it failed."""
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
        self._at(self.workload.next_arrival(TRACE_START), self._arrive)
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
                Run(t, t.machine, t.start, AFTER_TRACE, AFTER_TRACE)
                for t in self._running.values()
            ]
            self._stretch = Stretch(number + 1, limit, self.bounds[min(number + 2, len(self.bounds) - 1)])
            yield stretch

    # -- what is written down -------------------------------------------------------------------

    def _emit(self, kind: str, task: Task, machine: int = -1, scale: float = 1.0) -> None:
        event = InstanceEvent(self._now, kind, task, task.state, machine, scale=scale)
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
        for job in jobs:
            self._emit_job("SUBMIT", job)
        for task in sorted(running, key=lambda t: (-t.job.cpu, t.serial)):
            task.machine = self.placement.choose(task, insist=True)
            self.placement.add(task)
        for task in running:
            hint = task.machine if self.random.random() < 0.602 else -1
            self._emit("SUBMIT", task, hint)
        for task in waiting:
            self._emit("SUBMIT", task)
        for task in running:
            self._begin(task, residual=True)
        for task in waiting:
            self._queue(task, TRACE_START)

    # -- life of a task -------------------------------------------------------------------------

    def _arrive(self) -> None:
        tier = self.workload.tier()
        job = self.workload.new_job(tier, self.workload.new_size(tier))
        self._emit_job("SUBMIT", job)
        for i, task in enumerate(job.tasks):
            self._at(self._now + 3 * i, self._submit, task)
        self._at(self.workload.next_arrival(self._now), self._arrive)

    def _submit(self, task: Task) -> None:
        self._emit("SUBMIT", task)
        self._queue(task, self._now)

    def _queue(self, task: Task, since: int) -> None:
        """Decide how a wait ends: scheduled, killed, evicted."""
        task.attempt += 1
        u = self.random.random()
        wait = round(task.job.tier.delay.at(self.random.random()) * SECOND)
        if u < KILLED_PENDING:
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

    def _update(self, task: Task, attempt: int, kind: str) -> None:
        is_running = task.machine >= 0
        if task.attempt == attempt and is_running == (kind == "UPDATE_RUNNING"):
            self._emit(kind, task, task.machine, 1.25)

    def _try(self, task: Task, attempt: int, tries: int) -> None:
        """Place a task, if need be by evicting others of lower priority; else wait and try again."""
        machine = self.placement.choose(task)
        if machine < 0 and task.job.priority >= self.profile.evicting:
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
        if task.attempt <= 1 and not residual and job.small and seconds < 7200.0:
            task.is_idle = True
        if self.random.random() < UPDATED:
            self._at(since + round(seconds * SECOND / 2), self._update, task, task.attempt, "UPDATE_RUNNING")

    def _fate(self, job: Job, tier: Tier, residual: bool) -> tuple[float, str]:
        """Draw how long a run lasts (s) and how it ends."""
        u, v = self.random.random(), self.random.random()
        if job.looping and not residual:
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
        chance = LOOPING if task.job.looping and kind == "FAIL" else self.profile.resubmitted[kind]
        if self.random.random() < chance:
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

    # -- machines -------------------------------------------------------------------------------

    def _machine_event(self, event: MachineEvent) -> None:
        self._stretch.machines.append(event)
        if event.type == "REMOVE":
            self.placement.is_up[event.machine] = False
            for task in self.placement.tasks_on(event.machine):
                self._finish(task, task.attempt, "EVICT")
        elif event.type == "ADD":
            self.placement.is_up[event.machine] = True


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
