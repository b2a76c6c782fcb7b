"""How long do tasks run?

The share of attempts that have ended after a time, for all tasks, per tier and per scheduling class: by
Kaplan and Meier (attempts still running at the end of the trace count as "at least so long"), and for
finished attempts alone, as in Fig. 8 of Zhu et al.  Runs are counted in whole seconds; those that began
before the trace are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from borgtrace.analyses._groups import GROUP_COLUMNS, merged, per_group
from borgtrace.analyses._processes import jobs_only
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table
from borgtrace.schema.time import AFTER_TRACE, BEFORE_TRACE, SECOND

if TYPE_CHECKING:
    import altair as alt

GRID = (
    1,
    2,
    5,
    8,
    10,
    15,
    20,
    30,
    45,
    60,
    90,
    120,
    180,
    240,
    300,
    450,
    600,
    900,
    1200,
    1800,
    2700,
    3600,
    5400,
    7200,
    10800,
    14400,
    21600,
    28800,
    36000,
    43200,
    64800,
    86400,
    172800,
    345600,
    604800,
    1209600,
    2419200,
)
"""Times at which the curves are reported, s."""

RESULT = Table(
    "run_times",
    "group of tasks and time",
    ("grouping", "group", "seconds"),
    (
        *GROUP_COLUMNS,
        Column("seconds", "int64", "s", "Time since SCHEDULE.", nullable=False),
        Column("ended", "float64", "1", "Share of attempts that end within it, by Kaplan and Meier."),
        Column("finished", "float64", "1", "Share of FINISHed attempts that ran at most so long."),
        Column("n_at_risk", "int64", "count", "Attempts known to have run so long.", nullable=False),
        Column("n", "int64", "count", "Attempts of the group.", nullable=False),
    ),
)


def compute(tables: Tables) -> pa.Table:
    """Return the curves at the times of `GRID`."""
    tasks = jobs_only(tables.instance_attempts)
    events = tables.instance_events
    inside = events.filter(events.time < AFTER_TRACE)
    horizon = tables.fetch(inside.aggregate(last=inside.time.max()), "horizon").to_pylist()
    last = horizon[0]["last"] if horizon and horizon[0]["last"] is not None else BEFORE_TRACE
    started = tasks.filter((tasks.schedule_time > BEFORE_TRACE) & (tasks.schedule_time < AFTER_TRACE))
    ran = started.mutate(
        end=_end(started), ran=ibis.least(started.left_time.fill_null(last), last) - started.schedule_time
    )
    groups = merged(per_group(tables, ran, (ran.ran // SECOND).cast("int64"), "runs", "end"))
    if not groups:
        raise NotApplicable("no attempt starts within the trace")
    rows = []
    for grouping, group in dict.fromkeys(key[:2] for key in groups):
        parts = {key[2]: value for key, value in groups.items() if key[:2] == (grouping, group)}
        for row in _curves(parts):
            rows.append({"grouping": grouping, "group": group, **row})
    return pa.Table.from_pylist(rows, schema=_SCHEMA)


def _end(attempts: ir.Table) -> ir.Value:
    """FINISH, another end, or none: still running, or its end is lost."""
    ended = attempts.end_type.notnull() & (attempts.end_time < AFTER_TRACE)
    return ibis.cases((ended & (attempts.end_type == "FINISH"), "finish"), (ended, "end"), else_="open")


_SCHEMA = pa.schema(
    [
        ("grouping", pa.string()),
        ("group", pa.string()),
        ("seconds", pa.int64()),
        ("ended", pa.float64()),
        ("finished", pa.float64()),
        ("n_at_risk", pa.int64()),
        ("n", pa.int64()),
    ]
)
_Counts = tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]


def _curves(parts: dict[str, _Counts]) -> list[dict[str, object]]:
    none: _Counts = (np.zeros(0), np.zeros(0, np.int64))
    finish, end, still = (parts.get(name, none) for name in ("finish", "end", "open"))
    ended = (np.concatenate([finish[0], end[0]]), np.concatenate([finish[1], end[1]]))
    times, share = kaplan_meier(ended, still)
    everyone = np.concatenate([ended[0], still[0]])
    numbers = np.concatenate([ended[1], still[1]])
    n_finished = int(finish[1].sum())
    longest = everyone.max()
    rows: list[dict[str, object]] = []
    for seconds in GRID:
        if seconds > longest and rows:
            break
        place = np.searchsorted(times, seconds, side="right")
        done = int(finish[1][finish[0] <= seconds].sum())
        rows.append(
            {
                "seconds": seconds,
                "ended": float(share[place - 1]) if place else 0.0,
                "finished": done / n_finished if n_finished else None,
                "n_at_risk": int(numbers[everyone >= seconds].sum()),
                "n": int(numbers.sum()),
            }
        )
    return rows


def kaplan_meier(ended: _Counts, still: _Counts) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the Kaplan–Meier estimate of the share that has ended after each time at which something ends.

    Parameters
    ----------
    ended, still
        Durations and how often each occurs: of what ended, and of what was still there when last seen (at a
        tie, it is taken to last longer).

    Examples
    --------
    Of four, one ends after 1 s; one is lost sight of after 2 s; one of the other two ends after 3 s:

    >>> ended, still = (np.array([1.0, 3.0]), np.array([1, 1])), (np.array([2.0, 9.0]), np.array([1, 1]))
    >>> times, share = kaplan_meier(ended, still)
    >>> times.tolist(), share.tolist()
    ([1.0, 3.0], [0.25, 0.625])
    """
    times, place = np.unique(ended[0], return_inverse=True)
    deaths = np.bincount(place, weights=ended[1], minlength=len(times))
    order = np.argsort(still[0], kind="stable")
    left = np.concatenate([[0], np.cumsum(still[1][order])])
    gone_before = left[np.searchsorted(still[0][order], times, side="left")]
    died_before = np.cumsum(deaths) - deaths
    at_risk = deaths.sum() + left[-1] - died_before - gone_before
    return times, 1.0 - np.cumprod(1.0 - deaths / at_risk)


