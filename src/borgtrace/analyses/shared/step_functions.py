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
_MILLISECOND = 1000


def span(*times: ir.Table) -> ir.Table:
    """Return one row: the last instant (``last``, µs) of tables with a single column ``time``."""
    seen = ibis.union(*times) if len(times) > 1 else times[0]
    seen = seen.filter((seen.time > TRACE_START) & (seen.time < AFTER_TRACE))
    return seen.aggregate(last=seen.time.max())


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
    # Minus one: a trace that ends on the hour opens no further one.
    count = (known.last - TRACE_START - 1) // length + 1
    rows = known.select("last", hour=ibis.range(0, count).unnest())
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
    inside = changes.mutate(at=ibis.greatest(changes.time, TRACE_START))
    inside = inside.mutate(hour=period(inside.at, length, TRACE_START))
    # Changes after the last hour of the spine move nothing that is shown.
    inside = inside.inner_join(spine, "hour")
    # In µs the area of an hour of 12,500 machines would take 70 bits; in ms it fits into 63.
    rest = ibis.greatest(inside.hour_end - inside.at, 0) // _MILLISECOND
    # "step" moves the level of all later hours, "area" is what the change adds to the rest of its own.
    sums = inside.group_by([by, "hour"]).aggregate(
        **{f"{name}_step": inside[name].sum().cast("int64") for name in columns},
        **{f"{name}_area": (inside[name] * rest).sum().cast("int64") for name in columns},
    )
    # Hours without a change need a row too: the level goes on.
    grid = inside.select(by).distinct().cross_join(spine)
    filled = lookup(grid, sums, [by, "hour"])
    # Up to the row before: the changes of the hour itself count by their area.
    before = ibis.window(group_by=by, order_by="hour", preceding=(None, 1))
    return filled.select(
        by, "hour", "hour_seconds", **{name: _mean(filled, name, before) for name in columns}
    )


def _mean(
    filled: ir.Table, name: str, before: ibis.expr.builders.WindowBuilder
) -> ir.FloatingColumn:
    """Level at the start of the hour, plus the area that changes inside it add."""
    # The first hour has no row before it, and a sum of no rows is NULL.
    carried = filled[f"{name}_step"].fill_null(0).sum().over(before).fill_null(0).cast("float64")
    area = filled[f"{name}_area"].fill_null(0).cast("float64") / 1000.0
    return (carried + area / filled.hour_seconds) / float(2**LEVEL_BITS)


def capacity_changes(machine_events: ir.Table) -> ir.Table:
    """Return what each machine event changes: ``time``, ``machines``, ``cpu``, ``memory`` in 2⁻²⁴.

    A removed machine has none; a capacity that is not published counts as none.
    """
    order = ibis.window(group_by="machine_id", order_by=list(SOURCE_ORDER))
    present, nothing = machine_events.type != "REMOVE", ibis.literal(0, "int64")
    holds = {
        name: fixed(machine_events[f"{name}_capacity"], LEVEL_BITS).fill_null(0)
        for name in RESOURCES
    }
    holds["machines"] = ibis.literal(2**LEVEL_BITS, "int64")
    levels = machine_events.mutate(
        **{f"{name}_level": present.ifelse(value, nothing) for name, value in holds.items()}
    )
    # Differences to the level before: an UPDATE changes a capacity, and two ADDs in a row add it once.
    steps = {
        name: levels[f"{name}_level"] - levels[f"{name}_level"].lag().over(order).fill_null(0)
        for name in holds
    }
    return levels.select("time", **steps)
