"""What does vertical scaling change?

Jobs by their Autopilot setting; how often a running or pending instance got a different request
(UPDATE_* events whose request differs from that of the event before); and the slack of their tasks:
1 − peak CPU ÷ request, its median over tasks in steps of one percent (a peak above the request
counts as no slack).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.shared.attempts import TASK, of_jobs
from borgtrace.analyses.shared.joins import lookup
from borgtrace.analyses.shared.windows import int_sum, peaks_of_request
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


def compute(tables: Tables) -> ir.Table:
    """Return jobs, changes of requests and slack per setting."""
    tables.require_published("vertical scaling", column="vertical_scaling")
    events = of_jobs(tables.collection_events)
    jobs = events.group_by("collection_id").aggregate(
        setting=events.vertical_scaling.max().fill_null("unknown")
    )
    rows = jobs.group_by("setting").aggregate(n_jobs=jobs.count())
    rows = lookup(rows, count_updates(tables, jobs), ["setting"])
    rows = lookup(rows, median_slack(tables, jobs), ["setting"])
    return rows.mutate(
        n_updates=rows.n_updates.fill_null(0),
        n_request_changes=rows.n_request_changes.fill_null(0),
        n_tasks=rows.n_tasks.fill_null(0),
    )


def count_updates(tables: Tables, jobs: ir.Table) -> ir.Table:
    """Return per setting how many updates there are, and how many change a request."""
    events = tables.instance_events
    history = ibis.window(group_by=list(TASK), order_by=list(SOURCE_ORDER))
    # Over all events: the first update changes the request of SUBMIT or SCHEDULE.
    events = events.mutate(
        cpu_before=events.cpu_request.lag().over(history),
        memory_before=events.memory_request.lag().over(history),
    )
    updates = events.filter(events.type.isin(UPDATE_EVENTS)).inner_join(jobs, "collection_id")
    # A comparison with an unknown request is NULL: no visible change.
    changes_cpu = updates.cpu_request != updates.cpu_before
    changes_memory = updates.memory_request != updates.memory_before
    return updates.group_by("setting").aggregate(
        n_updates=updates.count(),
        n_request_changes=updates.count(where=changes_cpu | changes_memory),
    )


def median_slack(tables: Tables, jobs: ir.Table) -> ir.Table:
    """Return the number of tasks per setting, and the median of their slack in whole percent."""
    peaks = peaks_of_request(tables)
    tasks = peaks.filter(peaks.cpu.notnull()).inner_join(jobs, "collection_id")
    # A peak above the request has no slack, not a negative one.
    slack = ibis.greatest(1.0 - tasks.cpu, 0.0)
    tasks = tasks.select("setting", percent=(slack * 100.0).floor().cast("int64"))
    counts = tasks.group_by(["setting", "percent"]).aggregate(n=tasks.count())
    so_far = ibis.cumulative_window(group_by="setting", order_by="percent")
    n_so_far = counts.n.sum().over(so_far)
    total = counts.n.sum().over(group_by="setting")
    # The first percent that half of the tasks do not exceed, in integers: no engine rounds them.
    counts = counts.mutate(is_half=2 * n_so_far >= total)
    median_percent = counts.percent.min(where=counts.is_half)
    return counts.group_by("setting").aggregate(
        n_tasks=int_sum(counts.n), median_slack=median_percent.cast("float64") / 100.0
    )


def chart(answer: pa.Table) -> alt.Chart:
    """Draw the median slack of each setting."""
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
    reads=["collection_events", "instance_events", "instance_usage", "tasks"],
    reference="Tirmazi et al., EuroSys'20 (vertical scaling)",
)
