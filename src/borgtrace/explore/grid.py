"""How full every machine was in every 300 s and every hour: one byte for each, in two grids a resource.

A share of the machine is kept in steps of half a percent, which no eye can tell apart in a heat map; what is fuller
than 127 % as that, `ABSENT` where the machine was not there or nothing was measured.  Grids are memory-mapped, so that
a month of a whole cell (a hundred million bytes) takes no memory.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.schema.time import HOUR, TRACE_START, WINDOW
from borgtrace.storage import reserve

RESOURCES = ("cpu", "memory")
STEPS = 200
"""Steps of a share of 1."""
ABSENT = 255
PER_HOUR = HOUR // WINDOW
"""Slots of an hour."""
ByteGrid = npt.NDArray[np.uint8]
"""Shares of machines (rows) in slots or hours (columns)."""


def file_name(resource: str, *, by_hour: bool) -> str:
    """Name the file of a grid."""
    unit = "hour" if by_hour else "slot"
    return f"{resource}_by_{unit}.npy"


def create_grid(
    folder: Path,
    resource: str,
    shape: tuple[int, int],
    *,
    by_hour: bool,
) -> np.memmap[Any, np.dtype[np.uint8]]:
    """Create the file of a grid, memory-mapped."""
    path = folder / file_name(resource, by_hour=by_hour)
    grid = np.lib.format.open_memmap(
        path,
        mode="w+",
        dtype=np.uint8,
        shape=shape,
    )
    with path.open("r+b") as file:
        reserve(file, path.stat().st_size)
    return grid


def write_grids(
    folder: Path,
    machines: Index,
    is_measured: Flags,
    present: pa.Table,
    shares: Iterable[pa.RecordBatch],
    machines_at_once: int = 512,
) -> None:
    """Write both grids of both resources.

    Parameters
    ----------
    folder
        Where.
    machines
        Ids of the rows, ascending.
    is_measured
        Whether anything was measured in each slot of the cell: the columns.
    present
        ``machine_id``, ``start``, ``end`` (µs): where a machine is there, and idle unless `shares` say otherwise;
        ``has_cpu``, ``has_memory``: whether that capacity is known.
    shares
        ``machine_id``, ``slot``, ``cpu``, ``memory`` of what was used.
    machines_at_once
        Machines that are averaged at a time; by default a few megabytes.
    """
    grids = {}
    n_slots = len(is_measured)
    for resource in RESOURCES:
        # Of a capacity that nobody knows there is no share, not even of nothing.
        idle = idle_grid(machines, is_measured, present.filter(present[f"has_{resource}"]))
        grids[resource] = create_grid(folder, resource, idle.shape, by_hour=False)
        grids[resource][:] = idle
    for batch in shares:
        rows = np.searchsorted(machines, batch["machine_id"].to_numpy())
        slots = batch["slot"].to_numpy()
        for resource in RESOURCES:
            steps = np.rint(batch[resource].to_numpy(zero_copy_only=False) * STEPS)
            # NaN where no window has a value.
            steps = np.where(np.isnan(steps), ABSENT, np.minimum(steps, ABSENT - 1))
            grids[resource][rows, slots] = steps
    for resource, by_slot in grids.items():
        shape = (len(machines), -(-n_slots // PER_HOUR))
        by_hour = create_grid(folder, resource, shape, by_hour=True)
        for first in range(0, len(machines), machines_at_once):
            rows = slice(first, first + machines_at_once)
            by_hour[rows] = coarser(by_slot[rows], 1, PER_HOUR)
        by_slot.flush()
        by_hour.flush()


def idle_grid(machines: Index, is_measured: Flags, present: pa.Table) -> ByteGrid:
    """Return 0 where a machine is there at the start of a slot that was measured, and `ABSENT` elsewhere."""
    n_slots = len(is_measured)
    idle = np.full((len(machines), n_slots), ABSENT, np.uint8)
    rows = np.searchsorted(machines, present["machine_id"].to_numpy())
    firsts = first_slots(present["start"].to_numpy(), n_slots)
    lasts = first_slots(present["end"].to_numpy(), n_slots)
    for row, first, last in zip(rows, firsts, lasts, strict=True):
        idle[row, first:last] = 0
    # Where nothing was measured nobody knows, which is not the same as idle.
    idle[:, ~is_measured] = ABSENT
    return idle


def first_slots(times: Index, n_slots: int) -> Index:
    """Return the first slot that starts at each time or later; what is before the trace has its first slot."""
    return np.clip(-((TRACE_START - times) // WINDOW), 0, n_slots)


def coarser(cells: ByteGrid, rows: int, columns: int) -> ByteGrid:
    """Return means of blocks of `rows` × `columns` cells; those at the edges are smaller.

    Parameters
    ----------
    cells
        Part of a grid, shape (m, n).
    rows, columns
        Size of a block.

    Returns
    -------
    ndarray
        Shape (⌈m/rows⌉, ⌈n/columns⌉); `ABSENT` where no machine of a block was there.

    Examples
    --------
    >>> coarser(np.array([[100, 200, ABSENT]], np.uint8), 1, 2).tolist()
    [[150, 255]]
    """
    height, width = cells.shape
    # Filled up with what counts for nothing, so that blocks are one array: nine times as fast as from edge to edge.
    n_rows = -(-height // rows)
    filled = np.full((n_rows * rows, width), ABSENT, np.uint8)
    filled[:height] = cells
    blocks = filled.reshape(n_rows, rows, width)
    n_absent = (blocks == ABSENT).sum(axis=1, dtype=np.int32)
    total = blocks.sum(axis=1, dtype=np.int32) - ABSENT * n_absent
    count = rows - n_absent
    starts = np.arange(0, width, columns)
    if columns > 1 and len(starts):
        total = np.add.reduceat(total, starts, axis=1)
        count = np.add.reduceat(count, starts, axis=1)
    means = np.rint(total / np.maximum(count, 1))
    return np.where(count, means, ABSENT).astype(np.uint8)


def mean_rows(cells: ByteGrid) -> Numbers:
    """Return the mean share of each row, NaN where it has none; shape (m,)."""
    is_present = cells != ABSENT
    total = np.where(is_present, cells, 0).sum(axis=1, dtype=np.int64)
    with np.errstate(invalid="ignore"):
        return np.asarray(total / is_present.sum(axis=1) / STEPS)
