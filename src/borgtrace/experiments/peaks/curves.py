"""What a family of policies saves at a risk: its policies mixed so that the violation rate is the one asked for.

A parameter trades risk against savings, and no two families have settings of the same risk. But machines may be given
different settings: a share λ of them the bolder, the others the more careful one. Rate and savings of the mixture lie
on the line between the two, so that each family reaches each risk up to that of its boldest setting, and the best
mixtures are the upper convex hull of its settings, as with ROC curves (Fawcett, Pattern Recognition Letters 2006).
Promising the limits (no savings, no violations) belongs to each family.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Numbers

LIMITS = -1
"""In place of a policy: all limits are promised."""


class Mixture(NamedTuple):
    """Two settings of a family, each on a share of the machines.

    Attributes
    ----------
    careful, bold
        Places of the two; `LIMITS` for none; the same twice where one is enough.
    share
        Of the machines that get the bold one.
    rate, savings
        Of the mixture.
    slope
        By how much savings grow with the rate, there; 0 at the boldest setting.
    """

    careful: int
    bold: int
    share: float
    rate: float
    savings: float
    slope: float

    def of_influences(self, of_rates: Numbers, of_savings: Numbers) -> Numbers:
        """Return what blocks add to the savings at the rate asked for, to first order: (blocks,).

        Parameters
        ----------
        of_rates, of_savings
            What they add to rates and savings of the settings: (blocks, settings).
        """
        total = np.zeros(len(of_savings))
        for place, share in ((self.careful, 1 - self.share), (self.bold, self.share)):
            if place != LIMITS and share:
                # Where rates are higher than they seem, less of the bold setting is allowed.
                total += share * (of_savings[:, place] - self.slope * of_rates[:, place])
        return total


def mixture_at(rates: Numbers, savings: Numbers, target: float) -> Mixture:
    """Return the mixture of settings that saves most at a violation rate.

    Parameters
    ----------
    rates, savings
        Of each setting: (settings,).
    target
        The rate.

    Examples
    --------
    Half way between 0.5 % and 1.5 %, and so half way between 10 % and 20 %:

    >>> mixture_at(np.array([0.005, 0.015]), np.array([0.1, 0.2]), 0.01).savings.__round__(3)
    0.15

    Half of the machines keep their limits:

    >>> mixture_at(np.array([0.02]), np.array([0.3]), 0.01)
    Mixture(careful=-1, bold=0, share=0.5, rate=0.01, savings=0.15, slope=15.0)
    """
    hull = _hull(rates, savings)
    last_rate, last_savings, last = hull[-1]
    if last_rate <= target:
        return Mixture(last, last, 1.0, last_rate, last_savings, 0.0)
    place = next(k for k, point in enumerate(hull) if point[0] > target)
    rate_of_careful, savings_of_careful, careful = hull[place - 1]
    rate_of_bold, savings_of_bold, bold = hull[place]
    share = (target - rate_of_careful) / (rate_of_bold - rate_of_careful)
    slope = (savings_of_bold - savings_of_careful) / (rate_of_bold - rate_of_careful)
    savings_of_both = savings_of_careful + slope * (target - rate_of_careful)
    return Mixture(careful, bold, share, target, savings_of_both, slope)


def _hull(rates: Numbers, savings: Numbers) -> list[tuple[float, float, int]]:
    """Return the corners of the upper hull of the settings and the limits, up to the largest savings."""
    points = [(0.0, 0.0, LIMITS)]
    for place, (rate, saved) in enumerate(zip(rates.tolist(), savings.tolist(), strict=True)):
        points.append((rate, saved, place))
    # Of one rate the largest savings, of equal ones the setting before the limits.
    points.sort(key=lambda point: (point[0], -point[1], -point[2]))
    hull: list[tuple[float, float, int]] = []
    for point in points:
        # What costs more risk and saves no more is no choice.
        if hull and point[1] <= hull[-1][1]:
            continue
        while len(hull) > 1 and _is_below(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return hull


def _is_below(
    first: tuple[float, float, int],
    middle: tuple[float, float, int],
    last: tuple[float, float, int],
) -> bool:
    """Whether a point lies on or below the line between its neighbors."""
    rise = (middle[1] - first[1]) * (last[0] - first[0])
    return rise <= (last[1] - first[1]) * (middle[0] - first[0])
