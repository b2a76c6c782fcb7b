"""A replay that stops at each arrival that several machines could take, and asks which one it shall be.

Ends, changes of machines and waiting tasks are the replay's own: :mod:`borgtrace.scheduling.events`.  A task that no
machine takes waits, and starts on the first machine that gets room for it.
"""

from collections.abc import Iterator
from typing import NamedTuple

from borgtrace.kernels.arrays import Flags, Index, Numbers, Values
from borgtrace.kernels.compiled import compiled
from borgtrace.scheduling.choice import BEST_FIT, STRIDE, choose, is_open
from borgtrace.scheduling.events import (
    DRAW,
    FACTOR,
    LAST_KEY,
    MASK,
    N_ROWS,
    NEXT_CHANGE,
    NEXT_FIRST,
    next_event,
    refill,
    replay_event,
)
from borgtrace.scheduling.heap import Heap
from borgtrace.scheduling.machines import CPU, MEMORY, UNIT, CellState
from borgtrace.scheduling.queue import enqueue
from borgtrace.scheduling.state import ReplayRule, ReplayState
from borgtrace.scheduling.transitions import ARRIVAL, RANKS, start, submit

OF_CANDIDATE = 6
"""Features of each candidate: see :class:`borgtrace.rl.PlacementEnv`."""
OF_TASK = 4
"""Features of the task and the cell, after those of the candidates."""
LOOKS = 256
"""Machines that are looked at for candidates: in a full cell, a look at all of 12,583 took as long as ten steps."""
TASKS = 64
"""So many tasks on a machine count as 1."""
AT_END, ASKS, IS_FULL = range(3)
"""What :func:`advance` returns: the trace is over, a machine is to be chosen, rows or the agenda have to grow."""
ATTEMPT, TIME, SUBMISSIONS, STARTS = range(4)
"""Columns of `pending`: who waits for an answer, since when (µs), and how many were submitted and started so far."""


class Episode(NamedTuple):
    """What a kernel needs to go on with an episode.

    Attributes
    ----------
    replay, rule, agenda, known, rows, progress
        As in :func:`borgtrace.scheduling.events.replay_until`; `known` is not used.
    machines
        int64 (candidates,): the machines that may be chosen, −1 where there are fewer.
    observation
        float32 (candidates · `OF_CANDIDATE` + `OF_TASK`,).
    mask
        bool (candidates,): which of them there are.
    pending
        int64 (4,): the columns above.
    """

    replay: ReplayState
    rule: ReplayRule
    agenda: Heap
    known: Heap
    rows: Index
    progress: Index
    machines: Index
    observation: Values
    mask: Flags
    pending: Index


@compiled(makes_arrays=False)
def find_open(
    cell: CellState,
    task: int,
    begin: int,
    machines: Index,
) -> int:
    """Write machines that take a task, in a random order that `begin` decides; return how many there are.

    After so many `LOOKS` those that were found are enough; of none, the one that best fit finds stands for all.
    """
    n_open = 0
    n = cell.rank.size
    machine = begin % n
    for _ in range(min(n, LOOKS)):
        if is_open(cell, machine, task):
            machines[n_open] = machine
            n_open += 1
            if n_open == machines.size:
                return n_open
        machine = (machine + STRIDE) % n
    if n_open == 0 and n > LOOKS:
        machines[0] = choose(cell, BEST_FIT, task)
        n_open = 1 if machines[0] >= 0 else 0
    for place in range(n_open, machines.size):
        machines[place] = -1
    return n_open


@compiled(makes_arrays=False)
def observe(episode: Episode) -> None:
    """Write the observation and the mask."""
    cell = episode.replay.cell
    task = episode.pending[ATTEMPT]
    features = episode.observation
    cpu = cell.sizes[task, CPU]
    memory = cell.sizes[task, MEMORY]
    place = 0
    for candidate in range(episode.machines.size):
        machine = episode.machines[candidate]
        episode.mask[candidate] = machine >= 0
        if machine < 0:
            for feature in range(OF_CANDIDATE):
                features[place + feature] = 0.0
        else:
            cpu_capacity = cell.capacity[machine, CPU]
            memory_capacity = cell.capacity[machine, MEMORY]
            features[place] = (cell.free[machine, CPU] - cpu) / cpu_capacity
            features[place + 1] = (cell.free[machine, MEMORY] - memory) / memory_capacity
            features[place + 2] = min(1.0, cpu_capacity / UNIT)
            features[place + 3] = min(1.0, memory_capacity / UNIT)
            features[place + 4] = 1.0 if cell.n_tasks[machine] == 0 else 0.0
            features[place + 5] = min(1.0, cell.n_tasks[machine] / TASKS)
        place += OF_CANDIDATE
    replay = episode.replay
    features[place] = min(1.0, cpu / UNIT)
    features[place + 1] = min(1.0, memory / UNIT)
    features[place + 2] = replay.jobs.tier[task] / max(1, len(replay.held) - 1)
    features[place + 3] = min(1.0, replay.queue.n_active[0] / max(1, replay.queue.heads.size))


