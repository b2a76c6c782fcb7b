"""The best machines by a scheduler of one's own, kept for tasks that are alike, and corrected where machines change.

Of a function that somebody wrote no bound is known, so that all machines have to be asked.  As Borg does (Verma et al.,
EuroSys'15, section 3.4: score caching, equivalence classes) a machine is asked again only when it has changed.  Of each
kind of tasks the best `LISTED` machines are kept, and how good the best of the others is: as long as one of the list is
better, it is the choice of a plain scan, and once none is, all are asked anew.  A list is small, so that it is still in
the processor's cache when it is needed again: with the scores of all machines a replay took half as long again.
"""

from typing import NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.scheduling.choice import has_room, is_apart
from borgtrace.scheduling.exits import NOW
from borgtrace.scheduling.heap import Heap, make_heap, pop, push, replace_top
from borgtrace.scheduling.machines import CHANGES, CPU, EXTENDED, MEMORY, CellState
from borgtrace.scheduling.own_kernel import score_machines_at
from borgtrace.schema.time import HOUR

LISTED = 96
"""Machines in a new list."""
CAPACITY = 2 * LISTED
"""Machines in a list at most: those that have become better than the others are added."""
MOST_LINES = 2**14
"""Kinds of tasks of which lists are kept."""
COMMON = 4
"""Constraints that one machine in so many meets, or more, are left to the end: most lists have one of these."""
KIND, SEEN, SIZE, RANK_OF_REST = range(4)
"""Columns of `lines`."""
NEXT_LINE, STAMP, FAILURE, TASK, AT = range(5)
"""Elements of `marks`."""
RAISED, NOT_A_NUMBER = 1, 2
"""What is wrong with a score."""


class OwnScores(NamedTuple):
    """What is kept for a scheduler of one's own.

    Attributes
    ----------
    kernel
        Address of its compiled form: see :mod:`borgtrace.scheduling.own_kernel`.
    has_gpus
        Whether the first extended resource is GPUs.
    fields
        Shape (tasks, fields): what a :class:`~borgtrace.scheduling.scheduler.TaskView` holds.
    kinds, sets
        Shape (tasks,): tasks of one kind are alike to the scheduler, but for common constraints; the line of
        `allowed` with the others.
    line_of
        Shape (kinds,): where the list of each kind is; −1: nowhere.
    lines
        Shape (lines, 4): the kind, how many changes of machines it has seen, how long the list is, and the rank of the
        best machine that is not in it.
    rest
        Shape (lines,): the score of that machine; infinity where all machines that take a task are in the list.
    listed, scores
        Shape (lines, `CAPACITY`): machines, in no order, and their scores.
    stamps
        Shape (machines,): marks those that have changed.
    asked, answers
        Shape (machines,): machines that are asked now, and their scores.
    heap
        Room for the best ones, the worst of them on top.
    attributes, values
        Shape (machines, attributes): what they are now; and (changes,): what they become.
    lives, leaves
        Shape (tasks,): how many µs each is expected to run when it starts, NaN: nothing is known; and when it is
        withdrawn if it never ran, infinity: never.  Shape (0,) for a scheduler that knows no lifetimes: nothing is
        kept for one that does, as what it knows changes while nothing happens to a machine.
    exits, clock
        Of :class:`borgtrace.scheduling.exits.Exits`: when machines are expected to become empty, and its `marks`.
    marks
        The line that is given away next, the last stamp, what is wrong with a score, with which task, and the place of
        the machine that is asked.
    failed, known
        Capacity, what is free, and number of tasks of the machine with that score; how many hours the task is expected
        to live, in how many µs the machine becomes empty, and its attributes.
    """

    kernel: int
    has_gpus: bool
    fields: Numbers
    kinds: Index
    sets: Index
    line_of: Index
    lines: Index
    rest: Numbers
    listed: Index
    scores: Numbers
    stamps: Index
    asked: Index
    answers: Numbers
    heap: Heap
    attributes: Numbers
    values: Numbers
    lives: Numbers
    leaves: Numbers
    exits: Numbers
    clock: Index
    marks: Index
    failed: Index
    known: Numbers


class ExpectedLives(NamedTuple):
    """What :class:`OwnScores` has of lifetimes."""

    lives: Numbers
    leaves: Numbers
    exits: Numbers
    clock: Index


