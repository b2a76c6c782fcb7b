"""Attempts of tasks and jobs, the four counting processes over them, and how collections end.

The counting processes are those of Zhu et al., Method 3: new, submitted, scheduled and completed tasks.
*New* is the first SUBMIT of a task; submissions include resubmissions.  What happened before the trace
(time 0) is left out, and so is what lies after its end.  Tasks are instances of jobs.
"""

import ibis
import ibis.expr.types as ir

from borgtrace.analyses.shared.histograms import period
from borgtrace.question import Tables
from borgtrace.schema.time import AFTER_TRACE, BEFORE_TRACE, TRACE_START

PROCESSES = ("new", "submitted", "scheduled", "completed")
HUNDREDTH = 10_000
"""A hundredth of a second, µs: waits have few distinct values then, and their distribution stays small."""
PENDING = ("SUBMIT", "QUEUE", "ENABLE", "UPDATE_PENDING")
"""Events after which a task is pending."""
TASK = ("collection_id", "instance_index")
ENDS = ("EVICT", "FAIL", "FINISH", "KILL", "LOST", "NONE")
"""Ways of ending; the last for what was alive at the end of the trace."""


def of_jobs(rows: ir.Table) -> ir.Table:
    """Keep what belongs to jobs: alloc sets and their instances are no tasks."""
    return rows.filter(rows.collection_type == "JOB")


def is_known(time: ir.IntegerValue) -> ir.BooleanValue:
    """Whether a time is one: neither "before the trace" (0) nor "after the trace", which are no times."""
    return (time > BEFORE_TRACE) & (time < AFTER_TRACE)


def is_inside(time: ir.IntegerValue) -> ir.BooleanValue:
    """Whether a time lies within the trace, which starts 600 s after its zero (so that its hours and days do)."""
    return (time >= TRACE_START) & (time < AFTER_TRACE)


def new_jobs(attempts: ir.Table) -> ir.Table:
    """Keep the first attempts of jobs that are submitted within the trace."""
    firsts = of_jobs(attempts)
    return firsts.filter((firsts.attempt == 1) & is_inside(firsts.submit_time))


def last_time(events: ir.Table) -> ir.Table:
    """Return one row: the time of the last event within the trace (``last``, µs)."""
    return events.filter(events.time < AFTER_TRACE).aggregate(last=events.time.max())


def time_running(attempts: ir.Table) -> ir.IntegerValue:
    """Return how long an attempt ran within the trace (µs), up to its column ``last`` where it did not end.

    Parameters
    ----------
    attempts
        Attempts that were scheduled, with a column ``last``: the end of the trace, µs.
    """
    # Filled first: least() of a NULL is NULL on BigQuery, while DuckDB and Spark pass it over.
    until = ibis.least(attempts.left_time.fill_null(AFTER_TRACE), attempts["last"])
    return ibis.greatest(until - ibis.greatest(attempts.schedule_time, TRACE_START), 0)


def counted_events(attempts: ir.Table) -> ir.Table:
    """Return one row per counted event: ``time`` and the four processes as 0 or 1, one byte each."""
    tasks = of_jobs(attempts)
    finished = tasks.filter(tasks.end_type == "FINISH")
    # An attempt counts at up to three times of its own, each a row.
    return ibis.union(
        _counted(tasks, tasks.submit_time, new=(tasks.attempt == 1).cast("int8"), submitted=1),
        _counted(tasks, tasks.schedule_time, scheduled=1),
        _counted(finished, finished.end_time, completed=1),
    )


def _counted(rows: ir.Table, time: ir.Value, **counted: ir.Value | int) -> ir.Table:
    columns = {name: ibis.literal(0, "int8") for name in PROCESSES}
    for name, value in counted.items():
        columns[name] = value if isinstance(value, ir.Value) else ibis.literal(value, "int8")
    chosen = rows.select(time=time, **columns)
    # What never happened has no time and fails the comparison like what lies outside the trace.
    return chosen.filter(is_known(chosen.time))


def collection_ends(attempts: ir.Table) -> ir.Table:
    """Return one row per collection: ``schedule_time`` of its first attempt, end of its last.

    Columns: ``collection_id``, ``end_time``, ``end_type``, ``schedule_time``.
    """
    # The last attempt tells how it ended: an id may be used again after its end (2011: job 6253771429).
    numbered = attempts.mutate(
        place=ibis.row_number().over(group_by="collection_id", order_by=ibis.desc("attempt")),
        started=attempts.schedule_time.min().over(group_by="collection_id"),
    )
    return numbered.filter(numbered.place == 0).select(
        "collection_id", "end_time", "end_type", schedule_time="started"
    )


def duration_sums(tables: Tables, length: int, origin: int = 0) -> dict[str, ir.Table]:
    """Return sums of waits (when scheduled) and of runs (when ended) per period of `length` µs from `origin`.

    Parameters
    ----------
    tables
        The store's tables.
    length
        Length of a period, µs.
    origin
        Start of period 0, µs; what lies before it is left out.

    Returns
    -------
    dict
        ``waits`` and ``runs``: ``period``, ``total`` (whole µs, so that the sum is exact in any order), ``n``.
    """
    tasks = of_jobs(tables.instance_attempts)
    pairs = {"waits": (tasks.wait, tasks.schedule_time), "runs": (tasks.run, tasks.end_time)}
    return {name: _duration_sums(tasks, *pair, length, origin) for name, pair in pairs.items()}


def _duration_sums(
    tasks: ir.Table, duration: ir.Column, at: ir.Column, length: int, origin: int
) -> ir.Table:
    timed = tasks.select(duration=duration, period=period(at, length, origin), at=at)
    # A wait is known only where it lies within the trace as a whole (see `attempts`).
    timed = timed.filter(timed.duration.notnull() & (timed.at >= origin))
    return timed.group_by("period").aggregate(
        total=timed.duration.sum().cast("int64"), n=timed.count()
    )
