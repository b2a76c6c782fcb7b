"""What some tasks used and had requested over time, added up slot by slot: the charts of a machine and of a job."""

from typing import Any

import numpy as np

from borgtrace.explore.lives import Attempts
from borgtrace.explore.span import Span
from borgtrace.explore.trace import Trace
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.schema.time import SECOND, TRACE_START, WINDOW

_START, _SLOT = TRACE_START // SECOND, WINDOW // SECOND


def used(trace: Trace, rows: Index, resource: str, span: Span) -> tuple[Numbers, Index]:
    """Return what was used per tier and slot, and how many windows each slot has.

    Parameters
    ----------
    trace
        What is explored.
    rows
        Usage rows; those of alloc instances are left out, since they contain what their tasks used.
    resource
        ``"cpu"`` or ``"memory"``.
    span
        What is shown.

    Returns
    -------
    tuple
        Shape (tiers, slots), means over the slot in largest machines: every window is weighted by its length and
        belongs to the slot that it starts in; and shape (slots,).
    """
    first, last = span.slots
    start, seconds = (
        trace.store.array(name)[rows].astype(np.int64) for name in ("start_time", "duration")
    )
    value = np.asarray(trace.store.array(f"average_{resource}")[rows], np.float64)
    task = trace.task_of(rows)
    slot = (start - _START) // _SLOT
    kept = (start >= _START) & (slot >= first) & (slot < last) & trace.tasks.is_job[task]
    # A window whose end is not known has the largest length, and no weight: nobody knows how long it was.
    kept &= (seconds > 0) & (seconds < np.iinfo(np.int32).max)
    tier, slot, seconds, value = (
        trace.tasks.tier[task][kept],
        (slot - first)[kept],
        seconds[kept],
        value[kept],
    )
    n, amount = last - first, np.nan_to_num(value) * seconds
    sums = np.bincount(
        tier.astype(np.int64) * n + slot, amount, minlength=len(trace.tasks.tiers) * n
    )
    return sums.reshape(-1, n) / _SLOT, np.bincount(slot, minlength=n)


def requested(trace: Trace, attempts: Attempts, resource: str, span: Span) -> Numbers:
    """Return the sum of the requests of what runs at the start of each slot; shape (slots,).

    Parameters
    ----------
    trace
        What is explored.
    attempts
        Those that count while they run.
    resource
        ``"cpu"`` or ``"memory"``.
    span
        What is shown.
    """
    first, last = span.slots
    request = np.nan_to_num(trace.tasks.request(resource)[attempts.task].astype(np.float64))
    request = np.where(trace.tasks.is_job[attempts.task], request, 0)
    # The first slot whose start is not before the change; what changed before the span counts from its first slot.
    begin, end = (
        np.clip(-((_START - times.astype(np.int64)) // _SLOT) - first, 0, last - first)
        for times in (attempts.schedule, attempts.left)
    )
    change = np.bincount(begin, request, last - first + 1) - np.bincount(
        end, request, last - first + 1
    )
    # Rounding leaves a trace of what was added and taken away again.
    return np.asarray(np.maximum(np.cumsum(change)[:-1], 0))


def lanes(trace: Trace, attempts: Attempts) -> dict[str, Any]:
    """Return attempts as columns: what runs from when to when, as whom, and how it ended.

    ``begin`` is when it was submitted, ``start`` when it was scheduled, ``end`` when it left (µs; None: not known).
    """
    collection, instance = trace.store.task_ids(attempts.task)
    machine = np.where(attempts.machine >= 0, attempts.machine, 0)
    known = trace.pyramid.machines[machine] if len(trace.pyramid.machines) else machine
    times = {
        name: [int(t) * SECOND if t < 2**32 - 1 else None for t in values.tolist()]
        for name, values in (
            ("begin", attempts.begin),
            ("start", attempts.schedule),
            ("end", attempts.left),
        )
    }
    return {
        "collection_id": collection.tolist(),
        "instance_index": instance.tolist(),
        "tier": [trace.tasks.tiers[code] for code in trace.tasks.tier[attempts.task].tolist()],
        "machine_id": [
            int(id_) if at >= 0 else None
            for id_, at in zip(known.tolist(), attempts.machine.tolist(), strict=True)
        ],
        **times,
        "end_type": attempts.end,
        "cpu_request": trace.tasks.request("cpu")[attempts.task].tolist(),
        "memory_request": trace.tasks.request("memory")[attempts.task].tolist(),
    }
