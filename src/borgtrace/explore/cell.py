"""The cell over time: what its tiers use and hold, its queue, and its machines as a heat map."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.explore.charts import DrawnSeries, TimeChart
from borgtrace.explore.grid import ABSENT, PER_HOUR, STEPS, coarser
from borgtrace.explore.pyramid import Pyramid
from borgtrace.explore.span import TimeSpan
from borgtrace.explore.tiers import label_of_tier, tier_colors
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.notation import ResourceAmounts
from borgtrace.schema import Dialect
from borgtrace.schema.time import HOUR, TRACE_START, WINDOW

POINTS = 600
"""Points of a chart, at most."""
ROWS = 160
COLUMNS = 360
"""Cells of the heat map: two or three pixels each on a screen of 1280."""
IN_LARGEST_MACHINES = ResourceAmounts()
RESOURCE_NAMES = {"cpu": "CPU", "memory": "Memory"}


def load(
    pyramid: Pyramid,
    dialect: Dialect,
    resource: str,
    span: TimeSpan,
    amounts: ResourceAmounts = IN_LARGEST_MACHINES,
) -> TimeChart:
    """Return what each tier used, what all were allocated, and the capacity.

    Parameters
    ----------
    pyramid
        Of the store.
    dialect
        Names the tiers.
    resource
        ``"cpu"`` or ``"memory"``.
    span
        What is shown; a point is the mean of whole slots.
    amounts
        How they are drawn.
    """
    cell = pyramid.cell
    colors = tier_colors(dialect)
    tiers_of_cell = set(cell["tier"].to_pylist())
    tiers = [name for name in colors if name in tiers_of_cell]
    block = span.block(POINTS)
    times = span.slot_times
    allocated = np.zeros(len(times))
    columns: dict[str, Any] = {"time": times[::block]}
    for tier in tiers:
        used = levels_of_tier(cell, tier, f"{resource}_used", span)
        columns[tier] = means_of_blocks(used, block)
        allocated += np.nan_to_num(levels_of_tier(cell, tier, f"{resource}_allocated", span))
    columns["allocated"] = means_of_blocks(allocated, block)
    # The capacity is the cell's, and the same in the rows of each tier.
    any_tier = tiers[0] if tiers else ""
    capacity = levels_of_tier(cell, any_tier, f"{resource}_capacity", span)
    columns["capacity"] = means_of_blocks(capacity, block)
    series = [DrawnSeries(tier, label_of_tier(tier), "stack", colors[tier]) for tier in tiers]
    series.append(DrawnSeries("allocated", "requested, all tiers", "dash", "ink"))
    series.append(DrawnSeries("capacity", "capacity", "line", "ink"))
    title = amounts.heading(f"{RESOURCE_NAMES[resource]} used by tier", resource)
    return TimeChart(
        pa.table(columns),
        series,
        title,
        step=block * WINDOW,
        factor=amounts.factor(resource),
    )


def levels_of_tier(
    cell: pa.Table,
    tier: str,
    column: str,
    span: TimeSpan,
) -> Numbers:
    """Return a column of a tier at each slot of a span, NaN where it is not known or the store ends before."""
    first, last = span.slots
    rows = cell.filter(pc.equal(cell["tier"], tier))
    slots = rows["hour"].to_numpy()
    values = rows[column].to_numpy()
    levels = np.full(last - first, np.nan)
    is_inside = (slots >= first) & (slots < last)
    levels[slots[is_inside] - first] = values[is_inside]
    return levels


def means_of_blocks(values: Numbers, block: int) -> Numbers:
    """Return the mean of each block of values, of those that are known; NaN where none is."""
    starts = np.arange(0, len(values), block)
    is_known = ~np.isnan(values)
    total = np.add.reduceat(np.where(is_known, values, 0), starts)
    count = np.add.reduceat(is_known.astype(np.int64), starts)
    with np.errstate(invalid="ignore"):
        return np.asarray(total / count)


def queue(pyramid: Pyramid, state: str, span: TimeSpan) -> TimeChart:
    """Return how many tasks are pending or running, with the most and the fewest within each step.

    Parameters
    ----------
    pyramid
        Of the store.
    state
        ``"pending"`` or ``"running"``.
    span
        What is shown.
    """
    table = pyramid.queue
    block = span.block(POINTS)
    # Rows are the ends of steps of 300 s from time zero.
    rows = (span.slot_times + WINDOW) // WINDOW - 1
    starts = np.arange(0, len(rows), block)
    ends = np.minimum(starts + block, len(rows)) - 1
    fewest = f"{state}_min"
    most = f"{state}_max"
    columns: dict[str, Any] = {
        "time": span.slot_times[::block],
        state: values_at(table, state, rows)[ends],
        fewest: np.fmin.reduceat(values_at(table, fewest, rows), starts),
        most: np.fmax.reduceat(values_at(table, most, rows), starts),
    }
    color = "c2" if state == "pending" else "c1"
    series = [
        DrawnSeries(fewest, "fewest and most within a step", "band", color, to=most),
        DrawnSeries(state, f"{state} at the end of the step", "line", color),
    ]
    return TimeChart(pa.table(columns), series, f"Tasks {state}", block * WINDOW)


def values_at(table: pa.Table, column: str, rows: Index) -> Numbers:
    """Return values of some rows, NaN where the table ends before."""
    values = np.full(len(rows), np.nan)
    is_known = rows < table.num_rows
    values[is_known] = table[column].to_numpy()[rows[is_known]]
    return values


def heat(
    pyramid: Pyramid,
    resource: str,
    span: TimeSpan,
    first: int,
    last: int,
) -> dict[str, Any]:
    """Return how full the machines were: rows are machines from the fullest, or groups of them.

    Parameters
    ----------
    pyramid
        Of the store.
    resource
        ``"cpu"`` or ``"memory"``.
    span
        What is shown.
    first, last
        Ranks of machines, by their mean over the trace, from 0; `last` is excluded.

    Returns
    -------
    dict
        ``times`` (µs) and ``step`` of the columns, ``machines`` (first machine of each row), ``per_row``, ``first``,
        ``n_machines``, and ``cells``, shape (rows, columns): how full, in steps of ``percent``; ``absent`` where no
        machine of the row was there.
    """
    ranked = fullest_first(pyramid, resource)
    last = min(last, len(ranked))
    chosen = ranked[first:last]
    per_row = max(1, -(-(last - first) // ROWS))
    block = span.block(COLUMNS)
    by_hour = block % PER_HOUR == 0
    slots_per_column = PER_HOUR if by_hour else 1
    columns_per_cell = block // slots_per_column
    grid = pyramid.grid(resource, by_hour=by_hour)
    begin = span.slots.first // slots_per_column
    end = min(-(-span.slots.last // slots_per_column), grid.shape[1])
    cells = coarser(grid[chosen, max(begin, 0) : end], per_row, columns_per_cell)
    length = HOUR if by_hour else WINDOW
    times = TRACE_START + (begin + np.arange(cells.shape[1]) * columns_per_cell) * length
    return {
        "times": times.tolist(),
        "step": block * WINDOW,
        "machines": [str(machine) for machine in pyramid.machines[chosen[::per_row]]],
        "per_row": per_row,
        "first": first,
        "n_machines": len(ranked),
        # As they are kept: forty thousand numbers, which to write as decimals takes longer than all the rest.
        "percent": 100 / STEPS,
        "absent": ABSENT,
        "cells": cells,
    }


def fullest_first(pyramid: Pyramid, resource: str) -> Index:
    """Return the positions of all machines, the fullest over the trace first."""
    mean = pyramid.means[resource]
    # NaN sorts last: what never was there is below what was idle. Stable, so that equal machines keep the order of ids.
    return np.argsort(-mean, kind="stable")
