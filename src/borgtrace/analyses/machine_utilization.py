"""How full are the machines?

Per machine and 300 s slot: what its instances used (``average_cpu``, ``average_memory``, windows
weighted by their length; what runs inside an alloc set is already in the alloc's row), divided by
the machine's capacity at the start of the slot. A slot in which a machine is present and nothing
ran counts as 0. The curve is cumulative, in steps of one percent of the machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses._levels import span
from borgtrace.analyses._presence import machine_slots, present_intervals
from borgtrace.analyses._windows import SLOT_SECONDS, level, outermost, regular
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table
from borgtrace.schema.time import TRACE_START, WINDOW

if TYPE_CHECKING:
    import altair as alt

RESULT = Table(
    "machine_utilization",
    "resource and percent",
    ("resource", "percent"),
    (
        Column("resource", "string", "id", "Resource: cpu or memory.", nullable=False),
        Column(
            "percent",
            "int64",
            "%",
            "Used share of the machine, rounded up; the last row holds all above.",
            nullable=False,
        ),
        Column("n_slots", "int64", "count", "Machine-slots with this utilization.", nullable=False),
        Column("share", "float64", "fraction", "Share of machine-slots at most this full.", nullable=False),
    ),
)


def compute(tables: Tables, *, highest: int = 150) -> ir.Table:
    """Return the distribution of machine utilization, in percent up to `highest`."""
    usage = regular(outermost(tables.instance_usage))
    present = present_intervals(tables.machine_events)
    last = span(usage.select(time="end_time"))
    held = machine_slots(usage, present)
    n_present = _n_slots(present, last)
    return ibis.union(*(_curve(held, n_present, name, highest) for name in ("cpu", "memory")))


def _n_slots(present: ir.Table, last: ir.Table) -> ir.Table:
    """Count the slots that start while a machine is present, up to the last window."""
    rows = present.cross_join(last)
    start = ibis.greatest(rows.start, TRACE_START)
    end = ibis.least(rows.end, rows.last)
    slots = (end - TRACE_START + WINDOW - 1) // WINDOW - (start - TRACE_START + WINDOW - 1) // WINDOW
    return rows.aggregate(n_present=ibis.greatest(slots, 0).sum().cast("int64"))


def _curve(held: ir.Table, n_present: ir.Table, resource: str, highest: int) -> ir.Table:
    used = level(held[resource].fill_null(0), SLOT_SECONDS) / held[f"{resource}_capacity"].cast("float64")
    percent = ibis.least((used * 100.0).ceil().cast("int64"), highest + 1)
    counts = held.select(percent=percent).group_by("percent").aggregate(n=lambda t: t.count())
    idle = n_present.cross_join(counts.aggregate(n_busy=counts.n.sum().cast("int64")))
    idle = idle.select(
        percent=ibis.literal(0, "int64"), n=ibis.greatest(idle.n_present.fill_null(0) - idle.n_busy.fill_null(0), 0)
    )
    counts = counts.union(idle)
    counts = counts.group_by("percent").aggregate(n_slots=counts.n.sum().cast("int64"))
    counts = counts.filter(counts.n_slots > 0)
    upto = ibis.cumulative_window(order_by="percent")
    everything = ibis.window()
    total = counts.n_slots.sum().over(everything).cast("float64")
    return counts.select(
        resource=ibis.literal(resource),
        percent="percent",
        n_slots="n_slots",
        share=counts.n_slots.sum().over(upto).cast("float64") / total,
    )


def plot(result: pa.Table) -> alt.Chart:
    """Draw both curves."""
    import altair as alt

    from borgtrace.analyses._charts import HEIGHT, WIDTH, rows, spoken_legend

    return (
        alt.Chart(rows(result), title="Utilization of machines, 300 s at a time")
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("percent:Q", title="used, percent of the machine"),
            y=alt.Y("share:Q", title="share of machine-slots", scale=alt.Scale(domain=[0, 1])),
            color=alt.Color("resource:N", legend=spoken_legend()),
            tooltip=["resource:N", "percent:Q", "share:Q", "n_slots:Q"],
        )
        .properties(width=WIDTH, height=HEIGHT)
    )


def _above(result: pa.Table, resource: str, percent: int) -> float:
    """Return the share of machine-slots more than `percent` full."""
    kept = [row for row in result.to_pylist() if row["resource"] == resource]
    if not kept:
        raise NotApplicable("no machine was observed")
    total = sum(row["n_slots"] for row in kept)
    return float(sum(row["n_slots"] for row in kept if row["percent"] > percent) / total)


CLAIMS = (
    Claim(
        "TIR-machines-cpu-80",
        "few machines use more than 80 % of their CPU",
        "few (2019, fewer than in 2011)",
        lambda r: _above(r, "cpu", 80),
        lambda v: v < 0.1,
        "Tirmazi et al., EuroSys'20",
    ),
)

RECIPE = Recipe(
    "machine_utilization",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_usage", "machine_events"),
    reference="Tirmazi et al., EuroSys'20 (machine utilization)",
    order=61,
    topic="Utilization",
)
