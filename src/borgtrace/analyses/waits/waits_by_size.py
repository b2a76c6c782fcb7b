"""Do tasks that request more wait longer?

Quantiles of SCHEDULE − SUBMIT by the size of the request: of CPU in classes that end at powers of two of the largest
machine, of GPUs at powers of two of a device (0 where a task asks for none, and others do). Waits are cut to hundredths
of a second; those that began before the trace are unknown and left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.shared.attempts import HUNDREDTH, TASK, of_jobs
from borgtrace.analyses.shared.joins import lookup
from borgtrace.analyses.shared.quantiles import fetch_counts
from borgtrace.question import (
    Answer,
    Column,
    NotApplicable,
    Question,
    Row,
    Tables,
    charts,
)

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="resource, class of requests and percentile",
    key=[
        Column("resource", "string", "id", "Resource: cpu or gpu."),
        Column(
            "size",
            "float64",
            "1",
            "Largest request of the class: in largest machines, or in GPUs; half of it is the class below.",
        ),
        Column("percent", "float64", "1", "Percentile; 100 is the maximum."),
    ],
    columns=[
        Column("seconds", "float64", "s", "Wait from SUBMIT to SCHEDULE."),
        Column("mean", "float64", "s", "Mean wait of the class."),
        Column("n", "int64", "count", "Attempts of the class with a wait."),
    ],
)

REPORTED_PERCENTS = (10.0, 25.0, 50.0, 75.0, 90.0, 99.0, 100.0)
SMALLEST, LARGEST = -12, 20
"""Powers of two between which classes end; what is larger is in the last one."""
THOUSANDTHS = 1000.0
"""Of a device: the unit of requests of GPUs."""


def compute(tables: Tables) -> list[Row]:
    """Return quantiles of the waits by class of the requests of CPU, and of GPUs."""
    attempts = of_jobs(tables.instance_attempts)
    has_gpus = tables.dialect.publishes("gpu_request")
    if has_gpus:
        attempts = lookup(attempts, tables.tasks.select(*TASK, "gpu_request"), TASK)
    waited = attempts.filter(attempts.wait.notnull())
    sized = [sizes(waited, "cpu", waited.cpu_request.cast("float64"))]
    if has_gpus:
        sized.append(sizes(waited, "gpu", waited.gpu_request.cast("float64") / THOUSANDTHS))
    rows_of_resources = ibis.union(*sized) if has_gpus else sized[0]
    groups = fetch_counts(
        tables,
        rows_of_resources,
        rows_of_resources.wait // HUNDREDTH,
        "waits",
        ["resource", "size"],
        per=1e6 / HUNDREDTH,
    )
    rows: list[Row] = []
    for (resource, size), waits in groups.items():
        rows += waits.rows(
            REPORTED_PERCENTS,
            resource=resource,
            size=float(size),
            mean=waits.mean(),
            n=len(waits),
        )
    if not rows:
        raise NotApplicable("no wait of a task with a request lies within the trace")
    return rows


def sizes(waited: ir.Table, resource: str, request: ir.FloatingValue) -> ir.Table:
    """Return ``resource``, the ``size`` of each attempt's class, and its ``wait``."""
    sized = waited.mutate(request=request)
    known = sized.filter(sized.request.notnull())
    # By comparison: engines differ in the last bit of a logarithm.
    ends = [2.0**power for power in range(SMALLEST, LARGEST)]
    cases = [(known.request <= 0.0, 0.0), *((known.request <= end, end) for end in ends)]
    size = ibis.cases(*cases, else_=2.0**LARGEST)
    return known.select("wait", resource=ibis.literal(resource), size=size.cast("float64"))


def chart(answer: pa.Table) -> alt.FacetChart:
    """Draw quantiles of the wait over the size of the request."""
    import altair as alt

    rows = [row for row in answer.to_pylist() if row["percent"] in (50.0, 90.0) and row["size"]]
    return (
        charts.base(rows, height=120)
        .mark_line(point=True)
        .encode(
            x=alt.X("size:Q", title="request (largest machines, or GPUs)", **charts.log_scale()),
            y=alt.Y("seconds:Q", title="wait (s)"),
            color=alt.Color("percent:N", title="percentile"),
            tooltip=charts.tooltips(rows, "resource", "size", "percent", "seconds", "mean", "n"),
        )
        .facet(row=charts.rows_of_panels("resource"))
        .resolve_scale(x="independent", y="independent")
        .properties(title="Wait by size of the request")
    )


QUESTION = Question(
    name="waits_by_size",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    reads=["instance_events"],
    reference="Jeon et al., ATC'19 (queueing delay by number of GPUs)",
)
