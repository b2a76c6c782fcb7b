"""What a simulation hands to a writer: events and executions of one segment of time."""

from __future__ import annotations

from dataclasses import dataclass, field

from borgtrace.synth.jobs import Job, Task
from borgtrace.synth.machines import AttributeEvent, MachineEvent


@dataclass(frozen=True, slots=True)
class CollectionEvent:
    """An event of a job; `type` is a name of the 2019 list."""

    time: int
    type: str
    job: Job
    missing: str | None = None


@dataclass(frozen=True, slots=True)
class InstanceEvent:
    """An event of a task.

    Parameters
    ----------
    time, type, task
        When (µs), what (a name of the 2019 list), to whom.
    before
        The event before it; empty for the first.
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


@dataclass(frozen=True, slots=True)
class Execution:
    """A task on a machine from `start` to `end` (µs); `usage_end` is when its last window ends."""

    task: Task
    machine: int
    start: int
    end: int
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
    executions
        Executions that overlap it, in the order of their ends; of those still going `end` is after the trace.
    """

    number: int
    start: int
    end: int
    collections: list[CollectionEvent] = field(default_factory=list)
    instances: list[InstanceEvent] = field(default_factory=list)
    machines: list[MachineEvent] = field(default_factory=list)
    attributes: list[AttributeEvent] = field(default_factory=list)
    executions: list[Execution] = field(default_factory=list)
    is_last: bool = False
