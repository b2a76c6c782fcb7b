"""How many machines, and how much capacity, are there over time?

Hourly means, exact to the millisecond. *Seen* counts every machine from its first ADD on, whether it
is present or not; the difference between *seen* and *present* is lost to absences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
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


_KINDS = ("ADD", "REMOVE", "UPDATE")


def compute(tables: Tables) -> ibis.Table:
    """Return machines and capacity per hour."""
    events = tables.machine_events
    # The last machine event may be hours before the end: tasks tell how long the trace lasts.
    spine = hours(span(events.select("time"), tables.instance_events.select("time")))
    present = _mean(capacity_changes(events), spine, ("machines", "cpu", "memory"))
    # Without its REMOVE events a machine keeps its capacity: what has been seen so far.
    seen = _mean(capacity_changes(events.filter(events.type != "REMOVE")), spine, ("cpu",))
    joined = lookup(
        lookup(present, seen.select("hour", cpu_seen="cpu"), ["hour"]),
        _events_per_hour(events),
        ["hour"],
    )
    numbers = {f"n_{kind.lower()}": joined[f"n_{kind.lower()}"].fill_null(0) for kind in _KINDS}
    return joined.select("hour", "machines", "cpu", "memory", "cpu_seen", **numbers)


def _mean(changes: ibis.Table, spine: ibis.Table, columns: tuple[str, ...]) -> ibis.Table:
    return hourly(changes.mutate(cell=ibis.literal("cell")), spine, "cell", columns)


def _events_per_hour(events: ibis.Table) -> ibis.Table:
    inside = events.filter(events.time >= TRACE_START)
    numbers = {f"n_{kind.lower()}": inside.count(where=inside.type == kind) for kind in _KINDS}
    return inside.group_by(hour=period(inside.time, HOUR, TRACE_START)).aggregate(**numbers)


def chart(answer: pa.Table) -> alt.Chart:
    """Draw: capacity of the cell."""
    import altair as alt

    rows = answer.to_pylist()
    rows = charts.melted(
        rows,
        {"cpu": "CPU available", "cpu_seen": "CPU of machines seen", "memory": "memory available"},
    )
    return (
        charts.base(rows, title="Capacity of the cell")
        .mark_line()
        .encode(
            x=charts.hour_axis(rows),
            y=alt.Y("value:Q", title="capacity (largest machines)", scale=alt.Scale(zero=False)),
            color=alt.Color(
                "series:N",
                title=None,
                sort=["CPU available", "CPU of machines seen", "memory available"],
            ),
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
        scope=MACHINES_2011,
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
