"""Histograms made by an engine: bins with fixed edges, and cumulative shares over them."""

from collections.abc import Sequence

import ibis
import ibis.expr.types as ir


def bin_up_to(value: ir.NumericValue, edges: Sequence[int], unit: float = 1) -> ir.IntegerValue:
    """Return the smallest of `edges` (in `unit`) that is not exceeded; the last edge holds all above.

    Parameters
    ----------
    value
        The value to be binned.
    edges
        Upper edges, ascending; each belongs to its bin.
    unit
        What an edge of 1 is in units of the value: `SECOND` for µs.
    """
    cases = [(value <= edge * unit, ibis.literal(edge, "int64")) for edge in edges[:-1]]
    return ibis.cases(*cases, else_=ibis.literal(edges[-1], "int64"))


def cumulative_share(
    counts: ir.Table, column: str, order: str, by: Sequence[str] = ()
) -> ir.FloatingColumn:
    """Return the share of `column` that lies in this row or before it, within each group.

    Parameters
    ----------
    counts
        One row per bin and group.
    column
        Numbers to be added up, integers.
    order
        Column that orders the bins.
    by
        Columns that make the groups.
    """
    group = list(by) or None
    # Both sums are of integers: the share is the same in whatever order the rows come.
    rows_so_far = ibis.cumulative_window(group_by=group, order_by=order)
    sum_so_far = counts[column].sum().over(rows_so_far)
    total = counts[column].sum().over(ibis.window(group_by=group))
    return sum_so_far.cast("float64") / total.cast("float64")


def period(time: ir.IntegerColumn, length: int, origin: int = 0) -> ir.IntegerColumn:
    """Return which period of `length` µs after `origin` a time lies in, from 0.

    Parameters
    ----------
    time, origin
        Times of the trace, µs.
    length
        Length of a period, µs.
    """
    return ((time - origin) // length).cast("int64")
