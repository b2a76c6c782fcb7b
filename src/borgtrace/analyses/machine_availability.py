"""How many machines, and how much capacity, are there over time?

Hourly means, exact to the millisecond.  *Seen* counts every machine from its first ADD on, whether it
is away or not; what is seen and not there is lost to absences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses._levels import LEVEL_BITS, capacity_changes, hourly, hours, span
from borgtrace.analyses._lookup import lookup
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table
from borgtrace.schema.time import HOUR, TRACE_START

if TYPE_CHECKING:
    import altair as alt

_KINDS = ("ADD", "REMOVE", "UPDATE")
_WEEK = 168
"""Hours."""

RESULT = Table(
    "machine_availability",
    "hour",
    ("hour",),
    (
        Column("hour", "int64", "h", "Hour since the start of the trace, from 0.", nullable=False),
        Column("machines", "float64", "count", "Mean number of machines.", nullable=False),
        Column("cpu", "float64", "fraction", "Mean CPU of the machines present.", nullable=False),
        Column("memory", "float64", "fraction", "Mean memory of the machines present.", nullable=False),
        Column("cpu_seen", "float64", "fraction", "Mean CPU of all machines seen so far.", nullable=False),
        *(
            Column(f"n_{kind.lower()}", "int64", "count", f"{kind} events in the hour.", nullable=False)
            for kind in _KINDS
        ),
    ),
)


def compute(tables: Tables) -> ir.Table:
    """Return machines and capacity per hour."""
    events = tables.machine_events
    spine = hours(span(events.select("time"), tables.instance_events.select("time")))
    there = _mean(capacity_changes(events), spine, ("cpu", "memory"))
    seen = _mean(capacity_changes(events.filter(events.type != "REMOVE")), spine, ("cpu",))
    number = _mean(_presence(events), spine, ("machines",))
    joined = lookup(there, seen.select("hour", cpu_seen="cpu"), ["hour"])
    joined = lookup(joined, number.select("hour", "machines"), ["hour"])
    joined = lookup(joined, _events_per_hour(events), ["hour"])
    return joined.select(
        "hour",
        "machines",
        "cpu",
        "memory",
        "cpu_seen",
        **{f"n_{kind.lower()}": joined[f"n_{kind.lower()}"].fill_null(0) for kind in _KINDS},
    )


def _mean(changes: ir.Table, spine: ir.Table, columns: tuple[str, ...]) -> ir.Table:
    return hourly(changes.mutate(cell=ibis.literal("cell")), spine, "cell", columns)


def _presence(events: ir.Table) -> ir.Table:
    """Return +1 and −1 (in 2⁻²⁴) where a machine comes and goes."""
    order = ibis.window(group_by="machine_id", order_by=["time", "source_part", "source_row"])
    unit = ibis.literal(2**LEVEL_BITS, "int64")
    level = (events.type == "REMOVE").ifelse(ibis.literal(0, "int64"), unit)
    levels = events.select("time", "machine_id", "source_part", "source_row", level=level)
    return levels.select("time", machines=levels.level - levels.level.lag().over(order).fill_null(0))


def _events_per_hour(events: ir.Table) -> ir.Table:
    inside = events.filter(events.time >= TRACE_START)
    rows = inside.mutate(hour=((inside.time - TRACE_START) // HOUR).cast("int64"))
    return rows.group_by("hour").aggregate(
        **{f"n_{kind.lower()}": (rows.type == kind).cast("int64").sum() for kind in _KINDS}
    )


def plot(result: pa.Table) -> alt.Chart:
    """Draw the capacity that is there and that has been seen."""
    import altair as alt

    from borgtrace.analyses._charts import HEIGHT, WIDTH, long

    series = {"cpu": "CPU available", "cpu_seen": "CPU of machines seen", "memory": "memory available"}
    chart: alt.Chart = (
        alt.Chart(long(result, ["hour"], series), title="Capacity of the cell", width=WIDTH, height=HEIGHT)
        .mark_line()
        .encode(
            x=alt.X("hour:Q", title="hour of the trace", axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("value:Q", title="largest machines", scale=alt.Scale(zero=False)),
            color=alt.Color("series:N", title=None),
            tooltip=["hour:Q", "series:N", "value:Q"],
        )
    )
    return chart


def _lost(result: pa.Table) -> float:
    there, seen = (sum(result[name].to_pylist()) for name in ("cpu", "cpu_seen"))
    if result.num_rows < _WEEK or not seen:
        raise NotApplicable("the trace is shorter than a week")
    return float(1 - there / seen)


CLAIMS = (
    Claim(
        "ME-cpu-lost",
        "absences cost less than one percent of the CPU time",
        0.00692,
        _lost,
        lambda share: share < 0.01,
        "count over the machine events of 2011",
    ),
)
RECIPE = Recipe(
    "machine_availability",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("machine_events",),
    reference="2011 format document, machine events",
    order=13,
    topic="Machines",
)
