"""Do tasks wait longer if fewer machines can run them?

Waits of attempts, exact to the microsecond, by the share of machines that meet their constraints at the
time of the submission, in bands; tasks without constraints are the last band. Observation 9 suspects
that this, and not the load, causes long waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from borgtrace.analyses.shared.attempts import HUNDREDTH, TASK, of_jobs
from borgtrace.analyses.shared.quantiles import Counts, fetch_refined
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
    query_answer,
    sql,
)
from borgtrace.question.constraints import Sets, fingerprints
from borgtrace.question.eligibility import READS, Eligibility, shares_of
from borgtrace.question.scopes import LIKE_2011

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="band of eligible share",
    key=[
        Column(
            "share_below", "float64", "1", "Upper end of the band; 2 for tasks without constraints."
        )
    ],
    columns=[
        Column("n", "int64", "count", "Attempts with a wait."),
        Column("mean", "float64", "s", "Mean wait."),
        Column("wait_p50", "float64", "s", "Wait, 50th percentile."),
        Column("wait_p90", "float64", "s", "Wait, 90th percentile."),
        Column("wait_p99", "float64", "s", "Wait, 99th percentile."),
    ],
)


BANDS = (0.01, 0.03, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1.0)
"""Upper ends of the bands of eligible share, which belong to them."""
NO_CONSTRAINT = 2.0
"""Stands for "no constraint" in the column ``share_below``."""
WAIT_PERCENTS = (50.0, 90.0, 99.0)


def compute(tables: Tables) -> list[Row]:
    """Return quantiles of the waits per band."""
    events, sets = fingerprints(tables)
    attempts = of_jobs(tables.instance_attempts)
    waits = attempts.filter(attempts.wait.notnull())
    waits = waits.select(*TASK, "wait", time="submit_time")
    # Constraints come with the event that demands them: those of the SUBMIT rule the wait after it.
    waits = waits.left_join(events, [*TASK, "time"]).select("time", "wait", "fingerprint")
    constrained = tables.fetch(waits.filter(waits.fingerprint.notnull()), "constrained")
    free = waits.filter(waits.fingerprint.isnull())
    free_totals = free.aggregate(total=free.wait.sum().cast("int64"), n=free.count())
    totals = tables.fetch(free_totals, "totals").to_pylist()
    free_waits = fetch_refined(tables, free, free.wait, "free", WAIT_PERCENTS, width=HUNDREDTH)
    if not (constrained.num_rows or len(free_waits)):
        raise NotApplicable("no wait lies within the trace")
    rows = []
    for band, waits_of_band in waits_by_band(tables, sets, constrained).items():
        rows.append(row_of_band(band, waits_of_band, waits_of_band.mean()))
    if len(free_waits):
        exact_mean = totals[0]["total"] / totals[0]["n"]
        rows.append(row_of_band(NO_CONSTRAINT, free_waits, exact_mean))
    return rows


def waits_by_band(tables: Tables, sets: Sets, demands: pa.Table) -> dict[float, Counts]:
    """Return the waits (µs) of each band of eligible share, at the time of the submission."""
    if not demands.num_rows:
        return {}
    shares = shares_of(Eligibility(tables), sets, demands)
    # A share that is not known sorts behind the last band.
    band_numbers = np.searchsorted(BANDS, shares)
    waits = demands["wait"].to_numpy()
    counts = {}
    for number, band in enumerate(BANDS):
        waits_of_band = waits[band_numbers == number]
        if waits_of_band.size:
            counts[band] = Counts(*np.unique(waits_of_band, return_counts=True))
    return counts


def row_of_band(band: float, waits: Counts, mean: float) -> Row:
    """Return the row of a band; waits and their mean are in µs."""
    return {
        "share_below": band,
        "n": len(waits),
        "mean": mean / 1e6,
        **waits.per(1e6).columns("wait_p", WAIT_PERCENTS),
    }


def chart(answer: pa.Table) -> alt.Chart:
    """Draw the 90th percentile of the wait by the share of eligible machines."""
    import altair as alt

    rows = query_answer(
        answer,
        """
        select *, if(share_below = 2, 'no constraint', format('≤ {:g}', share_below)) as band
        from answer
        """,
    )
    return (
        charts.base(rows, title="Waits by share of eligible machines")
        .mark_bar()
        .encode(
            x=alt.X("band:N", title="share of the machines that can run it", sort=None),
            y=alt.Y("wait_p90:Q", title="90th percentile of the wait (s)"),
            tooltip=charts.tooltips(rows),
        )
    )


CLAIMS = [
    # Bands hold different numbers of attempts, by which their means are weighted.
    Claim(
        "S4-obs9-constraints",
        statement="long waits come from constraints",
        source="Zhu et al., Observation 9; Sharma et al., SoCC'11 (2 to 6 times)",
        scope=LIKE_2011,
        measure=sql(
            """
            select
                sum(mean * n) filter (share_below <= 0.1)
                    / sum(n) filter (share_below <= 0.1)
                    / nullif(any_value(mean) filter (share_below = 2), 0)
            from answer
            """,
            otherwise="no task has such a constraint, or every task has one",
        ),
        criterion=above(2.0, published="tightly constrained ÷ free waits > 2"),
    ),
]

QUESTION = Question(
    name="delay_by_eligibility",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=READS,
    reference="Zhu et al., Observation 9; Sharma et al., SoCC'11",
)
