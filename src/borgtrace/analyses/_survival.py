"""The Kaplan–Meier estimate of how long things last."""

import numpy as np
import numpy.typing as npt

from borgtrace.analyses._quantiles import Counts


def kaplan_meier(ended: Counts, censored: Counts) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the Kaplan–Meier estimate of the share that has ended after each time at which something ends.

    Parameters
    ----------
    ended, censored
        Durations of what ended, and of what was still there when last seen (at a tie, it is taken to last
        longer).

    Returns
    -------
    tuple of two arrays of shape (k,)
        The distinct times of ends, ascending, and the share that has ended by each.

    Examples
    --------
    Of four, one ends after 1 s; one is lost sight of after 2 s; one of the other two ends after 3 s:

    >>> ended = Counts(np.array([1.0, 3.0]), np.array([1, 1]))
    >>> times, share = kaplan_meier(ended, Counts(np.array([2.0, 9.0]), np.array([1, 1])))
    >>> times.tolist(), share.tolist()
    ([1.0, 3.0], [0.25, 0.625])
    """
    # The same time may stand there more than once: groups that were added up keep their rows.
    times, place = np.unique(ended.values, return_inverse=True)
    deaths = np.bincount(place, weights=ended.n, minlength=len(times))
    order = np.argsort(censored.values, kind="stable")
    left = np.concatenate([[0], np.cumsum(censored.n[order])])
    # "left": what is censored at the time of an end is still at risk there.
    gone_before = left[np.searchsorted(censored.values[order], times, side="left")]
    died_before = np.cumsum(deaths) - deaths
    at_risk = deaths.sum() + left[-1] - died_before - gone_before
    return times, 1.0 - np.cumprod(1.0 - deaths / at_risk)
