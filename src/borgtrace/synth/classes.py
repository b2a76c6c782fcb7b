"""The sixteen classes of long tasks: how much CPU they use and in what form.

Shares are those of the sixteen k-means clusters of Janus & Rzadca (SoCC'17, Fig. 4: letters a–p);
levels and coefficients of variation are calibrated so that a pool reproduces the paper's regression
of deviation on mean (Fig. 3), its mean sums and its Anderson–Darling rates (Table 1).
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.arrays import Numbers
from borgtrace.schema.data_files import read_rows
from borgtrace.synth.shapes import Beta, Gamma, Mixed, Shape, quantiles

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
        The cluster in Fig. 4 whose share it has.
    share
        Share of long tasks, percent.
    median, spread
        Log-normal distribution of a task's mean CPU (fraction of the largest machine; σ of the log).
    between
        Form of the distribution of 5-minute averages.
    within
        Form of the distribution of seconds inside a window.
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


# Compared by identity, because arrays are no keys.
@dataclass(frozen=True, eq=False)
class Classes:
    """The classes of a cell; a ``kind`` is the number of one.

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
        # Percents in floating point do not add up to exactly 100; NumPy's `choice` insists on a sum of 1.
        return np.array([c.share for c in self.rows]) / sum(c.share for c in self.rows)

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Kinds in the order of use, shape (kinds,)."""
        return np.argsort([c.median for c in self.rows], kind="stable")

    @cached_property
    def drifting(self) -> Numbers:
        """Share of tasks whose level wanders, by kind."""
        return np.array([c.drifting for c in self.rows])

    def at(self, places: Numbers) -> tuple[NDArray[np.int64], Numbers]:
        """Return the class at each place in the order of use, and the place among the tasks of that class."""
        shares = self.shares[self.order]
        ends = np.cumsum(shares)
        # The last cumulated share may round to just below 1, and a place beyond it has no class.
        number = np.minimum(np.searchsorted(ends, places), len(ends) - 1)
        inside = 1.0 - (ends[number] - places) / shares[number]
        return self.order[number], np.clip(inside, 1e-6, 1.0 - 1e-6)

    def levels(self, kinds: NDArray[np.integer], z: Numbers) -> Numbers:
        """Turn standard-normal numbers into the task means of classes, cut at the limit; all of shape (n,)."""
        median, spread = (
            np.array([getattr(c, name) for c in self.rows])[kinds] for name in ("median", "spread")
        )
        # Cut, not drawn again: each number gives one level, so that places evenly spread stay evenly spread.
        return np.minimum(median * np.exp(spread * z), self.limit)

    def tables(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the quantile tables between and within windows, one row per class."""
        return np.stack([quantiles(c.between) for c in self.rows]), np.stack(
            [quantiles(c.within) for c in self.rows]
        )


def _shape(text: str) -> Shape:
    kind, *numbers = text.split()
    return {"gamma": Gamma, "beta": Beta, "mixed": Mixed}[kind](*map(float, numbers))


def _class(row: dict[str, str], year: str = "") -> TaskClass:
    share, median, spread, drifting = (
        float(row[name]) for name in ("share", "median", "spread", "drifting")
    )
    between, within = (_shape(row[name + year]) for name in ("between", "within"))
    return TaskClass(row["letter"], share, median, spread, between, within, drifting)


_ROWS = read_rows(Path(__file__).with_name("classes.csv"))
CLASSES = Classes(tuple(map(_class, _ROWS)))
"""Those of 2011."""
CLASSES_2019 = Classes(tuple(_class(row, "_2019") for row in _ROWS))
"""The same letters in 2019."""