def plot(result: pa.Table) -> alt.Chart:
    """Draw the Kaplan–Meier curves per tier, and that of finished attempts."""
    import altair as alt

    from borgtrace.analyses._charts import HEIGHT, WIDTH, duration_axis, rows, tier_colour

    shown = result.filter(np.array([g != "class" for g in result["grouping"].to_pylist()]))
    shown = shown.append_column("tier", shown["group"])
    chart: alt.Chart = (
        alt.Chart(rows(shown), title="How long tasks run", width=WIDTH, height=HEIGHT)
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("seconds:Q", title="since SCHEDULE", scale=alt.Scale(type="log"), axis=duration_axis()),
            y=alt.Y("ended:Q", title="share ended (Kaplan–Meier)"),
            color=tier_colour(shown["tier"].to_pylist()),
            tooltip=["tier:N", "seconds:Q", "ended:Q", "finished:Q", "n_at_risk:Q"],
        )
    )
    return chart


def _value(result: pa.Table, column: str, seconds: int, grouping: str = "all", group: str = "all") -> float:
    group_rows = [r for r in result.to_pylist() if r["grouping"] == grouping and r["group"] == group]
    if not group_rows:
        raise NotApplicable(f"no task of {grouping} {group}")
    for row in group_rows:
        if row["seconds"] == seconds:
            if row[column] is None:
                raise NotApplicable("no attempt finished")
            return float(row[column])
    raise NotApplicable(f"no attempt is seen for {seconds} s")


CLAIMS = (
    Claim(
        "S4-fig8-5min",
        "about 40 % of finished tasks run less than 5 minutes",
        0.40,
        lambda r: _value(r, "finished", 300),
        lambda v: abs(v - 0.40) <= 0.05,
        "Zhu et al., Fig. 8",
    ),
    Claim(
        "S4-fig8-30min",
        "about 80 % of finished tasks run less than 30 minutes",
        0.80,
        lambda r: _value(r, "finished", 1800),
        lambda v: abs(v - 0.80) <= 0.05,
        "Zhu et al., Fig. 8",
    ),
    Claim(
        "S4-8s",
        "almost nothing runs less than 8 s",
        "share ≤ 0.001",
        lambda r: _value(r, "ended", 8),
        lambda v: v <= 0.001,
        "Zhu et al., Measure 2",
    ),
    Claim(
        "S4-obs10",
        "latency-sensitive tasks (class 3) are usually long-running",
        "more than half outlast an hour",
        lambda r: 1.0 - _value(r, "ended", 3600, "class", "3"),
        lambda v: v > 0.5,
        "Zhu et al., Observation 10",
    ),
)

RECIPE = Recipe(
    "run_times",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_events",),
    reference="Zhu et al., Fig. 8; Kaplan and Meier, JASA 53 (1958)",
    order=43,
    topic="Waiting and running times",
)
