"""What is remembered of past measurements: the latest of every name, in rings."""

from __future__ import annotations

import numpy as np

from borgtrace.kernels.arrays import Index, Values
from borgtrace.kernels.compiled import compiled


@compiled()
def record_usage(rings: Values, counts: Index, names: Index, values: Values) -> None:
    """Write values, in their order, into the ring of their name and into the last ring, which holds everybody's.

    Parameters
    ----------
    rings
        float32 (names + 1, length): changed in place.
    counts
        int64 (names + 1,): values ever written to each ring; changed in place.
    names, values
        int64 (k,) and float32 (k,); a name below 0 is written to the last ring only.
    """
    everybody, length = rings.shape[0] - 1, rings.shape[1]
    for k in range(values.size):
        if names[k] >= 0:
            # The count itself runs on: it also tells whether a ring is full.
            rings[names[k], counts[names[k]] % length] = values[k]
            counts[names[k]] += 1
        rings[everybody, counts[everybody] % length] = values[k]
        counts[everybody] += 1


def latest_usage(rings: Values, counts: Index, name: int) -> Values:
    """The values of one ring, the oldest first: float32 (k,), a view where the ring is not full yet.

    Parameters
    ----------
    rings, counts
        As for :func:`record_usage`.
    name
        Which ring.

    Examples
    --------
    >>> rings, counts = np.zeros((2, 3), np.float32), np.zeros(2, np.int64)
    >>> record_usage(rings, counts, np.array([0, -1, 0, 0]), np.float32([1, 2, 3, 4]))
    >>> latest_usage(rings, counts, 0).tolist(), latest_usage(rings, counts, 1).tolist()
    ([1.0, 3.0, 4.0], [2.0, 3.0, 4.0])
    """
    length, count = rings.shape[1], int(counts[name])
    if count <= length:
        return rings[name, :count]
    # The oldest value is the one that would be overwritten next.
    return np.roll(rings[name], -(count % length))
