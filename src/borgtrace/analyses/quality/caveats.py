"""Documented anomalies that show only across rows: each is counted as ``code__n`` of ``code__of``."""

import ibis
import ibis.expr.types as ir

from borgtrace.analyses.shared.attempts import TASK, of_jobs
from borgtrace.question import Tables


def mixed_requests(tables: Tables) -> ir.Table:
    """Count jobs of several tasks whose SUBMIT events carry different requests; a missing one differs from all."""
    events = of_jobs(tables.instance_events)
    is_submit = events.type == "SUBMIT"
    differences = {}
    for name in ("cpu_request", "memory_request"):
        # No request is negative: −1 stands for none.
        request = events[name].cast("float64").fill_null(-1.0)
        differences[name] = request.max(where=is_submit) > request.min(where=is_submit)
    index = events.instance_index
    jobs = events.group_by("collection_id").aggregate(
        has_several_tasks=index.max() > index.min(), **differences
    )
    differs = (jobs.cpu_request | jobs.memory_request).fill_null(False)
    return jobs.aggregate(
        mixed_requests__n=jobs.count(where=jobs.has_several_tasks & differs),
        mixed_requests__of=jobs.count(where=jobs.has_several_tasks),
    )


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
