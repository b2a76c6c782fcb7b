"""The four counting processes of Zhu et al., Method 3: new, submitted, scheduled, completed tasks.

*New* is the first SUBMIT of a task; submissions include resubmissions.  What happened before the trace
(time 0) is left out, and so is what lies after its end.  Tasks are instances of jobs.
"""

from __future__ import annotations

import ibis
import ibis.expr.types as ir

from borgtrace.schema.time import AFTER_TRACE, BEFORE_TRACE, TRACE_START

PROCESSES = ("new", "submitted", "scheduled", "completed")


def jobs_only(attempts: ir.Table) -> ir.Table:
    """Keep attempts of tasks: instances of jobs, not of alloc sets."""
    return attempts.filter(attempts.collection_type == "JOB")


def new_jobs(attempts: ir.Table) -> ir.Table:
    """Keep the first attempts of jobs that are submitted within the trace."""
    firsts = jobs_only(attempts)
    inside = (firsts.submit_time >= TRACE_START) & (firsts.submit_time < AFTER_TRACE)
    return firsts.filter((firsts.attempt == 1) & inside)


def moments(attempts: ir.Table) -> ir.Table:
    """Return one row per counted event: ``time`` and the four processes as 0 or 1, one byte each."""
    tasks = jobs_only(attempts)
    is_new = (tasks.attempt == 1).cast("int8")
    finished = tasks.filter(tasks.end_type == "FINISH")
    return ibis.union(
        _moment(tasks, tasks.submit_time, new=is_new, submitted=1),
        _moment(tasks, tasks.schedule_time, scheduled=1),
        _moment(finished, finished.end_time, completed=1),
    )


def _moment(rows: ir.Table, time: ir.Value, **counted: ir.Value | int) -> ir.Table:
    columns = {name: ibis.literal(0, "int8") for name in PROCESSES}
    for name, value in counted.items():
        columns[name] = value if isinstance(value, ir.Value) else ibis.literal(value, "int8")
    chosen = rows.select(time=time, **columns)
    return chosen.filter((chosen.time > BEFORE_TRACE) & (chosen.time < AFTER_TRACE))
