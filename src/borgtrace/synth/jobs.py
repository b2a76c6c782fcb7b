"""A job and its tasks: what they ask for, what they use, and where they stand."""

from __future__ import annotations

from dataclasses import dataclass, field

from borgtrace.kernels.arrays import Flags
from borgtrace.synth.profiles import Tier


# Compared by identity: jobs and tasks refer to each other, so comparing fields would never end.
@dataclass(slots=True, eq=False)
class Job:
    """One collection: first what it asks for; the workload adds who it is, and its tasks.

    Parameters
    ----------
    tier
        The tier it belongs to.
    size
        Number of tasks.
    cpu, memory, disk
        Requests of every task, as fractions of the largest machine.
    different
        Whether its tasks want a machine each.
    id, number
        Collection id, and its rank in the trace.
    wave, phase
        Amplitude (in normal scores) and phase (radians) of the day wave of its tasks; 0 for none.
    is_looping
        Whether its tasks fail and come back again and again.
    constraints
        (attribute, operator, value) triples.
    allowed
        Machines that satisfy the constraints, or None for all.
    host, guest
        2019: the alloc set it runs in, and for an alloc set the job inside.
    parent, after
        2019: the job whose end kills it, and the job whose end lets it start.
    is_batch, is_held
        2019: handled by the batch scheduler, and held back by it.
    scaling
        2019: vertical scaling, by name.
    """

    tier: Tier
    size: int
    cpu: float
    memory: float
    priority: int
    scheduling_class: int
    different: bool
    id: int = 0
    number: int = 0
    user: int = 0
    name: int = 0
    disk: float = 0.0
    wave: float = 0.0
    phase: float = 0.0
    is_looping: bool = False
    constraints: tuple[tuple[int, int, int], ...] = ()
    allowed: Flags | None = None
    is_alloc_set: bool = False
    host: Job | None = None
    guest: Job | None = None
    parent: Job | None = None
    after: Job | None = None
    is_batch: bool = False
    is_held: bool = False
    is_cancelled: bool = False
    scaling: str = "OFF"
    children: list[Job] = field(default_factory=list)
    followers: list[Job] = field(default_factory=list)
    alive: int = 0
    is_scheduled: bool = False
    worst: int = 0
    machines: set[int] = field(default_factory=set)
    tasks: list[Task] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Task:
    """One instance: its mean CPU (`level`), memory and class (`kind`), its present run and its past.

    If it is short, it is of `short_kind` and uses `short_cpu` and `short_memory` of that.
    """

    job: Job
    index: int
    serial: int
    level: float
    memory: float
    kind: int
    short_kind: int
    short_cpu: float
    short_memory: float
    attempt: int = 0
    scale: float = 1.0
    machine: int = -1
    start: int = -1
    state: str = ""
    cpu_share: float = 1.0
    memory_share: float = 1.0
