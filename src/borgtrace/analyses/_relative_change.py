"""Relative change from one period to the next: pairs, percent bins, cumulative curves."""

from collections.abc import Sequence

import ibis
import ibis.expr.types as ir

from borgtrace.analyses._attempts import TASK
from borgtrace.analyses._histograms import cumulative_share
from borgtrace.analyses._machine_slots import used_per_slot
from borgtrace.analyses._windows import RESOURCES, SLOT_SECONDS, int_sum, outermost, task_means

HIGHEST = 200
"""Changes above this percentage share the last bin, with those from zero to something."""


def pairs(series: ir.Table, by: Sequence[str], period: str) -> ir.Table:
    """Put every row of a series beside the next, where that is the very next period.

    Parameters
    ----------
    series
        `by`, an integer `period`, ``seconds``, ``cpu`` and ``memory``.
    by
        What a series belongs to; empty where there is one series only.

    Returns
    -------
    ir.Table
        `by`, `period` (of the later row), ``seconds`` of both together, ``cpu`` and ``memory`` (later),
        ``previous_cpu`` and ``previous_memory``.
    """
    window = ibis.window(group_by=list(by) or None, order_by=period)
    rows = series.mutate(
        # The row before need not be the period before: a task may have no window there.
        gap=series[period] - series[period].lag().over(window),
        both=series.seconds + series.seconds.lag().over(window),
        **{f"previous_{name}": series[name].lag().over(window) for name in RESOURCES},
    )
    rows = rows.filter(rows.gap == 1)
    return rows.drop("gap", "seconds").rename(seconds="both")


def slot_pairs(usage: ir.Table, by: Sequence[str]) -> ir.Table:
    """Return pairs of neighboring slots of summed usage: of the cell, or of each of `by`.

    What runs inside an alloc set counts once.

    Parameters
    ----------
    usage
        Windows from :func:`borgtrace.analyses._windows.regular`.
    by
        What usage is summed over: empty for the cell, ``machine_id`` for machines.
    """
    rows = outermost(usage)
    # Usage on a dedicated machine names no machine; all such together are not one machine.
    rows = rows.filter(*(rows[name].notnull() for name in by)) if by else rows
    # A slot of a sum is a whole slot, however little of it each window covers.
    return pairs(used_per_slot(rows, *by).mutate(seconds=ibis.literal(SLOT_SECONDS, "int64")), by, "slot")


def task_pairs(usage: ir.Table, period: str) -> ir.Table:
    """Return pairs of neighboring slots or hours of each task's mean usage.

    Parameters
    ----------
    usage
        Windows from :func:`borgtrace.analyses._windows.regular`.
    period
        ``"slot"`` or ``"hour"``.
    """
    return pairs(task_means(usage, period), TASK, period)


def relative(later: ir.NumericColumn, earlier: ir.NumericColumn) -> ir.FloatingColumn:
    """Return |later − earlier| ÷ earlier; 0 where both are 0, infinite from 0 to something.

    Parameters
    ----------
    later, earlier
        Columns of one unit, at least 0.
    """
    change = (later - earlier).abs().cast("float64")
    # A number in place of infinity, which no engine casts to the number of a bin.
    grown = ibis.cases((change == 0.0, 0.0), else_=1e18)
    return (earlier > 0).ifelse(change / earlier.cast("float64").nullif(0.0), grown)


def by_resource(rows: ir.Table) -> ir.Table:
    """Turn a pair with CPU and memory into two rows with ``resource`` and ``change``, in one pass.

    A union of one query per resource would compute the pairs once for each.
    """
    both = rows.mutate(resource=ibis.array(list(RESOURCES)).unnest())
    is_cpu = both.resource == "cpu"
    later = is_cpu.ifelse(both.cpu, both.memory)
    earlier = is_cpu.ifelse(both.previous_cpu, both.previous_memory)
    # A pair may know the CPU of both periods and the memory of one.
    known = both.filter(later.notnull() & earlier.notnull())
    return known.mutate(change=relative(later, earlier))


def curves(rows: ir.Table, by: Sequence[str] = ()) -> ir.Table:
    """Return the distribution of the change of CPU and of memory, in percent bins (the columns ``@curve``).

    Parameters
    ----------
    rows
        Pairs from :func:`slot_pairs` or :func:`task_pairs`.
    by
        Columns that make the curves, beside the resource.
    """
    known = by_resource(rows)
    percent = known.change * 100.0
    # Cut before the cast: 1e18 as a percentage does not fit into an int64.
    bins = (percent <= float(HIGHEST)).ifelse(percent, float(HIGHEST + 1)).ceil().cast("int64")
    known = known.mutate(percent=bins)
    key = [*by, "resource"]
    counts = known.group_by([*key, "percent"]).aggregate(n_pairs=known.count(), seconds=int_sum(known.seconds))
    return counts.mutate(share=cumulative_share(counts, "seconds", "percent", key))
