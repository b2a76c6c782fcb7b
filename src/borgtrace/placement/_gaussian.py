"""Best Fit by the exact Gaussian test: machines that surely do not fit are passed over without their tail.

Most machines are nearly full, so for most of them room < z√variance tells the answer, in a nanosecond; the others are
asked by the estimator's own test, so the packing is the naive loop's, bit for bit.
"""

import math

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled

# A squared comparison and erfc round differently near equality: only what lies clearly outside is passed over.
_SURE = 1 - 1e-9  # rounding moves the border by far less


@compiled(inline=True)
def fit_bin(room: float, variance: float, target: float) -> float:
    """FitBin of the paper, ρ − (1 − Φ((c − μ) / σ)), from the room c − μ; a sum without variance fits or does not.

    Parameters
    ----------
    room
        c − μ, in capacity units.
    variance
        σ² of the sum.
    target
        ρ: tolerated probability of overflow.

    Examples
    --------
    Constant tasks may fill a machine exactly:

    >>> fit_bin(0.0, 0.0, 0.25), fit_bin(-0.5, 0.0, 0.25)
    (0.25, -0.75)
    """
    # Constant tasks: Φ is a step, and the quotient below would be 0 ÷ 0 for a machine filled exactly.
    if variance <= 0:
        return target if room >= 0 else target - 1
    # erfc, not 1 − Φ: the calibrated GPA is told targets down to 1e-16, where that difference keeps no digit.
    return target - 0.5 * math.erfc(room / math.sqrt(2 * variance))


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
        Φ⁻¹(1 − ρ); targets above one half have a negative one, and every machine is asked.
    bins
        int64 (n,): the result; −1 where an item does not even fit alone.

    Returns
    -------
    int
        Number of bins.
    """
    # A bin per item is the worst case; entries from m on are not written yet.
    total = np.empty(mean.size)
    spread = np.empty(mean.size)
    m = 0
    # −1 stands for no shortcut: with z below 0 a machine may hold more than its capacity on average.
    border = z * z * _SURE if z > 0 else -1.0
    for i in range(mean.size):
        best = -1
        least = np.inf
        for b in range(m):
            room = capacity - total[b] - mean[i]  # in the order of the estimator's own test
            together = spread[b] + variance[i]
            # Squares instead of roots; the sign of the room is asked before it is lost.
            if border >= 0 and (room < 0 or room * room < border * together):
                continue
            left = fit_bin(room, together, target)
            # Strictly less: of equals the bin opened first wins, as in the general loop.
            if 0 <= left < least:
                best = b
                least = left
        if best < 0:
            if fit_bin(capacity - mean[i], variance[i], target) < 0:
                bins[i] = -1
                continue
            best = m
            total[m] = 0.0
            spread[m] = 0.0
            m += 1
        total[best] += mean[i]
        spread[best] += variance[i]
        bins[i] = best
    return m
