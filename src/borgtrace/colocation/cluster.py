"""An online cluster: tasks arrive when they did, are placed by what has been seen so far, and leave.

The clock counts slots of 300 s.  Events are sorted as (slot, kind, task): in every slot departures come first, then
arrivals, then the usage of the slot is measured.

Nobody migrates.  A task that has been measured for less than `WARM_UP` slots is *cold*: it counts as what is known of
earlier tasks of its user and logical name, else of its user, else as its request, else as what is known of all tasks so
far, else as a whole machine.
"""

from collections import defaultdict, deque
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

import numpy as np

from borgtrace.colocation.pool import Pool
from borgtrace.colocation.quality import EVALUATION_RTOL
from borgtrace.colocation.raw_series import Timeline
from borgtrace.kernels.arrays import Flags, Index, Numbers, Values
from borgtrace.placement import BEST_FIT, CAPACITY_RTOL, Estimator, Observation, Packer
from borgtrace.placement.machines import choose, sum_up

ColdStart = Literal["name", "request"]
WARM_UP = 12
"""Slots after which a task speaks for itself: an hour."""
REMEMBERED = 288
"""Measurements kept of each kin, and of everybody: the latest."""
Kin = tuple[int, int]
EVERYBODY: Kin = (-1, -1)
"""Where the past of all tasks is kept; that of a kin is under its place in :attr:`Pool.kin` and its code."""
# The order within a slot: who leaves makes room for who comes, and whoever is there then is measured.
_DEPARTURE = 0
_ARRIVAL = 1
_MEASURE = 2


@dataclass(eq=False)
class Cluster:
    """Machines and what is known of the tasks on them, at one moment; :func:`simulate` drives it.

    Attributes
    ----------
    machine_of
        int64 (n,): where each task runs, −1 for nowhere.
    members
        The tasks of each machine, in the order in which they came.
    """

    pool: Pool
    timeline: Timeline
    estimator: Estimator
    capacity: float
    packer: Packer
    cold_start: ColdStart

    def __post_init__(self) -> None:
        n = len(self.pool)
        self.machine_of: Index = np.full(n, -1)
        self.members: list[list[int]] = []
        self.dirty: set[int] = set()
        # The width of a row is known only to the estimator, so it is asked about a task made up.
        one = self._items(np.zeros((1, 1), np.float32), np.full(1, np.nan))[0]
        self.items = np.zeros((n, len(one)))
        self.empty = self.estimator.empty(one[None])
        self.test = self.estimator.test
        self.states = np.empty((0, len(one)))
        self.parameters = np.asarray(self.estimator.parameters(self.capacity), np.float64)
        self.row = self.estimator.row(self.capacity) * CAPACITY_RTOL
        requests = self.pool.cpu_request
        self.request = np.full(n, np.nan) if requests is None else requests.astype(np.float64)
        codes = np.column_stack(self.pool.kin).tolist()
        self.kin: list[list[Kin]] = [
            [(k, code) for k, code in enumerate(own) if code >= 0] for own in codes
        ]
        self.past: defaultdict[Kin, deque[float]] = defaultdict(lambda: deque(maxlen=REMEMBERED))
        self.is_milestone = _milestones(int(np.diff(self.timeline.offsets).max(initial=0)))

    def _items(self, values: Values, request: Numbers) -> Numbers:
        return np.asarray(
            self.estimator.items(Observation(values, request=request), self.capacity), np.float64
        )

    def guess(self, task: int) -> Numbers:
        """Describe a task nothing is known of: its kin's past, its request, everybody's past, or a whole machine."""
        request = self.request[task]
        # The hour that a task itself is given before its own past counts.
        alike = [
            kin
            for kin in self.kin[task]
            if self.cold_start == "name" and len(self.past[kin]) >= WARM_UP
        ]
        if alike:
            values = np.array(self.past[alike[0]], np.float32)
        elif np.isfinite(request):
            values = np.full(1, request, np.float32)
        elif len(self.past[EVERYBODY]) >= WARM_UP:
            values = np.array(self.past[EVERYBODY], np.float32)
        else:
            values = np.full(1, self.capacity, np.float32)
        return self._items(values[None], np.array([request]))[0]

    def arrive(self, task: int) -> bool:
        """Place a task; False where it fits nowhere."""
        self.items[task] = self.guess(task)
        # Machines that lost a task or learned something are summed up only now: most change many times in between.
        self._refresh()
        item = self.items[task]
        capacities = np.tile(self.row, (len(self.states), 1))
        machine = choose(
            self.test, self.packer, self.states, item, capacities, self.parameters, self._idle()
        )
        if machine < 0:
            if self.test.room(self.empty, item, self.row, self.parameters) < 0:
                return False
            machine = self._open()
        self.members[machine].append(task)
        self.test.join(self.states[machine], item)
        self.machine_of[task] = machine
        return True

    def depart(self, task: int) -> None:
        """A task leaves."""
        machine = int(self.machine_of[task])
        if machine >= 0:
            self.members[machine].remove(task)
            self.dirty.add(machine)
            self.machine_of[task] = -1

    def learn(
        self,
        tasks: Index,
        n_seen: Index,
        usage: Values,
    ) -> None:
        """Tasks were measured once more: remember it, and describe anew whose history has grown by a third.

        Parameters
        ----------
        tasks
            int64 (k,): the tasks that were measured.
        n_seen
            int64 (k,): how often each has been measured, this time included.
        usage
            float32 (k,): what each used.
        """
        for task, value in zip(tasks.tolist(), usage.tolist(), strict=True):
            for kin in (*self.kin[task], EVERYBODY):
                self.past[kin].append(value)
        is_due = self.is_milestone[n_seen]
        # Histories of one length are described together: they make a matrix, and the estimator is called once.
        for seen in np.unique(n_seen[is_due]):
            due = tasks[is_due & (n_seen == seen)]
            rows = self.timeline.offsets[due][:, None] + np.arange(seen)
            self.items[due] = self._items(self.timeline.usage[rows], self.request[due])
            self.dirty.update(self.machine_of[due].tolist())

    def _idle(self) -> Index:
        """1 for machines without tasks: they are switched off, and opened only when no other takes the task."""
        return np.array([0 if held else 1 for held in self.members], np.int64)

    def _open(self) -> int:
        # The first idle machine again: `states` stays as long as the most machines that ever ran together.
        for machine, held in enumerate(self.members):
            if not held:
                self.states[machine] = self.empty
                return machine
        if len(self.members) == len(self.states):
            self.states = np.concatenate([self.states, self.empty[None]])
        self.members.append([])
        return len(self.members) - 1

    def _refresh(self) -> None:
        """Sum up the machines where something changed."""
        if not self.dirty:
            return
        dirty = sorted(self.dirty)
        held = [self.members[machine] for machine in dirty]
        offsets = np.array([0, *accumulate(len(some) for some in held)], np.int64)
        # In the order of arrival: states are then those of a machine that was filled in this order.
        members = np.array([task for some in held for task in some], np.int64)
        sum_up(
            *self.test.adds,
            self.test.cuts,
            self.items,
            members,
            offsets,
            np.array(dirty),
            self.empty,
            self.states,
        )
        self.dirty.clear()


