"""The incomplete gamma and beta functions and what is made of them: Student's, Fisher's and the binomial distribution.

Power series and continued fractions (Lentz's method) of the Digital Library of Mathematical Functions, §8.7, 8.9, 8.17.
Exact to about 1e-13; quantiles are solved for by Newton's method within brackets.
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from borgtrace.kernels.arrays import Flags, Numbers
from borgtrace.kernels.normal import each

_EPSILON = 2.0**-52
_TINY = 1e-300
_MOST_TERMS = 10_000
_LEAST_LOG = -745.0
"""The logarithm of the smallest float64."""


def gamma_probability(shape: float, values: ArrayLike) -> Numbers:
    """Return the probability that a gamma value of mean `shape` lies below each value.

    Examples
    --------
    >>> gamma_probability(1.0, [0.0, np.log(2.0)]).round(12)
    array([0. , 0.5])
    """
    return _gamma_tails(shape, np.asarray(values, np.float64))[0]


def gamma_quantile(shape: float, probabilities: ArrayLike) -> Numbers:
    """Return the quantiles of the gamma distribution with a mean of `shape`, for probabilities within (0, 1).

    Examples
    --------
    >>> gamma_quantile(1.0, [0.5]).round(12)
    array([0.69314718])
    """
    probability = np.asarray(probabilities, np.float64)
    is_low = probability <= 0.5
    # From the nearer end: 1 − p is exact where p is above one half.
    target = np.where(is_low, probability, 1.0 - probability)

    def excess(log_value: Numbers) -> tuple[Numbers, Numbers]:
        value = np.exp(log_value)
        below, above = _gamma_tails(shape, value)
        log_density = shape * log_value - value - math.lgamma(shape)
        nearer = np.where(is_low, below, above)
        sign = np.where(is_low, 1.0, -1.0)
        return sign * _log(nearer / target), _ratio(np.exp(log_density), nearer)

    # Near 0 the probability is value^shape ÷ Γ(shape + 1).
    start = (np.log(probability) + math.lgamma(shape + 1.0)) / shape
    most = math.log(shape + 40.0 * (math.sqrt(shape) + 20.0))
    return np.exp(_root(excess, np.minimum(start, math.log(shape + 1.0)), most))


def beta_probability(alpha: ArrayLike, beta: ArrayLike, values: ArrayLike) -> Numbers:
    """Return the probability that a beta value lies below each value of [0, 1].

    Examples
    --------
    >>> beta_probability(1.0, 2.0, [0.0, 0.5, 1.0]).round(12)
    array([0.  , 0.75, 1.  ])
    """
    a, b, x = np.broadcast_arrays(*(np.asarray(part, np.float64) for part in (alpha, beta, values)))
    return _beta(a, b, x, 1.0 - x)


def beta_quantile(alpha: float, beta: float, probabilities: ArrayLike) -> Numbers:
    """Return the quantiles of a beta distribution, for probabilities within (0, 1).

    Examples
    --------
    >>> beta_quantile(1.0, 2.0, [0.75]).round(12)
    array([0.5])
    """
    probability = np.asarray(probabilities, np.float64)
    is_low = probability <= 0.5
    # From the nearer end: the complement of a beta value is one, too, its parameters exchanged.
    first = np.where(is_low, alpha, beta)
    second = np.where(is_low, beta, alpha)
    nearer = _least_beta(first, second, np.where(is_low, probability, 1.0 - probability))
    return np.where(is_low, nearer, 1.0 - nearer)


def binomial_tail(successes: ArrayLike, n_trials: int, chance: float) -> Numbers:
    """Return the probability of more than so many successes in `n_trials`; 1 where `successes` is below 0.

    Examples
    --------
    >>> binomial_tail([-1, 0, 1, 2], 2, 0.5)
    array([1.  , 0.75, 0.25, 0.  ])
    """
    k = np.asarray(successes, np.float64)
    is_inside = (k >= 0) & (k < n_trials)
    inside = np.where(is_inside, k, 0.0)
    tail = beta_probability(inside + 1.0, n_trials - inside, chance)
    return np.where(is_inside, tail, np.where(k < 0, 1.0, 0.0))


def fisher_tail(freedom_above: float, freedom_below: ArrayLike, ratios: ArrayLike) -> Numbers:
    """Return the probability that Fisher's F exceeds each ratio.

    Examples
    --------
    >>> fisher_tail(2.0, [2.0], [3.0])
    array([0.25])
    """
    below = np.asarray(freedom_below, np.float64)
    f = np.asarray(ratios, np.float64)
    whole = below + freedom_above * f
    return _beta(
        *np.broadcast_arrays(
            below / 2.0, freedom_above / 2.0, below / whole, freedom_above * f / whole
        )
    )


# An answer has hundreds of intervals over the same few instances, and a quantile takes a millisecond.
@lru_cache(maxsize=256)
def student_quantile(freedom: float, probability: float) -> float:
    """Return a quantile of Student's t above its median, for a probability within [.5, 1).

    Examples
    --------
    >>> round(student_quantile(1.0, 0.975), 4)
    12.7062
    """
    # t² ÷ (freedom + t²) is a beta value, and its complement, too: far out that one keeps its digits.
    tails = np.array([2.0 * (1.0 - probability)])
    share = float(_least_beta(np.array([freedom / 2.0]), np.array([0.5]), tails)[0])
    return math.sqrt(freedom * (1.0 - share) / share)


def beta_alpha(probability: float, beta: float, value: float) -> float:
    """Return the first parameter of the beta distribution that lies below `value` with this probability.

    Examples
    --------
    A value of parameters a and 1 lies below x with probability x to the power of a.

    >>> round(beta_alpha(0.25, 1.0, 0.5), 9)
    2.0
    """
    low, high = math.log(1e-12), math.log(1e12)
    # The larger the parameter, the less often; sixty halvings leave no digit open.
    for _ in range(60):
        middle = (low + high) / 2.0
        if beta_probability(math.exp(middle), beta, value) > probability:
            low = middle
        else:
            high = middle
    return math.exp((low + high) / 2.0)


def _gamma_tails(shape: float, values: Numbers) -> tuple[Numbers, Numbers]:
    """Return the probabilities below and above each value, each exact where it is small."""
    is_series = values < shape + 1.0
    below = np.zeros(values.shape)
    above = np.ones(values.shape)
    low = values[is_series]
    high = values[~is_series]
    below[is_series] = _gamma_series(shape, low)
    above[is_series] = 1.0 - below[is_series]
    above[~is_series] = _gamma_fraction(shape, high)
    below[~is_series] = 1.0 - above[~is_series]
    return below, above


def _gamma_series(shape: float, values: Numbers) -> Numbers:
    """Return the probability below each value, by its power series."""
    term = np.full(values.shape, 1.0 / shape)
    total = term.copy()
    for n in range(1, _MOST_TERMS):
        term = term * values / (shape + n)
        total += term
        if not (term > _EPSILON * total).any():
            break
    log_scale = shape * _log(values) - values - math.lgamma(shape)
    return total * np.exp(log_scale)


def _gamma_fraction(shape: float, values: Numbers) -> Numbers:
    """Return the probability above each value, by its continued fraction."""

    def step(n: int) -> tuple[Numbers, Numbers]:
        above_line = np.full(values.shape, -n * (n - shape) if n else 1.0)
        return above_line, values + 2.0 * n + 1.0 - shape

    log_scale = shape * np.log(values) - values - math.lgamma(shape)
    return _fraction(step, values.shape) * np.exp(log_scale)


def _beta(a: Numbers, b: Numbers, x: Numbers, y: Numbers) -> Numbers:
    """Return the beta distribution's probability below x, where y is 1 − x."""
    is_low = x < (a + 1.0) / (a + b + 2.0)
    # The fraction converges fast from the side of the mean on which x lies.
    first = np.where(is_low, a, b)
    second = np.where(is_low, b, a)
    value = np.where(is_low, x, y)
    rest = np.where(is_low, y, x)

    def step(n: int) -> tuple[Numbers, Numbers]:
        m = n // 2
        if n == 0:
            return np.ones(value.shape), np.ones(value.shape)
        if n % 2:
            factor = -(first + m) * (first + second + m)
            return factor * value / ((first + 2 * m) * (first + 2 * m + 1)), np.ones(value.shape)
        factor = m * (second - m)
        return factor * value / ((first + 2 * m - 1) * (first + 2 * m)), np.ones(value.shape)

    log_gammas = _log_gamma(a + b) - _log_gamma(a) - _log_gamma(b)
    log_scale = first * _log(value) + second * _log(rest) + log_gammas
    tail = np.exp(log_scale) * _fraction(step, value.shape) / first
    return np.where(is_low, tail, 1.0 - tail)


