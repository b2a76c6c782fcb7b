"""One row per attempt: a thing's life from one SUBMIT to its end.

A life is a sequence of attempts; an attempt runs through the steps *submit*, *queue* (QUEUE, ENABLE),
*schedule*, *end* (EVICT, FAIL, FINISH, KILL, LOST), each at most once except *queue*.  An event that does
not lead further begins the next attempt, so that a lost SUBMIT or a lost end costs a time, never a task.
UPDATE_* events are left out here: the step before an update stays the predecessor of the event
after it.
"""

from collections.abc import Sequence

import ibis

from borgtrace.lifecycle.order import in_order
from borgtrace.schema import TERMINAL_EVENTS, UPDATE_EVENTS, Dialect
from borgtrace.schema.time import AFTER_TRACE, BEFORE_TRACE

_STEPS = ("SUBMIT", "QUEUE", "ENABLE", "SCHEDULE", *TERMINAL_EVENTS)
_SUBMIT, _QUEUE, _ENABLE, _SCHEDULE, _FIRST_END = range(5)
"""Steps are small integers while events are sorted and grouped: text would cost half the time again."""
_ASKED = ("collection_type", "priority", "scheduling_class", "cpu_request", "memory_request")
CARRIED = (*_ASKED, "alloc_collection_id", "machine_id")
"""Columns an attempt takes from its SCHEDULE, else from its other events."""


def attempts(events: ibis.Table, dialect: Dialect) -> ibis.Table:
    """Return the attempts of collections or instances.

    Parameters
    ----------
    events
        ``collection_events`` or ``instance_events``.
    dialect
        Says how equal times are settled (:mod:`borgtrace.lifecycle.order`).

    Returns
    -------
    ibis.Table
        Columns of ``instance_attempts`` or ``collection_attempts``; times in µs.
    """
    key = key_of(events)
    carried = [name for name in CARRIED if name in events.columns]
    # Dropped before pairs are looked at: an end after UPDATE_RUNNING must still have the SCHEDULE before it (643,130
    # updates in 2011).
    lives = events.filter(~events.type.isin(UPDATE_EVENTS))
    steps, order = in_order(lives, key, dialect)
    columns = dict.fromkeys((*key, *order, *carried))
    coded = steps.select(
        *(name for name in columns if name != "collection_type"),
        step=steps.type.cases(*((name, step) for step, name in enumerate(_STEPS))).cast("int8"),
        # One byte instead of a text goes through the sort and the grouping.
        is_job=steps.collection_type == "JOB",
        # The format documents make up events that were never recorded, at a time by which they had happened.
        is_seen=steps.missing_type.isnull(),
    )
    return _finish(_summarise(_number(coded, key, order), key, carried), carried)


def key_of(events: ibis.Table) -> tuple[str, ...]:
    """Return the columns that identify the thing an event happens to."""
    is_instance = "instance_index" in events.columns
    return ("collection_id", "instance_index") if is_instance else ("collection_id",)


def _leads_back(step: ibis.Value, after: ibis.Value) -> ibis.Value:
    """Whether the step `after` cannot belong to the same attempt as the step before it."""
    # QUEUE and ENABLE may take turns: what is enabled can be queued again before it is scheduled.
    is_queueing = step.isin((_QUEUE, _ENABLE)) & after.isin((_QUEUE, _ENABLE))
    return (step >= _FIRST_END) | ((after <= step) & ~is_queueing)


def _number(steps: ibis.Table, key: Sequence[str], order: Sequence[str]) -> ibis.Table:
    """Number the attempts of each life from 1 and look one event ahead."""
    life = ibis.window(group_by=list(key), order_by=list(order))
    seen = steps.mutate(
        step_before=steps.step.lag().over(life),
        step_after=steps.step.lead().over(life),
        # Where the end of an attempt is lost, the event that begins the next one bounds it.
        next_time=steps.time.lead().over(life),
    )
    # TRUE or NULL is TRUE: a first event begins an attempt although nothing can be said of a step before it.
    begins = seen.step_before.isnull() | _leads_back(seen.step_before, seen.step)
    begun = seen.mutate(begins=begins.cast("int32"))
    so_far = ibis.cumulative_window(group_by=list(key), order_by=list(order))
    # The cast, because DuckDB adds integers up as HUGEINT.
    return begun.mutate(attempt=begun.begins.sum().over(so_far).cast("int32"))


