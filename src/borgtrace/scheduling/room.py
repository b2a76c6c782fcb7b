"""How the room on machines was used over the whole time: stranded, overcommitted and overloaded shares."""

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.scheduling.machines import CPU, EXTENDED, MEMORY
from borgtrace.scheduling.replay import ScheduleInput
from borgtrace.scheduling.state import ATTEMPT, ENDED, RAN_ON, STARTED
from borgtrace.scheduling.workload import TaskAttempts

TASKS_PER_UNMEASURED_TASK = 10
"""One task in so many may be without usage, where an overload is reported."""


def is_covered(tasks: TaskAttempts) -> bool:
    """Whether enough tasks have usage to tell what a cell uses."""
    return tasks.without_usage * TASKS_PER_UNMEASURED_TASK <= len(tasks)


def room_of(
    trace: ScheduleInput,
    submissions: Index,
    planned: Index,
) -> dict[str, float | None]:
    """Return shares of the capacity, and of the time of machines with tasks, by column of the result.

    A resource is stranded as far as its free share of a machine is above that of the other resource: no task of the
    machine's own shape could take it.

    Parameters
    ----------
    trace
        What was replayed.
    submissions
        What :func:`borgtrace.scheduling.events.run` returned.
    planned
        What tasks are planned with, int64 (n, 2).
    """
    # Two events of each submission that ran, by machine and time.
    ran = submissions[(submissions[:, STARTED] >= 0) & (submissions[:, RAN_ON] >= 0)]
    ended = np.where(ran[:, ENDED] >= 0, ran[:, ENDED], trace.until)
    machine = np.tile(ran[:, RAN_ON], 2)
    time = np.concatenate([ran[:, STARTED], ended])
    order = np.lexsort((time, machine))
    task = np.tile(ran[:, ATTEMPT], 2)[order]
    sign = np.repeat((1, -1), len(ran))[order, None]
    machine = machine[order]
    time = time[order]
    is_same_machine = np.diff(machine, append=-1) == 0
    # How long each state of a machine lasts, until its next event.
    lasts = np.where(is_same_machine, np.diff(time, append=0), 0).astype(np.float64)
    capacity = trace.machines.capacity[machine, :EXTENDED]
    n_tasks = np.cumsum(sign)
    busy = float(lasts[n_tasks > 0].sum())

    def taken(sizes: Index) -> Index:
        # What begins on a machine ends there: the sum of each begins with 0.
        return np.asarray(np.cumsum(sizes[task] * sign, axis=0))

    def share_above(sizes: Index) -> float:
        is_above = (taken(sizes) > capacity).any(axis=1)
        return float(lasts[is_above].sum() / max(busy, 1.0))

    free: Numbers = np.maximum(1 - taken(planned) / capacity, 0)
    excess = np.maximum(free - free[:, ::-1], 0)
    stranded = (excess * capacity * lasts[:, None]).sum(axis=0)
    span = float(max(trace.until, 1))
    stranded_share = stranded / (trace.machines.capacity.sum(axis=0)[:EXTENDED] * span)
    tasks = trace.tasks
    return {
        "machines": busy / max(trace.until, 1),
        "tasks_per_machine": float((lasts @ n_tasks) / max(busy, 1.0)),
        "stranded_cpu": float(stranded_share[CPU]),
        "stranded_memory": float(stranded_share[MEMORY]),
        "overcommitted": share_above(tasks.sizes),
        "overloaded": share_above(tasks.used) if is_covered(tasks) else None,
    }
