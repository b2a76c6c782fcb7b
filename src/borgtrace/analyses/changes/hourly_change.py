"""How much does a task's usage change from hour to hour?

The usage of a task in an hour is the mean over its windows, weighted by their length. Every pair of
neighboring hours counts with the time measured in both, so long tasks weigh by their duration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.changes.relative_change import curves, task_pairs
from borgtrace.analyses.shared.attempts import TASK
from borgtrace.analyses.shared.columns import CHANGE_CURVE_COLUMNS, CHANGE_CURVE_KEY
from borgtrace.analyses.shared.joins import lookup
from borgtrace.analyses.shared.windows import UNKNOWN, regular, task_tiers
from borgtrace.question import Answer, Claim, Column, Question, Tables, charts, near, sql
from borgtrace.question.scopes import LIKE_2011

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="tier, resource and percent",
    key=[
        Column("tier", "string", "id", "Tier of the tasks."),
        *CHANGE_CURVE_KEY,
    ],
    columns=CHANGE_CURVE_COLUMNS,
)


def compute(tables: Tables) -> ir.Table:
    """Return the distribution of the change between neighboring hours, per tier."""
    pairs = task_pairs(regular(tables.instance_usage), "hour")
    pairs = lookup(pairs, task_tiers(tables), TASK)
    # Usage of a task that no event names stays, under a tier of its own.
    return curves(pairs.mutate(tier=pairs.tier.fill_null(UNKNOWN)), ["tier"])


def chart(answer: pa.Table) -> alt.FacetChart:
    """Draw the share of time in which usage changes at most so much, by tier."""
    import altair as alt

    rows = answer.to_pylist()
    return (
        charts.base(rows, width=280)
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X(
                "percent:Q",
                title="change at most (%)",
                scale=alt.Scale(domain=[0, 200], clamp=True),
            ),
            y=alt.Y("share:Q", title="share of time", scale=alt.Scale(domain=[0, 1])),
            color=charts.tier_color(rows),
            tooltip=charts.tooltips(rows, "percent", "share", "tier", "n_pairs"),
        )
        .facet(column=charts.columns_of_panels("resource"))
        .properties(title="Change between neighboring hours")
    )


CLAIMS = [
    Claim(
        "REISS-hourly-cpu",
        statement=(
            "from hour to hour the CPU of 60 % of the tasks, by duration, changes by less than 15 %"
        ),
        source="Reiss et al., SoCC'12, as quoted by Janus & Rzadca",
        scope=LIKE_2011,
        measure=sql(
            """
            select sum(if(percent <= 15, seconds, 0)) / nullif(sum(seconds), 0)
            from answer
            where resource = 'cpu'
            """,
            otherwise="no two consecutive periods",
        ),
        criterion=near(0.6, within=0.05, published="≈ 0.6"),
    ),
]

QUESTION = Question(
    name="hourly_change",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["instance_usage", "tasks"],
    reference="Reiss et al., SoCC'12",
)
