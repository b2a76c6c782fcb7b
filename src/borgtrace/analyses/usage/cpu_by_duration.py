"""Which tasks use the CPU: many short ones or a few long ones?

The duration of a task is the summed length of its usage windows; its CPU is the window-weighted
mean of ``average_cpu`` times that. Bins double from one minute. Only tasks of jobs count: what runs
in an alloc set is a task, the alloc set itself is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.shared.attempts import of_jobs
from borgtrace.analyses.shared.histograms import bin_up_to
from borgtrace.analyses.shared.windows import fixed, int_sum, level, tier
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    Question,
    Tables,
    below,
    charts,
    query_answer,
    sql,
)
from borgtrace.question.scopes import LIKE_2011

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="tier and duration",
    key=[
        Column("tier", "string", "id", "Tier of the tasks."),
        Column("at_most", "int64", "s", "Longest duration of the bin; the one before is excluded."),
    ],
    columns=[
        Column("n_tasks", "int64", "count", "Tasks with usage in the bin."),
        Column("cpu_seconds", "float64", "s", "CPU time of these tasks, on the largest machine."),
    ],
)


EDGES = tuple(60 * 2**k for k in range(16))
"""Upper edges of the bins, s: 1 min, 2 min, … 22.8 d; what is longer falls into the last bin."""
BITS = 20
"""Binary digits behind the point of CPU times while they are added up."""


def compute(tables: Tables) -> ir.Table:
    """Return tasks and CPU time by duration and tier."""
    tasks = of_jobs(tables.tasks)
    tasks = tasks.filter(tasks.n_windows > 0)
    cpu_time = tasks.weighted_mean_average_cpu.fill_null(0.0) * tasks.seconds
    rows = tasks.select(
        tier=tier(tables, tasks.priority),
        at_most=bin_up_to(tasks.seconds, EDGES, 1.0),
        # Integers add up to the same CPU time on every engine.
        cpu_time=fixed(cpu_time, BITS),
    )
    return rows.group_by(["tier", "at_most"]).aggregate(
        n_tasks=rows.count(), cpu_seconds=level(int_sum(rows.cpu_time), 1, BITS)
    )


def chart(answer: pa.Table) -> alt.Chart:
    """Draw the shares of the tasks and of the CPU time up to each duration."""
    import altair as alt

    rows = query_answer(
        answer,
        """
        select
            seconds,
            sum(tasks) over so_far / sum(tasks) over () as tasks,
            sum(cpu) over so_far / nullif(sum(cpu) over (), 0) as cpu
        from (
            select at_most as seconds, sum(n_tasks) as tasks, sum(cpu_seconds) as cpu
            from answer
            group by seconds
        )
        window so_far as (order by seconds)
        order by seconds
        """,
    )
    rows = charts.melted(rows, {"tasks": "tasks", "cpu": "CPU time"})
    return (
        charts.base(rows, title="Tasks and CPU time up to a duration (Zhu et al., Fig. 11)")
        .mark_line(point=True)
        .encode(
            x=alt.X(
                "seconds:Q",
                title="duration of the task at most",
                **charts.duration_scale(type="log"),
            ),
            y=alt.Y("value:Q", title="cumulative share", scale=alt.Scale(domain=[0, 1])),
            color=alt.Color("series:N", title=None),
            tooltip=charts.tooltips(rows),
        )
    )


CLAIMS = [
    # The paper names no number.
    Claim(
        "S4-fig11",
        statement="tasks of up to 4 minutes use a tiny portion of the CPU",
        source="Zhu et al., Fig. 11",
        kind="criterion",
        scope=LIKE_2011,
        measure=sql(
            """
            select sum(if(at_most <= 240, cpu_seconds, 0)) / nullif(sum(cpu_seconds), 0)
            from answer
            """,
            otherwise="no task used any CPU",
        ),
        criterion=below(0.05, published="a tiny portion (< 0.05)"),
    ),
    # The edge of a bin nearest to 2 hours.
    Claim(
        "REISS-short",
        statement="tasks of up to 2 hours use less than a tenth of the CPU",
        source="Reiss et al., SoCC'12",
        scope=LIKE_2011,
        measure=sql(
            """
            select sum(if(at_most <= 7680, cpu_seconds, 0)) / nullif(sum(cpu_seconds), 0)
            from answer
            """,
            otherwise="no task used any CPU",
        ),
        criterion=below(0.1, published="< 0.1 (of jobs under 2 h)"),
    ),
]

QUESTION = Question(
    name="cpu_by_duration",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["tasks", "instance_usage"],
    reference="Zhu et al., Fig. 11",
)
