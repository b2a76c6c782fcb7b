"""The sixteen classes of long tasks: how much CPU they use and in what form.

Shares are those of the sixteen k-means clusters of Janus & Rzadca (SoCC'17, Fig. 4: letters a–p);
levels and coefficients of variation are calibrated so that a pool reproduces the paper's regression
of deviation on mean (Fig. 3), its mean sums and its Anderson–Darling rates (Table 1).
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

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

    def levels(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn standard-normal numbers into task means, cut at :data:`LEVEL_LIMIT`."""
        # Cut, not drawn again: each number gives one level, so that places evenly spread stay evenly spread.
        return np.minimum(self.median * np.exp(self.spread * z), LEVEL_LIMIT)


def _shape(text: str) -> Shape:
    kind, *numbers = text.split()
    return {"gamma": Gamma, "beta": Beta, "mixed": Mixed}[kind](*map(float, numbers))


def _class(row: dict[str, str], year: str = "") -> TaskClass:
    share, median, spread, drifting = (float(row[name]) for name in ("share", "median", "spread", "drifting"))
    between, within = (_shape(row[name + year]) for name in ("between", "within"))
    return TaskClass(row["letter"], share, median, spread, between, within, drifting)


_ROWS = read_rows(Path(__file__).with_name("classes.csv"))
CLASSES = tuple(map(_class, _ROWS))
"""Those of 2011."""
CLASSES_2019 = tuple(_class(row, "_2019") for row in _ROWS)
"""The same letters in 2019."""

EVERY_CLASS = (*CLASSES, *CLASSES_2019)
"""What a ``kind`` is a row of."""

# Percents in floating point do not add up to exactly 100; NumPy's `choice` insists on a sum of 1.
SHARES = np.array([c.share for c in CLASSES]) / sum(c.share for c in CLASSES)


def levels_of(kinds: NDArray[np.integer], z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn standard-normal numbers into the task means of classes; both of shape (n,)."""
    levels = np.empty(len(kinds))
    for kind in np.unique(kinds):
        levels[kinds == kind] = CLASSES[kind].levels(z[kinds == kind])
    return levels


def tables() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the quantile tables between and within windows, one row per class."""
    return (np.stack([quantiles(c.between) for c in EVERY_CLASS]), np.stack([quantiles(c.within) for c in EVERY_CLASS]))
