"""Charts of an experiment with schedulers: waits against evictions, and the differences of pairs."""

from __future__ import annotations

import pyarrow as pa

from borgtrace.experiments.pairs import draw_pairs
from borgtrace.question import charts


def draw_tradeoffs(answer: pa.Table) -> charts.Chart:
    """Draw evictions against waits, a line through each family; schedulers on Pareto's front are filled.

    Parameters
    ----------
    answer
        Rows of `borgtrace.experiments.schedules.tables.POLICIES`, or of its cells.
    """
    import altair as alt

    rows = answer.to_pylist()
    base = charts.base(rows).encode(
        x=alt.X("wait:Q", title="mean wait of a task, s"),
        y=alt.Y("evictions:Q", title="evictions of a task"),
        color=alt.Color("family:N", title="family"),
    )
    lines = base.mark_line(strokeWidth=1, opacity=0.5).encode(detail="family:N")
    of_waits = base.mark_rule(opacity=0.4).encode(x=alt.X("wait_low:Q"), x2="wait_high:Q")
    of_evictions = base.mark_rule(opacity=0.4).encode(
        y=alt.Y("evictions_low:Q"), y2="evictions_high:Q"
    )
    names = [name for name in ("policy", "store", "seed") if rows and name in rows[0]]
    tooltip = charts.tooltips(
        rows,
        *names,
        "wait",
        "wait_low",
        "wait_high",
        "evictions",
        "evictions_low",
        "evictions_high",
    )
    points = base.mark_point(filled=False, size=45).encode(
        fill=alt.Fill("family:N", legend=None),
        fillOpacity=alt.condition("datum.is_on_front", alt.value(0.9), alt.value(0.0)),
        tooltip=tooltip,
    )
    return (
        alt.layer(lines, of_evictions, of_waits, points)
        .facet(column=charts.columns_of_panels("tier"))
        .properties(title="Evictions against waits (filled: no other scheduler is better)")
    )


def draw_differences(answer: pa.Table) -> charts.Chart:
    """Draw the difference of each pair with its interval; 0 is no difference.

    Parameters
    ----------
    answer
        Rows of `borgtrace.experiments.schedules.tables.COMPARISONS`.
    """
    rows = []
    for row in answer.to_pylist():
        rows.append({**row, "pair": f"{row['policy']} – {row['other']}"})
    return (
        draw_pairs(rows, "tasks wait less, s")
        .facet(column=charts.columns_of_panels("tier"))
        .resolve_scale(y="independent")
        .properties(title="Differences of waits (95 % intervals for all pairs together)")
    )
