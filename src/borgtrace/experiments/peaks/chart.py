"""Charts of an experiment: risk against savings, and the differences of pairs."""

from __future__ import annotations

import pyarrow as pa

from borgtrace.experiments.pairs import draw_pairs
from borgtrace.question import charts
from borgtrace.question.answer import Row


def draw_tradeoffs(answer: pa.Table) -> charts.Chart:
    """Draw savings against violation rates, a line through each family; policies on Pareto's front are filled.

    Parameters
    ----------
    answer
        Rows of `borgtrace.experiments.peaks.tables.POLICIES`, or of its cells.
    """
    import altair as alt

    rows = [row for row in answer.to_pylist() if row["savings"] is not None]
    layers = [*_points_with_intervals(rows)]
    return (
        alt.layer(*layers)
        .facet(row=charts.rows_of_panels("resource"), column=charts.columns_of_panels("tasks"))
        .properties(title="Savings against violations (filled: no other policy is better)")
    )


def _points_with_intervals(rows: list[Row]) -> list[charts.Chart]:
    import altair as alt

    base = charts.base(rows).encode(
        x=alt.X("rate:Q", title="violation rate"),
        y=alt.Y("savings:Q", title="limits that are not promised"),
        color=alt.Color("family:N", title="family"),
    )
    lines = base.mark_line(strokeWidth=1, opacity=0.5).encode(detail="family:N")
    of_savings = base.mark_rule(opacity=0.4).encode(y=alt.Y("savings_low:Q"), y2="savings_high:Q")
    of_rates = base.mark_rule(opacity=0.4).encode(x=alt.X("rate_low:Q"), x2="rate_high:Q")
    names = [name for name in ("policy", "store", "seed") if rows and name in rows[0]]
    tooltip = charts.tooltips(
        rows, *names, "rate", "rate_low", "rate_high", "savings", "savings_low", "savings_high"
    )
    points = base.mark_point(filled=False, size=45).encode(
        fill=alt.Fill("family:N", legend=None),
        fillOpacity=alt.condition("datum.is_on_front", alt.value(0.9), alt.value(0.0)),
        tooltip=tooltip,
    )
    return [lines, of_savings, of_rates, points]


def draw_differences(answer: pa.Table) -> charts.Chart:
    """Draw the difference of each pair with its interval; 0 is no difference.

    Parameters
    ----------
    answer
        Rows of `borgtrace.experiments.peaks.tables.COMPARISONS`.
    """
    rows = []
    for row in answer.to_pylist():
        rows.append({**row, "pair": f"{row['family']} – {row['other']}"})
    return (
        draw_pairs(rows, "savings more, as a share of the limits")
        .facet(row=charts.rows_of_panels("resource"), column=charts.columns_of_panels("tasks"))
        .resolve_scale(y="independent")
        .properties(title="Differences at the same risk (95 % intervals for all pairs together)")
    )
