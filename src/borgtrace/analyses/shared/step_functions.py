"""Step functions of time and their exact mean over every hour, or every period of another length.

A change ``(time, delta)`` moves a level; the mean of an hour is the level at its start plus what the
changes inside it add, each for the rest of the hour.  Deltas are integers in 2⁻²⁴, time is cut to
whole milliseconds, so the sums are exact and the same on every engine.
"""

from collections.abc import Sequence

import ibis
import ibis.expr.types as ir

from borgtrace.analyses.shared.histograms import period
from borgtrace.analyses.shared.joins import lookup
from borgtrace.analyses.shared.windows import RESOURCES, fixed
from borgtrace.lifecycle.order import SOURCE_ORDER
from borgtrace.schema.time import AFTER_TRACE, HOUR, TRACE_START

LEVEL_BITS = 24
"""Binary digits behind the point of a delta."""
MILLISECOND = 1000
"""In µs."""


def span(*times: ir.Table) -> ir.Table:
    """Return one row: the last time within the trace (``last``, µs) of tables with a single column ``time``."""
    all_times = ibis.union(*times) if len(times) > 1 else times[0]
    inside = all_times.filter((all_times.time > TRACE_START) & (all_times.time < AFTER_TRACE))
    return inside.aggregate(last=inside.time.max())


def hours(last: ir.Table, length: int = HOUR) -> ir.Table:
    """Return one row per hour from the start of the trace to ``last``: ``hour``, ``hour_seconds``.

    The last hour is as long as the trace lasts.

    Parameters
    ----------
    last
        One row from :func:`span`.
    length
        Length of what is called an hour here, µs.
    """
    known = last.filter(last.last.notnull())
    # Minus one: a trace that ends on the hour does not begin another.
    n_hours = (known.last - TRACE_START - 1) // length + 1
    rows = known.select("last", hour=ibis.range(0, n_hours).unnest())
    start = rows.hour * length + TRACE_START
    end = ibis.least(start + length, rows.last)
    return rows.select(hour=rows.hour.cast("int64"), hour_seconds=(end - start) / 1e6, hour_end=end)


def hourly(
    changes: ir.Table, spine: ir.Table, by: str, columns: Sequence[str], length: int = HOUR
) -> ir.Table:
    """Return the mean level of every hour, per value of `by`.

    Parameters
    ----------
    changes
        ``time`` (µs; what is before the trace counts from its start), `by`, and per name in
        `columns` the change of the level in 2⁻²⁴.
    spine
        Hours from :func:`hours`.
    by
        Column that tells the levels apart.
    columns
        Names of the deltas; the result holds mean levels under the same names.
    length
        Length of an hour of the spine, µs.
    """
    changes = changes.filter(changes.time < AFTER_TRACE)
    inside = changes.mutate(time=ibis.greatest(changes.time, TRACE_START))
    inside = inside.mutate(hour=period(inside.time, length, TRACE_START))
    # Changes after the last hour of the spine move nothing that is shown.
    inside = inside.inner_join(spine, "hour")
    # In µs the area of an hour of 12,500 machines would take 70 bits; in ms it fits into 63.
    rest_of_hour = ibis.greatest(inside.hour_end - inside.time, 0) // MILLISECOND
    # A step moves the level of all later hours, an area is what the change adds to the rest of its own hour.
    sums = {}
    for name in columns:
        sums[f"{name}_step"] = inside[name].sum().cast("int64")
        sums[f"{name}_area"] = (inside[name] * rest_of_hour).sum().cast("int64")
    changed_hours = inside.group_by([by, "hour"]).aggregate(**sums)
    # Hours without a change need a row too: the level goes on.
    all_hours = inside.select(by).distinct().cross_join(spine)
    filled = lookup(all_hours, changed_hours, [by, "hour"])
    means = {name: hourly_mean(filled, name, by) for name in columns}
    return filled.select(by, "hour", "hour_seconds", **means)


def hourly_mean(filled: ir.Table, name: str, by: str) -> ir.FloatingColumn:
    """Return the level at the start of each hour, plus the area that changes inside the hour add."""
    # Up to the row before: the changes of the hour itself count by their area.
    earlier_hours = ibis.window(group_by=by, order_by="hour", preceding=(None, 1))
    steps = filled[f"{name}_step"].fill_null(0)
    # The first hour has no row before it, and a sum of no rows is NULL.
    level_at_start = steps.sum().over(earlier_hours).fill_null(0).cast("float64")
    area = filled[f"{name}_area"].fill_null(0).cast("float64") / 1000.0
    return (level_at_start + area / filled.hour_seconds) / float(2**LEVEL_BITS)


def capacity_changes(machine_events: ir.Table) -> ir.Table:
    """Return what each machine event changes: ``time``, ``machines``, ``cpu``, ``memory`` in 2⁻²⁴.

    A removed machine has none; a capacity that is not published counts as none.
    """
    history = ibis.window(group_by="machine_id", order_by=list(SOURCE_ORDER))
    is_present = machine_events.type != "REMOVE"
    levels_if_present = {
        name: fixed(machine_events[f"{name}_capacity"], LEVEL_BITS).fill_null(0)
        for name in RESOURCES
    }
    levels_if_present["machines"] = ibis.literal(2**LEVEL_BITS, "int64")
    zero = ibis.literal(0, "int64")
    levels = machine_events.mutate(
        **{
            f"{name}_level": is_present.ifelse(level, zero)
            for name, level in levels_if_present.items()
        }
    )
    # Differences to the level before: an UPDATE changes a capacity, and two ADDs in a row add it once.
    steps = {}
    for name in levels_if_present:
        level = levels[f"{name}_level"]
        steps[name] = level - level.lag().over(history).fill_null(0)
    return levels.select("time", **steps)