def _least_beta(alpha: Numbers, beta: Numbers, probabilities: Numbers) -> Numbers:
    """Return quantiles of beta distributions, best where they are small."""
    log_scale = _log_gamma(alpha + beta) - _log_gamma(alpha) - _log_gamma(beta)

    def excess(log_value: Numbers) -> tuple[Numbers, Numbers]:
        value = np.exp(log_value)
        rest = -np.expm1(log_value)
        log_density = alpha * log_value + (beta - 1.0) * _log(rest) + log_scale
        below = _beta(alpha, beta, value, rest)
        return _log(below / probabilities), _ratio(np.exp(log_density), below)

    # Near 0 the probability is value^alpha ÷ (alpha × B(alpha, beta)).
    start = (np.log(probabilities) + np.log(alpha) - log_scale) / alpha
    return np.exp(_root(excess, np.minimum(start, np.log(alpha / (alpha + beta))), 0.0))


def _fraction(step: Callable[[int], tuple[Numbers, Numbers]], shape: tuple[int, ...]) -> Numbers:
    """Return continued fractions a₀ ÷ (b₀ + a₁ ÷ (b₁ + …)) by Lentz's method; `step` gives a and b of a number."""
    result = np.full(shape, _TINY)
    c = result.copy()
    d = np.zeros(shape)
    for n in range(_MOST_TERMS):
        a, b = step(n)
        d = b + a * d
        d = np.where(np.abs(d) < _TINY, _TINY, d)
        c = b + a / c
        c = np.where(np.abs(c) < _TINY, _TINY, c)
        d = 1.0 / d
        change = c * d
        result = result * change
        if not (np.abs(change - 1.0) > 4.0 * _EPSILON).any():
            break
    return result


