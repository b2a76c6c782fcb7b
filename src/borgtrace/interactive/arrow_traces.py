"""Traces as Arrow's columns: the same memory, read by other libraries."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from borgtrace.kernels.arrays import Index, ShortIndex

Columns = Mapping[str, npt.NDArray[np.generic]]


def windows_of_task(columns: Columns) -> pa.RecordBatch:
    """Return the columns of one task as a batch with a row per window, copying nothing.

    Parameters
    ----------
    columns
        Arrays of shape (n,).

    Examples
    --------
    >>> cpu = np.array([0.5, np.nan], np.float32)
    >>> batch = windows_of_task({"average_cpu": cpu})
    >>> batch["average_cpu"].buffers()[1].address == cpu.ctypes.data
    True
    """
    return pa.record_batch({name: pa.array(column) for name, column in columns.items()})


def tasks_with_windows(
    collection_ids: Index, instance_indexes: ShortIndex, offsets: Index, columns: Columns
) -> pa.RecordBatch:
    """Return tasks as a batch with a row per task, whose usage is lists; the values are not copied.

    Parameters
    ----------
    collection_ids, instance_indexes
        The tasks, shape (n,).
    offsets
        Where each task's windows begin, and where the last ones end, shape (n + 1,).
    columns
        Arrays of all windows.

    Examples
    --------
    >>> cpu = np.array([0.5, 0.25, 0.125])
    >>> batch = tasks_with_windows(
    ...     np.array([7, 8]), np.array([0, 0], np.int32), np.array([0, 2, 3]), {"cpu": cpu}
    ... )
    >>> batch["cpu"].to_pylist()
    [[0.5, 0.25], [0.125]]
    >>> batch["cpu"].values.buffers()[1].address == cpu.ctypes.data
    True
    """
    lists = {}
    # Large: their offsets are int64, as ours are, and need no copy.
    arrow_offsets = pa.array(offsets)
    for name, column in columns.items():
        lists[name] = pa.LargeListArray.from_arrays(arrow_offsets, pa.array(column))
    return pa.record_batch(
        {
            "collection_id": pa.array(collection_ids),
            "instance_index": pa.array(instance_indexes),
            **lists,
        }
    )
