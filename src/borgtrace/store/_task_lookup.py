"""Finding a task in the sorted index, and copying scattered runs into one flat array."""

import numpy as np
import numpy.typing as npt

from borgtrace.kernels.arrays import Index
from borgtrace.kernels.compiled import compiled


@compiled()
def find_row(collections: Index, instances: npt.NDArray[np.int32], collection: int, instance: int) -> int:
    """Return the row of (collection, instance) in arrays sorted together, −1 where there is none.

    Parameters
    ----------
    collections, instances
        Key columns of the index, shape (n,), sorted by the pair.
    collection, instance
        The task.

    Examples
    --------
    >>> find_row(np.array([1, 1, 4]), np.array([0, 2, 0], np.int32), 1, 2)
    1
    >>> find_row(np.array([1, 1, 4]), np.array([0, 2, 0], np.int32), 1, 1)
    -1
    """
    # By hand: np.searchsorted looks for one key, and the index is sorted by two columns.
    low, high = 0, len(collections)
    while low < high:
        middle = (low + high) // 2
        before = collections[middle] < collection or (
            collections[middle] == collection and instances[middle] < instance
        )
        if before:
            low = middle + 1
        else:
            high = middle
    if low < len(collections) and collections[low] == collection and instances[low] == instance:
        return low
    return -1


@compiled()
def find_rows(collections: Index, instances: npt.NDArray[np.int32], pairs: Index) -> Index:
    """Return the rows of (collection, instance) `pairs`, shape (n, 2); −1 where there is none.

    Parameters
    ----------
    collections, instances
        Key columns of the index, shape (n,), sorted by the pair.
    pairs
        Tasks, shape (k, 2).

    Returns
    -------
    ndarray
        int64 of shape (k,).

    Examples
    --------
    >>> find_rows(np.array([1, 1, 4]), np.array([0, 2, 0], np.int32), np.array([[4, 0], [4, 1]])).tolist()
    [2, -1]
    """
    rows = np.empty(len(pairs), np.int64)
    for i in range(len(pairs)):
        rows[i] = find_row(collections, instances, pairs[i, 0], pairs[i, 1])
    return rows


@compiled()
def gather_runs(values: npt.NDArray[np.generic], starts: Index, offsets: Index) -> npt.NDArray[np.generic]:
    """Copy run i, ``values[starts[i]:]`` of length ``offsets[i+1] - offsets[i]``, to ``offsets[i]``.

    Parameters
    ----------
    values
        Shape (n,), any numeric type.
    starts
        Shape (k,).
    offsets
        Shape (k + 1,), from 0.

    Examples
    --------
    >>> gather_runs(np.arange(9.0), np.array([6, 1]), np.array([0, 2, 3])).tolist()
    [6.0, 7.0, 1.0]
    """
    result = np.empty(offsets[-1], values.dtype)
    # Loops rather than slices: most runs are a few rows, and a slice costs more than copying them.
    for run in range(len(starts)):
        for i in range(offsets[run + 1] - offsets[run]):
            result[offsets[run] + i] = values[starts[run] + i]
    return result
