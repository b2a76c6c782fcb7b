"""When usage was measured.  Elsewhere it is unknown, which is not the same as 0.

A store need not hold all parts of the usage table, and events may go on for hours after its last window.  A slot in
which no window of the whole cell begins was not measured.  In a slot that was, what has no window used nothing.
"""

import ibis
import ibis.expr.types as ir

from borgtrace.analyses.shared.joins import lookup
from borgtrace.analyses.shared.windows import SLOT_SECONDS


def share_measured(usage: ir.Table, spine: ir.Table) -> ir.Table:
    """Return ``hour`` and ``measured``, the share of its 300 s slots in which any usage was measured.

    Parameters
    ----------
    usage
        Windows from :func:`borgtrace.analyses.shared.windows.regular`, with the ``hour`` of the spine.
    spine
        From :func:`borgtrace.analyses.shared.step_functions.hours`.
    """
    slots = usage.group_by("hour").aggregate(n_slots=usage.slot.nunique().cast("int64"))
    hours = lookup(spine.select("hour", "hour_seconds"), slots, ["hour"])
    # The last hour may end within a slot.
    n_slots_of_hour = (hours.hour_seconds / float(SLOT_SECONDS)).ceil()
    share = hours.n_slots.fill_null(0).cast("float64") / n_slots_of_hour
    return hours.select("hour", measured=ibis.least(share, 1.0))


def used_where_measured(
    used: ir.NumericColumn, has_windows: ir.BooleanColumn, measured: ir.FloatingColumn
) -> ir.NumericColumn:
    """Return what was used: 0 without a window in an hour that was measured, NULL in one that was not.

    Parameters
    ----------
    used
        What windows add up to; NULL where none of them has a value.
    has_windows
        Whether there are windows.
    measured
        The share of the hour that was measured, from :func:`share_measured`.
    """
    zero = ibis.literal(0, used.type())
    known = has_windows.ifelse(used, zero)
    return (measured > 0.0).ifelse(known, ibis.null(used.type()))


def measured_runs(usage: ir.Table) -> ir.Table:
    """Return runs of slots that were measured: ``run_first`` and ``run_end``, the slot after the last.

    Parameters
    ----------
    usage
        Windows from :func:`borgtrace.analyses.shared.windows.regular`, or sums of them, with their ``slot``.
    """
    slots = usage.select("slot").distinct()
    # Within a run the slot and its rank grow alike.
    rank = ibis.row_number().over(ibis.window(order_by=slots.slot))
    slots = slots.mutate(run=slots.slot - rank)
    runs = slots.group_by("run").aggregate(run_first=slots.slot.min(), run_last=slots.slot.max())
    return runs.select("run_first", run_end=runs.run_last + 1)
