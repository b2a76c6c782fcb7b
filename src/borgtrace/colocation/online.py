"""An online cluster: tasks arrive when they did, are placed by what has been seen so far, and leave.

The clock counts slots of 300 s.  Events are sorted as (slot, kind, task): in every slot departures come first, then
arrivals, then the usage of the slot is measured.
"""

from dataclasses import dataclass

import numpy as np

from borgtrace.colocation.cluster import Cluster, ColdStart
from borgtrace.colocation.pool import Pool
from borgtrace.colocation.quality import EVALUATION_RTOL
from borgtrace.colocation.raw_series import Timeline
from borgtrace.kernels.arrays import Index
from borgtrace.placement import BEST_FIT, Estimator, Packer

# The order within a slot: who leaves makes room for who comes, and whoever is there then is measured.
_DEPARTURE, _ARRIVAL, _MEASURE = 0, 1, 2


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
        Tasks with time stamps; :class:`borgtrace.colocation.cluster.Cluster` guesses those without a history.
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
    first, last = int(timeline.begin.min()), int(timeline.end.max())
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
            _measure(cluster, day, at, rows, owner[bounds[at] : bounds[at + 1]])
    return day


def _measure(cluster: Cluster, day: SlotCounts, at: int, rows: Index, tasks: Index) -> None:
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
    placed, seen = tasks[is_placed], rows[is_placed] - cluster.timeline.offsets[tasks[is_placed]] + 1
    cluster.learn(placed, seen, cluster.timeline.usage[rows[is_placed]])
