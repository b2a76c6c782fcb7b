"""Exponents of power-law tails, by maximum likelihood and by regression."""

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers

BOUNDS = (0.01, 10.0)
"""Exponents within which that of a zeta law is looked for."""
N_SUMMED = 12
"""Terms of a zeta function that are added one by one; the rest is an integral and its corrections."""
BERNOULLI = (1 / 12, -1 / 720, 1 / 30_240, -1 / 1_209_600, 1 / 47_900_160)
"""Bernoulli's numbers B₂, B₄ … ÷ 2!, 4! …"""
_STEP = 1e-30


def continuous_exponent(values: Numbers, n: Index, x_min: float) -> float:
    """Return the Pareto exponent α of P(X > x) = (x ÷ x_min)^−α above `x_min` (Hill's estimator).

    NaN where nothing lies above `x_min`.

    Parameters
    ----------
    values
        Values in any order, above 0; shape (k,).
    n
        How often each occurs, shape (k,).
    x_min
        Where the tail begins; excluded.

    Examples
    --------
    >>> float(continuous_exponent(np.array([np.e, np.e**3]), np.array([1, 1]), 1.0))
    0.5
    """
    is_tail = values > x_min
    if not is_tail.any():
        return float("nan")
    tail_counts = n[is_tail]
    sum_of_logs = (tail_counts * np.log(values[is_tail] / x_min)).sum()
    return float(tail_counts.sum() / sum_of_logs)


def discrete_exponent(values: Index, n: Index, x_min: int) -> float:
    """Return α of the zeta law P(X = x) ∝ x^−(α+1) for x ≥ `x_min`.

    Clauset, Shalizi and Newman, SIAM Review 51 (2009), eq. 3.4–3.5; NaN with fewer than two values.

    Parameters
    ----------
    values
        Whole numbers in any order, from 1; shape (k,).
    n
        How often each occurs, shape (k,).
    x_min
        Where the tail begins; included.

    Examples
    --------
    >>> x = np.arange(1, 4000); n = np.round(1e9 * x ** -2.5).astype(int)
    >>> round(discrete_exponent(x, n, 1), 2)
    1.5
    """
    is_tail = values >= x_min
    # With all values at the threshold the likelihood grows for ever with α.
    if len(np.unique(values[is_tail])) < 2:
        return float("nan")
    n_in_tail = float(n[is_tail].sum())
    sum_of_logs = float((n[is_tail] * np.log(values[is_tail])).sum())

    # There is no closed form. The likelihood has one maximum, at which its slope changes sign; zeta diverges at α = 0,
    # hence the lower bound.
    low, high = BOUNDS
    for _ in range(60):
        alpha = (low + high) / 2
        zeta, slope = hurwitz_zeta(alpha + 1.0, x_min)
        if n_in_tail * slope / zeta + sum_of_logs < 0:
            low = alpha
        else:
            high = alpha
    return (low + high) / 2


def hurwitz_zeta(s: float, first: float) -> tuple[float, float]:
    """Return the sum of k^−s over k = first, first + 1, …, and its derivative by s, for s above 1.

    The formula of Euler and Maclaurin (Digital Library of Mathematical Functions, §25.11(iii)).

    Examples
    --------
    >>> zeta, slope = hurwitz_zeta(2.0, 1)                  # π² ÷ 6
    >>> round(zeta, 12), round(slope, 12)
    (1.644934066848, -0.937548254316)
    """
    # A step along the imaginary axis gives the derivative without a difference, and so with all its digits.
    exponent = complex(s, _STEP)
    last = first + N_SUMMED
    total = sum((first + k) ** -exponent for k in range(N_SUMMED))
    total += last ** (1.0 - exponent) / (exponent - 1.0) + 0.5 * last**-exponent
    term = exponent * last ** (-exponent - 1.0)
    for j, coefficient in enumerate(BERNOULLI):
        total += coefficient * term
        term *= (exponent + 2 * j + 1) * (exponent + 2 * j + 2) / last**2
    return total.real, total.imag / _STEP


def regression_exponent(values: Numbers, chosen: Numbers) -> tuple[float | None, float | None]:
    """Return −slope of the least-squares line of log P(X ≥ x) on log x, and its R²; None below three points.

    Parameters
    ----------
    values
        All values, descending, shape (n,).
    chosen
        Those that the line is fitted to, above 0; shape (k,).

    Examples
    --------
    >>> x = np.array([4.0, 3, 2, 1]) ** -2
    >>> alpha, r_squared = regression_exponent(np.sort(x)[::-1], x)
    >>> round(alpha, 9), round(r_squared, 9)
    (0.5, 1.0)
    """
    if len(np.unique(chosen)) < 3:
        return None, None
    share_at_least = np.searchsorted(-values, -chosen, side="right") / len(values)
    x = np.log(chosen)
    y = np.log(share_at_least)
    fitted_slope = np.polyfit(x, y, 1)[0]
    correlation = np.corrcoef(x, y)[0, 1]
    return float(-fitted_slope), float(correlation**2)
