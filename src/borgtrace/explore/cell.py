"""The cell over time: what its tiers use and hold, its queue, and its machines as a heat map."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.explore.charts import Chart, Series
from borgtrace.explore.grid import ABSENT, PER_HOUR, STEPS, coarser
from borgtrace.explore.pyramid import Pyramid
from borgtrace.explore.span import Span
from borgtrace.explore.tiers import tier_colors
from borgtrace.schema import Dialect
from borgtrace.schema.time import HOUR, TRACE_START, WINDOW

POINTS = 600
ROWS, COLUMNS = 160, 360
"""Cells of the heat map: two or three pixels each on a screen of 1280."""
NAMES = {"cpu": "CPU", "memory": "Memory"}


def load(pyramid: Pyramid, dialect: Dialect, resource: str, span: Span) -> Chart:
    """Return what each tier used, what all were allocated, and the capacity, in largest machines.

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
    """
    cell, block = pyramid.cell, span.block(POINTS)
    tiers = [name for name in tier_colors(dialect) if name in set(cell["tier"].to_pylist())]
    times = span.slot_times
    columns: dict[str, Any] = {"time": times[::block]}
    allocated = np.zeros(len(times))
    # After the last window nothing was measured, which is not the same as nothing used.
    measured = np.arange(*span.slots) < pyramid.grid(resource, by_hour=False).shape[1]
    for tier in tiers:
        columns[tier] = _means(
            np.where(measured, _of(cell, tier, f"{resource}_used", span), np.nan), block
        )
        allocated += np.nan_to_num(_of(cell, tier, f"{resource}_allocated", span))
    columns["allocated"] = _means(allocated, block)
    # The capacity is the cell's, and the same in the rows of each tier.
    columns["capacity"] = _means(
        _of(cell, next(iter(tiers), ""), f"{resource}_capacity", span), block
    )
    series = [Series(tier, tier, "stack", tier_colors(dialect)[tier]) for tier in tiers]
    series += [
        Series("allocated", "requested, all tiers", "dash", "ink"),
        Series("capacity", "capacity", "line", "ink"),
    ]
    title = f"{NAMES[resource]} used by tier, in largest machines"
    return Chart(pa.table(columns), series, title, block * WINDOW)


def _of(cell: pa.Table, tier: str, column: str, span: Span) -> npt.NDArray[np.float64]:
    """Return a column of a tier at each slot of a span, NaN where the store ends before."""
    first, last = span.slots
    rows = cell.filter(pc.equal(cell["tier"], tier))
    at, values = rows["hour"].to_numpy(), rows[column].to_numpy()
    spread = np.full(last - first, np.nan)
    inside = (at >= first) & (at < last)
    spread[at[inside] - first] = values[inside]
    return spread


def _means(values: npt.NDArray[np.float64], block: int) -> npt.NDArray[np.float64]:
    starts = np.arange(0, len(values), block)
    known = ~np.isnan(values)
    total, count = (
        np.add.reduceat(each, starts)
        for each in (np.where(known, values, 0), known.astype(np.int64))
    )
    with np.errstate(invalid="ignore"):
        return np.asarray(total / count)


def queue(pyramid: Pyramid, state: str, span: Span) -> Chart:
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
    block, table = span.block(POINTS), pyramid.queue
    # Rows are the ends of steps of 300 s from time zero.
    row = (span.slot_times + WINDOW) // WINDOW - 1
    known = row < table.num_rows
    starts = np.arange(0, len(row), block)
    columns: dict[str, Any] = {"time": span.slot_times[::block]}
    for name, choose in ((state, None), (f"{state}_min", np.fmin), (f"{state}_max", np.fmax)):
        values = np.full(len(row), np.nan)
        values[known] = table[name].to_numpy()[row[known]]
        ends = np.minimum(starts + block, len(row)) - 1
        columns[name] = values[ends] if choose is None else choose.reduceat(values, starts)
    color = "c2" if state == "pending" else "c1"
    series = [
        Series(f"{state}_min", "fewest and most within a step", "band", color, to=f"{state}_max"),
        Series(state, f"{state} at the end of the step", "line", color),
    ]
    return Chart(pa.table(columns), series, f"Tasks {state}", block * WINDOW)


def heat(pyramid: Pyramid, resource: str, span: Span, first: int, last: int) -> dict[str, Any]:
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
    mean = pyramid.means[resource]
    # NaN sorts last: what never was there is below what was idle. Stable, so that equal machines keep the order of ids.
    order = np.argsort(-mean, kind="stable")
    last = min(last, len(order))
    block = span.block(COLUMNS)
    by_hour = block % PER_HOUR == 0
    unit = PER_HOUR if by_hour else 1
    grid = pyramid.grid(resource, by_hour=by_hour)
    begin, end = span.slots[0] // unit, min(-(-span.slots[1] // unit), grid.shape[1])
    chosen, per_row = order[first:last], max(1, -(-(last - first) // ROWS))
    cells = coarser(grid[chosen, max(begin, 0) : end], per_row, block // unit)
    length = HOUR if by_hour else WINDOW
    times = TRACE_START + (begin + np.arange(cells.shape[1]) * (block // unit)) * length
    return {
        "times": times.tolist(),
        "step": block * WINDOW,
        "machines": [str(machine) for machine in pyramid.machines[chosen[::per_row]]],
        "per_row": per_row,
        "first": first,
        "n_machines": len(order),
        # As they are kept: forty thousand numbers, which to write as decimals takes longer than all the rest.
        "percent": 100 / STEPS,
        "absent": ABSENT,
        "cells": cells,
    }
