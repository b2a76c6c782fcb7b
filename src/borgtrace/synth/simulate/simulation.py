"""The simulation of a cell: jobs arrive, machines come and go, and the trace is cut into parts.

A discrete-event simulation that yields one :class:`~borgtrace.synth.simulate.event_log.TraceSegment` per part and
forgets what is over: memory depends on the machines, not on the hours.
"""

import math
from collections.abc import Iterator

from borgtrace.schema.time import BEFORE_TRACE, SECOND, TRACE_START
from borgtrace.synth.model.hashing import python_random
from borgtrace.synth.model.jobs import Job, Task
from borgtrace.synth.model.machines import (
    CellMachines,
    MachineEvent,
    attribute_events,
    machine_events,
)
from borgtrace.synth.model.profile import Profile
from borgtrace.synth.model.workload import WorkloadModel
from borgtrace.synth.simulate.crash_loops import CrashLoops
from borgtrace.synth.simulate.event_log import TraceSegment
from borgtrace.synth.simulate.lifecycle import Lifecycle
from borgtrace.synth.simulate.relations import Relations

UNTIL_SUCCESSOR = 300.0
"""Median of the seconds from the end of a service to the submission of the next."""
HINTED = 0.602
"""Share of running tasks whose submission already names their machine."""


class Simulation:
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
        self,
        profile: Profile,
        machines: CellMachines,
        hours: float,
        seed: int,
        bounds: list[int],
    ) -> None:
        self.profile = profile
        self.machines = machines
        self.bounds = bounds
        self.seed = seed
        self.workload = WorkloadModel(profile, machines, hours, seed)
        self.random = python_random(seed, "cluster")
        self.lifecycle = Lifecycle(profile, machines, bounds, self.random)
        self.clock = self.lifecycle.clock
        self.log = self.lifecycle.log
        self.scheduler = self.lifecycle.scheduler
        self.relations = Relations(self.workload, self.lifecycle, self.random)
        self.lifecycle.succeed = self._plan_successor
        self.loops: CrashLoops | None = None
        if profile.resubmitting is not None:
            self.loops = CrashLoops(
                self.workload,
                self.lifecycle,
                profile.resubmitting,
                self.clock.end,
                python_random(seed, "loops"),
            )

    def segments(self) -> Iterator[TraceSegment]:
        """Run the simulation and yield its parts one after the other."""
        changes = machine_events(
            self.profile,
            len(self.machines),
            self.clock.end,
            self.seed,
        )
        attributes = attribute_events(self.machines, self.clock.end, self.seed)
        # The snapshot first: its rows have time 0, and the clock has not moved yet.
        self._begin()
        for event in changes:
            self.clock.at(event.time, self._change_machine, event)
        # Each arrival plans the next one: the heap stays as small as the stock of tasks.
        if self.loops is not None:
            self.loops.plan_episodes()
        first_arrival = self.workload.arrivals.after(TRACE_START)
        self.clock.at(first_arrival, self._arrive)
        first = 0
        for limit in self.bounds[1:]:
            self.clock.run_until(limit)
            end = first
            while end < len(attributes) and attributes[end].time < limit:
                end += 1
            yield self.log.hand_over(attributes[first:end])
            first = end

    def _begin(self) -> None:
        """Place the tasks that run when the trace begins, and queue those that wait."""
        # Everything before the trace has time 0; the clock starts after it.
        self.clock.now = BEFORE_TRACE
        running_jobs = self.workload.alive_jobs()
        waiting_jobs = self.workload.alive_jobs(is_waiting=True)
        hosts = self.relations.hosts(running_jobs)
        jobs_at_start = (*running_jobs, *waiting_jobs)
        self.lifecycle.n_at_start = sum(job.size for job in jobs_at_start)
        for job in (*running_jobs, *waiting_jobs, *hosts):
            self.lifecycle.announce(job)
        running = [task for job in (*running_jobs, *hosts) for task in job.tasks]
        waiting = [task for job in waiting_jobs for task in job.tasks]
        self._place(running)
        for task in running:
            self._submit_running(task)
        for task in waiting:
            self.log.task("SUBMIT", task)
        # Alloc instances first: a task must not be running before the place that it runs in.
        for task in sorted(running, key=lambda task: (task.job.host is not None, task.serial)):
            # Counts as queued: updates and ends planned from here on belong to the first attempt.
            task.attempt = 1
            self.lifecycle.begin(task, residual=True)
        for task in waiting:
            # They wait from the start of the trace on; from time 0 some waits would be over before it begins.
            self.lifecycle.queue(task, TRACE_START)

    def _submit_running(self, task: Task) -> None:
        # 60.2 % of the SUBMIT rows at time 0 name a machine, no later one does.
        has_hint = self.random.random() < HINTED
        hint = task.machine if has_hint else -1
        self.log.task("SUBMIT", task, hint)
        if self.profile.has_queue:
            self.log.task("ENABLE", task)

    def _place(self, running: list[Task]) -> None:
        """Give every task a machine: the largest first, those inside alloc sets last."""
        # The large ones would find no room after the small ones, and then overfill a machine.
        for task in sorted(running, key=_placement_order):
            task.machine = self.scheduler.choose(task, insist=True)
            self.scheduler.add(task)

    def _arrive(self) -> None:
        job = self.workload.arriving()
        if self.profile.has_queue:
            self.relations.relate(job)
        if self.loops is not None:
            self.loops.consider(job)
        self.lifecycle.arrive(job)
        next_arrival = self.workload.arrivals.after(self.clock.now)
        self.clock.at(next_arrival, self._arrive)

    def _plan_successor(self, job: Job) -> None:
        """Plan that another job follows one that is over."""
        seconds = self.random.lognormvariate(math.log(UNTIL_SUCCESSOR), 1.0)
        self.clock.at(self.clock.now + round(seconds * SECOND), self._succeed, job)

    def _succeed(self, job: Job) -> None:
        self.lifecycle.arrive(self.workload.successor(job))

    def _change_machine(self, event: MachineEvent) -> None:
        self.log.machine(event)
        if event.type == "REMOVE":
            self.scheduler.is_up[event.machine] = False
            # A copy of the list, since every end takes a task off the machine.
            for task in self.scheduler.tasks_on(event.machine):
                ending = self.lifecycle.outcomes.without_machine(task.job)
                self.lifecycle.finish(task, task.attempt, ending)
        elif event.type == "ADD":
            self.scheduler.is_up[event.machine] = True


def _placement_order(task: Task) -> tuple[bool, float, int]:
    return task.job.host is not None, -task.job.cpu, task.serial
