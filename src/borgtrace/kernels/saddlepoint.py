"""Saddlepoint approximations of the tail of a sum, from its cumulant-generating function K.

At the saddle θ, where K′(θ) is the value s, both formulas need w = √(2(θs − K(θ))) and u = θ√K″(θ).
"""

import math

from borgtrace.kernels.compiled import compiled

_NEAR_THE_MEAN = 1e-3
"""Below this w, 1/u − 1/w is the difference of two huge numbers; no target in use lies there."""


@compiled(inline=True)
def saddle_root(theta: float, value: float, k: float) -> float:
    """Return w; rounding cannot make it imaginary.

    Parameters
    ----------
    theta
        The saddle.
    value
        s = K′(θ).
    k
        K(θ).
    """
    return math.sqrt(max(2 * (theta * value - k), 0.0))


@compiled(inline=True)
def lugannani_rice_tail(w: float, theta: float, curvature: float) -> float:
    """Return P(S > s) after Lugannani & Rice: 1 − Φ(w) + φ(w)(1/u − 1/w), within 0 … 1.

    Parameters
    ----------
    w
        From :func:`saddle_root`.
    theta, curvature
        θ and K″(θ).

    Examples
    --------
    Of a Gaussian it is exact: at θ = 2, w and u are 2.

    >>> round(lugannani_rice_tail(2.0, 2.0, 1.0), 4)
    0.0228
    """
    tail = 0.5 * math.erfc(w / math.sqrt(2.0))
    if w > _NEAR_THE_MEAN and curvature > 0:
        density = math.exp(-0.5 * w * w) / math.sqrt(2 * math.pi)
        tail += density * (1 / (theta * math.sqrt(curvature)) - 1 / w)
    # An expansion, not a distribution: it may leave 0 … 1.
    return min(max(tail, 0.0), 1.0)


@compiled(inline=True)
def modified_root(w: float, theta: float, curvature: float) -> float:
    """Return r* = w + ln(u/w)/w (Barndorff-Nielsen, 1986); −∞ where the sum hardly varies any more.

    P(S > s) ≈ 1 − Φ(r*), to the order of :func:`lugannani_rice_tail`.

    Parameters
    ----------
    w, theta, curvature
        As for :func:`lugannani_rice_tail`.

    Examples
    --------
    >>> modified_root(2.0, 2.0, 1.0)
    2.0
    """
    u = theta * math.sqrt(curvature)
    if w > 0 and u > 0:
        return w + math.log(u / w) / w
    return -math.inf
