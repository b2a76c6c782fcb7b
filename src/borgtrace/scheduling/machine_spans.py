"""When machines are there, and when they have tasks."""

from typing import NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Index
from borgtrace.scheduling.changes import CHANGE_TIME, CHANGED_MACHINE, CHANGED_SET, IS_THERE
from borgtrace.scheduling.replay import ScheduleInput
from borgtrace.scheduling.state import ENDED, RAN_ON, STARTED


class Spans(NamedTuple):
    """When something begins and ends, µs, and of which machine; int64 (n,)."""

    machine: Index
    begin: Index
    end: Index


def spans_there(trace: ScheduleInput) -> Spans:
    """Return when machines are there."""
    changes = trace.changes[trace.changes[:, CHANGED_SET] == 0]
    # Of one instant the last one counts.
    order = np.lexsort(
        (np.arange(len(changes)), changes[:, CHANGE_TIME], changes[:, CHANGED_MACHINE])
    )
    changes = changes[order]
    machine = changes[:, CHANGED_MACHINE]
    begin = changes[:, CHANGE_TIME]
    is_last = np.append(np.diff(machine) != 0, True)[: len(machine)]
    end = np.where(is_last, trace.until, np.append(begin[1:], 0))
    is_there = (changes[:, IS_THERE] == 1) & (end > begin)
    return Spans(machine[is_there], begin[is_there], end[is_there])


def busy_spans(trace: ScheduleInput, submissions: Index) -> Spans:
    """Return when machines have tasks."""
    ran = submissions[(submissions[:, STARTED] >= 0) & (submissions[:, RAN_ON] >= 0)]
    ended = ends_of(trace, ran)
    machine = np.tile(ran[:, RAN_ON], 2)
    time = np.concatenate([ran[:, STARTED], ended])
    sign = np.repeat((1, -1), len(ran))
    # Of one instant starts come first: a machine that is handed over is not empty.
    order = np.lexsort((-sign, time, machine))
    n_tasks = np.cumsum(sign[order])
    begins = order[(sign[order] == 1) & (n_tasks == 1)]
    ends = order[(sign[order] == -1) & (n_tasks == 0)]
    return Spans(machine[begins], time[begins], time[ends])


def ends_of(trace: ScheduleInput, submissions: Index) -> Index:
    """Return when submissions end, at the latest with the trace."""
    ended = submissions[:, ENDED]
    return np.where(ended >= 0, ended, trace.until)
