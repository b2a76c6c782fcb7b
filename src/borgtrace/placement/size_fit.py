"""Best Fit and First Fit of sizes that add up: the packing of the general loop, many times faster.

A machine is one number here, its load, and no function is called to test it.
"""

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled


@compiled()
def fit_sizes(sizes: Numbers, capacity: float, stops: bool, bins: Index) -> int:
    """Place every item into the bin that it leaves with the least room, else into a new one.

    Parameters
    ----------
    sizes
        float64 (n,): the items, in the order of arrival.
    capacity
        Of every bin.
    stops
        Whether the first bin that has room is taken instead.
    bins
        int64 (n,): the result; −1 where an item does not even fit alone.

    Returns
    -------
    int
        Number of bins.

    Examples
    --------
    >>> bins = np.empty(4, np.int64)
    >>> fit_sizes(np.array([0.5, 0.75, 0.25, 2]), 1.0, False, bins), bins.tolist()
    (2, [0, 1, 1, -1])
    >>> fit_sizes(np.array([0.5, 0.75, 0.25, 2]), 1.0, True, bins), bins.tolist()
    (2, [0, 1, 0, -1])
    """
    # There is at most a bin per item; entries from n_bins on are not written yet.
    loads = np.empty(sizes.size)
    n_bins = 0
    for i in range(sizes.size):
        best = -1
        least = np.inf
        for b in range(n_bins):
            room = capacity - loads[b] - sizes[i]  # in the order of the estimator's own test
            # Strictly less: of equals the bin opened first wins, as in the general loop.
            if 0 <= room < least:
                best = b
                least = room
                if stops:
                    break
        if best < 0:
            if capacity - sizes[i] < 0:
                bins[i] = -1
                continue
            best = n_bins
            loads[best] = 0.0
            n_bins += 1
        loads[best] += sizes[i]
        bins[i] = best
    return n_bins
