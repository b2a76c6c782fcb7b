"""What does vertical scaling change?

Jobs by their Autopilot setting; how often a running or pending instance got another request
(UPDATE_* events that carry a request different from the event before); and the slack of their
tasks: 1 − peak CPU ÷ request, its median over tasks in steps of one percent (a peak above the
request counts as no slack).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses._dependencies import require_2019
from borgtrace.analyses._lookup import lookup
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import UPDATE_EVENTS, Column, Table

if TYPE_CHECKING:
    import altair as alt

RESULT = Table(
    "vertical_scaling",
    "setting",
    ("setting",),
    (
        Column(
            "setting", "string", "enum", "Autopilot setting of the job, unknown where none is given.", nullable=False
        ),
        Column("n_jobs", "int64", "count", "Jobs.", nullable=False),
        Column("n_updates", "int64", "count", "Updates of their instances.", nullable=False),
        Column("n_request_changes", "int64", "count", "Updates that changed a request.", nullable=False),
        Column("n_tasks", "int64", "count", "Tasks with usage and a request.", nullable=False),
        Column("median_slack", "float64", "fraction", "Median of 1 − peak ÷ request; NULL without tasks."),
    ),
)


def compute(tables: Tables) -> ir.Table:
    """Return jobs, changes of requests and slack per setting."""
    require_2019(tables, "vertical scaling")
    events = tables.collection_events
    jobs = events.filter(events.collection_type == "JOB")
    settings = jobs.group_by("collection_id").aggregate(setting=jobs.vertical_scaling.max().fill_null("unknown"))
    counts = settings.group_by("setting").aggregate(n_jobs=settings.count())
    rows = lookup(counts, _updates(tables, settings), ["setting"])
    rows = lookup(rows, _slack(tables, settings), ["setting"])
    filled = {name: rows[name].fill_null(0) for name in ("n_updates", "n_request_changes", "n_tasks")}
    return rows.mutate(**filled)


def _updates(tables: Tables, settings: ir.Table) -> ir.Table:
    events = tables.instance_events
    life = ibis.window(group_by=["collection_id", "instance_index"], order_by=["time", "source_part", "source_row"])
    seen = events.mutate(
        cpu_before=events.cpu_request.lag().over(life), memory_before=events.memory_request.lag().over(life)
    )
    updates = seen.filter(seen.type.isin(UPDATE_EVENTS)).inner_join(settings, "collection_id")
    changed = (updates.cpu_request != updates.cpu_before) | (updates.memory_request != updates.memory_before)
    updates = updates.mutate(is_changed=changed.fill_null(False).cast("int64"))
    return updates.group_by("setting").aggregate(
        n_updates=updates.count(), n_request_changes=updates.is_changed.sum().cast("int64")
    )


def _slack(tables: Tables, settings: ir.Table) -> ir.Table:
    usage = tables.instance_usage
    key = ["collection_id", "instance_index"]
    peaks = usage.group_by(key).aggregate(peak=usage.maximum_cpu.max())
    tasks = tables.tasks.filter(tables.tasks.cpu_request > 0).select(*key, request=tables.tasks.cpu_request)
    rows = peaks.filter(peaks.peak.notnull()).inner_join(tasks, key).inner_join(settings, "collection_id")
    slack = 1.0 - rows.peak.cast("float64") / rows.request.cast("float64").nullif(0.0)
    bins = rows.select("setting", percent=(ibis.greatest(slack, 0.0) * 100.0).floor().cast("int64"))
    counts = bins.group_by(["setting", "percent"]).aggregate(n=bins.count())
    upto = counts.n.sum().over(ibis.cumulative_window(group_by="setting", order_by="percent"))
    total = counts.n.sum().over(ibis.window(group_by="setting"))
    halves = counts.mutate(is_half=2 * upto >= total)
    return halves.group_by("setting").aggregate(
        n_tasks=halves.n.sum().cast("int64"),
        median_slack=halves.percent.min(where=halves.is_half).cast("float64") / 100.0,
    )


def plot(result: pa.Table) -> alt.Chart:
    """Draw the median slack per setting."""
    import altair as alt

    from borgtrace.analyses._charts import WIDTH, rows

    chart: alt.Chart = (
        alt.Chart(rows(result), title="Median slack of the CPU request at the peak")
        .mark_bar()
        .encode(
            x=alt.X("median_slack:Q", title="1 − peak ÷ request", scale=alt.Scale(domain=[0, 1])),
            y=alt.Y("setting:N", title=None, axis=alt.Axis(labelLimit=260)),
            tooltip=["setting:N", "n_jobs:Q", "n_tasks:Q", "n_request_changes:Q", "median_slack:Q"],
        )
        .properties(width=WIDTH, height=130)
    )
    return chart


def _reduction(result: pa.Table) -> float:
    """Return by how much the median slack is lower under full scaling than without."""
    slack = {row["setting"]: row["median_slack"] for row in result.to_pylist()}
    without, with_ = slack.get("OFF"), slack.get("FULLY_AUTOMATED")
    if without is None or with_ is None or not without:
        raise NotApplicable("no tasks both with and without vertical scaling")
    return float((without - with_) / without)


CLAIMS = (
    Claim(
        "TIR-autopilot",
        "Autopilot lowers the slack at the peak by more than 25 %",
        "> 0.25",
        _reduction,
        lambda v: v > 0.25,
        "Tirmazi et al., EuroSys'20",
    ),
)

RECIPE = Recipe(
    "vertical_scaling",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("collection_events", "instance_events", "instance_usage", "tasks"),
    reference="Tirmazi et al., EuroSys'20 (vertical scaling)",
    order=124,
    topic="Dependencies and limits",
)
