"""How many tasks use more than they requested, and how much more?

*Over* compares the mean of a window with the request (on the last SCHEDULE of the task); *peak*
compares the largest maximum with it. Tasks of jobs with a request above zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.shared.attempts import TASK, of_jobs
from borgtrace.analyses.shared.windows import (
    RESOURCES,
    int_sum,
    regular,
    share_of_request,
    task_tiers,
)
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    Question,
    Tables,
    at_most,
    below,
    charts,
    near,
    query_answer,
    sql,
)
from borgtrace.question.scopes import LIKE_2011, OF_2011

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="tier and resource",
    key=[
        Column("tier", "string", "id", "Tier of the tasks."),
        Column("resource", "string", "id", "Resource: cpu or memory."),
    ],
    columns=[
        Column("n_tasks", "int64", "count", "Tasks with usage and a request."),
        Column("n_over", "int64", "count", "Tasks with a window above the request."),
        Column("n_over_150", "int64", "count", "Tasks with a window above 1.5 times the request."),
        Column("n_over_200", "int64", "count", "Tasks with a window above twice the request."),
        Column(
            "n_peak_over", "int64", "count", "Tasks whose largest maximum is above the request."
        ),
        Column("seconds", "int64", "s", "Time measured."),
        Column("seconds_over", "int64", "s", "Time in windows above the request."),
        Column("largest", "float64", "1", "Largest window mean, in requests.", nullable=True),
    ],
)


SERIES = {
    "n_peak_over": "peak > 1 ×",
    "n_over": "> 1 ×",
    "n_over_150": "> 1.5 ×",
    "n_over_200": "> 2 ×",
}


def compute(tables: Tables) -> ir.Table:
    """Return how many tasks, and how much time, exceed the request."""
    usage = of_jobs(regular(tables.instance_usage))
    windows = usage.select(
        *TASK, "seconds", "average_cpu", "maximum_cpu", "average_memory", "maximum_memory"
    )
    tasks = task_tiers(tables, "cpu_request", "memory_request")
    # An inner join: usage of a task that no event names has no request to exceed.
    windows = windows.inner_join(tasks, list(TASK))
    excesses = task_excesses(windows)
    return ibis.union(*(count_over_request(excesses, resource) for resource in RESOURCES))


def task_excesses(windows: ir.Table) -> ir.Table:
    """Return per task how long and how far it exceeded its request of each resource; NULL where it has none."""
    sums = {}
    for name in RESOURCES:
        ratio = share_of_request(windows, windows[f"average_{name}"], name)
        peak = share_of_request(windows, windows[f"maximum_{name}"], name)
        # A task without a request has nothing to exceed; comparisons with NULL would count it as within.
        has_ratio = ratio.notnull()
        sums[f"{name}_seconds"] = int_sum(windows.seconds, has_ratio)
        sums[f"{name}_seconds_over"] = int_sum(windows.seconds, ratio > 1.0).fill_null(0)
        sums[f"{name}_largest"] = ratio.max()
        sums[f"{name}_peak"] = peak.max(where=has_ratio)
    # Per task first: the counts are of tasks, and a task has many windows.
    return windows.group_by([*TASK, "tier"]).aggregate(**sums)


def count_over_request(excesses: ir.Table, resource: str) -> ir.Table:
    """Return the rows of one resource."""
    tasks = excesses.select(
        "tier",
        seconds=excesses[f"{resource}_seconds"],
        seconds_over=excesses[f"{resource}_seconds_over"],
        largest=excesses[f"{resource}_largest"],
        peak=excesses[f"{resource}_peak"],
    )
    tasks = tasks.filter(tasks.seconds.notnull())
    return tasks.group_by("tier").aggregate(
        resource=ibis.literal(resource),
        n_tasks=tasks.count(),
        n_over=tasks.count(where=tasks.largest > 1.0),
        n_over_150=tasks.count(where=tasks.largest > 1.5),
        n_over_200=tasks.count(where=tasks.largest > 2.0),
        n_peak_over=tasks.count(where=tasks.peak > 1.0),
        seconds=int_sum(tasks.seconds),
        seconds_over=int_sum(tasks.seconds_over),
        largest=tasks.largest.max(),
    )


def chart(answer: pa.Table) -> alt.FacetChart:
    """Draw the share of tasks that exceed their request by so much, for each tier and resource."""
    import altair as alt

    rows = query_answer(
        answer,
        """
        select
            tier,
            resource,
            n_peak_over / n_tasks as n_peak_over,
            n_over / n_tasks as n_over,
            n_over_150 / n_tasks as n_over_150,
            n_over_200 / n_tasks as n_over_200
        from answer
        """,
    )
    rows = charts.melted(rows, SERIES)
    return (
        charts.base(rows, width=140, height=90)
        .mark_bar()
        .encode(
            y=alt.Y("series:N", title=None, sort=list(SERIES.values())),
            color=alt.Color("series:N", title="series", legend=None),
            x=alt.X("value:Q", title="share of tasks"),
            tooltip=charts.tooltips(rows),
        )
        .facet(
            row=charts.rows_of_panels("resource"),
            column=charts.columns_of_panels("tier"),
        )
        .properties(title="Tasks over their request")
    )


CLAIMS = [
    Claim(
        "EDA-memory-peak",
        statement="3.36 % of the tasks exceed their memory request at the peak",
        source="published exploration of the full 2011 trace",
        scope=OF_2011.needing(days=7, tasks=5_000),
        measure=sql(
            """
            select sum(n_peak_over) / nullif(sum(n_tasks), 0)
            from answer
            where resource = 'memory'
            """,
            otherwise="no task has memory usage and a request",
        ),
        criterion=near(0.0336, relative=0.1),
    ),
    Claim(
        "S4-over-request",
        statement="the largest window of a task is up to twice its request",
        source="Zhu et al. (over-consumption)",
        scope=LIKE_2011,
        with_more_data="rises",
        measure=sql(
            "select max(largest) from answer",
            otherwise="no task has usage and a request",
        ),
        criterion=at_most(2.0, published="up to 2"),
    ),
    Claim(
        "S4-over-twice",
        statement="hardly any task (under 1 %) uses more than twice its CPU request",
        source="Zhu et al. (over-consumption)",
        kind="criterion",
        scope=LIKE_2011,
        measure=sql(
            """
            select sum(n_over_200) / nullif(sum(n_tasks), 0)
            from answer
            where resource = 'cpu'
            """,
            otherwise="no task has cpu usage and a request",
        ),
        criterion=below(0.01, published="none"),
    ),
]

QUESTION = Question(
    name="over_request",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["instance_usage", "tasks"],
    reference="Zhu et al. (over-consumption)",
)
