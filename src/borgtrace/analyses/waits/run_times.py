"""How long do tasks run?

The share of attempts that have ended after a time, for all tasks, per tier and per scheduling class: by
the Kaplan–Meier estimator (attempts still running at the end of the trace count as "at least this
long"), and only for finished attempts, as in Fig. 8 of Zhu et al. Runs are counted in seconds, rounded
up: an attempt counts up to 30 s exactly if it runs 30 s at most. Runs that began before the trace are left out.
An attempt whose end is unknown counts as running to the end of the second in which it was last seen.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from borgtrace.analyses.shared.attempts import is_known, is_within, last_time, of_jobs
from borgtrace.analyses.shared.breakdown import (
    TierEvent,
    count_by_group,
    groups_of,
    with_deciding_priority,
    with_tier_and_class,
)
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
from borgtrace.question.scopes import CELL_2011, LIKE_2011
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


GRID = (
    *(1, 2, 5, 8, 10, 15, 20, 30, 45),
    *(60, 90, 120, 180, 240, 300, 450, 600, 900, 1200, 1800, 2700),
    *(3600, 5400, 7200, 10_800, 14_400, 21_600, 28_800, 36_000, 43_200, 64_800),
    *(86_400, 172_800, 345_600, 604_800, 1_209_600, 2_419_200),
)
"""Times at which the curves are reported, s: from seconds to 28 days."""


def compute(tables: Tables, *, tier_of: TierEvent = "schedule") -> list[Row]:
    """Return the curves at the times of `GRID`.

    Parameters
    ----------
    tables
        The store's tables.
    tier_of
        Event whose priority decides the tier: ``"schedule"`` (else the attempt's other events) or ``"submit"``.
    """
    tasks = with_deciding_priority(of_jobs(tables.instance_attempts), tier_of)
    runs = runs_of_attempts(tasks, last_time(tables.instance_events))
    seconds_by_group = count_by_group(tables, runs, runs.seconds, "runs", "end")
    if not seconds_by_group:
        raise NotApplicable("no attempt starts within the trace")
    extremes = fetch_extremes(tables, runs)
    rows = []
    for grouping, group in dict.fromkeys(key[:2] for key in seconds_by_group):
        finished = seconds_by_group.get((grouping, group, "finish"), NOTHING)
        otherwise_ended = seconds_by_group.get((grouping, group, "end"), NOTHING)
        censored = seconds_by_group.get((grouping, group, "open"), NOTHING)
        shortest, longest = extremes.get((grouping, group), (None, None))
        for row in curve(finished, finished + otherwise_ended, censored):
            row |= {
                "grouping": grouping,
                "group": group,
                "shortest": shortest,
                "longest": longest,
            }
            rows.append(row)
    return rows


def runs_of_attempts(tasks: ir.Table, last: ir.Table) -> ir.Table:
    """Return attempts that start within the trace: ``microseconds``, whole ``seconds`` (rounded up) and ``end``."""
    started = tasks.filter(is_known(tasks.schedule_time)).cross_join(last)
    # Where the end is lost, the next begin bounds the run; where nothing is known, the end of the trace.
    until = ibis.least(started.left_time.fill_null(AFTER_TRACE), started["last"])
    microseconds = until - started.schedule_time
    runs = started.mutate(
        end=kind_of_end(started),
        microseconds=microseconds,
        seconds=((microseconds + SECOND - 1) // SECOND).cast("int64"),
    )
    # The time of an inferred end is only an upper bound: its run is unknown.
    return runs.filter((runs.end == "open") | runs.run.notnull())


def kind_of_end(attempts: ir.Table) -> ir.Value:
    """Return ``finish``, another ``end``, or ``open``: still running, or its end is lost."""
    # Every kind of end counts as one in the estimate: only what still runs, or whose end is lost, is censored.
    has_ended = attempts.end_type.notnull() & is_within(attempts.end_time)
    has_finished = has_ended & (attempts.end_type == "FINISH")
    return ibis.cases((has_finished, "finish"), (has_ended, "end"), else_="open")


def fetch_extremes(tables: Tables, runs: ir.Table) -> dict[tuple[str, str], tuple[float, float]]:
    """Return the shortest and the longest finished run of each group, in seconds."""
    finished = with_tier_and_class(tables, runs.filter(runs.end == "finish"))
    by_tier_and_class = finished.group_by(["tier", "class_"]).aggregate(
        shortest=finished.microseconds.min(), longest=finished.microseconds.max()
    )
    extremes: dict[tuple[str, str], tuple[float, float]] = {}
    for row in tables.fetch(by_tier_and_class, "extremes").to_pylist():
        for group in groups_of(row["tier"], row["class_"]):
            shortest, longest = extremes.get(group, (math.inf, 0.0))
            extremes[group] = (
                min(shortest, row["shortest"] / 1e6),
                max(longest, row["longest"] / 1e6),
            )
    return extremes


def curve(finished: Counts, ended: Counts, censored: Counts) -> list[Row]:
    """Return both shares at the times of `GRID`, up to the longest run of the group."""
    times, shares = kaplan_meier(ended, censored)
    attempts = ended + censored
    longest = attempts.values.max()
    rows: list[Row] = []
    for seconds in GRID:
        # Beyond the longest run the curve is flat; every group has at least one row.
        if seconds > longest and rows:
            break
        n_steps = np.searchsorted(times, seconds, side="right")
        rows.append(
            {
                "seconds": seconds,
                # A step function: the value at the last end up to this time.
                "ended": float(shares[n_steps - 1]) if n_steps else 0.0,
                # Whole seconds: less than the next one is at most this one.
                "finished": finished.share_below(seconds + 1) if len(finished) else None,
                "n_at_risk": len(attempts.where(attempts.values > seconds)),
                "n": len(attempts),
            }
        )
    return rows


def chart(answer: pa.Table) -> alt.HConcatChart:
    """Draw the Kaplan–Meier curves of the tiers, and the distribution of finished attempts where any has finished."""
    import altair as alt

    rows = query_answer(
        answer,
        """
        select *, "group" as tier
        from answer
        where grouping in ('all', 'tier')
        """,
    )
    panels = [share_over_time(rows, "ended", title="share ended (Kaplan–Meier)")]
    # A tier of which none has finished draws nothing, but keeps its color.
    if any(row["finished"] is not None for row in rows):
        panels.append(share_over_time(rows, "finished", title="share of the finished"))
    return alt.hconcat(*panels).properties(title="Run time of tasks (Zhu et al., Fig. 8)")


def share_over_time(rows: list[Row], column: str, *, title: str) -> alt.Chart:
    """Draw a share of the attempts of each tier up to a time since SCHEDULE."""
    import altair as alt

    return (
        charts.base(rows)
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("seconds:Q", title="time since SCHEDULE", **charts.duration_scale(type="log")),
            y=alt.Y(f"{column}:Q", title=title),
            color=charts.tier_color(rows),
            tooltip=charts.tooltips(rows),
        )
    )


CLAIMS = [
    Claim(
        "S4-fig8-5min",
        statement="about 40 % of finished tasks run less than 5 minutes",
        source="Zhu et al., Fig. 8",
        scope=LIKE_2011.needing(days=7, tasks=5_000),
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
        scope=LIKE_2011.needing(days=28),
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
        scope=CELL_2011,
        with_more_data="falls",
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
        scope=CELL_2011,
        with_more_data="rises",
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
        scope=LIKE_2011.needing(days=7, tasks=5_000),
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
