"""The sixteen classes of long tasks: how much CPU they use and in what form.

Shares are those of the sixteen k-means clusters of Janus & Rzadca (SoCC'17, Fig. 4: letters a–p);
levels and coefficients of variation are calibrated so that a pool reproduces the paper's regression
of deviation on mean (Fig. 3), its mean sums and its Anderson–Darling rates (Table 1).
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from borgtrace.synth.shapes import Beta, Gamma, Mixed, Shape, quantiles

LONG: Final = 24
"""Windows that make a task long: 2 hours (Janus & Rzadca, §3)."""
LEVEL_LIMIT: Final = 0.25
"""Largest mean CPU of a task: no task of the packing pool fills half of the smallest machine."""


BUSY: Final = 0.65
"""Share of wandering tasks among those of middling size."""
STEADY: Final = 0.2
"""The same among the large ones: big services are steadier."""


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


CLASSES: Final = (
    # near zero: idle with rare spikes; k keeps to the second hundredth of a machine in between
    TaskClass("c", 17.62, 0.0059, 0.15, Mixed(0.12, 0.875, 0.02), Mixed(0.20, 0.33, 0.03), 0.8),
    TaskClass("f", 13.70, 0.0095, 0.12, Mixed(0.10, 0.765, 0.02), Mixed(0.15, 0.33, 0.03), 0.15),
    TaskClass("k", 15.22, 0.0135, 0.10, Mixed(0.10, 0.70, 0.24), Mixed(0.15, 0.36, 0.02), 0.5),
    # exponential-like
    TaskClass("b", 5.47, 0.0180, 0.15, Gamma(0.90), Gamma(0.60)),
    TaskClass("p", 3.09, 0.0210, 0.15, Gamma(0.87), Gamma(0.50)),
    # mixed: two modes
    TaskClass("m", 6.96, 0.0275, 0.22, Mixed(0.20, 0.44, 0.02), Beta(0.55, 1.36), BUSY),
    TaskClass("j", 3.48, 0.043, 0.20, Mixed(0.20, 0.385, 0.05), Beta(0.50, 1.32), BUSY),
    TaskClass("h", 2.27, 0.061, 0.18, Mixed(0.20, 0.375, 0.07), Beta(0.43, 1.30), BUSY),
    # unimodal, small
    TaskClass("o", 6.54, 0.0145, 0.20, Beta(0.97), Beta(0.87, 1.80)),
    TaskClass("n", 5.77, 0.0215, 0.20, Beta(0.93, 1.9), Beta(0.77, 1.62)),
    TaskClass("l", 4.38, 0.031, 0.20, Beta(0.88, 1.82), Beta(0.65, 1.46), BUSY),
    TaskClass("e", 4.27, 0.0415, 0.20, Beta(0.86, 1.85), Beta(0.60, 1.37), BUSY),
    # large: two levels of work, neither rare: far from normal, hardly skewed
    TaskClass("g", 3.77, 0.0555, 0.20, Mixed(0.18, 0.375, 0.16), Beta(0.43, 1.33), BUSY),
    TaskClass("d", 3.11, 0.081, 0.20, Mixed(0.15, 0.41, 0.30), Beta(0.25, 1.35), STEADY),
    TaskClass("i", 2.93, 0.127, 0.16, Mixed(0.13, 0.42, 0.43), Beta(0.17, 1.40), STEADY),
    TaskClass("a", 1.42, 0.196, 0.10, Mixed(0.11, 0.41, 0.48), Beta(0.13, 1.40), STEADY),
)
"""In the order near-zero, exponential-like, mixed, unimodal."""

_SECONDS_2019: Final = {
    "c": Mixed(0.56, 0.977, 0.068),
    "f": Mixed(1.47, 0.257, 0.315),
    "k": Mixed(0.25, 0.951, 0.313),
    "o": Mixed(0.394, 0.99, 0.248),
    **dict.fromkeys("bp", Mixed(0.44, 0.855, 0.067)),
    **dict.fromkeys("gdia", Mixed(0.194, 0.968, 0.315)),
    **dict.fromkeys("nmlejh", Mixed(0.214, 0.964, 0.293)),
}
CLASSES_2019: Final = tuple(
    # Class c has 17.6 % of the tasks; three fifths of its windows at 0 make the tenth of zero rows.
    replace(c, between=Mixed(0.45, 0.60, 0.0) if c.letter == "c" else Gamma(0.5), within=_SECONDS_2019[c.letter])
    for c in CLASSES
)
"""The same letters in 2019, where most windows have a few seconds of much more.

Calibrated to the ratios of maximum and random second to the average in 354,179 real rows, and to the tenth of
them that are zero."""

EVERY_CLASS: Final = (*CLASSES, *CLASSES_2019)
"""What a ``kind`` is a row of."""

# Percents in floating point do not add up to exactly 100; NumPy's `choice` insists on a sum of 1.
SHARES: Final = np.array([c.share for c in CLASSES]) / sum(c.share for c in CLASSES)


def levels_of(kinds: NDArray[np.integer], z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn standard-normal numbers into the task means of classes; both of shape (n,)."""
    levels = np.empty(len(kinds))
    for kind in np.unique(kinds):
        levels[kinds == kind] = CLASSES[kind].levels(z[kinds == kind])
    return levels


def tables() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the quantile tables between and within windows, one row per class."""
    return (np.stack([quantiles(c.between) for c in EVERY_CLASS]), np.stack([quantiles(c.within) for c in EVERY_CLASS]))
