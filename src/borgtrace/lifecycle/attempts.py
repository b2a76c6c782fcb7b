"""One row per attempt: a thing's life from one SUBMIT to its end.

A life is a sequence of attempts; an attempt runs through the steps *submit*, *queue* (QUEUE, ENABLE),
*schedule*, *end* (EVICT, FAIL, FINISH, KILL, LOST), each at most once except *queue*.  An event that does not lead
further begins the next attempt, so that a lost SUBMIT or a lost end costs a time, never a task.
UPDATE_* events are left out here: the step before an update stays the predecessor of the event
after it.
"""

from __future__ import annotations

from collections.abc import Sequence

import ibis
import ibis.expr.types as ir

from borgtrace.lifecycle.order import Ordered, in_order
from borgtrace.schema import UPDATE_EVENTS
from borgtrace.schema.time import AFTER_TRACE, BEFORE_TRACE

_STEPS = {"SUBMIT": 0, "QUEUE": 1, "ENABLE": 1, "SCHEDULE": 2}
_END = 3
_QUEUE = 1
_CARRIED = (
    "collection_type", "priority", "scheduling_class", "cpu_request", "memory_request",
    "alloc_collection_id", "machine_id",
)  # fmt: skip
"""Columns an attempt takes from its SCHEDULE, else from its other events."""


def attempts(events: ir.Table, generation: str) -> ir.Table:
    """Return the attempts of collections or instances.

    Parameters
    ----------
    events
        ``collection_events`` or ``instance_events``.
    generation
        ``"2011"`` or ``"2019"``: how equal times are settled (:mod:`borgtrace.lifecycle.order`).

    Returns
    -------
    ir.Table
        Columns of ``INSTANCE_ATTEMPTS`` or ``COLLECTION_ATTEMPTS``; times in µs.
    """
    key = key_of(events)
    carried = [name for name in _CARRIED if name in events.columns]
    columns = (*key, "time", "type", "source_part", "source_row", *carried)
    steps = events.filter(~events.type.isin(UPDATE_EVENTS)).select(*columns)
    numbered = _number(in_order(steps, key, generation), key)
    return _durations(_summarise(numbered, key, carried), carried)


def key_of(events: ir.Table) -> tuple[str, ...]:
    """Return the columns that identify the thing an event happens to."""
    is_instance = "instance_index" in events.columns
    return ("collection_id", "instance_index") if is_instance else ("collection_id",)


def _step(type_: ir.Value) -> ir.Value:
    return type_.cases(*_STEPS.items(), else_=_END).cast("int32")


def _leads_back(step: ir.Value, after: ir.Value) -> ir.Value:
    """Whether the step `after` cannot belong to the same attempt as the step before it."""
    return (after < step) | ((after == step) & (after != _QUEUE))


def _number(ordered: Ordered, key: Sequence[str]) -> ir.Table:
    """Number the attempts of each life from 1 and look one event ahead."""
    life = ibis.window(group_by=list(key), order_by=list(ordered.order))
    steps = ordered.events.mutate(step=_step(ordered.events.type))
    seen = steps.mutate(
        step_before=steps.step.lag().over(life),
        step_after=steps.step.lead().over(life),
        next_time=steps.time.lead().over(life),
    )
    begins = seen.step_before.isnull() | _leads_back(seen.step_before, seen.step)
    begun = seen.mutate(begins=begins.cast("int32"))
    so_far = ibis.cumulative_window(group_by=list(key), order_by=list(ordered.order))
    return begun.mutate(attempt=begun.begins.sum().over(so_far).cast("int32"))


def _summarise(steps: ir.Table, key: Sequence[str], carried: Sequence[str]) -> ir.Table:
    is_end = steps.step == _END
    is_schedule = steps.step == _STEPS["SCHEDULE"]
    is_cut = ~is_end & _leads_back(steps.step, steps.step_after)
    values = {name: ibis.coalesce(steps[name].max(where=is_schedule), steps[name].max()) for name in carried}
    return steps.group_by(*key, "attempt").aggregate(
        **values,
        begin_time=steps.time.min(),
        submit_time=steps.time.min(where=steps.type == "SUBMIT"),
        queue_time=steps.time.min(where=steps.type == "QUEUE"),
        enable_time=steps.time.max(where=steps.type == "ENABLE"),
        schedule_time=steps.time.min(where=is_schedule),
        end_time=steps.time.max(where=is_end),
        end_type=steps.type.max(where=is_end),
        cut_time=steps.next_time.max(where=is_cut),
        next_time=steps.next_time.max(where=is_end),
    )


def _durations(rows: ir.Table, carried: Sequence[str]) -> ir.Table:
    has_end = rows.end_time != AFTER_TRACE
    left = ibis.coalesce(rows.end_time, rows.cut_time)
    started = rows.schedule_time > BEFORE_TRACE
    waited = (rows.submit_time > BEFORE_TRACE) & (rows.schedule_time != AFTER_TRACE)
    nothing = ibis.null("int64")
    order = [name for name in rows.columns if name not in (*carried, "cut_time", "next_time")]
    at = order.index("attempt") + 1
    return rows.mutate(
        left_time=left,
        wait=waited.ifelse(rows.schedule_time - rows.submit_time, nothing),
        run=(started & has_end).ifelse(rows.end_time - rows.schedule_time, nothing),
        is_left_censored=rows.begin_time == BEFORE_TRACE,
        is_right_censored=left.isnull() | (left == AFTER_TRACE),
    ).select(
        *order[:at], *carried, *order[at:],
        "left_time", "next_time", "wait", "run", "is_left_censored", "is_right_censored",
    )  # fmt: skip
