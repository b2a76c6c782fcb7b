"""Exponents of power-law tails, by maximum likelihood and by regression."""

import numpy as np
from scipy import special

from borgtrace.kernels.arrays import Index, Numbers


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

    def negative_log_likelihood(alpha: float) -> float:
        log_zeta = float(np.log(special.zeta(alpha + 1.0, x_min)))
        return n_in_tail * log_zeta + (alpha + 1.0) * sum_of_logs

    # Imported here: every command would wait a quarter of a second for it.
    from scipy.optimize import minimize_scalar

    # There is no closed form; zeta diverges at α = 0, hence the lower bound.
    optimum = minimize_scalar(
        negative_log_likelihood,
        bounds=(0.01, 10.0),
        method="bounded",
        options={"xatol": 1e-8},
    )
    return float(optimum.x)


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
