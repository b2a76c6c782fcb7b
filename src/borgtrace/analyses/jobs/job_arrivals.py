"""How many jobs arrive per hour?

Jobs whose first SUBMIT lies within the trace, per hour since its start; the last hour is left out where the
trace ends within it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from borgtrace.analyses.shared.attempts import last_time, new_jobs
from borgtrace.analyses.shared.histograms import period
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    NotApplicable,
    Question,
    Tables,
    charts,
    near,
    sql,
)
from borgtrace.question.scopes import CELL_2011, CELL_2019
from borgtrace.schema.time import HOUR, TRACE_START

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="hour",
    key=[Column("hour", "int64", "h", "Hour since the start of the trace, from 0.")],
    columns=[Column("n_jobs", "int64", "count", "Jobs submitted for the first time.")],
)


def compute(tables: Tables) -> pa.Table:
    """Return the number of new jobs per whole hour."""
    jobs = new_jobs(tables.collection_attempts)
    by_hour = jobs.group_by(hour=period(jobs.submit_time, HOUR, TRACE_START))
    hours = tables.fetch(by_hour.aggregate(n=jobs.count()), "hours")
    horizon = tables.fetch(last_time(tables.collection_events), "horizon").to_pylist()
    if not hours.num_rows:
        raise NotApplicable("no job arrives within the trace")
    # Whole hours only: the last one would count as a quiet hour.
    n_hours = max((horizon[0]["last"] - TRACE_START) // HOUR, 0)
    if not n_hours:
        raise NotApplicable("events of jobs span less than an hour")
    # Hours without a job have no row and count 0.
    n_jobs = np.bincount(hours["hour"].to_numpy(), hours["n"].to_numpy(), n_hours)
    return pa.table(
        {
            "hour": np.arange(n_hours, dtype=np.int64),
            "n_jobs": n_jobs[:n_hours].astype(np.int64),
        }
    )


def chart(answer: pa.Table) -> alt.Chart:
    """Draw the number of new jobs per hour over time."""
    import altair as alt

    rows = answer.to_pylist()
    return (
        charts.base(rows, title="New jobs per hour (Tirmazi et al., Fig. 8)")
        .mark_line()
        .encode(
            x=charts.hour_axis(rows),
            y=alt.Y("n_jobs:Q", title="jobs"),
            tooltip=charts.tooltips(rows),
        )
    )


# Hours of a day differ from those of a week: a mean is that of the month.
CLAIMS = [
    Claim(
        "TIR-jobs-mean-2011",
        statement="mean number of jobs per hour",
        source="Tirmazi et al., EuroSys'20, Fig. 8",
        scope=CELL_2011,
        measure=sql("select avg(n_jobs) from answer"),
        criterion=near(964, relative=0.02),
    ),
    Claim(
        "TIR-jobs-median-2011",
        statement="median number of jobs per hour",
        source="Tirmazi et al., EuroSys'20, Fig. 8",
        scope=CELL_2011,
        measure=sql("select median(n_jobs) from answer"),
        criterion=near(885, relative=0.02),
    ),
    Claim(
        "TIR-jobs-mean-2019",
        statement="mean number of jobs per hour",
        source="Tirmazi et al., EuroSys'20, Fig. 8",
        scope=CELL_2019,
        measure=sql("select avg(n_jobs) from answer"),
        criterion=near(3360, relative=0.02),
    ),
    Claim(
        "TIR-jobs-median-2019",
        statement="median number of jobs per hour",
        source="Tirmazi et al., EuroSys'20, Fig. 8",
        scope=CELL_2019,
        measure=sql("select median(n_jobs) from answer"),
        criterion=near(3309, relative=0.02),
    ),
    # Two authors, two lengths: at most one can be right.
    Claim(
        "G11-days",
        statement="the trace of 2011 lasts 29 days",
        source="ClusterData2011_2.md",
        scope=CELL_2011,
        with_more_data="rises",
        measure=sql("select count(*) / 24 from answer"),
        criterion=near(29, within=0.5),
    ),
    Claim(
        "TIR-days",
        statement="the trace of 2011 lasts 30 days",
        source="Tirmazi et al., EuroSys'20, Table 1",
        scope=CELL_2011,
        with_more_data="rises",
        measure=sql("select count(*) / 24 from answer"),
        criterion=near(30, within=0.5),
    ),
]

QUESTION = Question(
    name="job_arrivals",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["collection_events"],
    reference="Tirmazi et al., EuroSys'20, Fig. 8",
)
