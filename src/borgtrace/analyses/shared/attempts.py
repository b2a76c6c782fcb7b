"""Attempts of tasks and jobs, the four counting processes over them, and how collections end.

The counting processes are those of Zhu et al., Method 3: new, submitted, scheduled and completed tasks.
*New* is the first SUBMIT of a task; submissions include resubmissions.  What lies after the end of the trace is left
out, and so is what happened before it (time 0), unless it is asked for.  Tasks are instances of jobs.
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
    """Keep the rows of jobs: alloc sets and their instances are no tasks."""
    return rows.filter(rows.collection_type == "JOB")


def is_known(time: ir.IntegerValue) -> ir.BooleanValue:
    """Whether a time is known: neither "before the trace" (0) nor "after the trace"."""
    return (time > BEFORE_TRACE) & (time < AFTER_TRACE)


def is_inside(time: ir.IntegerValue) -> ir.BooleanValue:
    """Whether a time lies within the trace, which starts 600 s after time 0 (and so do its hours and days)."""
    return (time >= TRACE_START) & (time < AFTER_TRACE)


def is_within(time: ir.IntegerValue) -> ir.BooleanValue:
    """Whether something happened by the end of the trace; what it marks as later had not happened by then."""
    return time < AFTER_TRACE


def new_jobs(attempts: ir.Table) -> ir.Table:
    """Keep the first attempts of jobs that are submitted within the trace."""
    jobs = of_jobs(attempts)
    return jobs.filter((jobs.attempt == 1) & is_inside(jobs.submit_time))


def last_time(events: ir.Table) -> ir.Table:
    """Return one row: the time of the last event within the trace (``last``, µs)."""
    return events.filter(is_within(events.time)).aggregate(last=events.time.max())


def time_running(attempts: ir.Table) -> ir.IntegerValue:
    """Return how long an attempt ran within the trace (µs), up to its column ``last`` where it did not end.

    Parameters
    ----------
    attempts
        Attempts that were scheduled, with a column ``last``: the end of the trace, µs.
    """
    start = ibis.greatest(attempts.schedule_time, TRACE_START)
    # Filled first: least() of a NULL is NULL on BigQuery, while DuckDB and Spark ignore the NULL.
    end = ibis.least(attempts.left_time.fill_null(AFTER_TRACE), attempts["last"])
    return ibis.greatest(end - start, 0)


def counted_events(attempts: ir.Table, *, with_earlier: bool = False) -> ir.Table:
    """Return one row per counted event: ``time`` and the four processes as 0 or 1, one byte each.

    Parameters
    ----------
    attempts
        ``instance_attempts``.
    with_earlier
        Whether what happened before the trace counts too, at time 0.
    """
    tasks = of_jobs(attempts)
    finished = tasks.filter(tasks.end_type == "FINISH")
    is_first = (tasks.attempt == 1).cast("int8")
    # An attempt counts at up to three times, each a row of its own.
    events = ibis.union(
        count_at(tasks, tasks.submit_time, new=is_first, submitted=1),
        count_at(tasks, tasks.schedule_time, scheduled=1),
        count_at(finished, finished.end_time, completed=1),
    )
    return events if with_earlier else events.filter(events.time > BEFORE_TRACE)


def count_at(rows: ir.Table, time: ir.Value, **processes: ir.Value | int) -> ir.Table:
    """Return one row per time that is not after the trace, with what it counts in each of the four processes."""
    columns = {name: ibis.literal(0, "int8") for name in PROCESSES}
    for name, value in processes.items():
        columns[name] = value if isinstance(value, ir.Value) else ibis.literal(value, "int8")
    events = rows.select(time=time, **columns)
    # An event that never happened has no time: it fails the comparison like one after the trace.
    return events.filter(is_within(events.time))


def collection_ends(attempts: ir.Table) -> ir.Table:
    """Return one row per collection: ``schedule_time`` of its first attempt, end of its last.

    Columns: ``collection_id``, ``end_time``, ``end_type`` (NULL where it was alive at the end of the trace),
    ``schedule_time``.
    """
    # A collection ended as its last attempt did: an id may be used again after its end (2011: job 6253771429).
    latest_first = ibis.row_number().over(group_by="collection_id", order_by=ibis.desc("attempt"))
    numbered = attempts.mutate(
        place=latest_first,
        started=attempts.schedule_time.min().over(group_by="collection_id"),
    )
    last_attempts = numbered.filter(numbered.place == 0)
    has_ended = is_within(last_attempts.end_time)
    return last_attempts.select(
        "collection_id",
        "end_time",
        end_type=has_ended.ifelse(last_attempts.end_type, ibis.null("string")),
        schedule_time="started",
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
    return {
        "waits": sum_by_period(tasks, tasks.wait, tasks.schedule_time, length, origin),
        "runs": sum_by_period(tasks, tasks.run, tasks.end_time, length, origin),
    }


def sum_by_period(
    tasks: ir.Table, duration: ir.Column, time: ir.Column, length: int, origin: int
) -> ir.Table:
    """Add up durations by the period in which `time` lies; NULLs and times before `origin` are left out."""
    durations = tasks.select(duration=duration, period=period(time, length, origin), time=time)
    # A wait is known only where all of it lies within the trace (see `attempts`).
    durations = durations.filter(durations.duration.notnull() & (durations.time >= origin))
    return durations.group_by("period").aggregate(
        total=durations.duration.sum().cast("int64"),
        n=durations.count(),
    )