NO_LIVES = ExpectedLives(np.empty(0), np.empty(0), np.empty(0), np.zeros(2, np.int64))


def make_own_scores(
    kernel: int,
    cell: CellState,
    fields: Numbers,
    kinds: Index,
    sets: Index,
    *,
    has_gpus: bool,
    attributes: Numbers,
    values: Numbers,
    expected: ExpectedLives = NO_LIVES,
) -> OwnScores:
    """Return lists of which none is known.

    Parameters
    ----------
    kernel
        Address of what :func:`borgtrace.scheduling.own_kernel.kernel_of` returns.
    cell
        The machines.
    fields, kinds, sets, has_gpus, attributes, values, expected
        As of :class:`OwnScores`.
    """
    n_machines = len(cell.rank)
    n_kinds = int(kinds.max(initial=-1)) + 1
    n_lines = min(MOST_LINES, n_kinds)
    return OwnScores(
        kernel=kernel,
        has_gpus=has_gpus,
        fields=np.ascontiguousarray(fields),
        kinds=kinds,
        sets=sets,
        line_of=np.full(n_kinds, -1),
        lines=np.full((n_lines, 4), -1),
        rest=np.empty(n_lines),
        listed=np.empty((n_lines, CAPACITY), np.int64),
        scores=np.empty((n_lines, CAPACITY)),
        stamps=np.zeros(n_machines, np.int64),
        asked=np.empty(n_machines, np.int64),
        answers=np.empty(n_machines),
        heap=make_heap(LISTED + 1),
        attributes=np.ascontiguousarray(attributes),
        values=values,
        lives=expected.lives,
        leaves=expected.leaves,
        exits=expected.exits,
        clock=expected.clock,
        marks=np.zeros(5, np.int64),
        failed=np.zeros(2 * cell.capacity.shape[1] + 1, np.int64),
        known=np.zeros(2 + attributes.shape[1]),
    )


@compiled(inline=True, makes_arrays=False)
def life_of(own: OwnScores, task: int) -> float:
    """Return how many hours a task is expected to live if it starts now."""
    if own.lives.size == 0:
        return 0.0
    left = max(own.leaves[task] - own.clock[NOW], 0.0)
    # What is not known stays so.
    return (left if left < own.lives[task] else own.lives[task]) / HOUR


@compiled(inline=True, makes_arrays=False)
def ask(own: OwnScores, cell: CellState, task: int, n: int) -> None:
    """Score the first `n` machines of `asked`; what is no number becomes infinity, and is noted."""
    is_done = True
    if n > 0 and own.marks[FAILURE] == 0:
        is_done = score_machines_at(
            own.kernel,
            (
                own.fields[task],
                life_of(own, task),
                float(own.clock[NOW]),
                own.has_gpus,
                cell.capacity,
                cell.free,
                cell.n_tasks,
                own.attributes,
                own.exits,
                own.asked,
                n,
                own.answers,
                own.marks[AT:],
            ),
        )
    if not is_done:
        note_failure(own, cell, task, own.marks[AT], RAISED)
    for place in range(n):
        if own.marks[FAILURE] > 0:
            own.answers[place] = np.inf
        elif np.isnan(own.answers[place]):
            note_failure(own, cell, task, place, NOT_A_NUMBER)
            own.answers[place] = np.inf


@compiled(makes_arrays=False)
def note_failure(own: OwnScores, cell: CellState, task: int, place: int, what: int) -> None:
    """Note the first score with which something is wrong; nothing is asked after it."""
    own.marks[FAILURE] = what
    own.marks[TASK] = task
    machine = own.asked[place]
    width = cell.capacity.shape[1]
    for which in range(width):
        own.failed[which] = cell.capacity[machine, which]
        own.failed[width + which] = cell.free[machine, which]
    own.failed[2 * width] = cell.n_tasks[machine]
    own.known[0] = life_of(own, task)
    if own.exits.size > 0:
        own.known[1] = own.exits[machine] - own.clock[NOW]
    for which in range(own.attributes.shape[1]):
        own.known[2 + which] = own.attributes[machine, which]


@compiled(makes_arrays=False)
def set_attribute(own: OwnScores | None, machine: int, which: int, value: int) -> None:
    """Let an attribute of a machine become one of `values`."""
    if own is not None:
        own.attributes[machine, which] = own.values[value]


