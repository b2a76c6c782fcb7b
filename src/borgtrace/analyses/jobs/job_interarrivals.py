"""How much time passes between job arrivals?

Quantiles of the time between the first SUBMITs of consecutive jobs within the trace, to the
microsecond.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import pyarrow as pa

from borgtrace.analyses.shared.attempts import new_jobs
from borgtrace.analyses.shared.quantiles import PERCENTS, Curve, fetch_counts, percents_of_curve
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    NotApplicable,
    Question,
    Row,
    Tables,
    above,
    charts,
    sql,
)
from borgtrace.question.scopes import OF_2011

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="percentile",
    key=[Column("percent", "float64", "1", "Percentile; 100 is the maximum.")],
    columns=[
        Column("seconds", "float64", "s", "Time between two neighboring jobs."),
        Column("mean", "float64", "s", "Mean of all, the same in every row."),
        Column(
            "squared_cv",
            "float64",
            "1",
            "Variance over squared mean; 1 for a Poisson process.",
            nullable=True,
        ),
        Column("n", "int64", "count", "Number of gaps."),
    ],
)


def compute(tables: Tables, *, curve: Curve = "few") -> list[Row]:
    """Return quantiles of the gaps between jobs.

    Parameters
    ----------
    tables
        The store's tables.
    curve
        At how many percentiles: ``"few"`` for a table, ``"full"`` for every tenth of a percent.
    """
    percents = percents_of_curve((*PERCENTS, 100.0), curve)
    new = new_jobs(tables.collection_attempts)
    # The id breaks ties: the gap between two jobs of one µs is 0 either way round.
    in_order = ibis.window(order_by=["submit_time", "collection_id"])
    arrivals = new.select(gap=new.submit_time - new.submit_time.lag().over(in_order))
    groups = fetch_counts(tables, arrivals, arrivals.gap, "gaps", per=1e6)
    if not groups:
        raise NotApplicable("fewer than two jobs arrive within the trace")
    gaps = groups[()]
    mean = gaps.mean()
    # All jobs at one time: no mean gap to compare with.
    squared_cv = gaps.variance() / mean**2 if mean else None
    return gaps.rows(percents, mean=mean, squared_cv=squared_cv, n=len(gaps))


def chart(answer: pa.Table) -> alt.Chart:
    """Draw the distribution of the gaps."""
    import altair as alt

    rows = answer.to_pylist()
    return (
        charts.base(rows, title="Time between job arrivals")
        .mark_line(**charts.steps(rows))
        .encode(
            x=alt.X(
                "seconds:Q",
                title="from one job to the next",
                **charts.duration_scale(constant=0.001),
            ),
            y=alt.Y("percent:Q", title="percent of gaps"),
            tooltip=charts.tooltips(rows),
        )
    )


CLAIMS = [
    Claim(
        "JE-bursts",
        statement="jobs arrive in bursts (variance over squared mean above 1.5; 1 for a Poisson process)",
        source="count over the job events of 2011",
        kind="criterion",
        scope=OF_2011,
        measure=sql("select squared_cv from answer limit 1"),
        criterion=above(1.5, published=3.38),
    ),
]

QUESTION = Question(
    name="job_interarrivals",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["collection_events"],
    reference="Tirmazi et al., EuroSys'20, section 7",
)
