"""An online cluster: tasks arrive when they did, are placed by what has been seen so far, and leave.

The clock counts slots of 300 s.  Events are sorted as (slot, kind, task): in every slot departures come first, then
arrivals, then the usage of the slot is measured.

Nobody migrates.  A task that has been measured for fewer than `WARM_UP` slots is *cold*.  It counts as the first of
these that is known: the past of its user and logical name, the past of its user, its request, the past of all tasks
so far, a whole machine.
"""

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from itertools import accumulate, chain
from typing import Literal, NamedTuple

import numpy as np

from borgtrace.colocation.packing.distinct_bins import EVALUATION_RTOL
from borgtrace.colocation.tasks.pool import TaskPool
from borgtrace.colocation.tasks.simultaneous import Timeline
from borgtrace.kernels.arrays import Flags, Index, Numbers, Values
from borgtrace.placement import BEST_FIT, CAPACITY_RTOL, Estimator, Observation, Packer
from borgtrace.placement.machines import choose, sum_up

ColdStart = Literal["name", "request"]
WARM_UP = 12
"""Slots after which a task speaks for itself: an hour."""
DAY = 288
"""Slots of a day."""
REMEMBERED = DAY
"""Measurements kept of each kin, and of everybody: the latest."""
Kin = tuple[int, int]
"""A relation, by its place in :attr:`TaskPool.kin`, and a code there."""
EVERYBODY: Kin = (-1, -1)
"""The kin of all tasks."""


class ClusterEventKind(IntEnum):
    """What happens in a slot, in this order: departures make room for arrivals, then all that run are measured."""

    DEPARTURE = 0
    ARRIVAL = 1
    MEASURE = 2


class ClusterEvent(NamedTuple):
    """Something that happens in a slot; `task` is −1 for a measurement.  Events are sorted by all three fields."""

    slot: int
    kind: ClusterEventKind
    task: int


