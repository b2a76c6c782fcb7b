"""Usage and requests of some tasks over time, summed slot by slot: the charts of a machine and of a job."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from borgtrace.explore.explored_store import ExploredStore
from borgtrace.explore.lives import AFTER, Attempts, Seconds
from borgtrace.explore.span import TimeSpan
from borgtrace.kernels.arrays import Flags, Index, Numbers, ShortIndex
from borgtrace.schema.time import SECOND, TRACE_START, WINDOW

START_SECONDS = TRACE_START // SECOND
SLOT_SECONDS = WINDOW // SECOND
UNKNOWN_LENGTH = np.iinfo(np.int32).max
"""Length of a window whose end is not known."""


class UsedWindows(NamedTuple):
    """Usage windows, in columns of shape (n,): times in s, `tier` by its position."""

    start: Index
    seconds: Index
    value: Numbers
    tier: Index
    is_of_job: Flags


class UsedLoad(NamedTuple):
    """What was used: shape (tiers, slots), and how many windows with a value each slot has, shape (slots,)."""

    by_tier: Numbers
    n_windows: Index

    @property
    def total(self) -> Numbers:
        """What all tiers used, NaN where nothing was measured."""
        return np.where(self.n_windows, self.by_tier.sum(axis=0), np.nan)


def used(
    explored: ExploredStore,
    rows: Index,
    resource: str,
    span: TimeSpan,
) -> UsedLoad:
    """Return what was used per tier and slot, and how many windows each slot has.

    Parameters
    ----------
    explored
        What is explored.
    rows
        Usage rows; those of alloc instances are left out, since they contain what their tasks used.
    resource
        ``"cpu"`` or ``"memory"``.
    span
        What is shown.
    """
    store = explored.store
    task = explored.task_of(rows)
    windows = UsedWindows(
        start=store.array("start_time")[rows].astype(np.int64),
        seconds=store.array("duration")[rows].astype(np.int64),
        value=np.asarray(store.array(f"average_{resource}")[rows], np.float64),
        tier=explored.tasks.tier[task].astype(np.int64),
        is_of_job=explored.tasks.is_job[task],
    )
    return add_windows(windows, len(explored.tasks.tiers), span)


def add_windows(windows: UsedWindows, n_tiers: int, span: TimeSpan) -> UsedLoad:
    """Add up windows by tier and slot: means over the slot in largest machines.

    Every window is weighted by its length and belongs to the slot that it starts in.
    """
    first, last = span.slots
    n_slots = last - first
    slot = (windows.start - START_SECONDS) // SLOT_SECONDS
    is_inside = (windows.start >= START_SECONDS) & (slot >= first) & (slot < last)
    # A window whose end is not known has no weight: nobody knows how long it was.
    has_length = (windows.seconds > 0) & (windows.seconds < UNKNOWN_LENGTH)
    # One without a value was not measured, which is not the same as nothing used.
    has_value = np.isfinite(windows.value)
    chosen = is_inside & has_length & has_value & windows.is_of_job
    slot = (slot - first)[chosen]
    amount = windows.value[chosen] * windows.seconds[chosen]
    sums = np.bincount(
        windows.tier[chosen] * n_slots + slot,
        amount,
        minlength=n_tiers * n_slots,
    )
    n_windows = np.bincount(slot, minlength=n_slots)
    return UsedLoad(sums.reshape(-1, n_slots) / SLOT_SECONDS, n_windows)


def requested(
    explored: ExploredStore,
    attempts: Attempts,
    resource: str,
    span: TimeSpan,
) -> Numbers:
    """Return the sum of the requests of what runs at the start of each slot; shape (slots,).

    Parameters
    ----------
    explored
        What is explored.
    attempts
        Those that count while they run.
    resource
        ``"cpu"`` or ``"memory"``.
    span
        What is shown.
    """
    first, last = span.slots
    n_slots = last - first
    request = explored.tasks.request(resource)[attempts.task].astype(np.float64)
    request = np.where(explored.tasks.is_job[attempts.task], np.nan_to_num(request), 0)
    begin = slots_from(attempts.schedule, span)
    end = slots_from(attempts.left, span)
    added = np.bincount(begin, request, n_slots + 1)
    removed = np.bincount(end, request, n_slots + 1)
    # Rounding leaves a trace of what was added and taken away again.
    return np.asarray(np.maximum(np.cumsum(added - removed)[:-1], 0))


def slots_from(times: Seconds, span: TimeSpan) -> Index:
    """Return the first slot of a span that does not start before each time; what is earlier has its first slot."""
    first, last = span.slots
    slot = -((START_SECONDS - times.astype(np.int64)) // SLOT_SECONDS)
    return np.clip(slot - first, 0, last - first)


def lanes(explored: ExploredStore, attempts: Attempts) -> dict[str, Any]:
    """Return attempts as columns: what runs from when to when, as whom, and how it ended.

    ``begin`` is when it was submitted, ``start`` when it was scheduled, ``end`` when it left (µs; None: not known).
    """
    tasks = explored.tasks
    collection_ids, instance_indexes = explored.store.task_ids(attempts.task)
    return {
        "name": names_of_tasks(explored, collection_ids, instance_indexes),
        "collection_id": collection_ids.tolist(),
        "instance_index": instance_indexes.tolist(),
        "tier": [tasks.tiers[code] for code in tasks.tier[attempts.task].tolist()],
        "machine_id": ids_of_machines(explored.pyramid.machines, attempts.machine),
        "begin": times_or_none(attempts.begin),
        "start": times_or_none(attempts.schedule),
        "end": times_or_none(attempts.left),
        "end_type": attempts.end,
        "cpu_request": tasks.request("cpu")[attempts.task].tolist(),
        "memory_request": tasks.request("memory")[attempts.task].tolist(),
    }


def names_of_tasks(
    explored: ExploredStore,
    collection_ids: Index,
    instance_indexes: ShortIndex,
) -> list[str]:
    """Return what tasks are called, each once looked up however many attempts it has."""
    names = explored.notation.names
    # All at once: one by one each would be a query.
    names.jobs(np.unique(collection_ids).tolist())
    tasks = list(zip(collection_ids.tolist(), instance_indexes.tolist(), strict=True))
    name_of_task = {task: names.task(*task) for task in set(tasks)}
    return [name_of_task[task] for task in tasks]


def ids_of_machines(machines: Index, places: Index) -> list[int | None]:
    """Return the ids of machines by their places, None for the place −1."""
    ids: list[int | None] = []
    for place in places.tolist():
        ids.append(int(machines[place]) if place >= 0 else None)
    return ids


def times_or_none(seconds: Seconds) -> Sequence[int | None]:
    """Return times in µs, None where nothing is known to have happened."""
    times: list[int | None] = []
    for second in seconds.tolist():
        times.append(int(second) * SECOND if second < AFTER else None)
    return times
