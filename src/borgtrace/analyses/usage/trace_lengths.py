"""How many measurements does a task have?

The trace of a task is all its usage rows, over all its attempts; its length is their number.
Lengths from 1 to 100 are counted one by one, longer ones by powers of two. Tasks without usage have
no trace.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import ibis
import pyarrow as pa

from borgtrace.analyses.shared.attempts import of_jobs
from borgtrace.analyses.shared.windows import int_sum
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    Question,
    Tables,
    between,
    charts,
    near,
    query_answer,
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
    ],
)


SINGLE = 100


def compute(tables: Tables) -> ibis.Table:
    """Return the distribution of trace lengths."""
    tasks = of_jobs(tables.tasks)
    tasks = tasks.filter(tasks.n_windows > 0)
    length = tasks.n_windows.cast("int64")
    # 101 … 127, 128 … 255, 256 … 511: the first is what is left of its octave above the single lengths.
    bins = [
        (length < above, low, above - 1)
        for low, above in pairwise([SINGLE + 1, *(2**k for k in range(7, 31))])
    ]
    single = (length <= SINGLE, length)
    low = ibis.cases(
        single, *((test, ibis.literal(least, "int64")) for test, least, _ in bins), else_=length
    )
    high = ibis.cases(
        single, *((test, ibis.literal(most, "int64")) for test, _, most in bins), else_=length
    )
    rows = tasks.select("n_windows", length=low, longest=high)
    return rows.group_by(["length", "longest"]).aggregate(
        n_tasks=rows.count(), n_windows=int_sum(rows.n_windows)
    )


def chart(answer: pa.Table) -> alt.Chart:
    """Draw: length of task traces."""
    import altair as alt

    rows = query_answer(
        answer,
        """
        select *, n_tasks / (longest - length + 1) as per_length
        from answer
        """,
    )
    return (
        charts.base(rows, title="Length of task traces")
        .mark_point(filled=True, size=25)
        .encode(
            x=alt.X("length:Q", title="usage rows of a task", **charts.log_scale()),
            y=alt.Y("per_length:Q", title="tasks per length", **charts.log_scale()),
            tooltip=charts.tooltips(rows),
        )
    )


CLAIMS = [
    # Only whole bins: up to 100 every length has its own, and the claims stay below.
    Claim(
        "S0-5-50",
        statement="traces of 5 to 50 points are about 74 % of all",
        source="data pipeline description (section on data)",
        scope=OF_2011,
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
        statement="95 % of the tasks have fewer than 24 points",
        source="Janus & Rzadca, SoCC'17, §3",
        scope=OF_2011,
        measure=sql(
            """
            select sum(if(length >= 1 and longest <= 23, n_tasks, 0)) / nullif(sum(n_tasks), 0)
            from answer
            """,
            otherwise="no task has usage",
        ),
        criterion=between(0.93, 0.97, published=0.95),
    ),
    # Of so many, a few digits are printed.
    Claim(
        "AZ19-readings",
        statement="1.94 billion readings",
        source="AzurePublicDatasetV2.md",
        scope=AZURE_2019,
        measure=sql(
            "select coalesce(sum(n_windows), 0)::double from answer",
            otherwise="no task has usage",
        ),
        criterion=near(1940000000.0, within=5000000.0),
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
