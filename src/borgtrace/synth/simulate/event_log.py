"""What happens in a trace: events and executions, logged part by part."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from borgtrace.schema.time import AFTER_TRACE
from borgtrace.synth.model.jobs import Job, Task
from borgtrace.synth.model.machines import AttributeEvent, MachineEvent
from borgtrace.synth.simulate.clock import Clock


@dataclass(frozen=True, slots=True)
class CollectionEvent:
    """An event of a job.

    Parameters
    ----------
    time, type, job
        When (µs), what (a name of the 2019 list), and which job.
    missing
        Name of the missing type, if the row is made up.
    """

    time: int
    type: str
    job: Job
    missing: str | None = None

    @property
    def place(self) -> tuple[int, int]:
        """Collection id and time (µs)."""
        return self.job.id, self.time


@dataclass(frozen=True, slots=True)
class InstanceEvent:
    """An event of a task.

    Parameters
    ----------
    time, type, task
        When (µs), what (a name of the 2019 list), and which task.
    before
        The task's previous event; empty for its first.
    machine
        Number of the machine, −1 for none.
    missing
        Name of the missing type, if the row is made up.
    scale
        Factor on the requests (updates).
    has_request
        False where the requests are not known.
    """

    time: int
    type: str
    task: Task
    before: str = ""
    machine: int = -1
    missing: str | None = None
    scale: float = 1.0
    has_request: bool = True

    @property
    def place(self) -> tuple[int, int, int]:
        """Collection id, instance index and time (µs)."""
        return self.task.job.id, self.task.index, self.time


@dataclass(frozen=True, slots=True)
class Execution:
    """A task on a machine from `start` (µs) on; `usage_end` is when its last window ends."""

    task: Task
    machine: int
    start: int
    usage_end: int


@dataclass(slots=True)
class TraceSegment:
    """Everything that happened in one part of the trace, each list in time order.

    Parameters
    ----------
    number
        Number of the part.
    start, end
        Its limits, µs; windows that start in [start, end) belong to it.
    collections, instances, machines, attributes
        Its events.
    executions
        Executions that overlap it, in the order of their ends; those still going end after the trace.
    """

    number: int
    start: int
    end: int
    collections: list[CollectionEvent] = field(default_factory=list)
    instances: list[InstanceEvent] = field(default_factory=list)
    machines: list[MachineEvent] = field(default_factory=list)
    attributes: list[AttributeEvent] = field(default_factory=list)
    executions: list[Execution] = field(default_factory=list)


class EventLog:
    """Records what happens, stamped with the time of the clock.

    Parameters
    ----------
    clock
        Tells the time.
    bounds
        Limits of the parts, µs.
    """

    def __init__(self, clock: Clock, bounds: list[int]) -> None:
        self.clock = clock
        self.bounds = bounds
        self._running: dict[int, Task] = {}
        self._segment = TraceSegment(0, bounds[0], bounds[1])

    def task(
        self,
        kind: str,
        task: Task,
        machine: int = -1,
    ) -> None:
        """Record an event of a task, which becomes its state."""
        event = InstanceEvent(
            self.clock.now,
            kind,
            task,
            task.state,
            machine,
            scale=task.scale,
        )
        self._segment.instances.append(event)
        task.state = kind

    def job(self, kind: str, job: Job) -> None:
        """Record an event of a job."""
        event = CollectionEvent(self.clock.now, kind, job)
        self._segment.collections.append(event)

    def machine(self, event: MachineEvent) -> None:
        """Record an event of a machine."""
        self._segment.machines.append(event)

    def begin_execution(self, task: Task) -> None:
        """Note that a task runs from now on."""
        task.start = self.clock.now
        self._running[task.serial] = task

    def end_execution(self, task: Task, usage_end: int) -> None:
        """Note that a run is over; its last window ends at `usage_end` (µs)."""
        del self._running[task.serial]
        execution = Execution(task, task.machine, task.start, usage_end)
        self._segment.executions.append(execution)

    def hand_over(self, attributes: Iterable[AttributeEvent]) -> TraceSegment:
        """Return the present part, with the executions that go on, and begin the next."""
        segment = self._segment
        segment.attributes += attributes
        # A run that goes on is handed over with every part that it touches, and cut at the part's end by the reader.
        segment.executions += [
            Execution(task, task.machine, task.start, AFTER_TRACE)
            for task in self._running.values()
        ]
        number = segment.number + 1
        # After the last part there is no next limit; that empty segment is never handed over.
        last = len(self.bounds) - 1
        end = self.bounds[min(number + 1, last)]
        self._segment = TraceSegment(number, segment.end, end)
        return segment
