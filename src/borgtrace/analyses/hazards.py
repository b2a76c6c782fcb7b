"""How often are running tasks evicted or killed, and how often do they fail?

Ends of running attempts per hour that attempts ran within the trace, per tier and per scheduling class.
What was running at the start counts from there on; what runs at the end, up to there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import numpy as np
import pyarrow as pa

from borgtrace.analyses._groups import GROUP_COLUMNS
from borgtrace.analyses._processes import jobs_only
from borgtrace.analyses._windows import UNKNOWN, tier
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import TERMINAL_EVENTS, Column, Table
from borgtrace.schema.time import AFTER_TRACE, TRACE_START

if TYPE_CHECKING:
    import altair as alt

_NAMES = tuple(kind.lower() for kind in TERMINAL_EVENTS)

RESULT = Table(
    "hazards",
    "group of tasks",
    ("grouping", "group"),
    (
        *GROUP_COLUMNS,
        Column("hours", "float64", "h", "Hours that attempts of the group ran within the trace.", nullable=False),
        *(
            Column(f"n_{name}", "int64", "count", f"Running attempts that ended by {name.upper()}.", nullable=False)
            for name in _NAMES
        ),
        *(Column(f"{name}_rate", "float64", "1/h", f"{name.upper()} per task-hour.") for name in _NAMES),
    ),
)


def compute(tables: Tables) -> pa.Table:
    """Return ends per task-hour."""
    tasks = jobs_only(tables.instance_attempts)
    events = tables.instance_events
    last = events.filter(events.time < AFTER_TRACE).aggregate(last=events.time.max())
    ran = tasks.filter(tasks.schedule_time < AFTER_TRACE).cross_join(last)
    begin = ibis.greatest(ran.schedule_time, TRACE_START)
    until = ibis.least(ran.left_time.fill_null(AFTER_TRACE), ran["last"])
    is_inside = (ran.end_time >= TRACE_START) & (ran.end_time < AFTER_TRACE)
    named = ran.mutate(
        tier=tier(ran.priority, tables.generation),
        class_=ran.scheduling_class.cast("string").fill_null(UNKNOWN),
        milliseconds=ibis.greatest(until - begin, 0) // 1000,
    )
    sums = named.group_by(["tier", "class_"]).aggregate(
        milliseconds=named.milliseconds.sum().cast("int64"),
        **{f"n_{kind.lower()}": (is_inside & (named.end_type == kind)).cast("int64").sum() for kind in TERMINAL_EVENTS},
    )
    found = tables.fetch(sums, "sums").to_pylist()
    if not found:
        raise NotApplicable("no task ever runs")
    return pa.Table.from_pylist(_cut(found))


def _cut(found: list[dict[str, object]]) -> list[dict[str, object]]:
    totals: dict[tuple[str, str], dict[str, int]] = {}
    for row in found:
        for cut in (("all", "all"), ("tier", str(row["tier"])), ("class", str(row["class_"]))):
            total = totals.setdefault(cut, {})
            for name in ("milliseconds", *(f"n_{name}" for name in _NAMES)):
                total[name] = total.get(name, 0) + int(str(row[name] or 0))
    rows: list[dict[str, object]] = []
    for (grouping, group), total in totals.items():
        hours = total.pop("milliseconds") / 3.6e6
        rates = {f"{name}_rate": total[f"n_{name}"] / hours if hours else None for name in _NAMES}
        rows.append({"grouping": grouping, "group": group, "hours": hours, **total, **rates})
    return rows


def plot(result: pa.Table) -> alt.Chart:
    """Draw evictions, failures and kills per task-hour and tier."""
    import altair as alt

    from borgtrace.analyses._charts import HEIGHT, WIDTH, log_axis, long, tier_colour

    shown = result.filter(np.array([g == "tier" for g in result["grouping"].to_pylist()]))
    shown = shown.append_column("tier", shown["group"])
    series = {"evict_rate": "EVICT", "fail_rate": "FAIL", "kill_rate": "KILL"}
    scale = alt.Scale(type="symlog", constant=0.001)
    chart: alt.Chart = (
        alt.Chart(long(shown, ["tier"], series), title="Ends per task-hour", width=WIDTH, height=HEIGHT)
        .mark_bar()
        .encode(
            x=alt.X("series:N", title=None),
            xOffset="tier:N",
            y=alt.Y("value:Q", title="per hour of running", scale=scale, axis=log_axis(0.001)),
            color=tier_colour(shown["tier"].to_pylist()),
            tooltip=["series:N", "tier:N", "value:Q"],
        )
    )
    return chart


def _evictions_below_production(result: pa.Table) -> float:
    rows = {row["group"]: row["n_evict"] for row in result.to_pylist() if row["grouping"] == "tier"}
    total = sum(rows.values())
    if not total:
        raise NotApplicable("no task is evicted")
    return float(1.0 - sum(rows.get(name, 0) for name in ("production", "monitoring")) / total)


CLAIMS = (
    Claim(
        "TIR-evictions",
        "evictions hit non-production work",
        "0.966 of the evicted collections (2019)",
        _evictions_below_production,
        lambda v: v >= 0.95,
        "Tirmazi et al., EuroSys'20, section 6",
    ),
)

RECIPE = Recipe(
    "hazards",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_events",),
    reference="Verma et al., EuroSys'15, Fig. 3",
    order=57,
    topic="Jobs and users",
)