@dataclass(eq=False)
class OnlineCluster:
    """Machines and what is known of the tasks on them, at one moment; :func:`simulate` drives it.

    Attributes
    ----------
    machine_of
        int64 (n,): where each task runs, −1 for nowhere.
    members
        The tasks of each machine, in the order in which they came.
    changed
        Machines whose state is not summed up yet.
    items
        float64 (n, width): each task as the estimator describes it.
    states
        float64 (m, width): each machine's sum of items.
    past
        The latest measurements of each kin.
    """

    pool: TaskPool
    timeline: Timeline
    estimator: Estimator
    capacity: float
    packer: Packer
    cold_start: ColdStart

    def __post_init__(self) -> None:
        n_tasks = len(self.pool)
        self.machine_of: Index = np.full(n_tasks, -1)
        self.members: list[list[int]] = []
        self.changed: set[int] = set()
        # Only the estimator knows the width of a row, so it describes a made-up task.
        example = self._items(np.zeros((1, 1), np.float32), np.full(1, np.nan))[0]
        width = len(example)
        self.items = np.zeros((n_tasks, width))
        self.states = np.empty((0, width))
        self.empty = self.estimator.empty(example[None])
        self.test = self.estimator.test
        self.parameters = np.asarray(self.estimator.parameters(self.capacity), np.float64)
        self.row = self.estimator.row(self.capacity) * CAPACITY_RTOL
        self.request = np.full(n_tasks, np.nan)
        if self.pool.cpu_request is not None:
            self.request = self.pool.cpu_request.astype(np.float64)
        self.kin = _kin_of_tasks(self.pool)
        self.past: defaultdict[Kin, deque[float]] = defaultdict(lambda: deque(maxlen=REMEMBERED))
        # Looked up once: a run remembers each window of each task.
        self.remember = [[self.past[kin].append for kin in kin_of_task] for kin_of_task in self.kin]
        longest = int(np.diff(self.timeline.offsets).max(initial=0))
        self.is_milestone = milestones(longest)

    def _items(self, values: Values, request: Numbers) -> Numbers:
        observation = Observation(values, request=request)
        return np.asarray(self.estimator.items(observation, self.capacity), np.float64)

    def guess(self, task: int) -> Numbers:
        """Describe a task that has no past of its own.

        Parameters
        ----------
        task
            Index into the pool.
        """
        usage = np.array(self._expected_usage(task), np.float32)
        return self._items(usage[None], self.request[[task]])[0]

    def _expected_usage(self, task: int) -> list[float]:
        """Return the past of a task's kin, its request, everybody's past, or a whole machine."""
        if self.cold_start == "name":
            for kin in self.kin[task]:
                # As much as a task itself needs before its own past counts.
                if len(self.past[kin]) >= WARM_UP:
                    return list(self.past[kin])
        if np.isfinite(self.request[task]):
            return [float(self.request[task])]
        if len(self.past[EVERYBODY]) >= WARM_UP:
            return list(self.past[EVERYBODY])
        return [self.capacity]

    def arrive(self, task: int) -> bool:
        """Place a task; False where it fits nowhere.

        Parameters
        ----------
        task
            Index into the pool.
        """
        self.items[task] = self.guess(task)
        # Machines that lost a task or learned something are summed up only now: most change many times in between.
        self.refresh()
        item = self.items[task]
        capacities = np.tile(self.row, (len(self.states), 1))
        machine = choose(
            self.test,
            self.packer,
            self.states,
            item,
            capacities,
            self.parameters,
            self.idle_flags(),
        )
        if machine < 0:
            room_alone = self.test.room(self.empty, item, self.row, self.parameters)
            if room_alone < 0:
                return False
            machine = self._open()
        self.members[machine].append(task)
        self.test.join(self.states[machine], item)
        self.machine_of[task] = machine
        return True

    def depart(self, task: int) -> None:
        """Remove a task from its machine, if it has one.

        Parameters
        ----------
        task
            Index into the pool.
        """
        machine = int(self.machine_of[task])
        if machine >= 0:
            self.members[machine].remove(task)
            self.changed.add(machine)
            self.machine_of[task] = -1

    def learn(self, tasks: Index, n_seen: Index, usage: Values) -> None:
        """Remember new measurements, and describe anew the tasks whose history has grown by a third.

        Parameters
        ----------
        tasks
            int64 (k,): the tasks that were measured.
        n_seen
            int64 (k,): how often each has been measured, this time included.
        usage
            float32 (k,): what each used.
        """
        values = usage.tolist()
        self.past[EVERYBODY].extend(values)
        for task, value in zip(tasks.tolist(), values, strict=True):
            for remember in self.remember[task]:
                remember(value)
        is_due = self.is_milestone[n_seen]
        # Histories of one length are described together: they make a matrix, and the estimator is called once.
        for length in np.unique(n_seen[is_due]):
            due = tasks[is_due & (n_seen == length)]
            rows = self.timeline.offsets[due][:, None] + np.arange(length)
            self.items[due] = self._items(self.timeline.usage[rows], self.request[due])
            self.changed.update(self.machine_of[due].tolist())

    def idle_flags(self) -> Index:
        """Return 1 for machines without tasks: they are switched off, and opened only if no other takes a task."""
        return np.array([0 if tasks else 1 for tasks in self.members], np.int64)

    def _open(self) -> int:
        """Switch on a machine, and return its number."""
        # The first idle machine again: `states` stays as long as the most machines that ever ran together.
        for machine, tasks in enumerate(self.members):
            if not tasks:
                self.states[machine] = self.empty
                return machine
        if len(self.members) == len(self.states):
            self.states = np.concatenate([self.states, self.empty[None]])
        self.members.append([])
        return len(self.members) - 1

    def refresh(self) -> None:
        """Sum up the machines where something changed."""
        if not self.changed:
            return
        machines = sorted(self.changed)
        tasks_of_machines = [self.members[machine] for machine in machines]
        offsets = np.array([0, *accumulate(map(len, tasks_of_machines))], np.int64)
        # In the order of arrival: states are then those of a machine that was filled in this order.
        members = np.array(list(chain.from_iterable(tasks_of_machines)), np.int64)
        sum_up(
            *self.test.adds,
            self.test.cuts,
            self.items,
            members,
            offsets,
            np.array(machines),
            self.empty,
            self.states,
        )
        self.changed.clear()


