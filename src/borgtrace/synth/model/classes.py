"""The sixteen classes of long tasks: how much CPU they use, and how it is distributed.

Shares are those of the sixteen k-means clusters of Janus & Rzadca (SoCC'17, Fig. 4: letters a–p).
Levels and coefficients of variation are calibrated so that the long tasks of a cell of 1,000 machines over a week
reproduce the paper's regressions of deviation on mean (Fig. 3), its mean sums and its Anderson–Darling rates (Table 1):

* How often the sum of 500 tasks is not normal (8.7 %) depends on its skewness.  So the exponential-like classes, which
  are the most skewed for what they vary, use little, and the large ones, which are hardly skewed, use much; that also
  spreads the means of tasks (.038).
* Averages of windows deviate by .31 of the mean + .010, seconds by .36 + .015.  Their difference is what varies within
  windows; where it is too large, estimators that see only averages overflow far more than ten times as often (§5.3).
* For 30 % of the tasks two windows differ (§3.4), which follows from the share of those that drift.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.arrays import Numbers
from borgtrace.synth.model.shapes import Beta, Gamma, Mixed, Shape, quantiles

LONG = 24
"""Windows that make a task long: 2 hours (Janus & Rzadca, §3)."""
LEVEL_LIMIT = 0.25
"""Largest mean CPU of a task: no task of the packing pool fills half of the smallest machine."""


@dataclass(frozen=True, slots=True)
class TaskClass:
    """One class of tasks.

    Parameters
    ----------
    letter
        The cluster in Fig. 4 that the share comes from.
    share
        Share of long tasks, percent.
    median, spread
        Log-normal distribution of a task's mean CPU (fraction of the largest machine; σ of the log).
    between
        Shape of the distribution of 5-minute averages.
    within
        Shape of the distribution of seconds inside a window.
    drifting
        Share of tasks whose level wanders over hours.
    """

    letter: str
    share: float
    median: float
    spread: float
    between: Shape
    within: Shape
    drifting: float = 1.0


class ClassPlaces(NamedTuple):
    """Where tasks stand in the order of use.

    Attributes
    ----------
    kinds
        Number of the class of each task.
    inside
        Position of each task among those of its class, in (0, 1).
    """

    kinds: NDArray[np.int64]
    inside: Numbers


class ShapeTables(NamedTuple):
    """Quantile tables, one row per class: float32, shape (kinds, 289).

    Attributes
    ----------
    between
        Of the averages of windows.
    within
        Of the seconds inside a window.
    """

    between: NDArray[np.float32]
    within: NDArray[np.float32]


# Compared by identity, because arrays cannot be keys.
@dataclass(frozen=True, eq=False)
class TaskClasses:
    """The classes of a cell; the ``kind`` of a task is the number of its class.

    Parameters
    ----------
    rows
        The classes.
    limit
        Largest mean CPU of a task.
    """

    rows: tuple[TaskClass, ...]
    limit: float = LEVEL_LIMIT

    @cached_property
    def shares(self) -> Numbers:
        """Shares of the classes, shape (kinds,), with a sum of 1."""
        # Percentages in floating point do not add up to exactly 100; NumPy's `choice` insists on a sum of 1.
        percentages = [row.share for row in self.rows]
        return np.array(percentages) / sum(percentages)

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Kinds in the order of use, shape (kinds,)."""
        return np.argsort(self.medians, kind="stable")

    @cached_property
    def medians(self) -> Numbers:
        """Median of a task's mean CPU, by kind."""
        return np.array([row.median for row in self.rows])

    @cached_property
    def spreads(self) -> Numbers:
        """Deviation of the logarithm of a task's mean CPU, by kind."""
        return np.array([row.spread for row in self.rows])

    @cached_property
    def drifting(self) -> Numbers:
        """Share of tasks whose level wanders, by kind."""
        return np.array([row.drifting for row in self.rows])

    def at(self, places: Numbers) -> ClassPlaces:
        """Return the class at each place in the order of use, and the position within that class."""
        shares = self.shares[self.order]
        ends = np.cumsum(shares)
        # The last cumulated share may round to just below 1, and a place beyond it has no class.
        number = np.minimum(np.searchsorted(ends, places), len(ends) - 1)
        below_end = (ends[number] - places) / shares[number]
        inside = 1.0 - below_end
        return ClassPlaces(
            kinds=self.order[number],
            inside=np.clip(inside, 1e-6, 1.0 - 1e-6),
        )

    def levels(self, kinds: NDArray[np.integer], z: Numbers) -> Numbers:
        """Turn standard-normal numbers into the mean CPU of tasks of some classes; all of shape (n,)."""
        deviations = np.exp(self.spreads[kinds] * z)
        levels = self.medians[kinds] * deviations
        # Cut, not drawn again: each number gives one level, so that evenly spread places stay evenly spread.
        return np.minimum(levels, self.limit)

    def tables(self) -> ShapeTables:
        """Return the quantile tables between and within windows, one row per class."""
        return ShapeTables(
            between=np.stack([quantiles(row.between) for row in self.rows]),
            within=np.stack([quantiles(row.within) for row in self.rows]),
        )


