"""An online cluster: tasks arrive when they did, are placed by what has been seen so far, and leave.

The clock counts slots of 300 s.  Events wait in a heap as (slot, kind, number, task), so their order never depends on
chance: in every slot departures come first, then arrivals, then the usage of the slot is measured.  Nobody
migrates.  A task that has been measured for less than `WARM_UP` slots is *cold*: it counts as what is known of
earlier tasks of its logical name, else as its request, else as what is known of all tasks so far, else as a whole
machine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heapify, heappop
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from borgtrace.colocation.estimators.estimator import Estimator
from borgtrace.colocation.estimators.observation import Observation
from borgtrace.colocation.packers.best_fit import BEST_FIT
from borgtrace.colocation.packers.packer import Packer
from borgtrace.colocation.packing import HAIR
from borgtrace.colocation.pool import Pool
from borgtrace.colocation.quality import EVALUATION_HAIR
from borgtrace.colocation.raw_series import SLOT
from borgtrace.kernels.packing import choose, sum_up
from borgtrace.recipe import NotApplicable

ColdStart = Literal["name", "request"]
WARM_UP = 12
"""Slots after which a task speaks for itself: an hour."""
REMEMBERED = 288
"""Measurements kept per logical name, the latest."""

_DEPARTURE, _ARRIVAL, _MEASURE = 0, 1, 2

Index = NDArray[np.int64]
Values = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Timeline:
    """Tasks on the clock of slots.

    Attributes
    ----------
    begin, end
        int64 (n,): first slot of a task, and the slot after its last.
    offsets, slot, usage
        CSR: the slots in which a task was measured, ascending, and its usage there (float32).
    """

    begin: Index
    end: Index
    offsets: Index
    slot: Index
    usage: Values

    @classmethod
    def of(cls, pool: Pool) -> Timeline:
        """Lay the windows of a pool on the clock; windows of one slot are averaged.

        Raises
        ------
        NotApplicable
            The pool has no time stamps.
        """
        if pool.start is None:
            raise NotApplicable("the pool has no time stamps")
        task = np.repeat(np.arange(len(pool)), pool.n_windows)
        slot = pool.start // SLOT
        order = np.lexsort((slot, task))
        is_new = np.append(True, (np.diff(task[order]) != 0) | (np.diff(slot[order]) != 0))
        starts = np.flatnonzero(is_new)
        counts = np.diff(np.append(starts, len(order)))
        usage = np.add.reduceat(pool.inst[order].astype(np.float64), starts) / counts
        kept = order[starts]
        offsets = np.searchsorted(task[kept], np.arange(len(pool) + 1))
        begin, end = slot[kept][offsets[:-1]], slot[kept][offsets[1:] - 1] + 1
        return cls(begin, end, offsets, slot[kept], usage.astype(np.float32))


@dataclass(frozen=True, eq=False)
class Day:
    """What happened, slot by slot, all int64 (T,): from slot `first` on.

    Attributes
    ----------
    machines, tasks
        Machines with at least one task, and tasks on them.
    overflows
        Machines whose measured usage exceeded their capacity.
    cold
        Tasks placed cold.
    unplaceable
        Tasks that arrived and fitted no machine, not even an empty one.
    """

    first: int
    machines: Index
    tasks: Index
    overflows: Index
    cold: Index
    unplaceable: Index


@dataclass(eq=False)
class Cluster:
    """The state of the simulation; :func:`simulate` drives it."""

    pool: Pool
    timeline: Timeline
    estimator: Estimator
    capacity: float
    packer: Packer
    cold_start: ColdStart
    machine_of: Index = field(init=False)
    members: list[list[int]] = field(init=False, default_factory=list)
    is_dirty: list[bool] = field(init=False, default_factory=list)
    memory: dict[int, list[float]] = field(init=False, default_factory=dict)
    everything: list[float] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.machine_of = np.full(len(self.pool), -1)
        one = self._item(np.zeros((1, 1), np.float32))
        self.items = np.zeros((len(self.pool), len(one)))
        self.empty = self.estimator.empty(one[None])
        self.test = self.estimator.test
        self.states = np.empty((0, len(one)))
        self.parameters = np.asarray(self.estimator.parameters(self.capacity), np.float64)
        self.row = self.estimator.row(self.capacity) * HAIR

    def _item(self, values: Values, request: float = np.nan) -> NDArray[np.float64]:
        seen = Observation(values, request=np.array([request]))
        return np.asarray(self.estimator.items(seen, self.capacity), np.float64)[0]

    def guess(self, task: int) -> NDArray[np.float64]:
        """Describe a task nothing is known of: its name's past, its request, everybody's past, or a whole machine."""
        names, requests = self.pool.logical_name, self.pool.cpu_request
        request = float(requests[task]) if requests is not None else np.nan
        known = self.memory.get(int(names[task]), []) if names is not None else []
        if self.cold_start == "name" and len(known) >= WARM_UP:
            values = np.array([known], np.float32)
        elif np.isfinite(request):
            values = np.full((1, 1), request, np.float32)
        elif len(self.everything) >= WARM_UP:
            values = np.array([self.everything], np.float32)
        else:
            values = np.full((1, 1), self.capacity, np.float32)
        return self._item(values, request)

    def arrive(self, task: int) -> bool:
        """Place a task; False where it fits nowhere."""
        self.items[task] = self.guess(task)
        self._refresh()
        machine = choose(
            self.test, self.packer.score, self.packer.stops, self.states, self.items[task],
            np.tile(self.row, (len(self.states), 1)), self.parameters, self._idle(),
        )  # fmt: skip
        if machine < 0:
            if self.test.room(self.empty, self.items[task], self.row, self.parameters) < 0:
                return False
            machine = self._open()
        self.members[machine].append(task)
        self.test.join(self.states[machine], self.items[task])
        self.machine_of[task] = machine
        return True

    def depart(self, task: int) -> None:
        """A task leaves."""
        machine = int(self.machine_of[task])
        if machine >= 0:
            self.members[machine].remove(task)
            self.is_dirty[machine] = True
            self.machine_of[task] = -1

    def learn(self, task: int, n_seen: int, usage: float) -> None:
        """A task was measured once more: remember it, and describe it anew when its history has grown by a third."""
        names = self.pool.logical_name
        if names is not None and names[task] >= 0:
            _remember(self.memory.setdefault(int(names[task]), []), usage)
        _remember(self.everything, usage)
        if n_seen >= WARM_UP and _is_milestone(n_seen):
            first = self.timeline.offsets[task]
            history = self.timeline.usage[first : first + n_seen]
            request = np.nan if self.pool.cpu_request is None else float(self.pool.cpu_request[task])
            self.items[task] = self._item(history[None], request)
            self.is_dirty[int(self.machine_of[task])] = True

    def _idle(self) -> Index:
        """1 for machines without tasks: they are switched off, and opened only when no other takes the task."""
        return np.array([0 if held else 1 for held in self.members], np.int64)

    def _open(self) -> int:
        for machine, held in enumerate(self.members):
            if not held:
                self.states[machine] = self.empty
                return machine
        if len(self.members) == len(self.states):
            self.states = np.concatenate([self.states, self.empty[None]])
        self.members.append([])
        self.is_dirty.append(False)
        return len(self.members) - 1

    def _refresh(self) -> None:
        for machine, is_dirty in enumerate(self.is_dirty):
            if is_dirty:
                held = np.array(self.members[machine], np.int64)
                sum_up(self.test, self.items, held, self.empty, self.states[machine])
                self.is_dirty[machine] = False


def _remember(past: list[float], usage: float) -> None:
    past.append(usage)
    if len(past) > REMEMBERED:
        del past[0]


def _is_milestone(n: int) -> bool:
    """12, 16, 21, 28 …: every time a history has grown by a third, and at multiples of a day's slots."""
    if n % 288 == 0:
        return True
    step = WARM_UP
    while step < n:
        step = max(step + 1, step * 4 // 3)
    return step == n


def simulate(
    pool: Pool,
    estimator: Estimator,
    *,
    capacity: float = 1.0,
    packer: Packer = BEST_FIT,
    cold_start: ColdStart = "name",
) -> Day:
    """Let the tasks of a pool arrive, be placed, be measured and leave.

    Parameters
    ----------
    pool
        Tasks with time stamps; those without any history at their arrival are guessed (see the module).
    estimator
        Any fit test; it only ever sees what was measured before.
    cold_start
        ``name`` asks earlier tasks of the same logical name first, ``request`` does not.

    Raises
    ------
    NotApplicable
        The pool has no time stamps.
    """
    timeline = Timeline.of(pool)
    cluster = Cluster(pool, timeline, estimator, capacity, packer, cold_start)
    first, last = int(timeline.begin.min()), int(timeline.end.max())
    heap = [(int(s), _ARRIVAL, i, i) for i, s in enumerate(timeline.begin)]
    heap += [(int(s), _DEPARTURE, i, i) for i, s in enumerate(timeline.end)]
    heap += [(s, _MEASURE, 0, -1) for s in range(first, last)]
    heapify(heap)
    day = Day(first, *(np.zeros(last - first, np.int64) for _ in range(5)))
    by_slot = np.argsort(timeline.slot, kind="stable")
    owner = np.repeat(np.arange(len(pool)), np.diff(timeline.offsets))[by_slot]
    bounds = np.searchsorted(timeline.slot[by_slot], np.arange(first, last + 1))
    while heap:
        slot, kind, _, task = heappop(heap)
        at = slot - first
        if kind == _DEPARTURE:
            cluster.depart(task)
        elif kind == _ARRIVAL:
            if cluster.arrive(task):
                day.cold[at] += 1
            else:
                day.unplaceable[at] += 1
        else:
            rows = by_slot[bounds[at] : bounds[at + 1]]
            _measure(cluster, day, at, rows, owner[bounds[at] : bounds[at + 1]])
    return day


def _measure(cluster: Cluster, day: Day, at: int, rows: Index, tasks: Index) -> None:
    """Add up what the tasks on each machine used in a slot, count overflows, and learn."""
    machine = cluster.machine_of[tasks]
    is_placed = machine >= 0
    usage = cluster.timeline.usage[rows].astype(np.float64)
    total = np.bincount(machine[is_placed], usage[is_placed], len(cluster.members))
    day.overflows[at] = int((total > cluster.capacity * EVALUATION_HAIR).sum())
    day.machines[at] = sum(1 for held in cluster.members if held)
    day.tasks[at] = sum(len(held) for held in cluster.members)
    for row, task, value in zip(rows[is_placed], tasks[is_placed], usage[is_placed], strict=True):
        cluster.learn(int(task), int(row - cluster.timeline.offsets[task]) + 1, float(value))
