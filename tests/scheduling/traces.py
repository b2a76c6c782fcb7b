"""Traces of a few typed rows, for what needs no store."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from borgtrace.scheduling.machines import UNIT
from borgtrace.scheduling.replay import ReplayInput
from borgtrace.scheduling.workload import CellMachines, TaskAttempts

TIERS = ("free", "other", "production")
Attempt = tuple[int, int, int, int, int, float, int]
"""Job, attempt, arrival, start, end (µs; −1: none), size in machines, place of the tier."""


def trace_of(
    attempts: Sequence[Attempt], machines: Sequence[float] = (1.0,), until: int = 1000
) -> ReplayInput:
    """Return a trace of tasks that ran on the first machine; all machines are there from the start."""
    job, attempt, arrival, start, end, size, tier = (
        np.array(column) for column in zip(*attempts, strict=True)
    )
    n = len(attempts)
    nowhere = np.full(len(attempts), -1)
    times = dict.fromkeys(("queue_time", "enable_time"), nowhere)
    times |= {
        "submit_time": arrival,
        "schedule_time": start,
        "left_time": end,
    }
    sizes = np.rint(np.column_stack([size, size]) * UNIT).astype(np.int64)
    tasks = TaskAttempts(
        *(job, np.zeros(n, np.int64), attempt, tier * 4, tier, TIERS, sizes, np.zeros(n, np.bool_)),
        *(np.zeros(n, np.int64), (), np.zeros(n, np.int64), times, np.where(start >= 0, 1, -1), 0),
        *(sizes // 2, 0, np.full(n, "FINISH"), np.empty((n, 0), np.int64)),
    )
    ids = np.arange(1, len(machines) + 1)
    capacity = np.rint(np.column_stack([machines, machines]) * UNIT).astype(np.int64)
    changes = np.column_stack([0 * ids, ids - 1, 0 * ids + 1, 0 * ids])
    return ReplayInput(
        tasks,
        arrival,
        CellMachines(ids, capacity),
        changes,
        np.empty((0, len(ids)), np.bool_),
        until,
        0,
        0,
    )


def levels(
    trace: ReplayInput, rows: np.ndarray, tier: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the instants at which a tier changes, and how many of it are pending and running from each on.

    Parameters
    ----------
    trace, rows
        What was replayed, and what came of it.
    tier
        Its place among the tiers.
    """
    rows = rows[trace.tasks.tier[rows[:, 0]] == tier]
    submitted = rows[:, 1]
    started = rows[:, 2]
    ended = rows[:, 3]
    has_start = started >= 0
    has_end = ended >= 0
    waits = submitted[has_start], started[has_start]
    times = np.concatenate(
        [
            submitted,
            waits[1],
            ended[has_end & ~has_start],
            ended[has_end & has_start],
        ]
    )
    parts = (
        len(submitted),
        len(waits[1]),
        int((has_end & ~has_start).sum()),
        int((has_end & has_start).sum()),
    )
    pending = np.repeat((1, -1, -1, 0), parts)
    running = np.repeat((0, 1, 0, -1), parts)
    instants, at = np.unique(times, return_inverse=True)
    sums = (np.bincount(at, change, len(instants)).cumsum() for change in (pending, running))
    return (instants, *(np.rint(total).astype(np.int64) for total in sums))