# Of the tasks of medium size 71 % wander, of the large ones 26 %: big services are steadier.
CLASSES = TaskClasses(
    (
        # Near zero: idle with rare spikes; in between, k stays between 1 and 2 % of a machine.
        TaskClass(
            "c",
            share=17.62,
            median=0.0059,
            spread=0.15,
            drifting=0.86,
            between=Mixed(0.12, 0.875, 0.02),
            within=Mixed(0.2, 0.33, 0.03),
        ),
        TaskClass(
            "f",
            share=13.7,
            median=0.0095,
            spread=0.12,
            drifting=0.21,
            between=Mixed(0.1, 0.75, 0.02),
            within=Mixed(0.15, 0.33, 0.03),
        ),
        TaskClass(
            "k",
            share=15.22,
            median=0.0135,
            spread=0.1,
            drifting=0.56,
            between=Mixed(0.1, 0.7, 0.24),
            within=Mixed(0.15, 0.318, 0.02),
        ),
        # Exponential-like.
        TaskClass(
            "b",
            share=5.47,
            median=0.0146,
            spread=0.15,
            drifting=1.0,
            between=Gamma(0.9),
            within=Gamma(0.564),
        ),
        TaskClass(
            "p",
            share=3.09,
            median=0.0149,
            spread=0.15,
            drifting=1.0,
            between=Gamma(0.87),
            within=Gamma(0.47),
        ),
        # Mixed: two modes.
        TaskClass(
            "m",
            share=6.96,
            median=0.0275,
            spread=0.22,
            drifting=0.71,
            between=Mixed(0.2, 0.44, 0.02),
            within=Beta(0.517, 1.36),
        ),
        TaskClass(
            "j",
            share=3.48,
            median=0.0445,
            spread=0.2,
            drifting=0.71,
            between=Mixed(0.2, 0.385, 0.05),
            within=Beta(0.47, 1.32),
        ),
        TaskClass(
            "h",
            share=2.27,
            median=0.064,
            spread=0.18,
            drifting=0.71,
            between=Mixed(0.2, 0.375, 0.07),
            within=Beta(0.404, 1.3),
        ),
        # Unimodal, small.
        TaskClass(
            "o",
            share=6.54,
            median=0.0145,
            spread=0.2,
            drifting=1.0,
            between=Beta(0.97, 2.0),
            within=Beta(0.818, 1.8),
        ),
        TaskClass(
            "n",
            share=5.77,
            median=0.021,
            spread=0.2,
            drifting=1.0,
            between=Beta(0.93, 1.9),
            within=Beta(0.724, 1.62),
        ),
        TaskClass(
            "l",
            share=4.38,
            median=0.031,
            spread=0.2,
            drifting=0.71,
            between=Beta(0.88, 1.82),
            within=Beta(0.611, 1.46),
        ),
        TaskClass(
            "e",
            share=4.27,
            median=0.0415,
            spread=0.2,
            drifting=0.71,
            between=Beta(0.86, 1.85),
            within=Beta(0.5, 1.37),
        ),
        # Large: two levels of work, neither of them rare: far from normal, hardly skewed.
        TaskClass(
            "g",
            share=3.77,
            median=0.059,
            spread=0.2,
            drifting=0.71,
            between=Mixed(0.18, 0.375, 0.16),
            within=Beta(0.404, 1.33),
        ),
        TaskClass(
            "d",
            share=3.11,
            median=0.089,
            spread=0.2,
            drifting=0.26,
            between=Mixed(0.15, 0.41, 0.3),
            within=Beta(0.22, 1.35),
        ),
        TaskClass(
            "i",
            share=2.93,
            median=0.1425,
            spread=0.16,
            drifting=0.26,
            between=Mixed(0.13, 0.42, 0.43),
            within=Beta(0.15, 1.4),
        ),
        TaskClass(
            "a",
            share=1.42,
            median=0.2215,
            spread=0.1,
            drifting=0.26,
            between=Mixed(0.11, 0.41, 0.48),
            within=Beta(0.115, 1.4),
        ),
    )
)
"""Those of 2011."""


