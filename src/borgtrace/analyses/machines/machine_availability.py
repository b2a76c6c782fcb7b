"""How many machines, and how much capacity, are there over time?

Hourly means, exact to the millisecond. *Seen* counts every machine from its first ADD on, whether it
is present or not; the difference between *seen* and *present* is lost to absences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.shared.histograms import period
from borgtrace.analyses.shared.joins import lookup
from borgtrace.analyses.shared.step_functions import capacity_changes, hourly, hours, span
from borgtrace.question import Answer, Claim, Column, Question, Tables, below, charts, sql
from borgtrace.question.scopes import MACHINES_2011
from borgtrace.schema.time import HOUR, TRACE_START

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="hour",
    key=[Column("hour", "int64", "h", "Hour since the start of the trace, from 0.")],
    columns=[
        Column("machines", "float64", "count", "Mean number of machines."),
        Column("cpu", "float64", "fraction", "Mean CPU of the machines present."),
        Column("memory", "float64", "fraction", "Mean memory of the machines present."),
        Column("cpu_seen", "float64", "fraction", "Mean CPU of all machines seen so far."),
        Column("n_add", "int64", "count", "ADD events in the hour."),
        Column("n_remove", "int64", "count", "REMOVE events in the hour."),
        Column("n_update", "int64", "count", "UPDATE events in the hour."),
    ],
)


SERIES = {
    "cpu": "CPU available",
    "cpu_seen": "CPU of machines seen",
    "memory": "memory available",
}


def compute(tables: Tables) -> ir.Table:
    """Return machines and capacity per hour."""
    events = tables.machine_events
    # The last machine event may be hours before the end: tasks show how long the trace lasts.
    spine = hours(span(events.select("time"), tables.instance_events.select("time")))
    present = hourly_means(capacity_changes(events), spine, ["machines", "cpu", "memory"])
    # Without its REMOVE events a machine keeps its capacity: that of all machines seen so far.
    without_removals = events.filter(events.type != "REMOVE")
    seen = hourly_means(capacity_changes(without_removals), spine, ["cpu"])
    rows = lookup(present, seen.select("hour", cpu_seen="cpu"), ["hour"])
    rows = lookup(rows, count_events_per_hour(events), ["hour"])
    numbers = {column: rows[column].fill_null(0) for column in ("n_add", "n_remove", "n_update")}
    return rows.select("hour", "machines", "cpu", "memory", "cpu_seen", **numbers)


def hourly_means(changes: ir.Table, spine: ir.Table, columns: list[str]) -> ir.Table:
    """Return hourly means over the whole cell."""
    return hourly(changes.mutate(cell=ibis.literal("cell")), spine, "cell", columns)


def count_events_per_hour(events: ir.Table) -> ir.Table:
    """Count the events of each type in each hour."""
    inside = events.filter(events.time >= TRACE_START)
    grouped = inside.group_by(hour=period(inside.time, HOUR, TRACE_START))
    return grouped.aggregate(
        n_add=inside.count(where=inside.type == "ADD"),
        n_remove=inside.count(where=inside.type == "REMOVE"),
        n_update=inside.count(where=inside.type == "UPDATE"),
    )


def chart(answer: pa.Table) -> alt.Chart:
    """Draw the capacity of the machines present, and the CPU of those seen so far, over time."""
    import altair as alt

    rows = charts.melted(answer.to_pylist(), SERIES)
    return (
        charts.base(rows, title="Capacity of the cell")
        .mark_line()
        .encode(
            x=charts.hour_axis(rows),
            y=alt.Y("value:Q", title="capacity (largest machines)", scale=alt.Scale(zero=False)),
            color=alt.Color("series:N", title=None, sort=list(SERIES.values())),
            tooltip=charts.tooltips(rows, "hour", "value", "series"),
        )
    )


CLAIMS = [
    # Absences are rare: in a few days a single machine decides.
    Claim(
        "ME-cpu-lost",
        statement="absences cost less than one percent of the CPU time",
        source="count over the machine events of 2011",
        kind="criterion",
        scope=MACHINES_2011.needing(days=7, tasks=5_000),
        measure=sql(
            """
            select 1 - sum(cpu) / sum(cpu_seen)
            from answer
            having count(*) >= 168 and sum(cpu_seen) > 0
            """,
            otherwise="the trace is shorter than a week",
        ),
        criterion=below(0.01, published=0.00692),
    ),
]

QUESTION = Question(
    name="machine_availability",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["machine_events"],
    reference="2011 format document, machine events",
)
