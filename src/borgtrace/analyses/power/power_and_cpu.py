"""How does the power of a domain follow the CPU that its machines use?

Machines are joined to their domain, and usage to power by hour of the trace's clock (`length`: another period), never
by time: windows of usage begin at any time, power at multiples of five minutes. *Literal* is the query of Google's
notebook on PowerData 2019: windows of 300 s or more with an event on the machine, tiers as in `notebook`, of the
largest capacity that the domain's machines ever had, and the mean power of all measurements; by day it moves power,
and not CPU, by 300 s. Beside it windows of any length by their length, tasks in their own tiers, over the time that
power tells of (the first hour of the clock has 50 minutes), and the power without a flag in the same period. The
notebook's *cappable* is the sum of free, beb and mid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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
            ("CPU used as the notebook counts it, share of the capacity of the domain's machines."),
        ),
        Column(
            "cpu",
            "float64",
            "fraction",
            (
                "CPU used, windows by their length and tasks in their own tiers, of the time "
                "that power tells of."
            ),
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


_AT = (*DOMAIN, "period")
_KINDS = ("measured", "production")


def compute(tables: Tables, *, length: Microseconds = HOUR) -> ir.Table:
    """Return CPU by tier and power of each domain and period."""
    fed = tables.machine_power_domains.select("machine_id", *DOMAIN).distinct()
    machines = largest_capacities(tables).inner_join(fed, "machine_id")
    held = machines.group_by(list(DOMAIN)).aggregate(held=level(int_sum(fixed(machines.cpu)), 1))
    used = _used(tables, length).inner_join(fed, "machine_id").group_by([*_AT, "tier"])
    used = used.aggregate(
        **{name: lambda rows, of=name: int_sum(rows[of]).fill_null(0) for name in ("theirs", "own")}
    )
    rows = used.inner_join(held.filter(held.held > 0), list(DOMAIN)).inner_join(
        _power(tables, length), list(_AT)
    )
    seconds = {
        "cpu_literal": (rows.theirs, length / SECOND),
        "cpu": (rows.own, rows.n * SLOT_SECONDS),
    }
    cpu = {name: level(total, time) / rows.held for name, (total, time) in seconds.items()}
    return rows.mutate(**cpu).drop("n", "held", "theirs", "own")


def _used(tables: Tables, length: int) -> ir.Table:
    """Return the CPU time of windows as the notebook counts it, and by what each window is."""
    theirs, own = windows_with_tiers(tables), by_tier(tables, regular(tables.instance_usage))
    none = ibis.literal(0, "int64")
    counted = theirs.mutate(theirs=amount(theirs.average_cpu, ibis.literal(SLOT_SECONDS)), own=none)
    measured = own.mutate(theirs=none, own=amount(own.average_cpu, own.seconds * own.sign))
    periods = (rows.mutate(period=period(rows.start_time, length)) for rows in (counted, measured))
    return ibis.union(
        *(rows.select("machine_id", "tier", "period", "theirs", "own") for rows in periods)
    )


def _power(tables: Tables, length: int) -> ir.Table:
    """Return the power of each domain and period, good measurements alone and as the notebook has it."""
    rows = tables.power_measurements
    power = {name: rows[f"{name}_power_util"] for name in _KINDS}
    good = {name: mean(value, is_good(rows)) for name, value in power.items()}
    here = rows.group_by(*DOMAIN, period=period(rows.time, length)).aggregate(
        n=rows.count(), **good
    )
    moved = period(rows.time, length, WINDOW if length == DAY else 0)
    theirs = {f"{name}_literal": mean(value) for name, value in power.items()}
    return lookup(here, rows.group_by(*DOMAIN, period=moved).aggregate(**theirs), list(_AT))


_READS = (
    "power_measurements",
    "machine_power_domains",
    "instance_usage",
    "instance_events",
    "machine_events",
    "tasks",
)


def chart(answer: pa.Table) -> alt.FacetChart:
    """Draw: CPU by tier under the measured power."""
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
        .facet(
            facet=charts.wrapped_panels("pdu"),
            columns=4,
        )
        .properties(title="CPU by tier under the measured power")
    )


QUESTION = Question(
    name="power_and_cpu",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    reads=_READS,
    reference="power_trace_analysis_colab.ipynb, google/cluster-data",
)
