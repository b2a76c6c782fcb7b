"""Traces of a few typed rows, for what needs no store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from borgtrace.scheduling.changes import make_changes
from borgtrace.scheduling.machines import UNIT
from borgtrace.scheduling.replay import ScheduleInput
from borgtrace.scheduling.state import ATTEMPT, ENDED, STARTED, SUBMITTED
from borgtrace.scheduling.workload import KnownMachines, TaskAttempts

TIERS = ("free", "other", "production")
Attempt = tuple[int, int, int, int, int, float, int]
"""Job, attempt, arrival, start, end (µs; −1: none), size in machines, place of the tier."""


class AttemptColumns(NamedTuple):
    """The columns of attempts."""

    job: np.ndarray
    attempt: np.ndarray
    arrival: np.ndarray
    start: np.ndarray
    end: np.ndarray
    size: np.ndarray
    tier: np.ndarray


def trace_of(
    attempts: Sequence[Attempt],
    machines: Sequence[float] = (1.0,),
    until: int = 1000,
) -> ScheduleInput:
    """Return a trace of tasks that ran on the first machine; all machines are there from the start."""
    columns = AttemptColumns(*(np.array(column) for column in zip(*attempts, strict=True)))
    ids = np.arange(1, len(machines) + 1)
    return ScheduleInput(
        tasks=tasks_of(columns),
        arrivals=columns.arrival,
        machines=KnownMachines(ids, in_units(machines)),
        changes=make_changes(0, ids - 1, True, 0),
        allowed=np.empty((0, len(ids)), np.bool_),
        until=until,
        unknown_machine=0,
        without_submit=0,
    )


def tasks_of(columns: AttemptColumns) -> TaskAttempts:
    """Return attempts as a scheduler reads them; half of what they ask for is used."""
    n = len(columns.job)
    zero = np.zeros(n, np.int64)
    nowhere = np.full(n, -1)
    sizes = in_units(columns.size)
    return TaskAttempts(
        collection=columns.job,
        instance=zero,
        attempt=columns.attempt,
        priority=columns.tier * 4,
        tier=columns.tier,
        tiers=TIERS,
        sizes=sizes,
        is_apart=np.zeros(n, np.bool_),
        sets=zero.copy(),
        demanded=(),
        user=zero.copy(),
        times={
            "queue_time": nowhere,
            "enable_time": nowhere,
            "submit_time": columns.arrival,
            "schedule_time": columns.start,
            "left_time": columns.end,
        },
        machine=np.where(columns.start >= 0, 1, -1),
        without_request=0,
        used=sizes // 2,
        without_usage=0,
        ends=np.full(n, "FINISH"),
        extended=np.empty((n, 0), np.int64),
    )


def in_units(sizes: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return as much CPU as memory for each, in units."""
    return np.rint(np.column_stack([sizes, sizes]) * UNIT).astype(np.int64)


class Levels(NamedTuple):
    """Instants at which a tier changes, and how many of it are pending and running from each on."""

    time: np.ndarray
    pending: np.ndarray
    running: np.ndarray


def levels(trace: ScheduleInput, rows: np.ndarray, tier: int) -> Levels:
    """Count pending and running submissions of a tier.

    Parameters
    ----------
    trace, rows
        What was replayed, and what came of it.
    tier
        Its place among the tiers.
    """
    own = rows[trace.tasks.tier[rows[:, ATTEMPT]] == tier]
    has_start = own[:, STARTED] >= 0
    has_end = own[:, ENDED] >= 0
    submitted = own[:, SUBMITTED]
    started = own[has_start, STARTED]
    withdrawn = own[has_end & ~has_start, ENDED]
    ended = own[has_end & has_start, ENDED]
    instants = np.concatenate([submitted, started, withdrawn, ended])
    counts = (len(submitted), len(started), len(withdrawn), len(ended))
    pending = np.repeat((1, -1, -1, 0), counts)
    running = np.repeat((0, 1, 0, -1), counts)
    times, place = np.unique(instants, return_inverse=True)

    def level(changes: np.ndarray) -> np.ndarray:
        sums = np.bincount(place, changes, len(times)).cumsum()
        return np.rint(sums).astype(np.int64)

    return Levels(times, level(pending), level(running))
