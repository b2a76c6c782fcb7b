"""Best Fit by the exact Gaussian test, which skips the tail of machines that surely do not fit.

Most machines are nearly full, so for most of them room < z√variance gives the answer in a nanosecond.  The others are
tested by the estimator's own formula, so the packing is that of the naive loop, bit for bit.
"""

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.gaussian import fit_bin

# Near equality the squared comparison and erfc round differently: skip only what clearly does not fit.
_SURE = 1 - 1e-9  # rounding moves the border by far less
_NO_SHORTCUT = -1.0


@compiled(inline=True)
def _surely_exceeds(
    room: float,
    variance: float,
    border: float,
) -> bool:
    """Whether a bin clearly does not fit: squares instead of roots, once the sign of the room is known."""
    return border >= 0 and (room < 0 or room * room < border * variance)


@compiled()
def gaussian_best_fit(
    mean: Numbers,
    variance: Numbers,
    capacity: float,
    target: float,
    z: float,
    bins: Index,
) -> int:
    """Place every item into the bin with the least non-negative FitBin, else into a new one.

    Parameters
    ----------
    mean, variance
        float64 (n,): the items, in the order of arrival.
    capacity
        Of every bin.
    target
        ρ: tolerated probability of overflow.
    z
        Φ⁻¹(1 − ρ); it is negative for targets above one half, and then every machine is tested.
    bins
        int64 (n,): the result; −1 where an item does not even fit alone.

    Returns
    -------
    int
        Number of bins.
    """
    # There is at most a bin per item; entries from n_bins on are not written yet.
    bin_mean = np.empty(mean.size)
    bin_variance = np.empty(mean.size)
    n_bins = 0
    # With z below 0 a machine may hold more than its capacity on average.
    border = z * z * _SURE if z > 0 else _NO_SHORTCUT
    for i in range(mean.size):
        best = -1
        least = np.inf
        for b in range(n_bins):
            room = capacity - bin_mean[b] - mean[i]  # in the order of the estimator's own test
            variance_with_item = bin_variance[b] + variance[i]
            if _surely_exceeds(room, variance_with_item, border):
                continue
            left = fit_bin(room, variance_with_item, target)
            # Strictly less: of equals the bin opened first wins, as in the general loop.
            if 0 <= left < least:
                best = b
                least = left
        if best < 0:
            left_alone = fit_bin(capacity - mean[i], variance[i], target)
            if left_alone < 0:
                bins[i] = -1
                continue
            best = n_bins
            bin_mean[best] = 0.0
            bin_variance[best] = 0.0
            n_bins += 1
        bin_mean[best] += mean[i]
        bin_variance[best] += variance[i]
        bins[i] = best
    return n_bins
