"""Documented anomalies that show only across rows: each is counted as ``code__n`` of ``code__of``."""

import ibis
import ibis.expr.types as ir

from borgtrace.analyses.shared.attempts import TASK, of_jobs
from borgtrace.question import Tables
from borgtrace.schema.time import BEFORE_TRACE


def mixed_requests(tables: Tables) -> ir.Table:
    """Count jobs of several tasks with different requests: among what runs at time 0, and among new jobs."""
    attempts = of_jobs(tables.instance_attempts)
    running = attempts.filter(attempts.schedule_time == BEFORE_TRACE)
    # A job of which a task was there before the trace is not new.
    first_begin = attempts.begin_time.min().over(group_by="collection_id")
    of_new_jobs = attempts.mutate(is_new=first_begin > BEFORE_TRACE)
    of_new_jobs = of_new_jobs.filter(of_new_jobs.is_new)
    at_start = count_mixed(running, "mixed_requests_at_start")
    return at_start.cross_join(count_mixed(of_new_jobs, "mixed_requests"))


def count_mixed(attempts: ir.Table, code: str) -> ir.Table:
    """Count jobs of several tasks whose attempts have different requests in force; a missing one differs from all."""
    differences = {}
    for name in ("cpu_request", "memory_request"):
        # No request is negative: −1 stands for none.
        request = attempts[name].cast("float64").fill_null(-1.0)
        differences[name] = request.max() > request.min()
    index = attempts.instance_index
    jobs = attempts.group_by("collection_id").aggregate(
        has_several_tasks=index.max() > index.min(), **differences
    )
    differs = jobs.cpu_request | jobs.memory_request
    counts = {
        f"{code}__n": jobs.count(where=jobs.has_several_tasks & differs),
        f"{code}__of": jobs.count(where=jobs.has_several_tasks),
    }
    return jobs.aggregate(**counts)


def usage_after_end(tables: Tables) -> ir.Table:
    """Count windows that reach beyond the last end of their task, of the windows of tasks that ended."""
    attempts = tables.instance_attempts
    is_open = attempts.is_right_censored.cast("int8").max()
    tasks = attempts.group_by(list(TASK)).aggregate(
        last_end=attempts.left_time.max(), is_open=is_open
    )
    ended_tasks = tasks.filter(tasks.is_open == 0)
    windows = tables.instance_usage.select(*TASK, window_end="end_time")
    windows = windows.inner_join(ended_tasks, list(TASK))
    return windows.aggregate(
        usage_after_end__n=windows.count(where=windows.window_end > windows.last_end),
        usage_after_end__of=windows.count(),
    )


def pending_updates(tables: Tables) -> ir.Table:
    """Count updates of pending tasks that demand constraints."""
    events = tables.instance_events
    key = [*TASK, "time"]
    updates = events.filter(events.type == "UPDATE_PENDING").select(key)
    with_constraints = tables.instance_constraints.select(key).distinct()
    with_constraints = with_constraints.mutate(has_constraints=ibis.literal(True))
    updates = updates.left_join(with_constraints, key)
    return updates.aggregate(
        pending_updates__n=updates.count(where=updates.has_constraints.notnull()),
        pending_updates__of=updates.count(),
    )
