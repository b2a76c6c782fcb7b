"""What does vertical scaling change?

Jobs by their Autopilot setting; how often a running or pending instance got a different request
(UPDATE_* events whose request differs from that of the event before); and the slack of their tasks:
1 − peak CPU ÷ request, its median over tasks in steps of one percent (a peak above the request
counts as no slack).

Reference: Tirmazi et al., EuroSys'20 (vertical scaling).
"""

import ibis

from borgtrace.analyses._attempts import TASK, of_jobs
from borgtrace.analyses._joins import lookup
from borgtrace.analyses._windows import RESOURCES, int_sum, peaks_of_request
from borgtrace.lifecycle.order import SOURCE_ORDER
from borgtrace.question import Recipe, Tables
from borgtrace.schema import UPDATE_EVENTS


def compute(tables: Tables) -> ibis.Table:
    """Return jobs, changes of requests and slack per setting."""
    tables.require_published("vertical scaling", column="vertical_scaling")
    jobs = of_jobs(tables.collection_events)
    settings = jobs.group_by("collection_id").aggregate(
        setting=jobs.vertical_scaling.max().fill_null("unknown")
    )
    counts = settings.group_by("setting").aggregate(n_jobs=settings.count())
    rows = lookup(counts, _updates(tables, settings), ["setting"])
    rows = lookup(rows, _slack(tables, settings), ["setting"])
    return rows.mutate(
        **{n: rows[n].fill_null(0) for n in ("n_updates", "n_request_changes", "n_tasks")}
    )


def _updates(tables: Tables, settings: ibis.Table) -> ibis.Table:
    events = tables.instance_events
    life = ibis.window(group_by=list(TASK), order_by=list(SOURCE_ORDER))
    # Over all events: the first update changes what SUBMIT or SCHEDULE asked for.
    seen = events.mutate(
        **{f"{name}_before": events[f"{name}_request"].lag().over(life) for name in RESOURCES}
    )
    updates = seen.filter(seen.type.isin(UPDATE_EVENTS)).inner_join(settings, "collection_id")
    # A comparison with an unknown request is NULL: no change that anybody saw.
    changed = (updates.cpu_request != updates.cpu_before) | (
        updates.memory_request != updates.memory_before
    )
    changes = updates.count(where=changed)
    return updates.group_by("setting").aggregate(
        n_updates=updates.count(), n_request_changes=changes
    )


def _slack(tables: Tables, settings: ibis.Table) -> ibis.Table:
    """Return the number of tasks per setting, and the median of their slack in whole percent."""
    peaks = peaks_of_request(tables)
    rows = peaks.filter(peaks.cpu.notnull()).inner_join(settings, "collection_id")
    # A peak above the request has no slack, not a negative one.
    bins = rows.select(
        "setting", percent=(ibis.greatest(1.0 - rows.cpu, 0.0) * 100.0).floor().cast("int64")
    )
    counts = bins.group_by(["setting", "percent"]).aggregate(n=bins.count())
    upto = counts.n.sum().over(ibis.cumulative_window(group_by="setting", order_by="percent"))
    # The first percent that half of the tasks do not exceed, in integers: no engine rounds them.
    halves = counts.mutate(is_half=2 * upto >= counts.n.sum().over(group_by="setting"))
    slack = halves.percent.min(where=halves.is_half).cast("float64") / 100.0
    return halves.group_by("setting").aggregate(n_tasks=int_sum(halves.n), median_slack=slack)


_READS = ("collection_events", "instance_events", "instance_usage", "tasks")

RECIPE = Recipe.declared(compute, reads=_READS, order=124)
