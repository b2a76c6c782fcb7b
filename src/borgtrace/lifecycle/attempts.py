"""One row per attempt: a thing's life from one SUBMIT to its end.

A life is a sequence of attempts; an attempt runs through the steps *submit*, *queue* (QUEUE, ENABLE),
*schedule*, *end* (EVICT, FAIL, FINISH, KILL, LOST), each at most once except *queue*.  An event that does
not lead further begins the next attempt, so a lost SUBMIT or a lost end costs a time, never a task.
UPDATE_* events are ignored: the step before an update stays the predecessor of the event after it.
"""

from collections.abc import Sequence

import ibis

from borgtrace.lifecycle.order import in_order
from borgtrace.lifecycle.requests import in_force, only
from borgtrace.schema import TERMINAL_EVENTS, UPDATE_EVENTS, Dialect
from borgtrace.schema.time import AFTER_TRACE, BEFORE_TRACE

_STEPS = ("SUBMIT", "QUEUE", "ENABLE", "SCHEDULE", *TERMINAL_EVENTS)
_CODES_OF_STEPS = [(name, step) for step, name in enumerate(_STEPS)]
_STEPS_OF_CODES = list(enumerate(_STEPS))
_SUBMIT, _QUEUE, _ENABLE, _SCHEDULE, _FIRST_END = range(5)
"""Steps are small integers while events are sorted and grouped: text would take half as long again."""
CARRIED = (
    "collection_type",
    "priority",
    "scheduling_class",
    "cpu_request",
    "memory_request",
    "needs_different_machine",
    "alloc_collection_id",
    "machine_id",
)
"""Columns of which an attempt has the values in force (:mod:`borgtrace.lifecycle.requests`)."""


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
    # Before pairs are formed: an end after UPDATE_RUNNING must still follow its SCHEDULE (643,130 updates in 2011).
    lives = events.filter(~events.type.isin(UPDATE_EVENTS))
    steps, order = in_order(lives, key, dialect)
    columns = dict.fromkeys((*key, *order, *carried))
    columns.pop("collection_type", None)
    coded = steps.select(
        *columns,
        step=steps.type.cases(*_CODES_OF_STEPS).cast("int8"),
        # One byte instead of a text goes through the sort and the grouping.
        is_job=steps.collection_type == "JOB",
        # The trace makes up events that were never recorded, at a time by which they had happened.
        is_seen=steps.missing_type.isnull(),
    )
    numbered = _number_attempts(coded, key, order)
    summarized = _summarize_attempts(numbered, key, carried)
    return _finish(summarized, carried)


def key_of(events: ibis.Table) -> tuple[str, ...]:
    """Return the columns that identify the thing an event happens to."""
    if "instance_index" in events.columns:
        return ("collection_id", "instance_index")
    return ("collection_id",)


def _leads_back(step: ibis.Value, after: ibis.Value) -> ibis.Value:
    """Whether the step `after` cannot belong to the same attempt as the step before it."""
    # QUEUE and ENABLE may take turns: what is enabled can be queued again before it is scheduled.
    is_queueing = step.isin((_QUEUE, _ENABLE)) & after.isin((_QUEUE, _ENABLE))
    return (step >= _FIRST_END) | ((after <= step) & ~is_queueing)


def _number_attempts(
    steps: ibis.Table,
    key: Sequence[str],
    order: Sequence[str],
) -> ibis.Table:
    """Number the attempts of each life from 1 and look one event ahead."""
    life = ibis.window(group_by=list(key), order_by=list(order))
    with_neighbors = steps.mutate(
        step_before=steps.step.lag().over(life),
        step_after=steps.step.lead().over(life),
        # Where the end of an attempt is lost, the event that begins the next one bounds it.
        next_time=steps.time.lead().over(life),
    )
    step_before = with_neighbors.step_before
    # TRUE or NULL is TRUE: the first event begins an attempt although there is no step before it.
    begins = step_before.isnull() | _leads_back(step_before, with_neighbors.step)
    with_begins = with_neighbors.mutate(begins=begins.cast("int32"))
    so_far = ibis.cumulative_window(group_by=list(key), order_by=list(order))
    # The cast, because DuckDB adds integers up as HUGEINT.
    attempt = with_begins.begins.sum().over(so_far).cast("int32")
    return with_begins.mutate(attempt=attempt)


