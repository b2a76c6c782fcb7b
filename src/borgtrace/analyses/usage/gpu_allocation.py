"""How many GPUs are allocated, hour by hour?

*Allocated* is the mean number of devices that running tasks requested; half a device counts as .5. *Capacity* is the
number of devices of the machines present. An attempt holds its task's request from SCHEDULE until it leaves. Hours
count from the start of the trace; the last one may be shorter. Where no machine says how many GPUs it has, the
capacity is not known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.shared.attempts import TASK, of_jobs
from borgtrace.analyses.shared.joins import lookup
from borgtrace.analyses.shared.step_functions import LEVEL_BITS, hourly, hours, span
from borgtrace.analyses.shared.windows import fixed
from borgtrace.lifecycle.order import SOURCE_ORDER
from borgtrace.question import Answer, Column, NotApplicable, Question, Tables, charts, query_answer

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="hour",
    key=[Column("hour", "int64", "h", "Hour since the start of the trace, from 0.")],
    columns=[
        Column(
            "allocated", "float64", "count", "Mean number of GPUs that running tasks requested."
        ),
        Column(
            "capacity",
            "float64",
            "count",
            "Mean number of GPUs of the machines present; NULL where no machine says its GPUs.",
            nullable=True,
        ),
        Column("share", "float64", "fraction", "Allocated ÷ capacity.", nullable=True),
    ],
)

THOUSANDTHS = 1000.0
"""Of a device: the unit of requests."""


def compute(tables: Tables) -> pa.Table:
    """Return the mean number of allocated GPUs of each hour, beside those of the machines."""
    tables.require_published("requests of GPUs", column="gpu_request")
    spine = hours(span(tables.instance_events.select("time")))
    allocated = hourly(allocation_changes(tables), spine, "all", ["gpus"])
    capacity = hourly(capacity_changes(tables.machine_events), spine, "all", ["gpus"])
    rows = lookup(spine, allocated.select("hour", allocated="gpus"), ["hour"])
    rows = lookup(rows, capacity.select("hour", capacity="gpus"), ["hour"])
    answer = tables.fetch(
        rows.select(
            "hour",
            allocated=rows.allocated.fill_null(0.0),
            capacity=rows.capacity,
            share=rows.allocated.fill_null(0.0) / rows.capacity.nullif(0.0),
        ).order_by("hour")
    )
    if not any(answer["allocated"].to_pylist()):
        raise NotApplicable("no task that runs requests a GPU")
    return answer


def allocation_changes(tables: Tables) -> ir.Table:
    """Return ``time`` and the change of the allocated ``gpus`` in 2⁻²⁴, below one constant ``all``."""
    attempts = of_jobs(tables.instance_attempts)
    started = attempts.filter(attempts.schedule_time.notnull())
    started = lookup(started, tables.tasks.select(*TASK, "gpu_request"), TASK)
    devices = started.gpu_request.cast("float64") / THOUSANDTHS
    held = started.select(
        "schedule_time",
        "left_time",
        gpus=fixed(devices, LEVEL_BITS).fill_null(0),
        all=ibis.literal("all"),
    )
    begins = held.select("all", "gpus", time="schedule_time")
    # What is alive at the end of the trace holds its devices until then.
    left = held.filter(held.left_time.notnull())
    ends = left.select("all", gpus=-left.gpus, time="left_time")
    return begins.union(ends)


def capacity_changes(machine_events: ir.Table) -> ir.Table:
    """Return ``time`` and the change of the ``gpus`` that machines have in 2⁻²⁴; none where no machine says any."""
    known = machine_events.filter(machine_events.gpu_capacity.notnull())
    history = ibis.window(group_by="machine_id", order_by=list(SOURCE_ORDER))
    devices = fixed(known.gpu_capacity, LEVEL_BITS).fill_null(0)
    present = (known.type != "REMOVE").ifelse(devices, ibis.literal(0, "int64"))
    levels = known.mutate(present=present)
    step = levels.present - levels.present.lag().over(history).fill_null(0)
    return levels.select("time", gpus=step, all=ibis.literal("all"))


def chart(answer: pa.Table) -> alt.Chart:
    """Draw the allocated GPUs, and those that there are."""
    import altair as alt

    rows = query_answer(
        answer,
        """
        select hour, 'allocated' as series, allocated as gpus from answer
        union all
        select hour, 'capacity', capacity from answer where capacity is not null
        """,
    )
    return (
        charts.base(rows, title="GPUs allocated")
        .mark_line(interpolate="step-after")
        .encode(
            x=charts.hour_axis(rows),
            y=alt.Y("gpus:Q", title="GPUs"),
            color=alt.Color("series:N", title=None, sort=["allocated", "capacity"]),
            tooltip=charts.tooltips(rows),
        )
    )


QUESTION = Question(
    name="gpu_allocation",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    reads=["instance_events"],
    reference="Hu et al., SC'21 (cluster utilization)",
)
