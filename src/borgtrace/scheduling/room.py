"""What a schedule makes of the room of its machines, over the whole time: stranded, overcommitted and overloaded."""

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.scheduling.machines import EXTENDED
from borgtrace.scheduling.replay import Trace
from borgtrace.scheduling.state import ENDED, STARTED, WHERE
from borgtrace.scheduling.workload import Tasks

_UNMEASURED = 10
"""One task in so many may be without usage, where an overload is told."""


def is_covered(tasks: Tasks) -> bool:
    """Whether enough tasks have usage to tell what a cell uses."""
    return tasks.without_usage * _UNMEASURED <= len(tasks)


def room_of(trace: Trace, found: Index, planned: Index) -> dict[str, float | None]:
    """Return shares of the capacity, and of the time of machines with tasks, by column of the result.

    A resource is stranded as far as its free share of a machine is above that of the other resource: no task of the
    machine's own shape could take it.

    Parameters
    ----------
    trace
        What was replayed.
    found
        What :func:`borgtrace.scheduling.events.run` returned.
    planned
        What tasks are planned with, int64 (n, 2).
    """
    ran = found[(found[:, STARTED] >= 0) & (found[:, WHERE] >= 0)]
    ended = np.where(ran[:, ENDED] >= 0, ran[:, ENDED], trace.until)
    machine = np.tile(ran[:, WHERE], 2)
    time = np.concatenate([ran[:, STARTED], ended])
    order = np.lexsort((time, machine))
    task = np.tile(ran[:, 0], 2)[order]
    sign = np.repeat((1, -1), len(ran))[order, None]
    machine = machine[order]
    time = time[order]
    lasts = np.where(np.diff(machine, append=-1) == 0, np.diff(time, append=0), 0).astype(
        np.float64
    )
    capacity = trace.machines.capacity[machine, :EXTENDED]

    def taken(sizes: Index) -> Index:
        # What begins on a machine ends there: the sum of each begins with 0.
        return np.asarray(np.cumsum(sizes[task] * sign, axis=0))

    def share_above(sizes: Index) -> float:
        is_above = (taken(sizes) > capacity).any(axis=1)
        return float(lasts[is_above].sum() / max(busy, 1.0))

    busy = float(lasts[np.cumsum(sign) > 0].sum())
    free: Numbers = np.maximum(1 - taken(planned) / capacity, 0)
    alone = np.maximum(free - free[:, ::-1], 0) * capacity * lasts[:, None]
    stranded = alone.sum(axis=0) / (
        trace.machines.capacity.sum(axis=0)[:EXTENDED] * float(max(trace.until, 1))
    )
    tasks = trace.tasks
    return {
        "machines": busy / max(trace.until, 1),
        "tasks_per_machine": float((lasts @ np.cumsum(sign)) / max(busy, 1.0)),
        **{"stranded_cpu": float(stranded[0]), "stranded_memory": float(stranded[1])},
        "overcommitted": share_above(tasks.sizes),
        "overloaded": share_above(tasks.used) if is_covered(tasks) else None,
    }
