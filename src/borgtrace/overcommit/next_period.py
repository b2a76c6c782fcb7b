"""What one more period is expected to bring, by the periods before it: how high may its rate be?

Two things make a period differ from those before it.  Periods differ in what all machines have in common, as busy days
do: by how much, their rates show, with Student's prediction interval.  Rates of few periods are skewed (many of them
are 0), which Student's does not know: its end is that of the two-sided interval.

And a short period of few machines holds so few trials that chance alone moves its rate: where it has 80, one broken
promise is 1.25 %, though hundreds of trials before it were kept.  How many may break follows from the trials so far
alone, by Nelson's exact prediction limit for a count of Poisson.  It is to the next period what the rule of three is to
the rate itself: exact, one-sided, at 95 %, so that at least 19 of 20 periods stay below it.
"""

import numpy as np
import numpy.typing as npt

from borgtrace.kernels.incomplete import beta_alpha, student_quantile

UPPER_END = 0.975
"""Quantile at which a two-sided interval of 95 % ends above."""
ABOVE_BY_CHANCE = 0.05
"""Share of the periods that may bring more by chance than is expected."""


def upper_end_of_next(rates: npt.NDArray[np.float64]) -> float:
    """Return where Student's prediction interval (95 %) for the rate of one more period ends above; 0 of one period.

    Parameters
    ----------
    rates
        Of the periods so far: (n,).

    Examples
    --------
    >>> round(upper_end_of_next(np.array([0.01, 0.03])), 4)
    0.2401
    >>> upper_end_of_next(np.array([0.02]))
    0.0
    """
    n = len(rates)
    if n < 2:
        return 0.0
    spread = rates.std(ddof=1) * np.sqrt(1 + 1 / n)
    return float(rates.mean() + student_quantile(n - 1, UPPER_END) * spread)


def upper_end_by_chance(broken: float, n_trials: float, n_next: float) -> float:
    """Return the rate that one more period stays below in 19 of 20 cases, where nothing but chance moves it.

    Of all trials that break, each is one of the next period with probability p = n_next ÷ (n_trials + n_next).  Were y
    of them in it, so few as `broken` before it would be seen in one case of 20: I_p(y, broken + 1), the regularized
    incomplete beta function, is .05 (W. Nelson, Confidence intervals for the ratio of two Poisson means and Poisson
    predictor intervals, IEEE Transactions on Reliability R-19, 1970).

    Parameters
    ----------
    broken
        Trials that broke so far; parts of trials count as parts.
    n_trials
        Trials so far.
    n_next
        Trials of the next period.

    Examples
    --------
    Of none in four periods of 80, p is 1 ÷ 5, and p to the power of y is .05.

    >>> round(upper_end_by_chance(0, 320, 80), 4)
    0.0233

    Where nothing broke in three days of 40 machines and an hour's horizon, a rate of 1 % can be promised for the next.

    >>> upper_end_by_chance(0, 3 * 960, 960) < 0.01
    True
    """
    in_next = n_next / (n_trials + n_next)
    return float(beta_alpha(ABOVE_BY_CHANCE, broken + 1, in_next) / n_next)
