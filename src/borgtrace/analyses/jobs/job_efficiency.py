"""How much of what they request do tasks use over their whole life?

Of CPU the mean over all windows of a task, weighted by their length, of memory its largest value (the maximum of a
window, else its mean), each divided by the request on the task's last SCHEDULE: what accounting tools of batch systems
call efficiency. *Of all* is the same for all tasks together, each weighted by its request and its time. Tasks of jobs
with usage and a request above zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.shared.attempts import TASK, of_jobs
from borgtrace.analyses.shared.quantiles import Curve, fetch_counts, percents_of_curve
from borgtrace.analyses.shared.windows import (
    FINE_BITS,
    RESOURCES,
    amount,
    fixed,
    int_sum,
    level,
    regular,
)
from borgtrace.question import (
    Answer,
    Column,
    NotApplicable,
    Question,
    Row,
    SharedTable,
    Tables,
    charts,
)

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="resource and percentile",
    key=[
        Column("resource", "string", "id", "Resource: cpu or memory."),
        Column("percent", "float64", "1", "Percentile; 100 is the maximum."),
    ],
    columns=[
        Column("efficiency", "float64", "1", "Used ÷ requested of a task, to a ten-thousandth."),
        Column("mean", "float64", "1", "Mean of the tasks, each counted alike."),
        Column("of_all", "float64", "1", "Used ÷ requested of all tasks together."),
        Column("n", "int64", "count", "Tasks with usage and a request."),
    ],
)

REPORTED_PERCENTS = (1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 100.0)
STEPS = 10_000
"""Of a ratio: whole numbers are the same on every engine."""
MOST_STEPS = 1e15
"""What is above has no request worth the name."""
BITS = 16
"""Binary digits of what all tasks use together: requests of years fit into 63 bits."""


def compute(tables: Tables, *, curve: Curve = "few") -> list[Row]:
    """Return quantiles of used ÷ requested, of CPU and memory.

    Parameters
    ----------
    tables
        The store's tables.
    curve
        At how many percentiles: ``"few"`` for a table, ``"full"`` for every tenth of a percent.
    """
    percents = percents_of_curve(REPORTED_PERCENTS, curve)
    lives = tables.shared(WHOLE_LIVES)
    ratios = ibis.union(*(ratios_of(lives, resource) for resource in RESOURCES))
    groups = fetch_counts(tables, ratios, ratios.steps, "efficiencies", ["resource"], per=STEPS)
    totals = ratios.group_by("resource").aggregate(
        used=int_sum(ratios.used_amount), requested=int_sum(ratios.requested_amount)
    )
    share_of_resource = {
        row["resource"]: row["used"] / row["requested"]
        for row in tables.fetch(totals, "totals").to_pylist()
        if row["requested"]
    }
    if not groups:
        raise NotApplicable("no task has both usage and a request")
    rows: list[Row] = []
    for (resource,), efficiencies in groups.items():
        values = efficiencies.quantiles(percents)
        for percent, efficiency in zip(percents, values, strict=True):
            rows.append(
                {
                    "resource": resource,
                    "percent": percent,
                    "efficiency": efficiency,
                    "mean": efficiencies.mean(),
                    "of_all": share_of_resource.get(resource, 0.0),
                    "n": len(efficiencies),
                }
            )
    return rows


def whole_lives(tables: Tables) -> ir.Table:
    """Return the requests of each task, what it used, and for how long that is known: ``cpu_seconds`` …"""
    windows = of_jobs(regular(tables.instance_usage))
    memory = ibis.coalesce(windows.maximum_memory, windows.average_memory).cast("float64")
    nothing = ibis.literal(0, "int64")
    used = windows.group_by(list(TASK)).aggregate(
        cpu_amount=int_sum(amount(windows.average_cpu, windows.seconds, FINE_BITS)),
        cpu_seconds=int_sum(windows.average_cpu.notnull().ifelse(windows.seconds, nothing)),
        memory_used=memory.max(),
        memory_seconds=int_sum(memory.notnull().ifelse(windows.seconds, nothing)),
    )
    used = used.mutate(cpu_used=level(used.cpu_amount, used.cpu_seconds.nullif(0), FINE_BITS))
    requests = tables.tasks.select(*TASK, "cpu_request", "memory_request")
    return used.inner_join(requests, list(TASK))


WHOLE_LIVES = SharedTable("whole_lives", whole_lives)
"""What tasks asked for and used: see :func:`whole_lives`."""


def ratios_of(lives: ir.Table, resource: str) -> ir.Table:
    """Return used ÷ requested of a resource in whole steps, and both as amounts."""
    # NULL, not 0: engines may divide before they filter.
    request = lives[f"{resource}_request"].cast("float64").nullif(0.0)
    seconds = lives[f"{resource}_seconds"].nullif(0)
    known = lives.mutate(request=request, used=lives[f"{resource}_used"], seconds=seconds)
    known = known.filter(known.request.notnull() & known.seconds.notnull())
    steps = ibis.least(known.used / known.request * float(STEPS) + 0.5, MOST_STEPS)
    return known.select(
        resource=ibis.literal(resource),
        steps=steps.floor().cast("int64"),
        used_amount=fixed(known.used, BITS) * known.seconds,
        requested_amount=fixed(known.request, BITS) * known.seconds,
    )


def chart(answer: pa.Table) -> alt.Chart:
    """Draw the distribution of used ÷ requested, for CPU and memory."""
    import altair as alt

    rows = answer.to_pylist()
    return (
        charts.base(rows, title="Used ÷ requested over whole lives")
        .mark_line(**charts.steps(rows))
        .encode(
            x=alt.X("efficiency:Q", title="used ÷ requested"),
            y=alt.Y("percent:Q", title="percent of tasks"),
            color=alt.Color("resource:N", title="resource", legend=charts.legend("resource")),
            tooltip=charts.tooltips(rows),
        )
    )


QUESTION = Question(
    name="job_efficiency",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    reads=["instance_usage"],
    # For the quantiles, and for the totals.
    shares=[WHOLE_LIVES, WHOLE_LIVES],
    reference="SchedMD/slurm, contribs/seff (CPU and memory efficiency of a job)",
)
