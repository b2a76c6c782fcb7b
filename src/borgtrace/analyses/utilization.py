"""How much of the cell is used and how much is allocated, by hour and tier?

*Used* is the mean of ``average_cpu`` (``average_memory``), every window weighted by its length;
*allocated* is the mean of the requests of running instances; *capacity* that of the machines present.
What runs inside an alloc set counts once: a task for its own tier, what is left of the alloc for the
alloc's.  Hours count from the start of the trace, the last one may be shorter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses._allocation import allocation_changes
from borgtrace.analyses._levels import capacity_changes, hourly, hours, span
from borgtrace.analyses._lookup import lookup
from borgtrace.analyses._windows import amount, by_tier, level, regular
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt


def _column(name: str, doc: str) -> Column:
    return Column(name, "float64", "fraction", doc)


RESULT = Table(
    "utilization",
    "tier and hour",
    ("tier", "hour"),
    (
        Column("tier", "string", "id", "Tier of the instances.", nullable=False),
        Column("hour", "int64", "h", "Hour since the start of the trace, from 0.", nullable=False),
        _column("cpu_used", "Mean CPU used, in largest machines."),
        _column("cpu_allocated", "Mean CPU requested by running instances."),
        _column("cpu_capacity", "Mean CPU of the machines present, all tiers together."),
        _column("memory_used", "Mean memory used, in largest machines."),
        _column("memory_allocated", "Mean memory requested by running instances."),
        _column("memory_capacity", "Mean memory of the machines present, all tiers together."),
    ),
)


def compute(tables: Tables) -> ir.Table:
    """Return used, allocated and available resources per tier and hour."""
    usage = regular(tables.instance_usage)
    last = span(usage.select(time="end_time"), tables.instance_events.select("time"))
    spine = hours(last)
    allocated = hourly(allocation_changes(tables), spine, "tier", ("cpu", "memory"))
    capacity = hourly(
        capacity_changes(tables.machine_events).mutate(tier=ibis.literal("all")), spine, "tier", ("cpu", "memory")
    )
    used = _used(usage, tables)
    grid = allocated.select("tier").union(used.select("tier"), distinct=True).cross_join(spine)
    joined = lookup(lookup(grid, used, ["tier", "hour"]), allocated.drop("hour_seconds"), ["tier", "hour"])
    there = capacity.select("hour", cpu_capacity="cpu", memory_capacity="memory")
    joined = lookup(joined, there, ["hour"])
    return joined.select(
        "tier",
        "hour",
        cpu_used=level(joined.cpu_amount.fill_null(0), joined.hour_seconds),
        cpu_allocated=joined.cpu.fill_null(0.0),
        cpu_capacity="cpu_capacity",
        memory_used=level(joined.memory_amount.fill_null(0), joined.hour_seconds),
        memory_allocated=joined.memory.fill_null(0.0),
        memory_capacity="memory_capacity",
    )


def _used(usage: ir.Table, tables: Tables) -> ir.Table:
    usage = usage.select(
        "collection_id", "instance_index", "alloc_collection_id", "hour", "seconds", "average_cpu", "average_memory"
    )
    rows = by_tier(usage, tables.tasks, tables.generation)
    return rows.group_by(["tier", "hour"]).aggregate(
        cpu_amount=(amount(rows.average_cpu, rows.seconds) * rows.sign).sum().cast("int64"),
        memory_amount=(amount(rows.average_memory, rows.seconds) * rows.sign).sum().cast("int64"),
    )


def plot(result: pa.Table) -> alt.Chart:
    """Stack what the tiers use, with lines for what is promised and what there is."""
    import altair as alt

    from borgtrace.analyses._charts import SPOKEN, rows, tier_colour

    data = rows(result)
    colour = tier_colour(result["tier"].to_pylist())
    panels = []
    for resource in ("cpu", "memory"):
        base = alt.Chart(data).encode(x=alt.X("hour:Q", title="hour of the trace", axis=alt.Axis(tickMinStep=1)))
        used = base.mark_area(opacity=0.75).encode(
            y=alt.Y(f"{resource}_used:Q", title=f"{SPOKEN.get(resource, resource)} (largest machines)"),
            color=colour,
            tooltip=["tier:N", "hour:Q", f"{resource}_used:Q", f"{resource}_allocated:Q"],
        )
        promised = (
            # Vega-Lite merges aggregates of one name, so every line has a name of its own.
            base.transform_aggregate(**{f"{resource}_sum": f"sum({resource}_allocated)"}, groupby=["hour"])
            .mark_line(color="black", strokeDash=[5, 3])
            .encode(
                y=f"{resource}_sum:Q",
                tooltip=["hour:Q", alt.Tooltip(f"{resource}_sum:Q", title="allocated, all tiers")],
            )
        )
        there = (
            base.transform_aggregate(**{f"{resource}_max": f"max({resource}_capacity)"}, groupby=["hour"])
            .mark_line(color="black")
            .encode(y=f"{resource}_max:Q", tooltip=["hour:Q", alt.Tooltip(f"{resource}_max:Q", title="capacity")])
        )
        panels.append((used + promised + there).properties(width=420, height=240))
    return alt.hconcat(*panels).properties(title="Used (areas), allocated (dashed) and available (line)")


def _ratio(result: pa.Table, over: str, under: str, tiers: tuple[str, ...] = ()) -> float:
    """Return Σ over ÷ Σ under over all hours, of some tiers or of all."""
    kept = [row for row in result.to_pylist() if not tiers or row["tier"] in tiers]
    if not kept:
        raise NotApplicable("no instance of that tier")
    total = sum(row[under] or 0.0 for row in kept)
    if total <= 0:
        raise NotApplicable(f"{under} is zero throughout")
    return float(sum(row[over] for row in kept) / total)


def _share(result: pa.Table, resource: str) -> float:
    kept = result.to_pylist()
    total = sum(row[f"{resource}_used"] for row in kept)
    if total <= 0:
        raise NotApplicable("nothing is used")
    top = sum(row[f"{resource}_used"] for row in kept if row["tier"] in ("production", "monitoring"))
    return float(top / total)


def _overcommitment(result: pa.Table, resource: str) -> float:
    """Return Σ allocated over tiers ÷ capacity, over the hours with machines."""
    by_hour: dict[int, list[float]] = {}
    for row in result.to_pylist():
        pair = by_hour.setdefault(row["hour"], [0.0, row[f"{resource}_capacity"] or 0.0])
        pair[0] += row[f"{resource}_allocated"]
    there = [pair for pair in by_hour.values() if pair[1] > 0]
    if not there:
        raise NotApplicable("no machine has a capacity")
    return sum(pair[0] for pair in there) / sum(pair[1] for pair in there)


CLAIMS = (
    Claim(
        "S4-fig9-use",
        "production uses about half of the CPU allocated to it",
        "≈ 0.5",
        lambda r: _ratio(r, "cpu_used", "cpu_allocated", ("production",)),
        lambda v: 0.4 <= v <= 0.6,
        "Zhu et al., Fig. 9",
    ),
    Claim(
        "S4-fig9-share-cpu",
        "production takes more than 80 % of the CPU used",
        "> 0.8",
        lambda r: _share(r, "cpu"),
        lambda v: v > 0.8,
        "Zhu et al., Fig. 9",
    ),
    Claim(
        "S4-fig9-share-memory",
        "production takes more than 80 % of the memory used",
        "> 0.8",
        lambda r: _share(r, "memory"),
        lambda v: v > 0.8,
        "Zhu et al., Fig. 9",
    ),
    Claim(
        "TIR-cpu-overcommit",
        "more CPU is allocated than there is",
        "> 1",
        lambda r: _overcommitment(r, "cpu"),
        lambda v: v > 1.0,
        "Tirmazi et al., EuroSys'20",
    ),
    Claim(
        "TIR-memory-overcommit",
        "more memory is allocated than there is",
        "> 1",
        lambda r: _overcommitment(r, "memory"),
        lambda v: v > 1.0,
        "Tirmazi et al., EuroSys'20",
    ),
)

RECIPE = Recipe(
    "utilization",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_usage", "instance_events", "machine_events", "tasks"),
    reference="Zhu et al., Fig. 9; Google's analysis notebook of the 2019 traces",
    order=60,
    topic="Utilization",
)
