"""Files of fixed-width rows by machine: what a row holds, what they are called, and how a file is read."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from borgtrace.storage import require_regular

Rows = npt.NDArray[np.void]

MACHINE_ROW = np.dtype(
    [
        ("term", "u4"),
        ("slot", "i4"),
        ("cpu", "f4"),
        ("memory", "f4"),
    ]
)
"""A row of a machine, in the order of tasks and slots."""

MACHINE_ENTRY = np.dtype(
    [
        ("machine", "i8"),
        ("bucket", "i4"),
        ("first", "i8"),
        ("n", "i8"),
    ]
)
"""Where the rows of a machine are: the bucket's file, the first row, and how many there are."""


TERMS = "terms"
"""Name of the file of all terms."""
INDEX = "index.npy"
"""Name of the file that says where the rows of each machine are."""
FACTS = "facts.json"
"""Name of the file of what was counted."""


def unsorted_name(bucket: int) -> str:
    """Return the name of the file of a bucket's rows in the order of tasks.

    Examples
    --------
    >>> unsorted_name(3)
    'unsorted-00003'
    """
    return f"unsorted-{bucket:05d}"


def rows_name(bucket: int) -> str:
    """Return the name of the file of a bucket's rows in the order of machines.

    Examples
    --------
    >>> rows_name(3)
    'rows-00003'
    """
    return f"rows-{bucket:05d}"


def map_rows(path: Path, dtype: np.dtype[np.void]) -> Rows:
    """Return the rows of a file, mapped into memory.

    Parameters
    ----------
    path
        The file.
    dtype
        What a row holds.
    """
    # An empty file cannot be mapped.
    if not path.stat().st_size:
        return np.empty(0, dtype)
    # A plain array on the same memory: np.memmap runs Python code for every slice.
    return np.asarray(np.memmap(require_regular(path), dtype, "r"))