@compiled(makes_arrays=False)
def is_accepted(own: OwnScores | None, cell: CellState, machine: int, task: int) -> bool:
    """Whether a scheduler of one's own takes a machine for a task, whatever its room."""
    if own is None:
        return True
    own.asked[0] = machine
    ask(own, cell, task, 1)
    return own.answers[0] < np.inf


@compiled(inline=True, makes_arrays=False)
def is_asked(own: OwnScores, cell: CellState, machine: int, task: int) -> bool:
    """Whether a machine is there, and has room for a task beside others of its group; common constraints aside."""
    has_place = (
        cell.free[machine, CPU] >= cell.sizes[task, CPU]
        and cell.free[machine, MEMORY] >= cell.sizes[task, MEMORY]
        and cell.is_up[machine]
        and cell.allowed[own.sets[task], machine]
    )
    if has_place and (cell.safety > 0 or cell.sizes.shape[1] > EXTENDED):
        has_place = has_room(cell, machine, task)
    # A call that is handed all arrays takes longer than the rest.
    if has_place and cell.groups[task] >= 0:
        has_place = is_apart(cell, machine, cell.groups[task])
    return has_place


@compiled(inline=True, makes_arrays=False)
def is_before(score: float, rank: int, other_score: float, other_rank: int) -> bool:
    """Whether a machine is chosen rather than another: the smaller score, among equal ones the lower rank."""
    return score < other_score or (score == other_score and rank < other_rank)


@compiled(makes_arrays=False)
def list_best(own: OwnScores, cell: CellState, line: int, task: int) -> None:
    """Ask all machines, and make the list anew."""
    n = 0
    for machine in range(own.asked.size):
        if is_asked(own, cell, machine, task):
            own.asked[n] = machine
            n += 1
    ask(own, cell, task, n)
    own.heap.size[0] = 0
    for place in range(n):
        if own.answers[place] < np.inf:
            machine = own.asked[place]
            offer(own.heap, own.answers[place], cell.rank[machine], machine)
    fill_list(own, line)


@compiled(inline=True, makes_arrays=False)
def offer(heap: Heap, score: float, rank: int, machine: int) -> None:
    """Add a machine to the best `LISTED` and one more, if it is one of these."""
    # The worst is on top: keys and ranks are negated.
    is_full = heap.size[0] > LISTED
    if is_full and is_before(score, rank, -heap.keys[0], -heap.values[0, 0]):
        replace_top(heap, -score, -rank, machine)
    elif not is_full:
        push(heap, -score, -rank, machine)


@compiled(makes_arrays=False)
def fill_list(own: OwnScores, line: int) -> None:
    """Make a list of the machines in the heap, but for the worst of one too many: that is the best of the rest."""
    heap = own.heap
    own.rest[line] = np.inf
    own.lines[line, RANK_OF_REST] = 0
    if heap.size[0] > LISTED:
        own.rest[line] = -heap.keys[0]
        own.lines[line, RANK_OF_REST] = -heap.values[0, 0]
        pop(heap)
    for place in range(heap.size[0]):
        own.listed[line, place] = heap.values[place, 1]
        own.scores[line, place] = -heap.keys[place]
    own.lines[line, SIZE] = heap.size[0]


@compiled(makes_arrays=False)
def shorten_list(own: OwnScores, cell: CellState, line: int) -> None:
    """Keep the best `LISTED` machines of a full list."""
    own.heap.size[0] = 0
    for place in range(CAPACITY):
        machine = own.listed[line, place]
        offer(own.heap, own.scores[line, place], cell.rank[machine], machine)
    fill_list(own, line)


@compiled(inline=True, makes_arrays=False)
def drop_changed(own: OwnScores, line: int, stamp: int) -> None:
    """Take machines with a stamp out of a list."""
    n_left = 0
    for place in range(own.lines[line, SIZE]):
        machine = own.listed[line, place]
        if own.stamps[machine] != stamp:
            own.listed[line, n_left] = machine
            own.scores[line, n_left] = own.scores[line, place]
            n_left += 1
    own.lines[line, SIZE] = n_left


