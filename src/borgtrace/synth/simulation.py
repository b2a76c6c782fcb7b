"""The simulation of a cell: jobs arrive, machines come and go, and the trace is cut into parts.

A discrete-event simulation that yields one :class:`~borgtrace.synth.trace_segment.TraceSegment` per part and forgets
what is over: memory depends on the machines, not on the hours.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from borgtrace.schema.time import TRACE_START
from borgtrace.synth.clock import Clock
from borgtrace.synth.event_log import EventLog
from borgtrace.synth.hashing import generator
from borgtrace.synth.job_lifecycle import JobLifecycle
from borgtrace.synth.machines import MachineEvent, Machines, attribute_events, machine_events
from borgtrace.synth.outcomes import Outcomes
from borgtrace.synth.profiles import Profile
from borgtrace.synth.relations import Relations
from borgtrace.synth.scheduler import Scheduler
from borgtrace.synth.snapshot import begin_snapshot
from borgtrace.synth.trace_segment import TraceSegment
from borgtrace.synth.workload import Workload


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

    def __init__(self, profile: Profile, machines: Machines, hours: float, seed: int, bounds: list[int]) -> None:
        self.profile, self.machines, self.bounds, self.seed = profile, machines, bounds, seed
        self.workload = Workload(profile, machines, hours, seed)
        self.random = random.Random(int(generator(seed, "cluster").integers(2**62)))
        self.scheduler = Scheduler(machines, self.random)
        self.clock = Clock(bounds[-1])
        self.log = EventLog(self.clock, bounds)
        self.outcomes = Outcomes(profile, self.random)
        self.lifecycle = JobLifecycle(profile, self.clock, self.log, self.scheduler, self.outcomes)
        self.relations = Relations(self.workload, self.lifecycle, self.random)

    def segments(self) -> Iterator[TraceSegment]:
        """Run the simulation and yield its parts one after the other."""
        changes = machine_events(len(self.machines), self.clock.end, self.seed)
        attributes = attribute_events(self.machines, self.clock.end, self.seed)
        # The snapshot first: its rows have time 0, and the clock has not moved yet.
        begin_snapshot(self.workload, self.lifecycle, self.relations, self.scheduler, self.random)
        for event in changes:
            self.clock.at(event.time, self._change_machine, event)
        # One arrival ahead at a time, each plans the next: the heap stays as small as the stock of tasks.
        self.clock.at(self.workload.arrivals.after(TRACE_START), self._arrive)
        written = 0
        for limit in self.bounds[1:]:
            self.clock.run_until(limit)
            first = written
            while written < len(attributes) and attributes[written].time < limit:
                written += 1
            yield self.log.hand_over(attributes[first:written])

    def _arrive(self) -> None:
        job = self.workload.arriving()
        if self.profile.has_queue:
            self.relations.relate(job)
        self.lifecycle.arrive(job, gap=3)
        self.clock.at(self.workload.arrivals.after(self.clock.now), self._arrive)

    def _change_machine(self, event: MachineEvent) -> None:
        self.log.machine(event)
        if event.type == "REMOVE":
            self.scheduler.is_up[event.machine] = False
            # A copy of the list, since every end takes a task off the machine.
            for task in self.scheduler.tasks_on(event.machine):
                self.lifecycle.tasks.finish(task, task.attempt, self.outcomes.without_machine(task.job))
        elif event.type == "ADD":
            self.scheduler.is_up[event.machine] = True
