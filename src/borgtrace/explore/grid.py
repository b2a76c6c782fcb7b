"""How full every machine was in every 300 s and every hour: one byte for each, in two grids a resource.

A share of the machine is kept in steps of half a percent, which no eye can tell apart in a heat map; what is fuller
than 127 % as that, `ABSENT` where the machine was not there.  Grids are memory-mapped, so that a month of a whole cell
(a hundred million bytes) takes no memory.
"""

from collections.abc import Iterable
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from borgtrace.schema.time import HOUR, TRACE_START, WINDOW

RESOURCES = ("cpu", "memory")
STEPS = 200
ABSENT = 255
PER_HOUR = HOUR // WINDOW
_BLOCK = 512
"""Machines that are averaged at a time: a few megabytes."""
Grid = npt.NDArray[np.uint8]


def file_name(resource: str, by_hour: bool) -> str:
    """Name the file of a grid."""
    return f"{resource}_by_{'hour' if by_hour else 'slot'}.npy"


def write_grids(
    folder: Path,
    machines: npt.NDArray[np.int64],
    n_slots: int,
    present: pa.Table,
    shares: Iterable[pa.RecordBatch],
) -> None:
    """Write both grids of both resources.

    Parameters
    ----------
    folder
        Where.
    machines
        Ids of the rows, ascending.
    n_slots
        Number of columns.
    present
        ``machine_id``, ``start``, ``end`` (µs): where a machine is there, and idle unless `shares` say otherwise.
    shares
        ``machine_id``, ``slot``, ``cpu``, ``memory`` of what was used.
    """
    create = partial(np.lib.format.open_memmap, mode="w+", dtype=np.uint8)
    grids = {
        name: create(folder / file_name(name, False), shape=(len(machines), n_slots))
        for name in RESOURCES
    }
    idle = _idle(machines, n_slots, present)
    for name in RESOURCES:
        grids[name][:] = idle
    for batch in shares:
        at = np.searchsorted(machines, batch["machine_id"].to_numpy()), batch["slot"].to_numpy()
        for name in RESOURCES:
            grids[name][at] = np.minimum(np.rint(batch[name].to_numpy() * STEPS), ABSENT - 1)
    for name, slots in grids.items():
        hours = create(
            folder / file_name(name, True), shape=(len(machines), -(-n_slots // PER_HOUR))
        )
        for first in range(0, len(machines), _BLOCK):
            hours[first : first + _BLOCK] = coarser(slots[first : first + _BLOCK], 1, PER_HOUR)
        slots.flush()
        hours.flush()


def _idle(machines: npt.NDArray[np.int64], n_slots: int, present: pa.Table) -> Grid:
    """Return 0 where a machine is there at the start of a slot and `ABSENT` elsewhere."""
    idle = np.full((len(machines), n_slots), ABSENT, np.uint8)
    rows = np.searchsorted(machines, present["machine_id"].to_numpy())
    # A slot counts where it starts; what is there before the trace is there from its first slot on.
    start, end = (
        np.clip(-((TRACE_START - present[name].to_numpy()) // WINDOW), 0, n_slots)
        for name in ("start", "end")
    )
    for row, first, last in zip(rows, start, end, strict=True):
        idle[row, first:last] = 0
    return idle


def coarser(cells: Grid, rows: int, columns: int) -> Grid:
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
    absent = (blocks == ABSENT).sum(axis=1, dtype=np.int32)
    total, count = blocks.sum(axis=1, dtype=np.int32) - ABSENT * absent, rows - absent
    starts = np.arange(0, width, columns)
    if columns > 1 and len(starts):
        total, count = (np.add.reduceat(values, starts, axis=1) for values in (total, count))
    return np.where(count, np.rint(total / np.maximum(count, 1)), ABSENT).astype(np.uint8)


def mean_rows(cells: Grid) -> npt.NDArray[np.float64]:
    """Return the mean share of each row, NaN where it has none; shape (m,)."""
    there = cells != ABSENT
    total = np.where(there, cells, 0).sum(axis=1, dtype=np.int64)
    with np.errstate(invalid="ignore"):
        return np.asarray(total / there.sum(axis=1) / STEPS)
