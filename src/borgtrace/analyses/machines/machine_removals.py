"""How often do machines leave?

One row per number of removals: how many machines left the cell that often.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.question import Answer, Claim, Column, Question, Tables, at_most, charts, sql
from borgtrace.question.scopes import OF_2011

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="number of removals",
    key=[Column("n_removals", "int64", "count", "How often a machine was removed.")],
    columns=[
        Column("n_machines", "int64", "count", "Machines removed that often."),
        Column("n_gone", "int64", "count", "Of these, machines that were gone at the end."),
    ],
)


def compute(tables: Tables) -> ir.Table:
    """Return the number of machines by their number of REMOVE events."""
    events = tables.machine_events
    is_removal = events.type == "REMOVE"
    machines = events.group_by("machine_id").aggregate(
        n_removals=events.count(where=is_removal),
        last_removal=events.time.max(where=is_removal),
        # An UPDATE shows as well as an ADD that a machine is present.
        last_presence=events.time.max(where=~is_removal),
    )
    # Times are enough to tell which came last: no machine of 2011 has two events at one time.
    stays_away = machines.last_presence.isnull() | (machines.last_removal > machines.last_presence)
    is_gone = machines.last_removal.notnull() & stays_away
    return machines.group_by("n_removals").aggregate(
        n_machines=machines.count(), n_gone=machines.count(where=is_gone)
    )


def chart(answer: pa.Table) -> alt.Chart:
    """Draw how many machines were removed how often."""
    import altair as alt

    rows = answer.to_pylist()
    return (
        charts.base(rows, title="Machines by number of removals")
        .mark_point(filled=True, size=70)
        .encode(
            x=alt.X("n_removals:Q", title="removals", **charts.count_scale()),
            y=alt.Y("n_machines:Q", title="machines", **charts.count_scale()),
            tooltip=charts.tooltips(rows),
        )
    )


CLAIMS = [
    # 97 of the 5,141 machines that were ever removed were gone at the end.
    Claim(
        "ME-gone",
        statement="at most one in twenty of the removed machines does not come back",
        source="count over the machine events of 2011",
        kind="criterion",
        scope=OF_2011,
        measure=sql(
            """
            select sum(n_gone) / sum(n_machines) filter (n_removals > 0)
            from answer
            having sum(n_machines) filter (n_removals > 0) >= 100
            """,
            otherwise="fewer than 100 machines were removed",
        ),
        criterion=at_most(0.05, published=0.018867924528301886),
    ),
]

QUESTION = Question(
    name="machine_removals",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["machine_events"],
    reference="2011 format document, machine events",
)