def _milestones(longest: int) -> Flags:
    """True at 12, 16, 21, 28 …: every time a history has grown by a third, and at multiples of a day's slots."""
    found = np.zeros(longest + 1, np.bool_)
    step = WARM_UP
    while step <= longest:
        found[step] = True
        # A history is read as a whole each time: growing steps keep the work linear in its length.
        step = step * 4 // 3
    found[288::288] = True  # a day: its cycle is what a third more of a long history would miss
    return found


@dataclass(frozen=True, eq=False)
class SlotCounts:
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


def simulate(
    pool: Pool,
    estimator: Estimator,
    *,
    capacity: float = 1.0,
    packer: Packer = BEST_FIT,
    cold_start: ColdStart = "name",
) -> SlotCounts:
    """Let the tasks of a pool arrive, be placed, be measured and leave.

    Parameters
    ----------
    pool
        Tasks with time stamps; :class:`Cluster` guesses those without a history.
    estimator
        Any fit test; it only ever sees what was measured before.
    capacity
        Of every machine, of which there are enough.
    packer
        Which of the machines where a task fits it goes to.
    cold_start
        ``name`` asks earlier tasks of the same user and logical name, then of the user; ``request`` does not.

    Raises
    ------
    NotApplicable
        The pool has no time stamps.
    """
    timeline = Timeline.of(pool)
    cluster = Cluster(pool, timeline, estimator, capacity, packer, cold_start)
    first = int(timeline.begin.min())
    last = int(timeline.end.max())
    events = [(int(s), _ARRIVAL, i) for i, s in enumerate(timeline.begin)]
    events += [(int(s), _DEPARTURE, i) for i, s in enumerate(timeline.end)]
    events += [(s, _MEASURE, -1) for s in range(first, last)]
    day = SlotCounts(first, *(np.zeros(last - first, np.int64) for _ in range(5)))
    # Once for the whole run: the windows of a slot are then a slice.
    by_slot = np.argsort(timeline.slot, kind="stable")
    owner = np.repeat(np.arange(len(pool)), np.diff(timeline.offsets))[by_slot]
    bounds = np.searchsorted(timeline.slot[by_slot], np.arange(first, last + 1))
    # No two are equal, so their order never depends on chance.
    for slot, kind, task in sorted(events):
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
            _measure(
                cluster,
                day,
                at,
                rows,
                owner[bounds[at] : bounds[at + 1]],
            )
    return day


def _measure(
    cluster: Cluster,
    day: SlotCounts,
    at: int,
    rows: Index,
    tasks: Index,
) -> None:
    """Add up what the tasks on each machine used in a slot, count overflows, and learn."""
    machine = cluster.machine_of[tasks]
    is_placed = machine >= 0
    usage = cluster.timeline.usage[rows].astype(np.float64)
    total = np.bincount(machine[is_placed], usage[is_placed], len(cluster.members))
    # With the tolerance of the other evaluations: these usages are float32 too.
    day.overflows[at] = int((total > cluster.capacity * EVALUATION_RTOL).sum())
    day.machines[at] = sum(1 for held in cluster.members if held)
    day.tasks[at] = sum(len(held) for held in cluster.members)
    # A task that was turned away runs nowhere, so nothing is learned of it.
    placed = tasks[is_placed]
    seen = rows[is_placed] - cluster.timeline.offsets[tasks[is_placed]] + 1
    cluster.learn(placed, seen, cluster.timeline.usage[rows[is_placed]])
