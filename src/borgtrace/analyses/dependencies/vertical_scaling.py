"""What does vertical scaling change?

Jobs by their Autopilot setting; how often a running or pending instance got a different request
(UPDATE_* events whose request differs from that of the event before); and the slack of their tasks:
1 − peak CPU ÷ request, its median over tasks in steps of one percent (a peak above the request
counts as no slack).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import pyarrow as pa

from borgtrace.analyses.shared.attempts import TASK, of_jobs
from borgtrace.analyses.shared.joins import lookup
from borgtrace.analyses.shared.windows import RESOURCES, int_sum, peaks_of_request
from borgtrace.lifecycle.order import SOURCE_ORDER
from borgtrace.question import Answer, Claim, Column, Question, Tables, above, charts, sql
from borgtrace.question.scopes import OF_2019
from borgtrace.schema import UPDATE_EVENTS

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="setting",
    key=[
        Column(
            "setting",
            "string",
            "enum",
            "Autopilot setting of the job, unknown where none is given.",
        )
    ],
    columns=[
        Column("n_jobs", "int64", "count", "Jobs."),
        Column("n_updates", "int64", "count", "Updates of their instances."),
        Column("n_request_changes", "int64", "count", "Updates that changed a request."),
        Column("n_tasks", "int64", "count", "Tasks with usage and a request."),
        Column(
            "median_slack",
            "float64",
            "fraction",
            "Median of 1 − peak ÷ request; NULL without tasks.",
            nullable=True,
        ),
    ],
)


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


def chart(answer: pa.Table) -> alt.Chart:
    """Draw: median slack of the CPU request at the peak."""
    import altair as alt

    rows = answer.to_pylist()
    return (
        charts.base(rows, title="Median slack of the CPU request at the peak", height=130)
        .mark_bar()
        .encode(
            x=alt.X("median_slack:Q", title="1 − peak ÷ request", scale=alt.Scale(domain=[0, 1])),
            y=alt.Y("setting:N", title=None, axis=alt.Axis(labelLimit=260)),
            tooltip=charts.tooltips(rows),
        )
    )


CLAIMS = [
    Claim(
        "TIR-autopilot",
        statement="Autopilot lowers the slack at the peak by more than 25 %",
        source="Tirmazi et al., EuroSys'20",
        scope=OF_2019,
        measure=sql(
            """
            select
                (without - automated) / nullif(without, 0),
                case
                    when without is null
                        then 'no task without vertical scaling has usage and a request'
                    when automated is null
                        then 'no task with full vertical scaling has usage and a request'
                    else 'without vertical scaling half of the tasks have no slack at all'
                end
            from (
                select
                    max(median_slack) filter (setting = 'OFF') as without,
                    max(median_slack) filter (setting = 'FULLY_AUTOMATED') as automated
                from answer
            )
            """
        ),
        criterion=above(0.25),
    ),
]

QUESTION = Question(
    name="vertical_scaling",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=_READS,
    reference="Tirmazi et al., EuroSys'20 (vertical scaling)",
)
