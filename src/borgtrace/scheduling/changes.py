"""Changes of machines over time: an int64 matrix with a row for each, and the names of its columns."""

import numpy as np
import numpy.typing as npt

from borgtrace.kernels.arrays import Index

CHANGE_TIME, CHANGED_MACHINE, IS_THERE, CHANGED_SET = range(4)
"""When (µs), which line of the machines, whether it is there from then on (or meets a set of constraints), and 1 + that
set; 0: whether it is there.  Of an attribute −1 less its place stands for the set, and the place of its new value for
whether it is there: see :mod:`borgtrace.scheduling.machine_attributes`."""


def no_changes() -> Index:
    """Return no change."""
    return np.empty((0, 4), np.int64)


def make_changes(
    time: npt.ArrayLike,
    machine: npt.ArrayLike,
    is_there: npt.ArrayLike,
    constraint_set: int,
) -> Index:
    """Return changes of one kind.

    Parameters
    ----------
    time, machine, is_there
        See the columns; of shape (n,), or one for all.
    constraint_set
        0 for machines that come and go, else 1 + the set of constraints.

    Examples
    --------
    >>> make_changes(0, [3, 4], True, 0).tolist()
    [[0, 3, 1, 0], [0, 4, 1, 0]]
    """
    columns = np.broadcast_arrays(time, machine, is_there, constraint_set)
    return np.column_stack(columns).astype(np.int64)
