"""What a replay works on: attempts that arrive, machines, the queue, and the columns of its rows."""

from typing import NamedTuple

from borgtrace.kernels.arrays import Index
from borgtrace.scheduling.gangs import Gangs
from borgtrace.scheduling.machines import Cell
from borgtrace.scheduling.queue import Queue

ATTEMPT, SUBMITTED, STARTED, ENDED, WHERE, KIND = range(6)
"""Columns of what :func:`borgtrace.scheduling.events.run` returns."""
ALIVE, DONE, PREEMPTED, REMOVED = range(4)
"""How a submission ended: not at all, as in the trace, by a task of a higher tier, with its machine."""
VARIED = 2
NEVER = -1
NEVER_RAN = -2


class Arrivals(NamedTuple):
    """Attempts in the order in which they arrive; int64 of shape (n,) where nothing else is said.

    Attributes
    ----------
    time
        When it was submitted, µs.
    duration
        How long it ran, µs; −1: to the end of the trace; −2: it never ran.
    leaves
        When an attempt that never ran was withdrawn, µs; −1: never.
    after
        The attempt of the same task that follows; −1: none.
    gap
        From the end of this one to the submission of that one, µs.
    firsts
        Attempts that follow no other, by time: shape (firsts,).
    alike
        How many of `firsts` from each on are of one kind: shape (firsts,).
    tier, priority
        Who may evict whom, and who is asked first.
    kinds
        Attempts of one kind are alike to a scheduler.
    """

    time: Index
    duration: Index
    leaves: Index
    after: Index
    gap: Index
    firsts: Index
    alike: Index
    tier: Index
    priority: Index
    kinds: Index


class Replay(NamedTuple):
    """What a replay works on.

    Attributes
    ----------
    cell, jobs, queue
        Machines, what arrives, and what waits.
    held
        Shape (tiers, machines, 4 + extended): what tasks of each tier take of CPU and memory, the variance of both
        (from `VARIED` on), and what they take of extended resources.
    row_of
        Shape (attempts,): the latest row of each.
    machines
        Shape (events, 4): time, machine, whether it is there, or meets a set of constraints, from then on, and which
        line of the cell's `allowed` that is (0: whether it is there).
    reserved
        Shape (attempts, 2, 2): what each takes when it starts, and at last; (0, 2, 2) where nothing decays.
    gangs
        Attempts that start together.  In the queue the first of each waits for all, as a kind of its own.
    """

    cell: Cell
    jobs: Arrivals
    queue: Queue
    held: Index
    row_of: Index
    machines: Index
    reserved: Index
    gangs: Gangs


class Rule(NamedTuple):
    """The policy: scorer, machines that are looked at (0: all), whether it evicts, and the pause after that, µs."""

    kind: int
    k: int
    preempts: bool
    pause: int
