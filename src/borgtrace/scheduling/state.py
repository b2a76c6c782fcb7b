"""State of a replay: attempts that arrive, machines, the queue, and the columns of the rows that it fills."""

from typing import NamedTuple

from borgtrace.kernels.arrays import Index
from borgtrace.scheduling.exits import Exits
from borgtrace.scheduling.gangs import Gangs
from borgtrace.scheduling.machines import CellState
from borgtrace.scheduling.own_scores import OwnScores
from borgtrace.scheduling.queue import Queue

ATTEMPT, SUBMITTED, STARTED, ENDED, RAN_ON, OUTCOME = range(6)
"""Columns of what :func:`borgtrace.scheduling.events.run` returns, −1 where there is nothing: the attempt, when it was
submitted, started and ended (µs), its machine, and how it ended."""
COLUMNS = 6
ALIVE, DONE, PREEMPTED, REMOVED = range(4)
"""How a submission ended: not at all, as in the trace, by a task of a higher tier, with its machine."""
VARIED = 2
"""First column of variances among what is held of a machine."""
NEVER = -1
NEVER_RAN = -2
AT_FIRST, AT_LAST = range(2)
"""Lines of what is reserved for an attempt."""


class ReplayArrivals(NamedTuple):
    """Attempts in the order in which they arrive; int64 of shape (n,) unless noted.

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
    tier
        Who may evict whom.
    turn, worth
        Of those that wait the smallest is asked first; of those that may be evicted the smallest goes first.
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
    turn: Index
    worth: Index
    kinds: Index


class ReplayState(NamedTuple):
    """What a replay works on.

    Attributes
    ----------
    cell, jobs, queue
        Machines, what arrives, and what waits.
    held
        Shape (tiers, machines, 4 + extended): CPU and memory that tasks of each tier take, the variances of both
        (from `VARIED` on), and the extended resources that they take.
    row_of
        Shape (attempts,): the latest row of each.
    changes
        Changes of machines, sorted by time, with the columns of :mod:`borgtrace.scheduling.changes`.
    reserved
        Shape (attempts, 2, 2): what each takes when it starts, and at last; (0, 2, 2) where nothing decays.
    gangs
        Attempts that start together.  In the queue the first of each waits for all, as a kind of its own.
    """

    cell: CellState
    jobs: ReplayArrivals
    queue: Queue
    held: Index
    row_of: Index
    changes: Index
    reserved: Index
    gangs: Gangs


class ReplayRule(NamedTuple):
    """The policy: scorer, machines that are looked at (0: all), whether it evicts, and the pause after that, µs.

    `own` has the scores of a scheduler of one's own, and `exits` what is expected of tasks and machines.
    """

    kind: int
    k: int
    preempts: bool
    pause: int
    own: OwnScores | None
    exits: Exits | None = None