class UsageShapes(NamedTuple):
    """The shapes of one class: between windows, and within a window."""

    between: Shape
    within: Shape


# In 2019 most windows have a few seconds of much higher usage.  Calibrated to the ratios of the maximum and of a random
# second to the average in 354,179 real rows, and to the tenth of them that are zero: class c has 17.6 % of the tasks,
# and three fifths of its windows at 0 make that tenth.
SHAPES_2019: Mapping[str, UsageShapes] = {
    "c": UsageShapes(Mixed(0.45, 0.6, 0.0), Mixed(0.56, 0.977, 0.068)),
    "f": UsageShapes(Gamma(0.5), Mixed(1.47, 0.257, 0.315)),
    "k": UsageShapes(Gamma(0.5), Mixed(0.25, 0.951, 0.313)),
    "b": UsageShapes(Gamma(0.5), Mixed(0.44, 0.855, 0.067)),
    "p": UsageShapes(Gamma(0.5), Mixed(0.44, 0.855, 0.067)),
    "m": UsageShapes(Gamma(0.5), Mixed(0.214, 0.964, 0.293)),
    "j": UsageShapes(Gamma(0.5), Mixed(0.214, 0.964, 0.293)),
    "h": UsageShapes(Gamma(0.5), Mixed(0.214, 0.964, 0.293)),
    "o": UsageShapes(Gamma(0.5), Mixed(0.394, 0.99, 0.248)),
    "n": UsageShapes(Gamma(0.5), Mixed(0.214, 0.964, 0.293)),
    "l": UsageShapes(Gamma(0.5), Mixed(0.214, 0.964, 0.293)),
    "e": UsageShapes(Gamma(0.5), Mixed(0.214, 0.964, 0.293)),
    "g": UsageShapes(Gamma(0.5), Mixed(0.194, 0.968, 0.315)),
    "d": UsageShapes(Gamma(0.5), Mixed(0.194, 0.968, 0.315)),
    "i": UsageShapes(Gamma(0.5), Mixed(0.194, 0.968, 0.315)),
    "a": UsageShapes(Gamma(0.5), Mixed(0.194, 0.968, 0.315)),
}
"""Shapes of the classes of 2019, by letter."""


def _class_of_2019(row: TaskClass) -> TaskClass:
    shapes = SHAPES_2019[row.letter]
    return replace(row, between=shapes.between, within=shapes.within)


CLASSES_2019 = TaskClasses(tuple(map(_class_of_2019, CLASSES.rows)))
"""The same letters in 2019."""
