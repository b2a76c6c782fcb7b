"""How long do tasks wait to be scheduled?

Quantiles of SCHEDULE − SUBMIT per tier and per scheduling class, exact to the microsecond.  Waits that began
before the trace are unknown and left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import numpy as np
import pyarrow as pa

from borgtrace.analyses.shared.attempts import HUNDREDTH, of_jobs
from borgtrace.analyses.shared.breakdown import (
    TierEvent,
    count_by_group,
    sum_by_group,
    with_deciding_priority,
)
from borgtrace.analyses.shared.columns import GROUPING
from borgtrace.analyses.shared.quantiles import PERCENTS, Counts, Curve, percents_of_curve
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    NotApplicable,
    Question,
    Row,
    Tables,
    below,
    charts,
    query_answer,
    sql,
)
from borgtrace.question.scopes import LIKE_2014

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="group of tasks and percentile",
    key=[
        *GROUPING,
        Column("percent", "float64", "1", "Percentile; 100 is the maximum."),
    ],
    columns=[
        Column("seconds", "float64", "s", "Wait from SUBMIT to SCHEDULE."),
        Column("mean", "float64", "s", "Mean wait of the group."),
        Column("n", "int64", "count", "Attempts of the group with a wait."),
    ],
)


REPORTED_PERCENTS = (*PERCENTS, 100.0)


def compute(tables: Tables, *, tier_of: TierEvent = "schedule", curve: Curve = "few") -> list[Row]:
    """Return quantiles of the waits, for all tasks, per tier and per class.

    Parameters
    ----------
    tables
        The store's tables.
    tier_of
        Event whose priority decides the tier: ``"schedule"`` (else the attempt's other events) or ``"submit"``.
    curve
        At how many percentiles: ``"few"`` for a table, ``"full"`` for every tenth of a percent, which is exact to 10 ms
        between those of the table.
    """
    percents = percents_of_curve(REPORTED_PERCENTS, curve)
    tasks = with_deciding_priority(of_jobs(tables.instance_attempts), tier_of)
    bin_number = (tasks.wait // HUNDREDTH).cast("int64")
    binned_waits = count_by_group(tables, tasks, bin_number, "waits")
    if not binned_waits:
        raise NotApplicable("no wait lies within the trace")
    # The microseconds of a month of waits do not fit into memory: only those near the quantiles are fetched.
    bins_of_groups = [waits.around(REPORTED_PERCENTS) for waits in binned_waits.values()]
    bins = np.unique(np.concatenate(bins_of_groups)).astype(np.int64)
    near_quantiles = tasks.filter(bin_number.isin(bins.tolist()))
    exact_waits = count_by_group(tables, near_quantiles, near_quantiles.wait, "waits_at_quantiles")
    with_wait = tasks.filter(tasks.wait.notnull())
    sums = sum_by_group(tables, with_wait, "sums", total=with_wait.wait, n=ibis.literal(1, "int64"))
    rows = []
    for group, waits in binned_waits.items():
        elsewhere = waits.where(~np.isin(waits.values, bins))
        all_waits = Counts(elsewhere.values * HUNDREDTH, elsewhere.n) + exact_waits[group]
        rows += all_waits.per(1e6).rows(
            percents,
            grouping=group[0],
            group=group[1],
            mean=sums[group]["total"] / sums[group]["n"] / 1e6,
            n=len(waits),
        )
    return rows


def chart(answer: pa.Table) -> alt.Chart:
    """Draw the distribution of the waits of each tier."""
    import altair as alt

    rows = query_answer(
        answer,
        """
        select *, "group" as tier
        from answer
        where grouping in ('all', 'tier')
        """,
    )
    title = charts.subtitled(
        "Waiting time until scheduled",
        "Zhu et al., Fig. 6; Tirmazi et al., Fig. 10",
    )
    return (
        charts.base(rows, title)
        .mark_line(**charts.steps(rows))
        .encode(
            x=alt.X("seconds:Q", title="wait from SUBMIT to SCHEDULE", **charts.duration_scale()),
            y=alt.Y("percent:Q", title="percent of attempts"),
            color=charts.tier_color(rows),
            tooltip=charts.tooltips(rows, "seconds", "percent", "tier", "n"),
        )
    )


CLAIMS = [
    Claim(
        "V-start",
        statement=(
            "the median start latency is about 25 s, most of it package installation, which"
            " the trace counts as running"
        ),
        source="Verma et al., EuroSys'15, section 3.2",
        scope=LIKE_2014,
        measure=sql(
            """
            select seconds
            from answer
            where "group" = 'all' and percent = 50
            """,
            otherwise="no task was scheduled",
        ),
        criterion=below(25.0, published="median wait ≪ 25 s"),
    ),
]

QUESTION = Question(
    name="scheduling_delay",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["instance_events"],
    reference="Zhu et al., Fig. 6; Tirmazi et al., EuroSys'20, Fig. 10",
)
