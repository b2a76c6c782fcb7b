"""How long do tasks run?

The share of attempts that have ended after a time, for all tasks, per tier and per scheduling class: by
the Kaplan–Meier estimator (attempts still running at the end of the trace count as "at least this
long"), and for finished attempts alone, as in Fig. 8 of Zhu et al. Runs are counted in seconds, rounded
up, so that what runs 30 s at most is exactly what counts up to 30; those that began before the trace are left out.
An attempt that is lost sight of counts as running to the end of that second.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import ibis
import numpy as np
import pyarrow as pa

from borgtrace.analyses.shared.attempts import is_known, last_time, of_jobs
from borgtrace.analyses.shared.breakdown import count_by_group, cuts, named, ranked
from borgtrace.analyses.shared.columns import GROUPING
from borgtrace.analyses.shared.quantiles import NOTHING, Counts, kaplan_meier
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    NotApplicable,
    Question,
    Row,
    Tables,
    above,
    at_most,
    charts,
    equals,
    near,
    query_answer,
    sql,
)
from borgtrace.question.scopes import LIKE_2011, MONTH_2011
from borgtrace.schema.time import AFTER_TRACE, SECOND

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="group of tasks and time",
    key=[
        *GROUPING,
        Column("seconds", "int64", "s", "Time since SCHEDULE."),
    ],
    columns=[
        Column(
            "ended",
            "float64",
            "1",
            "Share of attempts that end within it, by Kaplan and Meier.",
            nullable=True,
        ),
        Column(
            "finished",
            "float64",
            "1",
            "Share of finished attempts that ran at most this long.",
            nullable=True,
        ),
        Column("n_at_risk", "int64", "count", "Attempts known to have run longer."),
        Column("n", "int64", "count", "Attempts of the group."),
        Column(
            "shortest", "float64", "s", "Shortest finished attempt of the group.", nullable=True
        ),
        Column("longest", "float64", "s", "Longest finished attempt of the group.", nullable=True),
    ],
)


_SECONDS, _MINUTES = (1, 2, 5, 8, 10, 15, 20, 30, 45), (1, 1.5, 2, 3, 4, 5, 7.5, 10, 15, 20, 30, 45)
_HOURS, _DAYS = (1, 1.5, 2, 3, 4, 6, 8, 10, 12, 18), (1, 2, 4, 7, 14, 28)
_UNITS = ((1, _SECONDS), (60, _MINUTES), (3600, _HOURS), (86400, _DAYS))
GRID = tuple(int(unit * number) for unit, numbers in _UNITS for number in numbers)
"""Times at which the curves are reported, s."""


def compute(tables: Tables, *, tier_of: str = "schedule") -> list[Row]:
    """Return the curves at the times of `GRID`.

    Parameters
    ----------
    tables
        The store's tables.
    tier_of
        Event whose priority decides the tier: ``"schedule"`` (else the attempt's other events) or ``"submit"``.
    """
    tasks = ranked(of_jobs(tables.instance_attempts), tier_of)
    started = tasks.filter(is_known(tasks.schedule_time)).cross_join(
        last_time(tables.instance_events)
    )
    # Where the end is lost, the next begin bounds the run; where nothing is known, the end of the trace.
    ran = (
        ibis.least(started.left_time.fill_null(AFTER_TRACE), started["last"])
        - started.schedule_time
    )
    runs = started.mutate(
        end=_end(started), exact=ran, ran=((ran + SECOND - 1) // SECOND).cast("int64")
    )
    # An end that was made up says by when it had ended, not when.
    runs = runs.filter((runs.end == "open") | runs.run.notnull())
    groups = count_by_group(tables, runs, runs.ran, "runs", "end")
    if not groups:
        raise NotApplicable("no attempt starts within the trace")
    extremes = _extremes(tables, runs)
    rows = []
    for grouping, group in dict.fromkeys(key[:2] for key in groups):
        finish, end, censored = (
            groups.get((grouping, group, name), NOTHING) for name in ("finish", "end", "open")
        )
        shortest, longest = extremes.get((grouping, group), (None, None))
        same = {"grouping": grouping, "group": group, "shortest": shortest, "longest": longest}
        rows += [{**same, **row} for row in _curve(finish, finish + end, censored)]
    return rows


def _extremes(tables: Tables, runs: ibis.Table) -> dict[tuple[str, str], tuple[float, float]]:
    """Return the shortest and the longest finished run of each group, in seconds."""
    done = named(tables, runs.filter(runs.end == "finish"))
    per_class = done.group_by(["tier", "class_"]).aggregate(
        shortest=done.exact.min(), longest=done.exact.max()
    )
    found: dict[tuple[str, str], tuple[float, float]] = {}
    for row in tables.fetch(per_class, "extremes").to_pylist():
        for cut in cuts(row["tier"], row["class_"]):
            low, high = found.get(cut, (math.inf, 0.0))
            found[cut] = min(low, row["shortest"] / 1e6), max(high, row["longest"] / 1e6)
    return found


def _end(attempts: ibis.Table) -> ibis.Value:
    """FINISH, another end, or none: still running, or its end is lost."""
    # Every kind of end counts as one in the estimate: only what still runs, or was lost sight of, is censored.
    ended = attempts.end_type.notnull() & (attempts.end_time < AFTER_TRACE)
    return ibis.cases(
        (ended & (attempts.end_type == "FINISH"), "finish"), (ended, "end"), else_="open"
    )


def _curve(finished: Counts, ended: Counts, censored: Counts) -> list[Row]:
    times, share = kaplan_meier(ended, censored)
    everyone = ended + censored
    rows: list[Row] = []
    for upto in GRID:
        # Beyond the longest run the curve stays where it is; one row is kept, whatever the group.
        if upto > everyone.values.max() and rows:
            break
        place = np.searchsorted(times, upto, side="right")
        rows.append(
            {
                "seconds": upto,
                # A step function: the value at the last end up to this time.
                "ended": float(share[place - 1]) if place else 0.0,
                # Whole seconds: less than the next one is at most this one.
                "finished": finished.share_below(upto + 1) if len(finished) else None,
                "n_at_risk": len(everyone.chosen(everyone.values > upto)),
                "n": len(everyone),
            }
        )
    return rows


def chart(answer: pa.Table) -> alt.HConcatChart:
    """Draw: run time of tasks."""
    import altair as alt

    # The Kaplan–Meier curves of tiers, and the distribution of finished attempts (Fig. 8).  A tier of which none has
    # finished has no such distribution: its rows draw nothing, and keep its color.
    panels = []
    rows = query_answer(
        answer,
        """
        select *, "group" as tier
        from answer
        where grouping in ('all', 'tier')
        """,
    )
    if rows:
        panels.append(
            charts.base(rows)
            .mark_line(interpolate="step-after")
            .encode(
                x=alt.X(
                    "seconds:Q", title="time since SCHEDULE", **charts.duration_scale(type="log")
                ),
                y=alt.Y("ended:Q", title="share ended (Kaplan–Meier)"),
                color=charts.tier_color(rows),
                tooltip=charts.tooltips(rows),
            )
        )
    rows = query_answer(
        answer,
        """
        select *, "group" as tier
        from answer
        where grouping in ('all', 'tier')
            and (select count(finished) from answer where grouping in ('all', 'tier')) > 0
        """,
    )
    if rows:
        panels.append(
            charts.base(rows)
            .mark_line(interpolate="step-after")
            .encode(
                x=alt.X(
                    "seconds:Q", title="time since SCHEDULE", **charts.duration_scale(type="log")
                ),
                y=alt.Y("finished:Q", title="share of the finished"),
                color=charts.tier_color(rows),
                tooltip=charts.tooltips(rows),
            )
        )
    return alt.hconcat(*panels).properties(title="Run time of tasks")


CLAIMS = [
    Claim(
        "S4-fig8-5min",
        statement="about 40 % of finished tasks run less than 5 minutes",
        source="Zhu et al., Fig. 8",
        scope=LIKE_2011,
        measure=sql(
            """
            select finished
            from answer
            where grouping = 'all' and "group" = 'all' and seconds = 300
            """,
            otherwise="no attempt was observed for 300 s, or none finished",
        ),
        criterion=near(0.4, within=0.05),
    ),
    Claim(
        "S4-fig8-30min",
        statement="about 80 % of finished tasks run less than 30 minutes",
        source="Zhu et al., Fig. 8",
        scope=LIKE_2011,
        measure=sql(
            """
            select finished
            from answer
            where grouping = 'all' and "group" = 'all' and seconds = 1800
            """,
            otherwise="no attempt was observed for 1800 s, or none finished",
        ),
        criterion=near(0.8, within=0.05),
    ),
    Claim(
        "S4-8s",
        statement="but for two, no finished task runs less than 8 s",
        source="Zhu et al., Measure 2",
        scope=LIKE_2011,
        measure=sql(
            """
            select finished
            from answer
            where grouping = 'all' and "group" = 'all' and seconds = 8
            """,
            otherwise="no attempt was observed for 8 s, or none finished",
        ),
        criterion=at_most(1.0978168539587962e-07, published="2 of 18,217,975"),
    ),
    Claim(
        "S4-shortest",
        statement="the shortest finished task runs for 1 µs",
        source="Zhu et al., Fig. 8",
        scope=MONTH_2011,
        measure=sql(
            "select shortest from answer where grouping = 'all' limit 1",
            otherwise="no task finished",
        ),
        criterion=equals(1e-06, published="1 µs"),
    ),
    Claim(
        "S4-longest",
        statement="the longest finished task runs for 8.969 days",
        source="Zhu et al., Fig. 8",
        scope=MONTH_2011,
        measure=sql(
            """
            select longest / 86400
            from answer
            where grouping = 'all'
            limit 1
            """,
            otherwise="no task finished",
        ),
        criterion=near(8.969, within=0.0005),
    ),
    Claim(
        "S4-obs10",
        statement="latency-sensitive tasks (class 3) are usually long-running",
        source="Zhu et al., Observation 10",
        scope=LIKE_2011,
        measure=sql(
            """
            select 1 - ended
            from answer
            where grouping = 'class' and "group" = '3' and seconds = 3600
            """,
            otherwise="no attempt of class 3 was observed for 3600 s, or none finished",
        ),
        criterion=above(0.5, published="usually: more than half outlast an hour"),
    ),
]

QUESTION = Question(
    name="run_times",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["instance_events"],
    reference="Zhu et al., Fig. 8; Kaplan and Meier, JASA 53 (1958)",
)