def _summarise(steps: ibis.Table, key: Sequence[str], carried: Sequence[str]) -> ibis.Table:
    is_end = steps.step >= _FIRST_END
    is_schedule = steps.step == _SCHEDULE
    # A step that leads back while this attempt has no end: its end is lost.
    is_cut = ~is_end & _leads_back(steps.step, steps.step_after)
    values = {
        # In 2011, 37,313 tasks at time 0 carry other requests on SUBMIT; the published stocks are those of SCHEDULE.
        # An attempt has one SCHEDULE at most; among its other events max() is the same whatever the order of rows.
        name: ibis.coalesce(steps[name].max(where=is_schedule), steps[name].max())
        for name in carried
        if name != "collection_type"
    }
    return steps.group_by(*key, "attempt").aggregate(
        is_job=steps.is_job.max(),
        **values,
        begin_time=steps.time.min(),
        submit_time=steps.time.min(where=steps.step == _SUBMIT),
        submit_priority=steps.priority.max(where=steps.step == _SUBMIT),
        # The batch queue may hold an attempt more than once: from the first QUEUE to the last ENABLE.
        queue_time=steps.time.min(where=steps.step == _QUEUE),
        enable_time=steps.time.max(where=steps.step == _ENABLE),
        schedule_time=steps.time.min(where=is_schedule),
        end_time=steps.time.max(where=is_end),
        end=steps.step.max(where=is_end),
        cut_time=steps.next_time.max(where=is_cut),
        next_time=steps.next_time.max(where=is_end),
        is_wait_seen=steps.is_seen.min(where=steps.step.isin((_SUBMIT, _SCHEDULE))),
        is_run_seen=steps.is_seen.min(where=steps.step >= _SCHEDULE),
    )


def _finish(rows: ibis.Table, carried: Sequence[str]) -> ibis.Table:
    """Decode, and add what follows from the times."""
    # A life has one attempt at a time, so that one without an end has left by the start of the next.
    left = ibis.coalesce(rows.end_time, rows.cut_time)
    # Time 0 says "before the trace", not when, and the time of an event that was made up bounds it: a difference from
    # either is no duration. Where a time is NULL the test is NULL too, and ifelse() takes its second branch.
    has_waited = (
        (rows.submit_time > BEFORE_TRACE) & (rows.schedule_time != AFTER_TRACE) & rows.is_wait_seen
    )
    has_run = (
        (rows.schedule_time > BEFORE_TRACE) & (rows.end_time != AFTER_TRACE) & rows.is_run_seen
    )
    nothing = ibis.null("int64")
    key = rows.columns[: rows.columns.index("attempt") + 1]
    return rows.select(
        *key,
        *(
            rows.is_job.ifelse("JOB", "ALLOC_SET").name(name) if name == "collection_type" else name
            for name in carried
        ),
        "begin_time",
        "submit_time",
        "submit_priority",
        "queue_time",
        "enable_time",
        "schedule_time",
        "end_time",
        rows.end.cases(*enumerate(_STEPS)).name("end_type"),
        left.name("left_time"),
        "next_time",
        has_waited.ifelse(rows.schedule_time - rows.submit_time, nothing).name("wait"),
        has_run.ifelse(rows.end_time - rows.schedule_time, nothing).name("run"),
        (rows.begin_time == BEFORE_TRACE).name("is_left_censored"),
        (left.isnull() | (left == AFTER_TRACE)).name("is_right_censored"),
    )
