"""How much of the cell is used and how much is allocated, by hour and tier?

*Used* is the mean of ``average_cpu`` (``average_memory``), every window weighted by its length;
*allocated* is the mean of the requests of running instances; *capacity* that of the machines present.
What runs inside an alloc set counts once: a task for its own tier, the rest of the alloc for the
alloc's. Hours count from the start of the trace; the last one may be shorter. In an hour without a
window of any task usage is unknown; *measured* says of how much of an hour there are windows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.shared.attempts import TASK
from borgtrace.analyses.shared.histograms import period
from borgtrace.analyses.shared.joins import lookup
from borgtrace.analyses.shared.measured import share_measured, used_where_measured
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
    Row,
    Tables,
    above,
    between,
    charts,
    query_answer,
    sql,
)
from borgtrace.question.answer_sizes import amounts_of, in_own_units
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
            "measured",
            "float64",
            "fraction",
            "Share of the hour's 300 s slots in which usage was measured, of any tier; a mean of what"
            " is used is over the whole hour.",
        ),
        Column(
            "cpu_used",
            "float64",
            "fraction",
            "Mean CPU used, in largest machines; NULL where it was not measured.",
            nullable=True,
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
            "Mean memory used, in largest machines; NULL where it was not measured.",
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


DASHED = [5, 3]


def compute(tables: Tables) -> ir.Table:
    """Return used, allocated and available resources per tier and hour."""
    return levels(tables)


def levels(tables: Tables, length: int = HOUR) -> ir.Table:
    """Return the same columns for periods of another length; ``hour`` is their number.

    Parameters
    ----------
    tables
        The store's tables.
    length
        Length of a period, µs: a multiple of 300 s that divides an hour.
    """
    usage = regular(tables.instance_usage)
    usage = usage.mutate(hour=period(usage.start_time, length, TRACE_START))
    # The longer of the two counts: a store need not hold all parts of both tables.
    last = span(usage.select(time="end_time"), tables.instance_events.select("time"))
    spine = hours(last, length)
    used = used_by_tier(tables, usage)
    allocated = hourly(allocation_changes(tables), spine, "tier", RESOURCES, length)
    # Capacity belongs to no tier; one constant name lets it be averaged like what does.
    changes = capacity_changes(tables.machine_events).mutate(tier=ibis.literal("all"))
    capacity = hourly(changes, spine, "tier", RESOURCES, length)
    capacity = capacity.select("hour", cpu_capacity="cpu", memory_capacity="memory")
    # Hours in which a tier neither uses nor holds anything are rows of 0, which the stacked areas need.
    tiers = allocated.select("tier").union(used.select("tier"), distinct=True)
    rows = lookup(tiers.cross_join(spine), used, ["tier", "hour"])
    rows = lookup(rows, allocated.drop("hour_seconds"), ["tier", "hour"])
    rows = lookup(rows, capacity, ["hour"])
    rows = lookup(rows, share_measured(usage, spine), ["hour"])
    columns = {"measured": rows.measured}
    for name in RESOURCES:
        amount_used = rows[f"{name}_amount"]
        used_amount = used_where_measured(amount_used, rows.n_windows.notnull(), rows.measured)
        columns[f"{name}_used"] = level(used_amount, rows.hour_seconds)
        columns[f"{name}_allocated"] = rows[name].fill_null(0.0)
        # Not filled: without machine events the capacity is unknown, not 0.
        columns[f"{name}_capacity"] = rows[f"{name}_capacity"]
    return rows.select("tier", "hour", **columns)


def used_by_tier(tables: Tables, usage: ir.Table) -> ir.Table:
    """Return the number of windows of each tier in each hour, and the amounts of CPU and memory used in them."""
    rows = usage.select(
        *TASK, "alloc_collection_id", "hour", "seconds", "average_cpu", "average_memory"
    )
    rows = by_tier(tables, rows)
    return rows.group_by(["tier", "hour"]).aggregate(
        n_windows=rows.count(),
        cpu_amount=int_sum(amount(rows.average_cpu, rows.seconds) * rows.sign),
        memory_amount=int_sum(amount(rows.average_memory, rows.seconds) * rows.sign),
    )


def allocation_changes(tables: Tables) -> ir.Table:
    """Return ``time``, ``tier`` and the change of the allocated ``cpu`` and ``memory`` in 2⁻²⁴.

    An attempt holds the request of its SCHEDULE, then that of each UPDATE_RUNNING, until it leaves.
    Alloc instances hold theirs, and what runs inside them counts as
    :func:`borgtrace.analyses.shared.windows.credited` says.
    """
    attempts = tables.instance_attempts
    started = attempts.filter(attempts.schedule_time.notnull())
    started = started.select(
        *TASK,
        "attempt",
        "alloc_collection_id",
        "schedule_time",
        "left_time",
        tier=tier(tables, started.priority),
        cpu=scaled(started.cpu_request),
        memory=scaled(started.memory_request),
    )
    # left_time, not end_time: an attempt whose end is lost lets go when the next one begins, not never.
    at_start = started.select(
        "alloc_collection_id", "tier", *RESOURCES, "left_time", time="schedule_time"
    )
    rows = credited(tables, at_start.union(changes_by_updates(tables, started)))
    rows = rows.mutate(cpu=rows.cpu * rows.sign, memory=rows.memory * rows.sign)
    begins = rows.select("tier", "cpu", "memory", "time")
    # What is alive at the end of the trace holds its request until then: it never lets go.
    left = rows.filter(rows.left_time.notnull())
    ends = left.select("tier", cpu=-left.cpu, memory=-left.memory, time="left_time")
    return begins.union(ends)


def scaled(request: ir.FloatingColumn) -> ir.IntegerColumn:
    """Return a request in 2⁻²⁴; 0 where it is NULL."""
    return fixed(request, LEVEL_BITS).fill_null(0)


def changes_by_updates(tables: Tables, started: ir.Table) -> ir.Table:
    """Return by how much each UPDATE_RUNNING changes what its attempt holds until it leaves."""
    events = tables.instance_events
    # An update with missing info names no request: the one before still holds.
    has_requests = events.cpu_request.notnull() & events.memory_request.notnull()
    updates = events.filter((events.type == "UPDATE_RUNNING") & has_requests)
    updates = updates.select(
        *TASK,
        *SOURCE_ORDER,
        new_cpu=scaled(updates.cpu_request),
        new_memory=scaled(updates.memory_request),
    )
    # Events name no attempt: an update belongs to the one in whose span it falls.
    pairs = started.inner_join(updates, list(TASK))
    # An update at the time of the SCHEDULE already holds; one at the time of leaving does not.
    end = pairs.left_time.fill_null(AFTER_TRACE)
    pairs = pairs.filter((pairs.schedule_time <= pairs.time) & (pairs.time < end))
    history = ibis.window(group_by=[*TASK, "attempt"], order_by=list(SOURCE_ORDER))
    changes = {}
    for name in RESOURCES:
        new_request = pairs[f"new_{name}"]
        # The first update changes the request of the SCHEDULE, each later one that of the update before.
        old_request = ibis.coalesce(new_request.lag().over(history), pairs[name])
        changes[name] = new_request - old_request
    return pairs.select(
        "alloc_collection_id", "tier", **changes, left_time="left_time", time="time"
    )


def chart(answer: pa.Table) -> alt.ConcatChart:
    """Draw CPU and memory of the cell over time, and below them those of production."""
    import altair as alt

    amounts = amounts_of(answer)
    own_units = in_own_units(answer)
    rows = own_units.to_pylist()
    totals = query_answer(
        own_units,
        """
        select
            hour,
            sum(cpu_allocated) as cpu_allocated,
            last(cpu_capacity) as cpu_capacity,
            sum(memory_allocated) as memory_allocated,
            last(memory_capacity) as memory_capacity
        from answer
        group by hour
        order by hour
        """,
    )
    panels = [
        usage_by_tier(rows, totals, "cpu", title=amounts.heading("CPU", "cpu")),
        usage_by_tier(rows, totals, "memory", title=amounts.heading("memory", "memory")),
    ]
    production = usage_rows_of_production(own_units)
    if production:
        for resource, name in (("cpu", "CPU"), ("memory", "memory")):
            title = amounts.heading(f"{name} of production", resource)
            panels.append(usage_of_production(production, resource, title=title))
    title = "Used (areas), allocated (dashed) and available (line) (Zhu et al., Fig. 9)"
    return alt.concat(*panels, columns=2).properties(
        title=charts.subtitled(title, *charts.gap_notes(rows))
    )


def usage_by_tier(
    rows: list[Row], totals: list[Row], resource: str, *, title: str
) -> alt.LayerChart:
    """Draw what the tiers use as areas, and lines for what is allocated and available in the whole cell."""
    import altair as alt

    used = f"{resource}_used"
    allocated = f"{resource}_allocated"
    capacity = f"{resource}_capacity"
    measured_rows = charts.in_runs(rows, used, "tier")
    areas = (
        charts.base(measured_rows)
        .mark_area(opacity=0.75)
        .encode(
            x=charts.hour_axis(rows),
            y=alt.Y(f"{used}:Q", title=title),
            color=charts.tier_color(rows),
            detail="run:N",
            tooltip=charts.tooltips(rows, "hour", used, "tier", allocated, "measured"),
        )
    )
    base = charts.base(totals).encode(x=charts.hour_axis(totals))
    allocated_line = base.mark_line(color="black", strokeDash=DASHED).encode(
        y=f"{allocated}:Q",
        tooltip=charts.tooltips(totals, "hour", allocated),
    )
    known_capacities = charts.in_runs(totals, capacity)
    capacity_line = (
        charts.base(known_capacities)
        .mark_line(color="black")
        .encode(
            x=charts.hour_axis(totals),
            y=f"{capacity}:Q",
            detail="run:N",
            tooltip=charts.tooltips(totals, "hour", capacity),
        )
    )
    return alt.layer(areas, allocated_line, capacity_line)


def usage_rows_of_production(answer: pa.Table) -> list[Row]:
    """Return what production uses and is allocated, by hour."""
    return query_answer(
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


def usage_of_production(rows: list[Row], resource: str, *, title: str) -> alt.LayerChart:
    """Draw what production uses of a resource, and dashed what it is allocated."""
    import altair as alt

    used = f"{resource}_used"
    allocated = f"{resource}_allocated"
    colour = charts.TIER_COLORS["production"]
    used_line = (
        charts.base(charts.in_runs(rows, used))
        .mark_line(color=colour)
        .encode(
            x=charts.hour_axis(rows),
            y=alt.Y(f"{used}:Q", title=title),
            detail="run:N",
            tooltip=charts.tooltips(rows, "hour", used),
        )
    )
    allocated_line = (
        charts.base(rows)
        .mark_line(color=colour, strokeDash=DASHED)
        .encode(
            x=charts.hour_axis(rows),
            y=alt.Y(f"{allocated}:Q", title=title),
            tooltip=charts.tooltips(rows, "hour", allocated),
        )
    )
    return alt.layer(used_line, allocated_line)


CLAIMS = [
    Claim(
        "S4-fig9-use",
        statement="production uses about half of the CPU allocated to it",
        source="Zhu et al., Fig. 9",
        scope=LIKE_2011.needing(days=7, tasks=5_000),
        measure=sql(
            """
            -- What is used is known of the measured part of an hour only.
            select sum(cpu_used) / nullif(sum(cpu_allocated * measured), 0)
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
        scope=LIKE_2011.needing(days=14, tasks=10_000),
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
        scope=LIKE_2011.needing(days=14, tasks=10_000),
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
        scope=OF_BOTH.needing(days=7, tasks=5_000),
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
    # Memory was over-committed only in 2019.
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
    has_amounts=True,
    claims=CLAIMS,
    reads=["instance_usage", "instance_events", "machine_events", "tasks"],
    reference="Zhu et al., Fig. 9; Google's analysis notebook of the 2019 traces",
)
