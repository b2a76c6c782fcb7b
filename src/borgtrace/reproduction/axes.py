"""Redraw an answer on the axes of a paper, where the chart of the question has others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import pyarrow as pa

from borgtrace.question import Row, charts, query_answer

Draw = Callable[[pa.Table], charts.Chart]
"""Draws an answer as a paper does; raises :class:`NotApplicable` where there is nothing to draw."""
RESOURCES = {"cpu": "CPU", "memory": "memory"}
Amount = Literal["used", "allocated"]


def hours_above(counts: Mapping[str, Sequence[str]], title: str) -> Draw:
    """Return what draws in which share of the hours there are so many or more: a CCDF for each count.

    Parameters
    ----------
    counts
        Columns that are added up, by the name of the count.
    title
        Of the horizontal axis.
    """

    def draw(answer: pa.Table) -> charts.Chart:
        import altair as alt

        rows: list[Row] = []
        for name, columns in counts.items():
            by_hour = zip(*(answer[column].to_pylist() for column in columns), strict=True)
            rows += exceedance([sum(hour) for hour in by_hour], name)
        return (
            charts.base(rows, title=title)
            .mark_line(interpolate="step-before")
            .encode(
                x=alt.X("count:Q", title=title),
                y=alt.Y(
                    "share:Q",
                    title="share of the hours with so many",
                    scale=alt.Scale(domain=[0, 1]),
                ),
                color=alt.Color("series:N", title=None, sort=list(counts)),
                tooltip=charts.tooltips(rows),
            )
        )

    return draw


def exceedance(counts: Sequence[float], series: str) -> list[Row]:
    """Return for each count the share of the counts that are as high or higher.

    Examples
    --------
    >>> [(row["count"], row["share"]) for row in exceedance([5, 3, 5, 9], "jobs")]
    [(3, 1.0), (5, 0.75), (9, 0.25)]
    """
    ascending = sorted(counts)
    rows: list[Row] = []
    for i, count in enumerate(ascending):
        is_first_of_equal = i == 0 or ascending[i - 1] < count
        if is_first_of_equal:
            share = (len(ascending) - i) / len(ascending)
            rows.append({"series": series, "count": count, "share": share})
    return rows


def shares_over_time(amount: Amount) -> Draw:
    """Return what draws which share of the cell's CPU, and memory, each tier uses or is allocated, hour by hour."""

    def draw(answer: pa.Table) -> charts.Chart:
        import altair as alt

        panels = []
        for resource, name in RESOURCES.items():
            rows = charts.in_runs(shares_by_hour(answer, resource, amount), "share", "tier")
            panels.append(
                charts.base(rows)
                .mark_area(opacity=0.75)
                .encode(
                    x=charts.hour_axis(rows),
                    y=alt.Y("share:Q", title=f"{name} {amount} (share of the cell)"),
                    color=charts.tier_color(rows),
                    detail="run:N",
                    tooltip=charts.tooltips(rows, "hour", "tier", "share"),
                )
            )
        return alt.hconcat(*panels)

    return draw


def mean_shares(amount: Amount) -> Draw:
    """Return what draws the mean share of the cell's CPU, and memory, that each tier uses or is allocated."""

    def draw(answer: pa.Table) -> charts.Chart:
        import altair as alt

        rows: list[Row] = []
        for resource, name in RESOURCES.items():
            for row in mean_by_tier(answer, resource, amount):
                rows.append({"resource": name, **row})
        return (
            charts.base(rows, height=90)
            .mark_bar()
            .encode(
                x=alt.X("share:Q", title=f"{amount} (mean share of the cell)"),
                y=alt.Y("resource:N", title=None),
                color=charts.tier_color(rows),
                tooltip=charts.tooltips(rows),
            )
        )

    return draw


def shares_by_hour(answer: pa.Table, resource: str, amount: Amount) -> list[Row]:
    """Return the share of the capacity of each tier and hour, None in hours without measurements."""
    values = f"{resource}_{amount}"
    capacity = f"{resource}_capacity"
    renamed = answer.select(["hour", "tier", values, capacity]).rename_columns(
        ["hour", "tier", "amount", "capacity"]
    )
    return query_answer(
        renamed,
        """
        select hour, tier, amount / nullif(capacity, 0) as share
        from answer
        order by hour, tier
        """,
    )


def mean_by_tier(answer: pa.Table, resource: str, amount: Amount) -> list[Row]:
    """Return the mean share of the capacity by tier, over the hours in which it is known of any."""
    known = [row for row in shares_by_hour(answer, resource, amount) if row["share"] is not None]
    hours = {row["hour"] for row in known}
    sums: dict[str, float] = {}
    for row in known:
        sums[row["tier"]] = sums.get(row["tier"], 0.0) + row["share"]
    return [{"tier": tier, "share": sums[tier] / len(hours)} for tier in sorted(sums)]