def _summarize_attempts(
    steps: ibis.Table,
    key: Sequence[str],
    carried: Sequence[str],
) -> ibis.Table:
    step = steps.step
    time = steps.time
    is_submit = step == _SUBMIT
    is_schedule = step == _SCHEDULE
    is_end = step >= _FIRST_END
    # A step that leads back while this attempt has no end: its end is lost.
    is_cut = ~is_end & _leads_back(step, steps.step_after)
    carried_values = {}
    for name in carried:
        if name != "collection_type":
            carried_values[name] = in_force(steps[name], is_schedule=is_schedule, is_end=is_end)
    is_waiting_step = step.isin((_SUBMIT, _SCHEDULE))
    return steps.group_by(*key, "attempt").aggregate(
        is_job=steps.is_job.max(),
        **carried_values,
        begin_time=time.min(),
        submit_time=only(time, is_submit).min(),
        submit_priority=only(steps.priority, is_submit).max(),
        # The batch queue may hold an attempt more than once: from the first QUEUE to the last ENABLE.
        queue_time=only(time, step == _QUEUE).min(),
        enable_time=only(time, step == _ENABLE).max(),
        schedule_time=only(time, is_schedule).min(),
        end_time=only(time, is_end).max(),
        end=only(step, is_end).max(),
        cut_time=only(steps.next_time, is_cut).max(),
        next_time=only(steps.next_time, is_end).max(),
        is_wait_seen=only(steps.is_seen, is_waiting_step).min(),
        is_run_seen=only(steps.is_seen, step >= _SCHEDULE).min(),
    )


def _finish(rows: ibis.Table, carried: Sequence[str]) -> ibis.Table:
    """Decode, and add what follows from the times."""
    # A life has one attempt at a time, so an attempt without an end has left by the start of the next.
    left = ibis.coalesce(rows.end_time, rows.cut_time)
    # Time 0 says "before the trace", not when, and the time of a made-up event is only a bound: a difference from
    # either is no duration.  Where a time is NULL the test is NULL too, and ifelse() takes its second branch.
    is_submit_known = rows.submit_time > BEFORE_TRACE
    is_schedule_known = rows.schedule_time != AFTER_TRACE
    has_waited = is_submit_known & is_schedule_known & rows.is_wait_seen
    is_start_known = rows.schedule_time > BEFORE_TRACE
    is_end_known = rows.end_time != AFTER_TRACE
    has_run = is_start_known & is_end_known & rows.is_run_seen
    unknown = ibis.null("int64")
    wait = has_waited.ifelse(rows.schedule_time - rows.submit_time, unknown)
    run = has_run.ifelse(rows.end_time - rows.schedule_time, unknown)
    key = rows.columns[: rows.columns.index("attempt") + 1]
    collection_type = rows.is_job.ifelse("JOB", "ALLOC_SET").name("collection_type")
    carried_columns = [
        collection_type if name == "collection_type" else rows[name] for name in carried
    ]
    return rows.select(
        *key,
        *carried_columns,
        "begin_time",
        "submit_time",
        "submit_priority",
        "queue_time",
        "enable_time",
        "schedule_time",
        "end_time",
        rows.end.cases(*_STEPS_OF_CODES).name("end_type"),
        left.name("left_time"),
        "next_time",
        wait.name("wait"),
        run.name("run"),
        (rows.begin_time == BEFORE_TRACE).name("is_left_censored"),
        (left.isnull() | (left == AFTER_TRACE)).name("is_right_censored"),
    )