@compiled(makes_arrays=False)
def correct_list(own: OwnScores, cell: CellState, line: int, task: int, n_changes: int) -> None:
    """Ask the machines of the last changes again, and list those that are better than the rest."""
    last = cell.changes[0]
    own.marks[STAMP] += 1
    stamp = own.marks[STAMP]
    for change in range(last - n_changes, last):
        own.stamps[cell.changes[1 + (change & (CHANGES - 1))]] = stamp
    drop_changed(own, line, stamp)
    n = 0
    for change in range(last - n_changes, last):
        machine = cell.changes[1 + (change & (CHANGES - 1))]
        # Some have changed several times.
        if own.stamps[machine] == stamp:
            own.stamps[machine] = 0
            if is_asked(own, cell, machine, task):
                own.asked[n] = machine
                n += 1
    ask(own, cell, task, n)
    for place in range(n):
        score = own.answers[place]
        machine = own.asked[place]
        rank = cell.rank[machine]
        if score < np.inf and is_before(score, rank, own.rest[line], own.lines[line, RANK_OF_REST]):
            size = own.lines[line, SIZE]
            own.listed[line, size] = machine
            own.scores[line, size] = score
            own.lines[line, SIZE] = size + 1
            if size + 1 == CAPACITY:
                shorten_list(own, cell, line)


@compiled(inline=True, makes_arrays=False)
def new_line(own: OwnScores, kind: int) -> int:
    """Return where the list of a kind is kept from now on: all have their turn."""
    line = own.marks[NEXT_LINE]
    own.marks[NEXT_LINE] = (line + 1) % len(own.lines)
    before = own.lines[line, KIND]
    if before >= 0:
        own.line_of[before] = -1
    own.lines[line, KIND] = kind
    own.line_of[kind] = line
    return line


@compiled(makes_arrays=False)
def best_listed(own: OwnScores, cell: CellState, line: int, task: int) -> int:
    """Return the best machine of a list that meets the constraints of a task; −1: none does."""
    constraint_set = cell.sets[task]
    best = -1
    least = np.inf
    for place in range(own.lines[line, SIZE]):
        score = own.scores[line, place]
        if score > least:
            continue
        machine = own.listed[line, place]
        is_better = score < least or cell.rank[machine] < cell.rank[best]
        if is_better and cell.allowed[constraint_set, machine]:
            best = machine
            least = score
    return best


@compiled(makes_arrays=False)
def best_of_all(own: OwnScores, cell: CellState, task: int) -> int:
    """Return the machine with the smallest score among those that take a task, or −1: all are asked."""
    constraint_set = cell.sets[task]
    n = 0
    for machine in range(own.asked.size):
        if cell.allowed[constraint_set, machine] and is_asked(own, cell, machine, task):
            own.asked[n] = machine
            n += 1
    ask(own, cell, task, n)
    best = -1
    least = np.inf
    for place in range(n):
        score = own.answers[place]
        machine = own.asked[place]
        if score < least or (score == least and best >= 0 and cell.rank[machine] < cell.rank[best]):
            best = machine
            least = score
    return best


@compiled(makes_arrays=False)
def choose_by_score(own: OwnScores | None, cell: CellState, task: int) -> int:
    """Return the machine with the smallest score among those that take a task, or −1; the same as of a plain scan.

    Parameters
    ----------
    own, cell
        Lists that are known, and the machines.
    task
        Who comes.
    """
    # Numba leaves out what follows where the argument is None, so that a replay with our scorers alone compiles none
    # of this file: with it, its first run takes twice as long.
    if own is None:
        return -1
    if own.lives.size > 0:
        return best_of_all(own, cell, task)
    kind = own.kinds[task]
    line = own.line_of[kind]
    is_known = False
    if line < 0:
        line = new_line(own, kind)
    else:
        n_changes = cell.changes[0] - own.lines[line, SEEN]
        is_known = n_changes < min(CHANGES, own.asked.size)
        if is_known:
            correct_list(own, cell, line, task, n_changes)
            # What is not in the list may be the best once nothing is in it.
            is_known = own.lines[line, SIZE] > 0 or own.rest[line] == np.inf
    if not is_known:
        list_best(own, cell, line, task)
    own.lines[line, SEEN] = cell.changes[0]
    machine = best_listed(own, cell, line, task)
    if machine < 0 and own.rest[line] < np.inf:
        machine = best_of_all(own, cell, task)
    return machine
