"""How much of the cell is used and how much is allocated, by hour and tier?

*Used* is the mean of ``average_cpu`` (``average_memory``), every window weighted by its length;
*allocated* is the mean of the requests of running instances; *capacity* that of the machines present.
What runs inside an alloc set counts once: a task for its own tier, what is left of the alloc for the
alloc's. Hours count from the start of the trace; the last one may be shorter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.shared.attempts import TASK
from borgtrace.analyses.shared.histograms import period
from borgtrace.analyses.shared.joins import lookup
from borgtrace.analyses.shared.step_functions import (
    LEVEL_BITS,
    capacity_changes,
    hourly,
    hours,
    span,
)
from borgtrace.analyses.shared.windows import (
    RESOURCES,
    amount,
    by_tier,
    credited,
    fixed,
    int_sum,
    level,
    regular,
    tier,
)
from borgtrace.lifecycle.order import SOURCE_ORDER
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    Question,
    Tables,
    above,
    between,
    charts,
    query_answer,
    sql,
)
from borgtrace.question.scopes import LIKE_2011, OF_2019, OF_BOTH
from borgtrace.schema.time import AFTER_TRACE, HOUR, TRACE_START

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="tier and hour",
    key=[
        Column("tier", "string", "id", "Tier of the instances."),
        Column("hour", "int64", "h", "Hour since the start of the trace, from 0."),
    ],
    columns=[
        Column(
            "cpu_used", "float64", "fraction", "Mean CPU used, in largest machines.", nullable=True
        ),
        Column(
            "cpu_allocated",
            "float64",
            "fraction",
            "Mean CPU requested by running instances.",
            nullable=True,
        ),
        Column(
            "cpu_capacity",
            "float64",
            "fraction",
            "Mean CPU of the machines present, all tiers together.",
            nullable=True,
        ),
        Column(
            "memory_used",
            "float64",
            "fraction",
            "Mean memory used, in largest machines.",
            nullable=True,
        ),
        Column(
            "memory_allocated",
            "float64",
            "fraction",
            "Mean memory requested by running instances.",
            nullable=True,
        ),
        Column(
            "memory_capacity",
            "float64",
            "fraction",
            "Mean memory of the machines present, all tiers together.",
            nullable=True,
        ),
    ],
)


def allocation_changes(tables: Tables) -> ir.Table:
    """Return ``time``, ``tier`` and the change of the allocated ``cpu`` and ``memory`` in 2⁻²⁴.

    An attempt holds the request of its SCHEDULE, then that of each UPDATE_RUNNING, until it leaves.
    Alloc instances hold theirs, and what runs inside them counts as
    :func:`borgtrace.analyses.shared.windows.credited` says.
    """
    attempts = tables.instance_attempts
    ran = attempts.filter(attempts.schedule_time.notnull())
    ran = ran.select(
        *TASK,
        "attempt",
        "alloc_collection_id",
        "schedule_time",
        "left_time",
        tier=tier(tables, ran.priority),
        **{name: _scaled(ran[f"{name}_request"]) for name in RESOURCES},
    )
    # left_time, not end_time: an attempt whose end is lost lets go when the next one begins, not never.
    held = ran.select("alloc_collection_id", "tier", *RESOURCES, "left_time", time="schedule_time")
    rows = credited(tables, held.union(_updates(tables, ran)))
    rows = rows.mutate(**{name: rows[name] * rows.sign for name in RESOURCES})
    begun = rows.select("tier", *RESOURCES, "time")
    # What is alive at the end of the trace holds its request until then: it never lets go.
    ended = rows.filter(rows.left_time.notnull())
    left = ended.select("tier", **{name: -ended[name] for name in RESOURCES}, time="left_time")
    return begun.union(left)


def _scaled(request: ir.FloatingColumn) -> ir.IntegerColumn:
    return fixed(request, LEVEL_BITS).fill_null(0)


def _updates(tables: Tables, ran: ir.Table) -> ir.Table:
    """Return by how much each UPDATE_RUNNING changes what its attempt holds until it leaves."""
    events = tables.instance_events
    # An update with missing info names no request: what was promised before still holds.
    requested = events.cpu_request.notnull() & events.memory_request.notnull()
    updates = events.filter((events.type == "UPDATE_RUNNING") & requested)
    new = {f"new_{name}": _scaled(updates[f"{name}_request"]) for name in RESOURCES}
    updates = updates.select(*TASK, *SOURCE_ORDER, **new)
    # Events name no attempt: an update belongs to the one in whose span it falls.
    inside = ran.inner_join(updates, list(TASK))
    # An update at the instant of the SCHEDULE already holds; one at the instant of leaving does not.
    until = inside.left_time.fill_null(AFTER_TRACE)
    inside = inside.filter((inside.schedule_time <= inside.time) & (inside.time < until))
    life = ibis.window(group_by=[*TASK, "attempt"], order_by=list(SOURCE_ORDER))
    before = {name: inside[f"new_{name}"].lag().over(life) for name in RESOURCES}
    # The first update changes what the SCHEDULE asked for, each later one what the update before asked for.
    changes = {
        name: inside[f"new_{name}"] - ibis.coalesce(before[name], inside[name])
        for name in RESOURCES
    }
    return inside.select(
        "alloc_collection_id", "tier", **changes, left_time="left_time", time="time"
    )


def compute(tables: Tables) -> ir.Table:
    """Return used, allocated and available resources per tier and hour."""
    return levels(tables)


def levels(tables: Tables, length: int = HOUR) -> ir.Table:
    """Return the columns of `RESULT` for periods of another length; ``hour`` is their number.

    Parameters
    ----------
    tables
        The store's tables.
    length
        Length of a period, µs: a multiple of 300 s that divides an hour.
    """
    usage = regular(tables.instance_usage)
    usage = usage.mutate(hour=period(usage.start_time, length, TRACE_START))
    # Whichever lasts longer: a store need not hold all parts of both tables.
    spine = hours(
        span(usage.select(time="end_time"), tables.instance_events.select("time")), length
    )
    allocated = hourly(allocation_changes(tables), spine, "tier", RESOURCES, length)
    # Capacity belongs to no tier; one constant name lets it be averaged like what does.
    changes = capacity_changes(tables.machine_events).mutate(tier=ibis.literal("all"))
    capacity = hourly(changes, spine, "tier", RESOURCES, length)
    used = _used(tables, usage)
    # Hours in which a tier neither uses nor holds anything are rows of 0, which the stacked areas need.
    grid = allocated.select("tier").union(used.select("tier"), distinct=True).cross_join(spine)
    rows = lookup(
        lookup(grid, used, ["tier", "hour"]), allocated.drop("hour_seconds"), ["tier", "hour"]
    )
    rows = lookup(
        rows, capacity.select("hour", cpu_capacity="cpu", memory_capacity="memory"), ["hour"]
    )
    columns = {}
    for name in RESOURCES:
        columns[f"{name}_used"] = level(rows[f"{name}_amount"].fill_null(0), rows.hour_seconds)
        columns[f"{name}_allocated"] = rows[name].fill_null(0.0)
        # Not filled: without machine events the capacity is unknown, not 0.
        columns[f"{name}_capacity"] = rows[f"{name}_capacity"]
    return rows.select("tier", "hour", **columns)


def _used(tables: Tables, usage: ir.Table) -> ir.Table:
    averages = [f"average_{name}" for name in RESOURCES]
    rows = by_tier(tables, usage.select(*TASK, "alloc_collection_id", "hour", "seconds", *averages))
    sums = {
        f"{n}_amount": int_sum(amount(rows[f"average_{n}"], rows.seconds) * rows.sign)
        for n in RESOURCES
    }
    return rows.group_by(["tier", "hour"]).aggregate(**sums)


_READS = ("instance_usage", "instance_events", "machine_events", "tasks")


def chart(answer: pa.Table) -> alt.HConcatChart:
    """Draw: used (areas), allocated (dashed) and available (line)."""
    import altair as alt

    # What the tiers use, with lines for what is allocated and what there is.
    panels = []
    rows = answer.to_pylist()
    if rows:
        rows_1 = query_answer(
            answer,
            """
            select hour, sum(cpu_allocated) as cpu_allocated
            from answer
            group by hour
            order by hour
            """,
        )
        rows_2 = query_answer(
            answer,
            """
            select hour, coalesce(last(cpu_capacity), 0) as cpu_capacity
            from answer
            group by hour
            order by hour
            """,
        )
        base = charts.base(rows).encode(x=charts.hour_axis(rows))
        areas = base.mark_area(opacity=0.75).encode(
            y=alt.Y("cpu_used:Q", title="CPU (largest machines)"),
            color=charts.tier_color(rows),
            tooltip=charts.tooltips(rows, "hour", "cpu_used", "tier", "cpu_allocated"),
        )
        lines = (
            charts.base(rows_1)
            .encode(x=charts.hour_axis(rows_1))
            .mark_line(color="black", strokeDash=[5, 3])
            .encode(
                y="cpu_allocated:Q",
                tooltip=charts.tooltips(rows_1),
            )
        )
        lines_2 = (
            charts.base(rows_2)
            .encode(x=charts.hour_axis(rows_2))
            .mark_line(color="black")
            .encode(
                y="cpu_capacity:Q",
                tooltip=charts.tooltips(rows_2),
            )
        )
        panels.append(alt.layer(areas, lines, lines_2))
    rows = answer.to_pylist()
    if rows:
        rows_1 = query_answer(
            answer,
            """
            select hour, sum(memory_allocated) as memory_allocated
            from answer
            group by hour
            order by hour
            """,
        )
        rows_2 = query_answer(
            answer,
            """
            select hour, coalesce(last(memory_capacity), 0) as memory_capacity
            from answer
            group by hour
            order by hour
            """,
        )
        base = charts.base(rows).encode(x=charts.hour_axis(rows))
        areas = base.mark_area(opacity=0.75).encode(
            y=alt.Y("memory_used:Q", title="memory (largest machines)"),
            color=charts.tier_color(rows),
            tooltip=charts.tooltips(rows, "hour", "memory_used", "tier", "memory_allocated"),
        )
        lines = (
            charts.base(rows_1)
            .encode(x=charts.hour_axis(rows_1))
            .mark_line(color="black", strokeDash=[5, 3])
            .encode(
                y="memory_allocated:Q",
                tooltip=charts.tooltips(rows_1),
            )
        )
        lines_2 = (
            charts.base(rows_2)
            .encode(x=charts.hour_axis(rows_2))
            .mark_line(color="black")
            .encode(
                y="memory_capacity:Q",
                tooltip=charts.tooltips(rows_2),
            )
        )
        panels.append(alt.layer(areas, lines, lines_2))
    rows = query_answer(
        answer,
        """
        select
            hour,
            sum(cpu_used) as cpu_used,
            sum(cpu_allocated) as cpu_allocated,
            sum(memory_used) as memory_used,
            sum(memory_allocated) as memory_allocated
        from answer
        where tier in ('production', 'monitoring')
        group by hour
        order by hour
        """,
    )
    if rows:
        base = charts.base(rows).encode(x=charts.hour_axis(rows))
        lines = base.mark_line(color="#e07a1f").encode(
            y=alt.Y("cpu_used:Q", title="of production: CPU (orange), memory (blue)"),
            tooltip=charts.tooltips(rows, "hour", "cpu_used"),
        )
        lines_1 = base.mark_line(color="#e07a1f", strokeDash=[5, 3]).encode(
            y="cpu_allocated:Q",
            tooltip=charts.tooltips(rows, "hour", "cpu_allocated"),
        )
        lines_2 = base.mark_line(color="#1f77b4").encode(
            y=alt.Y("memory_used:Q", title="of production: CPU (orange), memory (blue)"),
            tooltip=charts.tooltips(rows, "hour", "memory_used"),
        )
        lines_3 = base.mark_line(color="#1f77b4", strokeDash=[5, 3]).encode(
            y="memory_allocated:Q",
            tooltip=charts.tooltips(rows, "hour", "memory_allocated"),
        )
        panels.append(alt.layer(lines, lines_1, lines_2, lines_3))
    return alt.hconcat(*panels).properties(
        title="Used (areas), allocated (dashed) and available (line)"
    )


CLAIMS = [
    Claim(
        "S4-fig9-use",
        statement="production uses about half of the CPU allocated to it",
        source="Zhu et al., Fig. 9",
        scope=LIKE_2011,
        measure=sql(
            """
            select sum(cpu_used) / nullif(sum(cpu_allocated), 0)
            from answer
            where tier in ('production', 'monitoring')
            """,
            otherwise="production is allocated no CPU",
        ),
        criterion=between(0.4, 0.6, published="≈ 0.5"),
    ),
    Claim(
        "S4-fig9-share-cpu",
        statement="production takes more than 80 % of the CPU used",
        source="Zhu et al., Fig. 9",
        scope=LIKE_2011,
        measure=sql(
            """
            select
                sum(if(tier in ('production', 'monitoring'), cpu_used, 0))
                    / nullif(sum(cpu_used), 0)
            from answer
            """,
            otherwise="nothing is used",
        ),
        criterion=above(0.8),
    ),
    Claim(
        "S4-fig9-share-memory",
        statement="production takes more than 80 % of the memory used",
        source="Zhu et al., Fig. 9",
        scope=LIKE_2011,
        measure=sql(
            """
            select
                sum(if(tier in ('production', 'monitoring'), memory_used, 0))
                    / nullif(sum(memory_used), 0)
            from answer
            """,
            otherwise="nothing is used",
        ),
        criterion=above(0.8),
    ),
    Claim(
        "TIR-cpu-overcommit",
        statement="allocated CPU exceeds the capacity",
        source="Tirmazi et al., EuroSys'20",
        scope=OF_BOTH,
        measure=sql(
            """
            select sum(allocated) / sum(capacity)
            from (
                select sum(cpu_allocated) as allocated, any_value(cpu_capacity) as capacity
                from answer
                group by hour
            )
            where capacity > 0
            """,
            otherwise="no machine has a capacity",
        ),
        criterion=above(1),
    ),
    # Memory was over-committed in 2019 alone.
    Claim(
        "TIR-memory-overcommit",
        statement="allocated memory exceeds the capacity",
        source="Tirmazi et al., EuroSys'20",
        scope=OF_2019,
        measure=sql(
            """
            select sum(allocated) / sum(capacity)
            from (
                select
                    sum(memory_allocated) as allocated,
                    any_value(memory_capacity) as capacity
                from answer
                group by hour
            )
            where capacity > 0
            """,
            otherwise="no machine has a capacity",
        ),
        criterion=above(1),
    ),
]

QUESTION = Question(
    name="utilization",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=_READS,
    reference="Zhu et al., Fig. 9; Google's analysis notebook of the 2019 traces",
)
