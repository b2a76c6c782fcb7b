"""Relative change from one period to the next: pairs, percent bins, cumulative curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses._windows import RESOURCES, SLOT_SECONDS, amount, outermost, task_means
from borgtrace.recipe import NotApplicable
from borgtrace.schema import Column

if TYPE_CHECKING:
    import altair as alt

HIGHEST = 200
"""Changes above this percentage share the last bin, with those from zero to something."""

CURVE_COLUMNS = (
    Column("resource", "string", "id", "Resource: cpu or memory.", nullable=False),
    Column(
        "percent",
        "int64",
        "%",
        "Size of the change, rounded up; 0 is none, the last bin all above 200 %.",
        nullable=False,
    ),
    Column("n_pairs", "int64", "count", "Pairs of consecutive periods with this change.", nullable=False),
    Column("seconds", "int64", "s", "Time these pairs last: both periods together.", nullable=False),
    Column(
        "share", "float64", "fraction", "Share of that time in pairs that change at most this much.", nullable=False
    ),
)


def pairs(series: ir.Table, by: Sequence[str], period: str) -> ir.Table:
    """Put every row of a series beside the next, where that is the very next period.

    Parameters
    ----------
    series
        `by`, an integer `period`, ``seconds``, ``cpu`` and ``memory``.
    by
        What a series belongs to; empty where there is one series only.

    Returns
    -------
    ir.Table
        `by`, `period` (of the later row), ``seconds`` of both together, ``cpu`` and ``memory`` (later),
        ``previous_cpu`` and ``previous_memory``.
    """
    window = ibis.window(group_by=list(by) or None, order_by=period)
    rows = series.mutate(
        gap=series[period] - series[period].lag().over(window),
        both=series.seconds + series.seconds.lag().over(window),
        **{f"previous_{name}": series[name].lag().over(window) for name in RESOURCES},
    )
    rows = rows.filter(rows.gap == 1)
    return rows.drop("gap", "seconds").rename(seconds="both")


def slot_pairs(usage: ir.Table, by: Sequence[str]) -> ir.Table:
    """Return pairs of neighbouring slots of summed usage: of the cell, or of each of `by`.

    What runs inside an alloc set counts once.
    """
    rows = outermost(usage)
    rows = rows.filter(*(rows[name].notnull() for name in by)) if by else rows
    sums = rows.group_by([*by, "slot"]).aggregate(
        **{name: amount(rows[f"average_{name}"], rows.seconds).sum().cast("int64") for name in RESOURCES}
    )
    return pairs(sums.mutate(seconds=ibis.literal(SLOT_SECONDS, "int64")), by, "slot")


def task_pairs(usage: ir.Table, period: str) -> ir.Table:
    """Return pairs of neighbouring slots or hours of each task's mean usage."""
    return pairs(task_means(usage, period), ["collection_id", "instance_index"], period)


def relative(later: ir.NumericColumn, earlier: ir.NumericColumn) -> ir.FloatingColumn:
    """Return |later − earlier| ÷ earlier; 0 where both are 0, infinite from 0 to something."""
    change = (later - earlier).abs().cast("float64")
    grown = ibis.cases((change == 0.0, 0.0), else_=1e18)
    return (earlier > 0).ifelse(change / earlier.cast("float64").nullif(0.0), grown)


def by_resource(rows: ir.Table) -> ir.Table:
    """Turn a pair with CPU and memory into two rows with ``resource`` and ``change``, in one pass.

    A union of one query per resource would compute the pairs once for each.
    """
    both = rows.mutate(resource=ibis.array(list(RESOURCES)).unnest())
    is_cpu = both.resource == "cpu"
    later = is_cpu.ifelse(both.cpu, both.memory)
    earlier = is_cpu.ifelse(both.previous_cpu, both.previous_memory)
    known = both.filter(later.notnull() & earlier.notnull())
    return known.mutate(change=relative(later, earlier))


def curves(rows: ir.Table, by: Sequence[str] = ()) -> ir.Table:
    """Return the distribution of the change of CPU and of memory, in percent bins (`CURVE_COLUMNS`)."""
    known = by_resource(rows)
    percent = known.change * 100.0
    bins = (percent <= float(HIGHEST)).ifelse(percent, float(HIGHEST + 1)).ceil().cast("int64")
    known = known.mutate(percent=bins)
    key = [*by, "resource"]
    counts = known.group_by([*key, "percent"]).aggregate(
        n_pairs=known.count(), seconds=known.seconds.sum().cast("int64")
    )
    upto = counts.seconds.sum().over(ibis.cumulative_window(group_by=key, order_by="percent"))
    total = counts.seconds.sum().over(ibis.window(group_by=key))
    return counts.mutate(share=upto.cast("float64") / total.cast("float64"))


def share_within(result: pa.Table, percent: int, **where: str) -> float:
    """Return the share of time in pairs that change by at most `percent`; `where` picks the curve."""
    rows = [row for row in result.to_pylist() if all(row[name] == value for name, value in where.items())]
    if not rows:
        raise NotApplicable("no two consecutive periods")
    total = sum(row["seconds"] for row in rows)
    return float(sum(row["seconds"] for row in rows if row["percent"] <= percent) / total)


def plot_curves(result: pa.Table, title: str, colour: str, row: str | None = None) -> alt.Chart:
    """Draw cumulative curves of the change, one per `colour`, with the 20 % line."""
    import altair as alt

    from borgtrace.analyses._charts import HEIGHT, WIDTH, rows, spoken_header

    data = rows(result)
    facets = {} if row is None else {"column": alt.Column(f"{row}:N", title=None, header=spoken_header())}
    return (
        alt.Chart(data, title=title)
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("percent:Q", title="change at most (percent)", scale=alt.Scale(domain=[0, HIGHEST], clamp=True)),
            y=alt.Y("share:Q", scale=alt.Scale(domain=[0, 1]), title="share of time"),
            color=alt.Color(f"{colour}:N"),
            tooltip=[f"{colour}:N", "percent:Q", "share:Q", "n_pairs:Q"],
            **facets,
        )
        .properties(width=WIDTH if row is None else WIDTH * 2 // 3, height=HEIGHT)
    )
