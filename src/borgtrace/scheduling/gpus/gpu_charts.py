"""How the answer about GPU scheduling is drawn, and said in words."""

from __future__ import annotations

import pyarrow as pa

from borgtrace.question import Row, charts, query_answer
from borgtrace.scheduling.gpus.policies import GPU_POLICIES

FEW_LOADS = 3
"""With fewer of them a line shows nothing."""


def chart(answer: pa.Table) -> charts.Chart:
    """Draw the allocation and what is fragmented of the rest over the load; bars where there is one load."""
    import altair as alt

    n_loads = len(set(answer["load"].to_pylist()))
    if n_loads < FEW_LOADS:
        return allocation_bars(answer)
    allocation = lines_by_load(answer, "allocation", "GPUs that pods have (%)")
    ratio = lines_by_load(
        answer, "fragmentation_ratio", "of the free GPUs, of no use to typical pods (%)"
    )
    return alt.vconcat(allocation, ratio)


def lines_by_load(answer: pa.Table, column: str, title: str) -> charts.Chart:
    """Draw a value over the load, a line for each policy, a panel for each workload and rule for ties."""
    import altair as alt

    rows = labelled_rows(answer)
    return (
        charts.base(rows, width=260, height=180)
        .mark_line()
        .encode(
            x=alt.X("load:Q", title="requested so far (% of the GPUs)"),
            y=alt.Y(f"{column}:Q", title=title, scale=alt.Scale(zero=False)),
            color=alt.Color("policy:N", title=None, sort=list(GPU_POLICIES)),
            tooltip=charts.tooltips(rows, "panel", "policy", "load", column),
        )
        .facet(facet=charts.wrapped_panels("panel"), columns=2)
    )


def allocation_bars(answer: pa.Table) -> charts.Chart:
    """Draw the allocation at the highest load: a bar for each policy, a panel for each workload and rule for ties."""
    import altair as alt

    rows = labelled_rows(
        query_answer(answer, "from answer where load = (select max(load) from answer)")
    )
    return (
        charts.base(rows, width=260, height=120)
        .mark_bar()
        .encode(
            x=alt.X("allocation:Q", title=f"GPUs that pods have (%), load {rows[0]['load']} %"),
            y=alt.Y("policy:N", title=None, sort=list(GPU_POLICIES)),
            tooltip=charts.tooltips(rows, "panel", "policy", "allocation", "failed"),
        )
        .facet(facet=charts.wrapped_panels("panel"), columns=2)
    )


def labelled_rows(answer: pa.Table | list[Row]) -> list[Row]:
    """Return rows with the panel that they belong to."""
    rows = answer if isinstance(answer, list) else answer.to_pylist()
    return [{**row, "panel": f"{row['workload']}, ties: {row['ties']}"} for row in rows]


def best_in_words(answer: pa.Table) -> str:
    """Return which policy allocates most, by workload and rule for ties, at the load nearest to 100 %."""
    rows = query_answer(
        answer,
        """
        select
            workload,
            ties,
            any_value(load) as load,
            max_by(policy, allocation) as best,
            max(allocation) as most,
            min_by(policy, allocation) as worst,
            min(allocation) as least
        from answer
        where load = (select min_by(load, abs(load - 100)) from answer)
        group by workload, ties
        order by workload, ties
        """,
    )
    parts = []
    for row in rows:
        part = f"{row['workload']} (ties: {row['ties']}): {row['best']} {row['most']:.2f} %"
        if row["worst"] != row["best"]:
            part += f", {row['worst']} {row['least']:.2f} %"
        parts.append(part)
    load = rows[0]["load"]
    return f"GPUs that pods have when {load} % was requested, most and least: {'; '.join(parts)}."
