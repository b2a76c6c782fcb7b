"""How many machines, and how much capacity, are there over time?

Hourly means, exact to the millisecond. *Seen* counts every machine from its first ADD on, whether it
is present or not; the difference between *seen* and *present* is lost to absences.

Reference: 2011 format document, machine events.
"""

import ibis

from borgtrace.analyses._histograms import period
from borgtrace.analyses._joins import lookup
from borgtrace.analyses._step_functions import capacity_changes, hourly, hours, span
from borgtrace.question import Recipe, Tables
from borgtrace.schema.time import HOUR, TRACE_START

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


RECIPE = Recipe.declared(compute, reads=("machine_events",), order=13)
