"""How long do jobs last?

Quantiles of the time from the first SCHEDULE (after the start of the trace) to the last end of a job, of
all jobs and by the way they ended.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from borgtrace.analyses._processes import jobs_only
from borgtrace.analyses._quantiles import PERCENTS, counts, fetch_counts, quantiles
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import TERMINAL_EVENTS, Column, Table
from borgtrace.schema.time import AFTER_TRACE, BEFORE_TRACE

if TYPE_CHECKING:
    import altair as alt

ALL = "all"

RESULT = Table(
    "job_durations",
    "way to end and percentile",
    ("end_type", "percent"),
    (
        Column("end_type", "string", "id", "Last end of the job, or all.", nullable=False),
        Column("percent", "float64", "1", "Percentile; 0 and 100 are the extremes.", nullable=False),
        Column("seconds", "float64", "s", "Time from the first SCHEDULE to the last end.", nullable=False),
        Column("mean", "float64", "s", "Mean of the group.", nullable=False),
        Column("under_3min", "float64", "1", "Share of the group that lasts less than 3 minutes.", nullable=False),
        Column("under_2h", "float64", "1", "Share of the group that lasts less than 2 hours.", nullable=False),
        Column("n", "int64", "count", "Jobs of the group.", nullable=False),
    ),
)


def compute(tables: Tables) -> pa.Table:
    """Return quantiles of job durations."""
    durations = _durations(jobs_only(tables.collection_attempts))
    counted = counts(durations, durations.duration, ["end_type"])
    groups = fetch_counts(tables, counted, ("end_type",), "durations")
    if not groups:
        raise NotApplicable("no job is scheduled and ends within the trace")
    values = np.concatenate([group[0] for group in groups.values()])
    numbers = np.concatenate([group[1] for group in groups.values()])
    rows = []
    for name, (duration, n) in {(ALL,): (values, numbers), **groups}.items():
        rows.extend(_rows(name[0], duration / 1e6, n))
    return pa.Table.from_pylist(rows)


def _durations(attempts: ir.Table) -> ir.Table:
    """One row per job: from its first SCHEDULE within the trace to its last end."""
    scheduled = (attempts.schedule_time > BEFORE_TRACE) & (attempts.schedule_time < AFTER_TRACE)
    ended = attempts.end_time < AFTER_TRACE
    last = {
        f"{kind}_time": attempts.end_time.max(where=ended & (attempts.end_type == kind)) for kind in TERMINAL_EVENTS
    }
    jobs = attempts.group_by("collection_id").aggregate(
        begin=attempts.schedule_time.min(where=scheduled), end=attempts.end_time.max(where=ended), **last
    )
    kind = ibis.cases(*((jobs[f"{kind}_time"] == jobs.end, kind) for kind in TERMINAL_EVENTS))
    done = jobs.select("begin", "end", end_type=kind)
    done = done.filter(done.begin.notnull() & done.end.notnull() & (done.end >= done.begin))
    return done.select("end_type", duration=done.end - done.begin)


def _rows(name: str, seconds: npt.NDArray[np.float64], n: npt.NDArray[np.int64]) -> list[dict[str, object]]:
    total = int(n.sum())
    group = {
        "mean": float((seconds * n).sum() / total),
        "under_3min": float(n[seconds < 180].sum() / total),
        "under_2h": float(n[seconds < 7200].sum() / total),
        "n": total,
    }
    percents = (0.0, *PERCENTS, 100.0)
    return [
        {"end_type": name, "percent": percent, "seconds": float(value), **group}
        for percent, value in zip(percents, quantiles(seconds, n, percents), strict=True)
    ]


def plot(result: pa.Table) -> alt.Chart:
    """Draw the quantile curves by the way jobs end."""
    import altair as alt

    from borgtrace.analyses._charts import HEIGHT, WIDTH, duration_axis, rows

    chart: alt.Chart = (
        alt.Chart(rows(result), title="How long jobs last", width=WIDTH, height=HEIGHT)
        .mark_line(point=True)
        .encode(
            x=alt.X(
                "seconds:Q", title="from first SCHEDULE to end", scale=alt.Scale(type="symlog"), axis=duration_axis()
            ),
            y=alt.Y("percent:Q", title="percent of jobs"),
            color=alt.Color("end_type:N", title="end"),
            tooltip=["end_type:N", "percent:Q", "seconds:Q", "n:Q"],
        )
    )
    return chart


def _of_all(column: str) -> Callable[[pa.Table], float]:
    return lambda result: next(r[column] for r in result.to_pylist() if r["end_type"] == ALL)


CLAIMS = (
    Claim(
        "R12-half",
        "half of all jobs last less than 3 minutes",
        "≈ 0.5",
        _of_all("under_3min"),
        lambda v: abs(v - 0.5) <= 0.05,
        "Reiss et al., SoCC'12",
    ),
    Claim(
        "R12-2h",
        "more than 95 % of jobs last less than 2 hours",
        "> 0.95",
        _of_all("under_2h"),
        lambda v: v > 0.95,
        "Reiss et al., SoCC'12",
    ),
)

RECIPE = Recipe(
    "job_durations",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("collection_events",),
    reference="Reiss et al., SoCC'12, section 4",
    order=53,
    topic="Jobs and users",
)
