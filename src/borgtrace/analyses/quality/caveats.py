"""Documented caveats that take more than one row to see: each is counted as ``code__n`` of ``code__of``."""

import ibis

from borgtrace.analyses.shared.attempts import TASK, of_jobs
from borgtrace.question import Tables


def mixed_requests(tables: Tables) -> ibis.Table:
    """Count jobs of several tasks whose SUBMIT events carry different requests; a missing one is another."""
    events = of_jobs(tables.instance_events)
    is_submit = events.type == "SUBMIT"
    columns = {}
    for name in ("cpu_request", "memory_request"):
        # No request is negative: −1 stands for none.
        request = events[name].cast("float64").fill_null(-1.0)
        columns[name] = request.max(where=is_submit) > request.min(where=is_submit)
    index = events.instance_index
    jobs = events.group_by("collection_id").aggregate(several=index.max() > index.min(), **columns)
    differs = (jobs.cpu_request | jobs.memory_request).fill_null(False)
    return jobs.aggregate(
        mixed_requests__n=jobs.count(where=jobs.several & differs),
        mixed_requests__of=jobs.count(where=jobs.several),
    )


def usage_after_end(tables: Tables) -> ibis.Table:
    """Count windows that reach beyond the last end of their task, of the windows of tasks that ended."""
    attempts = tables.instance_attempts
    is_open = attempts.is_right_censored.cast("int8").max()
    lives = attempts.group_by(list(TASK)).aggregate(ended=attempts.left_time.max(), is_open=is_open)
    usage = tables.instance_usage.select(*TASK, until="end_time")
    rows = usage.inner_join(lives.filter(lives.is_open == 0), list(TASK))
    late = rows.count(where=rows.until > rows.ended)
    return rows.aggregate(usage_after_end__n=late, usage_after_end__of=rows.count())


def pending_updates(tables: Tables) -> ibis.Table:
    """Count updates of pending tasks that demand constraints."""
    events, constraints = tables.instance_events, tables.instance_constraints
    key = [*TASK, "time"]
    updates = events.filter(events.type == "UPDATE_PENDING").select(key)
    demanded = constraints.select(key).distinct().mutate(is_demanded=ibis.literal(True))
    rows = updates.left_join(demanded, key)
    demanding = rows.count(where=rows.is_demanded.notnull())
    return rows.aggregate(pending_updates__n=demanding, pending_updates__of=rows.count())
