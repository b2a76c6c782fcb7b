"""Relative change from one period to the next: pairs, percent bins, cumulative curves."""

from collections.abc import Sequence
from typing import NamedTuple

import ibis
import ibis.expr.types as ir

from borgtrace.analyses.shared.attempts import TASK
from borgtrace.analyses.shared.histograms import cumulative_share
from borgtrace.analyses.shared.machine_slots import slots_used
from borgtrace.analyses.shared.windows import (
    RESOURCES,
    SLOT_SECONDS,
    int_sum,
    task_means,
)
from borgtrace.question import Tables

HIGHEST = 200
"""Changes above this percentage share the last bin, with those from zero to something."""
GROWN = 1e18
"""Stands for the change from zero to something: no engine casts infinity to the number of a bin."""


def pairs(series: ir.Table, by: Sequence[str], period: str) -> ir.Table:
    """Put every row of a series beside the next, where that is the very next period.

    Parameters
    ----------
    series
        `by`, an integer `period`, ``seconds``, ``cpu`` and ``memory``.
    by
        Columns that tell the series apart; empty where there is only one.

    Returns
    -------
    ir.Table
        `by`, `period` (of the later row), ``seconds`` of both together, ``cpu`` and ``memory`` (later),
        ``previous_cpu`` and ``previous_memory``.
    """
    in_order = ibis.window(group_by=list(by) or None, order_by=period)
    rows = series.mutate(
        # The row before need not be the period before: a task may have no window there.
        gap=series[period] - series[period].lag().over(in_order),
        seconds_of_both=series.seconds + series.seconds.lag().over(in_order),
        previous_cpu=series.cpu.lag().over(in_order),
        previous_memory=series.memory.lag().over(in_order),
    )
    neighbors = rows.filter(rows.gap == 1)
    return neighbors.drop("gap", "seconds").rename(seconds="seconds_of_both")


class SlotPairs(NamedTuple):
    """Pairs of neighboring slots of summed usage."""

    cell: ir.Table
    machines: ir.Table


def slot_pairs(tables: Tables) -> SlotPairs:
    """Return pairs of neighboring slots of summed usage: of the cell, and of each machine.

    What runs inside an alloc set counts once.
    """
    sums = slots_used(tables).select("machine_id", "slot", *RESOURCES)
    # A slot of a sum is a whole slot, however little of it each window covers.
    sums = sums.mutate(seconds=ibis.literal(SLOT_SECONDS, "int64"))
    # From the sums of machines, so that windows are read once.
    cell = sums.group_by("slot").aggregate(cpu=int_sum(sums.cpu), memory=int_sum(sums.memory))
    cell = cell.mutate(seconds=ibis.literal(SLOT_SECONDS, "int64"))
    # Usage on a dedicated machine names no machine; all such together are not one machine.
    machines = sums.filter(sums.machine_id.notnull())
    return SlotPairs(
        cell=pairs(cell, [], "slot"),
        machines=pairs(machines, ["machine_id"], "slot"),
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
    relative_change = change / earlier.cast("float64").nullif(0.0)
    change_from_zero = ibis.cases((change == 0.0, 0.0), else_=GROWN)
    return (earlier > 0).ifelse(relative_change, change_from_zero)


def by_resource(rows: ir.Table) -> ir.Table:
    """Turn a pair with CPU and memory into two rows with ``resource`` and ``change``, in one pass.

    A union of one query per resource would compute the pairs once for each.
    """
    rows = rows.mutate(resource=ibis.array(list(RESOURCES)).unnest())
    is_cpu = rows.resource == "cpu"
    later = is_cpu.ifelse(rows.cpu, rows.memory)
    earlier = is_cpu.ifelse(rows.previous_cpu, rows.previous_memory)
    # A pair may have the CPU of both periods and the memory of one.
    known = rows.filter(later.notnull() & earlier.notnull())
    return known.mutate(change=relative(later, earlier))


def curves(rows: ir.Table, by: Sequence[str] = ()) -> ir.Table:
    """Return the distribution of the change of CPU and of memory, in percent bins.

    Parameters
    ----------
    rows
        Pairs from :func:`slot_pairs` or :func:`task_pairs`, or counts of parts of them from :func:`count_changes`.
    by
        Columns that make the curves, beside the resource.
    """
    key = [*by, "resource"]
    parts = rows
    if "n_pairs" not in rows.columns:
        parts = count_changes(by_resource(rows), by)
    counts = parts.group_by([*key, "percent"]).aggregate(
        n_pairs=int_sum(parts.n_pairs), seconds=int_sum(parts.seconds)
    )
    return counts.mutate(share=cumulative_share(counts, "seconds", "percent", key))


def count_changes(changes: ir.Table, by: Sequence[str] = ()) -> ir.Table:
    """Return how many changes there are, and of how many seconds, in each percent bin (see :func:`curves`)."""
    percent = changes.change * 100.0
    # Cut before the cast: 1e18 as a percentage does not fit into an int64.
    percent = (percent <= float(HIGHEST)).ifelse(percent, float(HIGHEST + 1))
    changes = changes.mutate(percent=percent.ceil().cast("int64"))
    return changes.group_by([*by, "resource", "percent"]).aggregate(
        n_pairs=changes.count(), seconds=int_sum(changes.seconds)
    )
