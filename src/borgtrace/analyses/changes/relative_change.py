"""Relative change from one period to the next: pairs, percent bins, cumulative curves."""

from collections.abc import Sequence

import ibis
import ibis.expr.types as ir

from borgtrace.analyses.shared.attempts import TASK
from borgtrace.analyses.shared.histograms import cumulative_share
from borgtrace.analyses.shared.machine_slots import used_per_slot
from borgtrace.analyses.shared.windows import (
    RESOURCES,
    SLOT_SECONDS,
    int_sum,
    outermost,
    task_means,
)

HIGHEST = 200
"""Changes above this percentage share the last bin, with those from zero to something."""
GROWN = 1e18
"""The change from zero to something: a number in place of infinity, which no engine casts to the number of a bin."""


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


def slot_pairs(usage: ir.Table) -> tuple[ir.Table, ir.Table]:
    """Return pairs of neighboring slots of summed usage: of the cell, and of each machine.

    What runs inside an alloc set counts once.

    Parameters
    ----------
    usage
        Windows from :func:`borgtrace.analyses.shared.windows.regular`.
    """
    sums = used_per_slot(outermost(usage), "machine_id")
    # From the sums of machines, so that windows are read once.
    cell = sums.group_by("slot").aggregate(**{name: int_sum(sums[name]) for name in RESOURCES})
    # Usage on a dedicated machine names no machine; all such together are not one machine.
    machines = sums.filter(sums.machine_id.notnull())
    # A slot of a sum is a whole slot, however little of it each window covers.
    whole = ibis.literal(SLOT_SECONDS, "int64")
    return pairs(cell.mutate(seconds=whole), [], "slot"), pairs(
        machines.mutate(seconds=whole), ["machine_id"], "slot"
    )


def task_pairs(usage: ir.Table, period: str) -> ir.Table:
    """Return pairs of neighboring slots or hours of each task's mean usage.

    Parameters
    ----------
    usage
        Windows from :func:`borgtrace.analyses.shared.windows.regular`.
    period
        ``"slot"`` or ``"hour"``.
    """
    return pairs(task_means(usage, period), TASK, period)


def relative(later: ir.NumericColumn, earlier: ir.NumericColumn) -> ir.FloatingColumn:
    """Return |later − earlier| ÷ earlier; 0 where both are 0, `GROWN` from 0 to something.

    Parameters
    ----------
    later, earlier
        Columns of one unit, at least 0.
    """
    change = (later - earlier).abs().cast("float64")
    grown = ibis.cases((change == 0.0, 0.0), else_=GROWN)
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
        Pairs from :func:`slot_pairs` or :func:`task_pairs`, or what :func:`counted` made of parts of them.
    by
        Columns that make the curves, beside the resource.
    """
    key = [*by, "resource"]
    parts = rows if "n_pairs" in rows.columns else counted(by_resource(rows), by)
    counts = parts.group_by([*key, "percent"]).aggregate(
        n_pairs=int_sum(parts.n_pairs), seconds=int_sum(parts.seconds)
    )
    return counts.mutate(share=cumulative_share(counts, "seconds", "percent", key))


def counted(known: ir.Table, by: Sequence[str] = ()) -> ir.Table:
    """Return how many changes there are, and of how many seconds, in each percent bin (see :func:`curves`)."""
    percent = known.change * 100.0
    # Cut before the cast: 1e18 as a percentage does not fit into an int64.
    bins = (percent <= float(HIGHEST)).ifelse(percent, float(HIGHEST + 1)).ceil().cast("int64")
    known = known.mutate(percent=bins)
    return known.group_by([*by, "resource", "percent"]).aggregate(
        n_pairs=known.count(), seconds=int_sum(known.seconds)
    )
