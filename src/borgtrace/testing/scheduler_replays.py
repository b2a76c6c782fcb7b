"""A made-up trace under a scheduler that knows lifetimes: as in plain Python, and blind to what comes later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.scheduling.changes import make_changes
from borgtrace.scheduling.lifetimes import LEARNED, ORACLE
from borgtrace.scheduling.machine_attributes import MachineAttributes, attribute_number
from borgtrace.scheduling.machines import UNIT
from borgtrace.scheduling.own_scheduler import fields_of, machine_view, task_view
from borgtrace.scheduling.policies import PlacementPolicy
from borgtrace.scheduling.replay import ScheduleInput, demand_of, replayed
from borgtrace.scheduling.scheduler import Scheduler
from borgtrace.scheduling.state import ATTEMPT, RAN_ON, STARTED
from borgtrace.scheduling.workload import KnownMachines, TaskAttempts
from borgtrace.schema.time import DAY, HOUR
from borgtrace.testing.plain_schedulers import plain_score
from borgtrace.testing.trial import Trials

_MACHINES = 12
_TASKS = 240
_SPAN = 3 * DAY
_NOW = 2 * DAY + 7 * HOUR
"""What comes after it is another future."""


def check_replays(trials: Trials, scheduler: Scheduler) -> None:
    """Check that a small trace is replayed as in plain Python, and that no future changes what came before.

    Parameters
    ----------
    trials
        Where failures go.
    scheduler
        One that knows lifetimes, whose functions keep their contract in plain Python.
    """
    trace = made_up_trace(scheduler.attributes)
    found = trials.call("", lambda: machines_of(scheduler, trace, ORACLE))
    if found is None:
        return
    expected = plain_machines(scheduler, trace)
    # From the first one that waits on, the two may differ.
    n = int(np.append(np.flatnonzero(expected < 0), len(expected))[0])
    n_other = int((found[:n] != expected[:n]).sum())
    if n_other:
        trials.add(
            f"compiled it places {n_other} of {n} tasks on other machines than in Python: "
            "its result may follow from its arguments alone, by numbers below 2**63"
        )
    before = trace.arrivals < _NOW
    machines = [machines_of(scheduler, each, LEARNED) for each in (trace, with_other_future(trace))]
    if (machines[0][before] != machines[1][before]).any():
        trials.add(
            "what comes later in the trace changes where tasks went before: it may not look ahead"
        )


def machines_of(scheduler: Scheduler, trace: ScheduleInput, lifetimes: str) -> Index:
    """Return the machine of each attempt that started before the other future, −1 for others: int64 (n,)."""
    policy = replace(PlacementPolicy.of(scheduler), lifetimes=lifetimes)
    rows = replayed(trace, policy, 1.0)
    machines = np.full(len(trace.tasks), -1)
    has_started = (rows[:, STARTED] >= 0) & ((lifetimes == ORACLE) | (rows[:, STARTED] < _NOW))
    machines[rows[has_started, ATTEMPT]] = rows[has_started, RAN_ON]
    return machines


def made_up_trace(attributes: Sequence[str]) -> ScheduleInput:
    """Return three days of short and long tasks on machines of two shapes, one of which changes after a day."""
    rng = np.random.default_rng(0)
    arrivals = np.sort(rng.choice(_SPAN, _TASKS, replace=False))
    is_long = rng.random(_TASKS) < 0.3
    hours = np.where(is_long, rng.lognormal(2.5, 1.0, _TASKS), rng.lognormal(-1.0, 1.0, _TASKS))
    ends = arrivals + (hours * HOUR).astype(np.int64) + 1
    sizes = (rng.choice([1, 2, 3, 5], (_TASKS, 2)) * UNIT) // 32
    capacity = np.array([[UNIT, UNIT // 2], [UNIT // 2, UNIT // 2]])[np.arange(_MACHINES) % 2]
    ids = np.arange(_MACHINES)
    first = made_up_attributes(attributes, _MACHINES)
    places = np.arange(len(attributes))
    return ScheduleInput(
        tasks=attempts_of(arrivals, ends, sizes, is_long.astype(np.int64)),
        arrivals=arrivals,
        machines=KnownMachines(ids, capacity),
        changes=make_changes(0, ids, True, 0),
        allowed=np.empty((0, _MACHINES), np.bool_),
        until=_SPAN,
        unknown_machine=0,
        without_submit=0,
        attributes=MachineAttributes(
            names=tuple(attributes),
            first=first,
            changes=np.column_stack(
                [np.full_like(places, DAY), np.zeros_like(places), places, -1 - places]
            ),
            values=first[-1],
        ),
    )


def attempts_of(arrivals: Index, ends: Index, sizes: Index, tier: Index) -> TaskAttempts:
    """Return tasks that started when they came: free ones, and of production."""
    n = len(arrivals)
    zero = np.zeros(n, np.int64)
    unknown = np.full(n, -1)
    return TaskAttempts(
        collection=np.arange(n),
        instance=zero,
        attempt=zero,
        priority=tier * 200,
        tier=tier,
        tiers=("free", "production"),
        sizes=sizes,
        is_apart=np.zeros(n, np.bool_),
        sets=zero,
        demanded=(),
        user=zero,
        times={
            "submit_time": arrivals,
            "queue_time": unknown,
            "enable_time": unknown,
            "schedule_time": arrivals,
            "left_time": ends,
        },
        machine=unknown,
        without_request=0,
        used=sizes,
        without_usage=0,
        ends=np.full(n, "FINISH"),
        extended=np.empty((n, 0), np.int64),
    )


def made_up_attributes(names: Sequence[str], machines: int) -> Numbers:
    """Return attributes of so many machines: a number, a word, another number, or none."""
    values = np.array([1.0, attribute_number("a word"), 2.0, np.nan])
    places = np.arange(machines)[:, None] + np.arange(len(names))
    return values[places % len(values)]


def with_other_future(trace: ScheduleInput) -> ScheduleInput:
    """Return the same until a moment: what runs then ends at other times, and other tasks arrive."""
    rng = np.random.default_rng(1)
    ends = trace.tasks.times["left_time"].copy()
    is_later = ends >= _NOW
    earliest = np.maximum(_NOW, trace.arrivals[is_later])
    ends[is_later] = earliest + rng.integers(1, DAY, is_later.sum())
    sizes = trace.tasks.sizes.copy()
    is_to_come = trace.arrivals >= _NOW
    sizes[is_to_come] = rng.permutation(sizes[is_to_come])
    times = trace.tasks.times | {"left_time": ends}
    return replace(trace, tasks=replace(trace.tasks, times=times, sizes=sizes))


def plain_machines(scheduler: Scheduler, trace: ScheduleInput) -> Index:
    """Return the machine of each task where its life is known, all machines asked in plain Python; −1: it waits."""
    fields = fields_of(demand_of(trace, 1.0), has_gpus=False)
    n = len(trace.tasks)
    choices = np.full(n, -1)
    lives = lives_of(trace)
    for task, now in enumerate(trace.arrivals.tolist()):
        view = task_view(scheduler, fields[task], float(lives[task] / HOUR))
        is_there = (choices >= 0) & (trace.arrivals + lives > now)
        least = np.inf
        for machine, capacity in enumerate(trace.machines.capacity):
            tasks = np.flatnonzero(is_there & (choices == machine))
            free = capacity - trace.tasks.sizes[tasks].sum(axis=0)
            if (trace.tasks.sizes[task] > free).any():
                continue
            left = trace.arrivals[tasks] + lives[tasks] - now
            seen = machine_view(
                scheduler,
                np.concatenate([capacity, free, [len(tasks)]]),
                has_gpus=False,
                attributes=attributes_at(trace.attributes, machine, now),
                remaining=float(left.max(initial=0.0) / HOUR),
            )
            score = plain_score(scheduler, view, seen)
            if score < least:
                least = score
                choices[task] = machine
        if choices[task] < 0:
            break
    return choices


def lives_of(trace: ScheduleInput) -> Numbers:
    """Return how long each task runs, µs; infinity where it goes on when the trace ends."""
    ends = trace.tasks.times["left_time"]
    return np.where(ends <= trace.until, ends - trace.arrivals, np.inf)


def attributes_at(attributes: MachineAttributes, machine: int, now: int) -> Numbers:
    """Return the attributes of a machine at a time, µs."""
    values = attributes.first[machine].copy()
    for time, line, value, which in attributes.changes.tolist():
        if line == machine and time <= now:
            values[-1 - which] = attributes.values[value]
    return values
