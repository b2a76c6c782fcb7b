"""A job and its tasks: what they ask for, what they use, and their present state."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from borgtrace.kernels.arrays import Flags
from borgtrace.schema.time import AFTER_TRACE
from borgtrace.synth.model.lives import JobPlan
from borgtrace.synth.model.profile import Tier


class Relation(Enum):
    """How a constraint compares a machine's attribute with its value; names are those of the trace."""

    EQUAL = "EQUAL"
    NOT_EQUAL = "NOT_EQUAL"
    LESS_THAN = "LESS_THAN"
    GREATER_THAN = "GREATER_THAN"


class JobConstraint(NamedTuple):
    """A placement constraint: the number of an attribute, a relation, and the value to compare with."""

    attribute: int
    relation: Relation
    value: int


# Compared by identity: jobs and tasks refer to each other, so comparing fields would never end.
@dataclass(slots=True, eq=False)
class Job:
    """One collection: first what it asks for; the workload adds its identity and its tasks.

    Parameters
    ----------
    tier
        The tier it belongs to.
    size
        Number of tasks.
    cpu, memory, disk
        Requests of every task, as fractions of the largest machine.
    priority, scheduling_class
        As in the trace.
    different
        Whether its tasks want a machine each.
    id, number
        Collection id, and its rank in the trace.
    user, name
        Ranks of the user and of the logical name.
    wave, phase
        Amplitude (in normal scores) and phase (radians) of the day wave of its tasks; 0 for none.
    is_looping
        Whether its tasks fail and come back again and again.
    plan
        How its tasks run; None where its tier alone says so.
    killed_at
        When the whole job is killed, µs.
    gap
        From the submission of one of its tasks to the next, µs.
    constraints
        Its placement constraints.
    allowed
        Machines that satisfy the constraints, or None for all.
    host, guest
        2019: the alloc set it runs in, and for an alloc set the job inside.
    parent, after
        2019: the job whose end kills it, and the job whose end lets it start.
    is_batch, is_held
        2019: handled by the batch scheduler, and held back by it.
    is_cancelled
        2019: killed because its parent ended.
    scaling
        2019: vertical scaling, by name.
    children, followers
        2019: the jobs that have it as their parent, and those that start after it.
    alive
        Tasks that are not over for good.
    is_scheduled
        Whether any of its tasks has ever run.
    worst
        The worst end of its tasks so far.
    machines
        Machines its tasks run on, where they want different ones.
    tasks
        Its tasks, by index.
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
    plan: JobPlan | None = None
    killed_at: int = AFTER_TRACE
    gap: int = 3
    constraints: tuple[JobConstraint, ...] = ()
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
    """One instance of a job.

    Parameters
    ----------
    job, index
        The job, and the task's number in it.
    serial
        Its number in the trace.
    level, memory
        Mean CPU and memory it uses.
    kind
        Its class.
    short_kind, short_cpu, short_memory
        If its first run is short: its class, and the shares of `level` and `memory` that it uses.
    attempt
        Number of the present wait or run.
    scale
        Factor of the last update on the requests.
    machine
        Machine it runs on, −1 for none.
    start
        When its present run began, µs.
    state
        Its last event.
    cpu_share, memory_share
        What it uses of `level` and `memory`.
    steadiness
        Probability that its usage is steady.
    overuse
        Largest CPU of a window ÷ requested.
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
    steadiness: float = 0.0
    overuse: float = math.inf
