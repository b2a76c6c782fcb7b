"""How much does usage change from one measurement to the next?

Consecutive measurements are those of adjacent 300 s slots. *Cell*: the usage summed over the cell
in each slot; *machine*: the same per machine; *task*: each task alone. Within a slot usage is the
mean over its windows, weighted by their length; at cell and machine level what runs inside an alloc
set counts once. A change from zero to something is larger than any percentage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from borgtrace.analyses.changes.machine_changes import over_machines
from borgtrace.analyses.changes.relative_change import (
    HIGHEST,
    count_changes,
    curves,
    slot_pairs,
)
from borgtrace.analyses.changes.task_changes import ChangeSummary, over_tasks, pass_of_changes
from borgtrace.analyses.shared.columns import CHANGE_CURVE_COLUMNS, CHANGE_CURVE_KEY
from borgtrace.analyses.shared.machine_slots import SLOT_SUMS
from borgtrace.engine.identifiers import literal
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.question import Answer, Claim, Column, Measure, Question, Tables, above, charts, sql
from borgtrace.question.scopes import LIKE_2011
from borgtrace.question.window_passes import WindowPass

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="level, resource and percent",
    key=[
        Column("level", "string", "id", "Level at which usage is summed: cell, machine or task."),
        *CHANGE_CURVE_KEY,
    ],
    columns=CHANGE_CURVE_COLUMNS,
)


def compute(tables: Tables) -> ir.Table:
    """Return the distribution of the change between neighboring slots at three levels."""
    # The published figure is the cell's sum; a margin per task (Measure 1) needs the change of each task.
    pairs_by_level = {
        "cell": slot_pairs(tables).cell,
        "machine": over_machines(tables, PERCENT_COUNTS, "machine_changes"),
        "task": over_tasks(tables, PERCENT_COUNTS, COUNTING),
    }
    levels = [
        curves(rows).mutate(level=ibis.literal(level)) for level, rows in pairs_by_level.items()
    ]
    return ibis.union(*levels)


def count_percents(resource: str, changes: Numbers, seconds: Index) -> dict[str, Index]:
    """Count changes, and their seconds, in percent bins: what :func:`count_changes` does in SQL."""
    n_pairs, seconds_of_bins = percent_bins(changes, seconds)
    percent = np.flatnonzero(n_pairs)
    return {
        "percent": percent,
        "n_pairs": n_pairs[percent],
        "seconds": seconds_of_bins[percent],
    }


@compiled()
def percent_bins(changes: Numbers, seconds: Index) -> tuple[Index, Index]:
    """Return the number of changes in each percent bin, and their seconds, shape (HIGHEST + 2,).

    Examples
    --------
    >>> n, seconds = percent_bins(np.array([0.0, 0.015, 0.02, 7.5]), np.array([600, 600, 450, 300]))
    >>> n[[0, 1, 2, 201]].tolist(), seconds[[0, 1, 2, 201]].tolist()
    ([1, 0, 2, 1], [600, 0, 1050, 300])
    """
    n_pairs = np.zeros(HIGHEST + 2, np.int64)
    seconds_of_bins = np.zeros(HIGHEST + 2, np.int64)
    for i in range(len(changes)):
        percent = changes[i] * 100.0
        # Compared before it is rounded: the change from zero is no number of a bin.
        whole_percent = int(np.ceil(percent)) if percent <= HIGHEST else HIGHEST + 1
        n_pairs[whole_percent] += 1
        seconds_of_bins[whole_percent] += seconds[i]
    return n_pairs, seconds_of_bins


PERCENT_COUNTS = ChangeSummary(count_changes, count_percents)
COUNTING = pass_of_changes("window_change", "task_changes", PERCENT_COUNTS)
"""The pass over the windows of tasks."""


def passes(tables: Tables) -> tuple[WindowPass]:
    """Return the pass over the windows of tasks."""
    return (COUNTING,)


def chart(answer: pa.Table) -> alt.FacetChart:
    """Draw the share of time in which usage changes at most so much, by level."""
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
        .properties(title="Change between neighboring 300 s slots (Zhu et al., Fig. 10)")
    )


def share_under_20_percent(level: str, resource: str) -> Measure:
    """Measure in which share of the time usage changes by 20 % or less."""
    return sql(
        f"""
        select sum(if(percent <= 20, seconds, 0)) / nullif(sum(seconds), 0)
        from answer
        where level = {literal(level)} and resource = {literal(resource)}
        """,
        otherwise="no two consecutive periods",
    )


CLAIMS = [
    Claim(
        "S4-fig10-cpu",
        statement="the cell's CPU usage changes by less than 20 % in over 90 % of the time",
        source="Zhu et al., Fig. 10",
        scope=LIKE_2011,
        measure=share_under_20_percent("cell", "cpu"),
        criterion=above(0.9),
    ),
    Claim(
        "S4-fig10-memory",
        statement="the cell's memory usage changes by less than 20 % in over 90 % of the time",
        source="Zhu et al., Fig. 10",
        scope=LIKE_2011,
        measure=share_under_20_percent("cell", "memory"),
        criterion=above(0.9),
    ),
    Claim(
        "S4-measure1-task",
        statement="a task's CPU usage, too, changes by less than 20 % in over 90 % of the time",
        source="Zhu et al., Measure 1",
        kind="derived",
        scope=LIKE_2011,
        measure=share_under_20_percent("task", "cpu"),
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
    # For the cell, and again for machines.
    shares=[SLOT_SUMS, SLOT_SUMS],
    passes=passes,
    reference="Zhu et al., Fig. 10",
)
