"""How many measurements does a task have?

The trace of a task is all its usage rows, over all its attempts; its length is their number.
Lengths from 1 to 100 are counted one by one, longer ones by powers of two. Tasks without usage have
no trace. Tasks without a failing event (EVICT, FAIL, KILL or LOST) are counted beside: Janus and
Rzadca drop all others before they count.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.shared.attempts import of_jobs
from borgtrace.analyses.shared.windows import int_sum
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    Question,
    Row,
    Tables,
    between,
    charts,
    near,
    sql,
)
from borgtrace.question.scopes import AZURE_2019, OF_2011

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="length",
    key=[
        Column(
            "length", "int64", "count", "Number of usage rows; above 100 the shortest of the bin."
        )
    ],
    columns=[
        Column("longest", "int64", "count", "Longest trace of the bin."),
        Column("n_tasks", "int64", "count", "Tasks with a trace of such a length."),
        Column("n_windows", "int64", "count", "Usage rows of these tasks."),
        Column("n_unfailed", "int64", "count", "Of these, tasks without a failing event."),
    ],
)


SINGLE = 100
"""Up to this length each has a bin of its own."""
EDGES = (SINGLE + 1, *(2**k for k in range(7, 31)))
"""Shortest lengths of the other bins: 101 … 127 is what is left of its octave, then 128 … 255, 256 … 511."""


def compute(tables: Tables) -> ir.Table:
    """Return the distribution of trace lengths."""
    tasks = of_jobs(tables.tasks)
    tasks = tasks.filter(tasks.n_windows > 0)
    length = tasks.n_windows.cast("int64")
    shortest_cases = [(length <= SINGLE, length)]
    longest_cases = [(length <= SINGLE, length)]
    for edge, next_edge in pairwise(EDGES):
        is_in_bin = length < next_edge
        shortest_cases.append((is_in_bin, ibis.literal(edge, "int64")))
        longest_cases.append((is_in_bin, ibis.literal(next_edge - 1, "int64")))
    n_failures = tasks.n_evict + tasks.n_fail + tasks.n_kill + tasks.n_lost
    rows = tasks.select(
        "n_windows",
        is_unfailed=n_failures == 0,
        length=ibis.cases(*shortest_cases, else_=length),
        longest=ibis.cases(*longest_cases, else_=length),
    )
    return rows.group_by(["length", "longest"]).aggregate(
        n_tasks=rows.count(),
        n_windows=int_sum(rows.n_windows),
        n_unfailed=rows.count(where=rows.is_unfailed),
    )


BARS = (1, 2, 3, 4, 5, 7, 10, 14, 20, 28, 39, 51, 71, 101, *EDGES[1:])
"""Shortest lengths of the bars of the chart, about two for each doubling; none crosses 5 or 50."""


def chart(answer: pa.Table) -> alt.Chart:
    """Draw a histogram of the lengths; the area of a bar is the share of its tasks, and 5 to 50 rows stand out."""
    import altair as alt

    rows = bars(answer)
    marked_share = sum(row["share"] for row in rows if row["marked"] == MARKED)
    title = charts.subtitled(
        "Length of task traces",
        f"{marked_share:.0%} of the tasks have 5 to 50 rows; the area of a bar is its share",
    )
    return (
        charts.base(rows, title)
        .mark_bar(stroke="white", strokeWidth=0.5)
        .encode(
            x=alt.X(
                "shortest:Q",
                title="usage rows of a task",
                **charts.log_scale(domain=[1, rows[-1]["end"]]),
            ),
            x2="end:Q",
            y=alt.Y("height:Q", title="share of tasks per doubling", axis=alt.Axis(format="%")),
            y2=alt.datum(0),
            color=charts.color(rows, "marked", {MARKED: "#4c78a8", OTHER: "#bab0ac"}, title="rows"),
            tooltip=charts.tooltips(rows, "shortest", "longest", "share"),
        )
    )


MARKED = "5 to 50"
OTHER = "others"


def bars(answer: pa.Table) -> list[Row]:
    """Return the bars of the histogram: where they begin and end, the share of their tasks, and the share a doubling.

    Parameters
    ----------
    answer
        Of :func:`compute`.
    """
    lengths = answer["length"].to_numpy()
    n_tasks = answer["n_tasks"].to_numpy()
    last_length = int(answer["longest"].to_numpy().max())
    rows = []
    for shortest, end in pairwise(BARS):
        if shortest > last_length:
            break
        share = float(n_tasks[(lengths >= shortest) & (lengths < end)].sum() / n_tasks.sum())
        rows.append(
            {
                "shortest": shortest,
                "longest": end - 1,
                "end": end,
                "share": share,
                "height": share / math.log2(end / shortest),
                "marked": MARKED if shortest >= 5 and end <= 51 else OTHER,
            }
        )
    return rows


CLAIMS = [
    # Only whole bins: up to 100 every length has its own, and the claims stay below.
    Claim(
        "S0-5-50",
        statement="traces of 5 to 50 points are about 74 % of all",
        source="data pipeline description (section on data)",
        scope=OF_2011.needing(days=14, tasks=10_000),
        measure=sql(
            """
            select sum(if(length >= 5 and longest <= 50, n_tasks, 0)) / nullif(sum(n_tasks), 0)
            from answer
            """,
            otherwise="no task has usage",
        ),
        criterion=between(0.69, 0.79, published=0.74),
    ),
    Claim(
        "S1-short",
        statement="95 % of the tasks without a failing event have fewer than 24 points",
        source="Janus & Rzadca, SoCC'17, §3.1",
        scope=OF_2011.needing(days=14, tasks=10_000),
        measure=sql(
            """
            select
                sum(if(length >= 1 and longest <= 23, n_unfailed, 0))
                    / nullif(sum(n_unfailed), 0)
            from answer
            """,
            otherwise="no task with usage is without a failing event",
        ),
        criterion=between(0.93, 0.97, published=0.95),
    ),
    # The source prints a few digits.
    Claim(
        "AZ19-readings",
        statement="1.94 billion readings",
        source="AzurePublicDatasetV2.md",
        scope=AZURE_2019,
        with_more_data="rises",
        measure=sql(
            "select coalesce(sum(n_windows), 0)::double from answer",
            otherwise="no task has usage",
        ),
        criterion=near(1.94e9, within=5e6),
    ),
]

QUESTION = Question(
    name="trace_lengths",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["tasks", "instance_usage"],
    reference="definition of a trace in the data pipeline the project started from",
)
