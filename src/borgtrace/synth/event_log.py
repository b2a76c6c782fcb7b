"""The log: events and executions of the present part, until they are handed over."""

from __future__ import annotations

from collections.abc import Iterable

from borgtrace.schema.time import AFTER_TRACE
from borgtrace.synth.clock import Clock
from borgtrace.synth.jobs import Job, Task
from borgtrace.synth.machines import AttributeEvent, MachineEvent
from borgtrace.synth.trace_segment import CollectionEvent, Execution, InstanceEvent, TraceSegment


class EventLog:
    """Writes down what happens, stamped with the time of the clock.

    Parameters
    ----------
    clock
        Tells the time.
    bounds
        Limits of the parts, µs.
    """

    def __init__(self, clock: Clock, bounds: list[int]) -> None:
        self.clock, self.bounds = clock, bounds
        self._running: dict[int, Task] = {}
        self._segment = TraceSegment(0, bounds[0], bounds[1])

    def task(self, kind: str, task: Task, machine: int = -1) -> None:
        """Write an event of a task, which becomes its state."""
        event = InstanceEvent(self.clock.now, kind, task, task.state, machine, scale=task.scale)
        self._segment.instances.append(event)
        task.state = kind

    def job(self, kind: str, job: Job) -> None:
        """Write an event of a job."""
        self._segment.collections.append(CollectionEvent(self.clock.now, kind, job))

    def machine(self, event: MachineEvent) -> None:
        """Write an event of a machine."""
        self._segment.machines.append(event)

    def begin_execution(self, task: Task) -> None:
        """Note that a task runs from now on."""
        task.start = self.clock.now
        self._running[task.serial] = task

    def end_execution(self, task: Task, usage_end: int) -> None:
        """Note that a run is over; its last window ends at `usage_end` (µs)."""
        del self._running[task.serial]
        self._segment.executions.append(Execution(task, task.machine, task.start, self.clock.now, usage_end))

    def hand_over(self, attributes: Iterable[AttributeEvent]) -> TraceSegment:
        """Return the present part, with the executions that go on, and begin the next."""
        done, last = self._segment, len(self.bounds) - 1
        done.attributes += attributes
        done.is_last = done.end == self.bounds[-1]
        # A run that goes on is handed over with every part that it touches, and cut at the part's end by the reader.
        done.executions += [Execution(t, t.machine, t.start, AFTER_TRACE, AFTER_TRACE) for t in self._running.values()]
        number = done.number + 1
        # After the last part there is no next limit; that empty segment is never handed over.
        self._segment = TraceSegment(number, done.end, self.bounds[min(number + 1, last)])
        return done
