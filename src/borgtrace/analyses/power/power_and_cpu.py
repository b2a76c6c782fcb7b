"""How does the power of a domain follow the CPU that its machines use?

Machines are joined to their power domain, and usage to power by hour of the trace's clock (or by another period,
`length`). They are never joined by time, because windows of usage begin at any time, and power at multiples of five
minutes. *Literal* is the query of Google's notebook on PowerData 2019: windows of 300 s or more with an event on the
machine, tiers as in `notebook`, divided by the largest capacity that the domain's machines ever had, and the mean power
of all measurements; by day, it moves power by 300 s, but not CPU. The other columns count windows of any length by
their length, tasks in their own tiers, over the time with power measurements (the first hour of the clock has 50
minutes), and power without a flag in the same period. The notebook's *cappable* is the sum of free, beb and mid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.power.measurements import DOMAIN, is_good, mean
from borgtrace.analyses.shared.columns import POWER_DOMAIN
from borgtrace.analyses.shared.histograms import period
from borgtrace.analyses.shared.joins import lookup
from borgtrace.analyses.shared.notebook_queries import largest_capacities, windows_with_tiers
from borgtrace.analyses.shared.windows import (
    SLOT_SECONDS,
    amount,
    by_tier,
    fixed,
    int_sum,
    level,
    regular,
)
from borgtrace.question import Answer, Column, Question, Tables, charts
from borgtrace.schema.bounds import Bounds
from borgtrace.schema.time import DAY, HOUR, SECOND, WINDOW, Microseconds

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="power domain, period and tier",
    key=[
        *POWER_DOMAIN,
        Column(
            "period",
            "int64",
            "id",
            "Period of the trace's clock, which starts 600 s before the trace; from 0.",
        ),
        Column("tier", "string", "id", "Tier of the instances."),
    ],
    columns=[
        Column(
            "cpu_literal",
            "float64",
            "fraction",
            "CPU used as the notebook counts it, share of the capacity of the domain's machines.",
        ),
        Column(
            "cpu",
            "float64",
            "fraction",
            "CPU used, windows by their length and tasks in their own tiers, of the time "
            "with power measurements.",
        ),
        Column(
            "measured_literal",
            "float64",
            "fraction",
            "Mean measured power in the notebook's period.",
            nullable=True,
        ),
        Column(
            "measured",
            "float64",
            "fraction",
            "Mean measured power without a flag in the period.",
            nullable=True,
        ),
        Column(
            "production_literal",
            "float64",
            "fraction",
            "Mean power of production in the notebook's period.",
            nullable=True,
        ),
        Column(
            "production",
            "float64",
            "fraction",
            "Mean power of production without a flag in the period.",
            nullable=True,
        ),
    ],
)


DOMAIN_AND_PERIOD = (*DOMAIN, "period")


def compute(
    tables: Tables, *, length: Annotated[Microseconds, Bounds(WINDOW, 366 * DAY)] = HOUR
) -> ir.Table:
    """Return CPU by tier and power of each domain and period."""
    fed_machines = tables.machine_power_domains.select("machine_id", *DOMAIN).distinct()
    used = cpu_of_domains(tables, fed_machines, length)
    rows = used.inner_join(capacity_of_domains(tables, fed_machines), list(DOMAIN))
    rows = rows.inner_join(power_of_domains(tables, length), list(DOMAIN_AND_PERIOD))
    measured_seconds = rows.n * SLOT_SECONDS
    rows = rows.mutate(
        cpu_literal=level(rows.literal_amount, length / SECOND) / rows.capacity,
        cpu=level(rows.amount, measured_seconds) / rows.capacity,
    )
    return rows.drop("n", "capacity", "literal_amount", "amount")


def capacity_of_domains(tables: Tables, fed_machines: ir.Table) -> ir.Table:
    """Return the CPU capacity of the machines of each domain, where it is above 0."""
    machines = largest_capacities(tables).inner_join(fed_machines, "machine_id")
    capacities = machines.group_by(list(DOMAIN)).aggregate(
        capacity=level(int_sum(fixed(machines.cpu)), 1)
    )
    return capacities.filter(capacities.capacity > 0)


def cpu_of_domains(tables: Tables, fed_machines: ir.Table, length: int) -> ir.Table:
    """Return the CPU time of each domain, period and tier, as the notebook counts it and by the length of windows."""
    literal = windows_with_tiers(tables)
    literal = literal.mutate(
        literal_amount=amount(literal.average_cpu, ibis.literal(SLOT_SECONDS)),
        amount=ibis.literal(0, "int64"),
    )
    own = by_tier(tables, regular(tables.instance_usage))
    own = own.mutate(
        literal_amount=ibis.literal(0, "int64"),
        amount=amount(own.average_cpu, own.seconds * own.sign),
    )
    columns = ("machine_id", "tier", "start_time", "literal_amount", "amount")
    windows = literal.select(columns).union(own.select(columns))
    windows = windows.mutate(period=period(windows.start_time, length))
    windows = windows.inner_join(fed_machines, "machine_id")
    return windows.group_by([*DOMAIN_AND_PERIOD, "tier"]).aggregate(
        literal_amount=int_sum(windows.literal_amount).fill_null(0),
        amount=int_sum(windows.amount).fill_null(0),
    )


def power_of_domains(tables: Tables, length: int) -> ir.Table:
    """Return the power of each domain and period, only of good measurements and as the notebook has it."""
    rows = tables.power_measurements
    measured = rows.measured_power_util
    production = rows.production_power_util
    by_period = rows.group_by(*DOMAIN, period=period(rows.time, length))
    good = by_period.aggregate(
        n=rows.count(),
        measured=mean(measured, is_good(rows)),
        production=mean(production, is_good(rows)),
    )
    # Days of the notebook start a window later.
    notebook_period = period(rows.time, length, WINDOW if length == DAY else 0)
    literal = rows.group_by(*DOMAIN, period=notebook_period).aggregate(
        measured_literal=mean(measured), production_literal=mean(production)
    )
    return lookup(good, literal, list(DOMAIN_AND_PERIOD))


def chart(answer: pa.Table) -> alt.FacetChart:
    """Draw CPU by tier as areas under the measured power, a panel for each domain."""
    import altair as alt

    rows = answer.to_pylist()
    base = charts.base(rows, width=200, height=80).encode(
        x=alt.X("period:Q", title="period of the trace's clock"),
        y=alt.Y("cpu:Q", title="share of the capacity, and of the supply"),
    )
    areas = base.mark_area().encode(
        color=charts.tier_color(rows),
        tooltip=charts.tooltips(rows, "period", "cpu", "tier"),
    )
    lines = base.mark_line(color="#222").encode(
        y="measured:Q",
        tooltip=charts.tooltips(rows, "period", "measured"),
    )
    return (
        alt.layer(areas, lines)
        .facet(facet=charts.wrapped_panels("pdu"), columns=4)
        .properties(title="CPU by tier under the measured power")
    )


QUESTION = Question(
    name="power_and_cpu",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    reads=[
        "power_measurements",
        "machine_power_domains",
        "instance_usage",
        "instance_events",
        "machine_events",
        "tasks",
    ],
    reference="power_trace_analysis_colab.ipynb, google/cluster-data",
)
