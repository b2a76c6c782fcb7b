"""How much does usage change from one measurement to the next?

Consecutive measurements are those of adjacent 300 s slots. *Cell*: the usage summed over the cell
in each slot; *machine*: the same per machine; *task*: each task alone. Within a slot usage is the
mean over its windows, weighted by their length; at cell and machine level what runs inside an alloc
set counts once. A change from zero to something is larger than any percentage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import pyarrow as pa

from borgtrace.analyses.changes.relative_change import counted, curves, slot_pairs
from borgtrace.analyses.changes.task_changes import over_tasks
from borgtrace.analyses.shared.windows import regular
from borgtrace.question import Answer, Claim, Column, Question, Tables, above, charts, sql
from borgtrace.question.scopes import LIKE_2011

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="level, resource and percent",
    key=[
        Column("level", "string", "id", "Level at which usage is summed: cell, machine or task."),
        Column("resource", "string", "id", "Resource: cpu or memory."),
        Column(
            "percent",
            "int64",
            "%",
            "Size of the change, rounded up; 0 is none, the last bin all above 200 %.",
        ),
    ],
    columns=[
        Column("n_pairs", "int64", "count", "Pairs of consecutive periods with this change."),
        Column("seconds", "int64", "s", "Time these pairs last: both periods together."),
        Column(
            "share",
            "float64",
            "fraction",
            "Share of that time in pairs that change at most this much.",
        ),
    ],
)


def compute(tables: Tables) -> ibis.Table:
    """Return the distribution of the change between neighboring slots at three levels."""
    cell, machines = slot_pairs(regular(tables.instance_usage))
    levels = {
        # The published figure is the cell's sum; a margin per task (Measure 1) needs the change of each task.
        "cell": cell,
        "machine": machines,
        "task": over_tasks(tables, counted, "task_changes"),
    }
    return ibis.union(
        *(curves(rows).mutate(level=ibis.literal(name)) for name, rows in levels.items())
    )


def chart(answer: pa.Table) -> alt.FacetChart:
    """Draw: change between neighboring 300 s slots."""
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
            color=alt.Color("level:N", title="level"),
            tooltip=charts.tooltips(rows, "percent", "share", "level", "n_pairs"),
        )
        .facet(column=charts.columns_of_panels("resource"))
        .properties(title="Change between neighboring 300 s slots")
    )


CLAIMS = [
    Claim(
        "S4-fig10-cpu",
        statement="the cell's CPU usage changes by less than 20 % in over 90 % of the time",
        source="Zhu et al., Fig. 10",
        scope=LIKE_2011,
        measure=sql(
            """
            select sum(if(percent <= 20, seconds, 0)) / nullif(sum(seconds), 0)
            from answer
            where level = 'cell' and resource = 'cpu'
            """,
            otherwise="no two consecutive periods",
        ),
        criterion=above(0.9),
    ),
    Claim(
        "S4-fig10-memory",
        statement="the cell's memory usage changes by less than 20 % in over 90 % of the time",
        source="Zhu et al., Fig. 10",
        scope=LIKE_2011,
        measure=sql(
            """
            select sum(if(percent <= 20, seconds, 0)) / nullif(sum(seconds), 0)
            from answer
            where level = 'cell' and resource = 'memory'
            """,
            otherwise="no two consecutive periods",
        ),
        criterion=above(0.9),
    ),
    Claim(
        "S4-measure1-task",
        statement="a task's CPU usage, too, changes by less than 20 % in over 90 % of the time",
        source="Zhu et al., Measure 1",
        kind="derived",
        scope=LIKE_2011,
        measure=sql(
            """
            select sum(if(percent <= 20, seconds, 0)) / nullif(sum(seconds), 0)
            from answer
            where level = 'task' and resource = 'cpu'
            """,
            otherwise="no two consecutive periods",
        ),
        criterion=above(0.9, published="implied by a margin of 20 % per task"),
    ),
]

QUESTION = Question(
    name="window_change",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["instance_usage"],
    reference="Zhu et al., Fig. 10",
)
