"""Which rows go to which Parquet file: ranges of collections, a function of the data alone.

The cut must not depend on memory, workers or the order of arrival, or the digest would.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

ROWS_PER_FILE = 1 << 24
"""Rows after which a new file is begun, at the next collection."""


def cut_ranges(
    collections: npt.NDArray[np.int64], counts: npt.NDArray[np.int64], rows: int = ROWS_PER_FILE
) -> list[int]:
    """Return the first collection of each file but the first.

    Parameters
    ----------
    collections
        Distinct collection ids, ascending, shape (n,).
    counts
        Rows of each, shape (n,).
    rows
        A file is closed before it would hold more; a collection is never split.

    Examples
    --------
    >>> cut_ranges(np.array([1, 5, 9]), np.array([3, 3, 3]), rows=5)
    [5, 9]
    """
    cuts: list[int] = []
    filled = 0
    for collection, count in zip(collections.tolist(), counts.tolist(), strict=True):
        # `filled and`: a collection larger than a file gets one of its own, and no file stays empty.
        if filled and filled + count > rows:
            cuts.append(collection)
            filled = 0
        filled += count
    return cuts


def range_condition(cuts: Sequence[int], number: int) -> str:
    """Return SQL that is true for the collections of file `number`.

    Parameters
    ----------
    cuts
        First collection of each file but the first, ascending.
    number
        Of a file, from 0 to ``len(cuts)``.

    Examples
    --------
    >>> range_condition([5, 9], 1)
    'collection_id >= 5 AND collection_id < 9'
    """
    low = [f"collection_id >= {cuts[number - 1]}"] if number else []
    high = [f"collection_id < {cuts[number]}"] if number < len(cuts) else []
    return " AND ".join(low + high) or "true"


def range_number(cuts: Sequence[int], first: int = 0) -> str:
    """Return SQL for the number of the file a collection belongs to (binary search as CASE).

    Parameters
    ----------
    cuts
        First collection of each file but the first, ascending.
    first
        Number of the first of these files.

    Examples
    --------
    >>> range_number([5])
    'CASE WHEN collection_id < 5 THEN 0 ELSE 1 END'
    """
    if not cuts:
        return str(first)
    middle = len(cuts) // 2
    low, high = range_number(cuts[:middle], first), range_number(cuts[middle + 1 :], first + middle + 1)
    return f"CASE WHEN collection_id < {cuts[middle]} THEN {low} ELSE {high} END"