def _kin_of_tasks(pool: TaskPool) -> list[list[Kin]]:
    """Return the known kin of each task, the closest first."""
    kin_of_tasks = []
    for codes in np.column_stack(pool.kin).tolist():
        kin_of_tasks.append([(place, code) for place, code in enumerate(codes) if code >= 0])
    return kin_of_tasks


def milestones(longest: int) -> Flags:
    """Return which lengths of a history are described anew: each a third longer, and whole days.

    Parameters
    ----------
    longest
        Longest history, in slots.

    Examples
    --------
    >>> np.flatnonzero(milestones(40)).tolist()
    [12, 16, 21, 28, 37]
    """
    is_milestone = np.zeros(longest + 1, np.bool_)
    length = WARM_UP
    while length <= longest:
        is_milestone[length] = True
        # A history is read as a whole each time: growing steps keep the work linear in its length.
        length = length * 4 // 3
    # Days, because a third more of a long history would miss the daily rhythm.
    is_milestone[DAY::DAY] = True
    return is_milestone


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

    @classmethod
    def zeros(cls, first: int, slots: int) -> "SlotCounts":
        """Return counts of 0.

        Parameters
        ----------
        first, slots
            First slot, and their number.
        """
        columns = [np.zeros(slots, np.int64) for _ in range(5)]
        return cls(first, *columns)


def simulate(
    pool: TaskPool,
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
        Tasks with time stamps; :class:`OnlineCluster` guesses those without a history.
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
    cluster = OnlineCluster(pool, timeline, estimator, capacity, packer, cold_start)
    first = int(timeline.begin.min())
    last = int(timeline.end.max())
    counts = SlotCounts.zeros(first, last - first)
    # Sorted once for the whole run: the windows of a slot are then a slice.
    order = np.argsort(timeline.slot, kind="stable")
    task_of_window = np.repeat(np.arange(len(pool)), np.diff(timeline.offsets))[order]
    bounds = np.searchsorted(timeline.slot[order], np.arange(first, last + 1))
    # No two events are equal, so their order never depends on chance.
    for event in sorted(_events(timeline, first, last)):
        number = event.slot - first
        if event.kind is ClusterEventKind.DEPARTURE:
            cluster.depart(event.task)
        elif event.kind is ClusterEventKind.ARRIVAL:
            if cluster.arrive(event.task):
                counts.cold[number] += 1
            else:
                counts.unplaceable[number] += 1
        else:
            of_slot = slice(bounds[number], bounds[number + 1])
            _measure(cluster, counts, number, order[of_slot], task_of_window[of_slot])
    return counts


def _events(timeline: Timeline, first: int, last: int) -> Iterator[ClusterEvent]:
    for task, slot in enumerate(timeline.begin.tolist()):
        yield ClusterEvent(slot, ClusterEventKind.ARRIVAL, task)
    for task, slot in enumerate(timeline.end.tolist()):
        yield ClusterEvent(slot, ClusterEventKind.DEPARTURE, task)
    for slot in range(first, last):
        yield ClusterEvent(slot, ClusterEventKind.MEASURE, -1)


def _measure(
    cluster: OnlineCluster,
    counts: SlotCounts,
    number: int,
    windows: Index,
    tasks: Index,
) -> None:
    """Add up what the tasks on each machine used in a slot, count overflows, and learn.

    `windows` are the measurements of `tasks` in slot `number`, as indices into the timeline.
    """
    # A task that was turned away runs nowhere, so nothing is learned of it.
    is_placed = cluster.machine_of[tasks] >= 0
    tasks = tasks[is_placed]
    windows = windows[is_placed]
    usage = cluster.timeline.usage[windows]
    machines = cluster.machine_of[tasks]
    totals = np.bincount(machines, usage.astype(np.float64), len(cluster.members))
    # With the tolerance of the other evaluations: these usages are float32 too.
    counts.overflows[number] = int((totals > cluster.capacity * EVALUATION_RTOL).sum())
    counts.machines[number] = sum(1 for members in cluster.members if members)
    counts.tasks[number] = sum(map(len, cluster.members))
    n_seen = windows - cluster.timeline.offsets[tasks] + 1
    cluster.learn(tasks, n_seen, usage)