@compiled(makes_arrays=False)
def arrive(episode: Episode, attempt: int, is_first: bool, time: int) -> bool:
    """Submit an attempt; return whether a machine is to be chosen for it."""
    replay = episode.replay
    progress = episode.progress
    if is_first:
        progress[NEXT_FIRST] += 1
    progress[DRAW] = (progress[DRAW] * FACTOR + 1) & MASK
    row = progress[N_ROWS]
    progress[N_ROWS] += 1
    submit(replay, episode.agenda, episode.rows, attempt, row, time)
    episode.pending[SUBMISSIONS] += 1
    kind = replay.jobs.kinds[attempt]
    # Where another of its kind waits, nothing has room.
    n_open = 0
    if replay.queue.heads[kind] < 0:
        n_open = find_open(replay.cell, attempt, progress[DRAW] >> 8, episode.machines)
    if n_open == 0:
        enqueue(replay.queue, kind, attempt)
        return False
    episode.pending[ATTEMPT] = attempt
    episode.pending[TIME] = time
    return True


@compiled(makes_arrays=False)
def place_on(episode: Episode, machine: int) -> None:
    """Start the task that waits for an answer."""
    start(
        episode.replay,
        episode.agenda,
        episode.rows,
        episode.pending[ATTEMPT],
        machine,
        episode.pending[TIME],
    )
    episode.pending[STARTS] += 1


@compiled(makes_arrays=False)
def advance(episode: Episode, begin: int, until: int) -> int:
    """Let things happen until a machine is to be chosen, or up to a time (µs); before `begin` chance chooses."""
    replay = episode.replay
    progress = episode.progress
    agenda = episode.agenda
    n_attempts = replay.jobs.time.size
    # A machine that goes brings back all of its tasks at once.
    while progress[N_ROWS] < len(episode.rows) and agenda.size[0] + n_attempts < agenda.keys.size:
        key, value, row = next_event(replay, agenda, progress[NEXT_FIRST], progress[NEXT_CHANGE])
        time = key // RANKS
        if key == LAST_KEY or time > until:
            return AT_END
        if key % RANKS == ARRIVAL:
            if not arrive(episode, value, row < 0, time):
                continue
            if time >= begin:
                observe(episode)
                return ASKS
            place_on(episode, episode.machines[0])
            continue
        machine, has_room_now = replay_event(
            replay,
            episode.rule,
            agenda,
            episode.known,
            episode.rows,
            progress,
            key,
            value,
            row,
        )
        if machine >= 0 and has_room_now and replay.cell.is_up[machine]:
            refill(replay, episode.rule, agenda, episode.rows, machine, time)
    return IS_FULL


@compiled(inline=True, makes_arrays=False)
def stranded_on(cell: CellState, machine: int) -> float:
    """Return how far the free shares of CPU and memory of a machine are apart."""
    cpu = cell.free[machine, CPU] / cell.capacity[machine, CPU]
    memory = cell.free[machine, MEMORY] / cell.capacity[machine, MEMORY]
    return abs(cpu - memory)


@compiled(makes_arrays=False)
def answer(
    episode: Episode,
    action: int,
    begin: int,
    until: int,
) -> tuple[int, float]:
    """Start the task on a candidate and go on; return as :func:`advance`, and how much less is stranded there."""
    n_open = 0
    while n_open < episode.machines.size and episode.machines[n_open] >= 0:
        n_open += 1
    # What is masked stands for one that is not, for learners without masks.
    machine = episode.machines[action % n_open]
    cell = episode.replay.cell
    before = stranded_on(cell, machine)
    place_on(episode, machine)
    reward = before - stranded_on(cell, machine)
    return advance(episode, begin, until), reward


@compiled()
def play(
    episode: Episode,
    actions: Index,
    rewards: Numbers,
    begin: int,
    until: int,
) -> Iterator[int]:
    """Go through an episode: read an action, and give back as :func:`advance` after each.

    A generator keeps its arrays: a call that is handed all of them takes 18 µs, this one less than one.
    """
    state = advance(episode, begin, until)
    yield state
    while state == ASKS:
        state, rewards[0] = answer(episode, actions[0], begin, until)
        yield state