def _root(
    excess: Callable[[Numbers], tuple[Numbers, Numbers]],
    start: Numbers,
    most: float,
) -> Numbers:
    """Return where increasing functions of a logarithm are 0; `excess` gives their values and slopes.

    The logarithm of a probability is nearly a line over that of the value, far out: Newton needs few steps there.

    Parameters
    ----------
    excess
        The functions.
    start
        Where to begin.
    most
        No root lies above.
    """
    low = np.full(start.shape, _LEAST_LOG)
    high = np.full(start.shape, most)
    place = np.clip(start, low, high)
    for _ in range(200):
        value, slope = excess(place)
        low = np.where(value < 0.0, place, low)
        high = np.where(value < 0.0, high, place)
        better = place - _ratio(value, slope)
        # Newton's step, unless it leaves the bracket.
        is_inside: Flags = (better >= low) & (better <= high)
        following = np.where(is_inside, better, (low + high) / 2.0)
        change = np.abs(following - place)
        place = following
        # Each step of Newton's doubles the digits: after one of 1e-9 there are none left to find.
        if not (change > 1e-9 * np.maximum(np.abs(place), 1.0)).any():
            break
    return place


def _log_gamma(values: Numbers) -> Numbers:
    return each(math.lgamma, values)


def _log(values: Numbers) -> Numbers:
    """Return logarithms; −∞ of 0."""
    with np.errstate(divide="ignore"):
        return np.log(values)


def _ratio(values: Numbers, others: Numbers) -> Numbers:
    """Return quotients; infinite or NaN where there is none."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.asarray(values / others)
