"""The input of estimators: observed values of some tasks, and what is derived from them once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Numbers, Values
from borgtrace.placement.estimators.features import (
    CELL_ZERO,
    MAXIMUM,
    MEAN,
    MINIMUM,
    N_ANGLES,
    N_MOMENTS,
    VARIANCE,
    angles,
    cumulant_functions,
    histograms,
    moments,
)

CELLS = 2000
"""Cells of the histogram grid below the capacity (a multiple of 1,000: round usages stay on the grid)."""


@dataclass(frozen=True, eq=False)
class Observation:
    """Observed usage of n tasks; derived numbers are computed on first use and kept.

    Attributes
    ----------
    values
        float32 (n, k): k observations of each task, in capacity units.
    request
        float64 (n,) or None: what each task asked for.
    memory
        The same tasks' memory, or None.
    series
        float32 (n, T) or None: usage of all tasks at the same T moments, for covariances.

    Examples
    --------
    >>> seen = Observation(np.float32([[0.25, 0.75], [0.5, 0.5]]))
    >>> seen.mean, seen.std
    (array([0.5, 0.5]), array([0.25, 0.  ]))
    >>> seen.percentile(50)
    array([0.5, 0.5])
    """

    values: Values
    request: Numbers | None = None
    memory: Observation | None = None
    series: Values | None = None
    _histograms: dict[float, Numbers] = field(
        init=False,
        default_factory=dict,
        repr=False,
    )
    _functions: dict[float, Numbers] = field(
        init=False,
        default_factory=dict,
        repr=False,
    )

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or self.values.shape[1] == 0:
            expected = "shape (tasks, observations)"
            got = str(self.values.shape)
            raise UsageError("observation", "no observed values", expected=expected, got=got)
        # `initial`: there may be no tasks.  `>= 0` refuses NaN, which `< 0` would accept.
        is_finite = np.isfinite(self.values.max(initial=0))
        is_positive = self.values.min(initial=0) >= 0
        if not (is_finite and is_positive):
            raise UsageError(
                "observation",
                "usage is negative or not a number",
                expected="values ≥ 0",
                got=f"{self.values.min()} … {self.values.max()}",
                way_out="drop tasks with missing samples first",
            )

    def __len__(self) -> int:
        return len(self.values)

    def with_more(self, **known: Any) -> Observation:
        """Return the same values with `memory`, `series` or `request`; what was derived from the values is shared."""
        # `replace` would derive it again, which takes seconds.
        more = replace(self, **known)
        vars(more).update(vars(self) | known)
        return more

    @cached_property
    def moments(self) -> Numbers:
        """float64 (n, 6): mean, central moments 2–4 (ddof 0), minimum, maximum."""
        out = np.empty((len(self.values), N_MOMENTS))
        # The values may be columns of a larger array, for which Numba would compile a strided kernel as well.
        moments(np.ascontiguousarray(self.values), out)
        return out

    @property
    def mean(self) -> Numbers:
        """Mean of each task, (n,)."""
        return self.moments[:, MEAN]

    @property
    def variance(self) -> Numbers:
        """Variance (ddof 0) of each task, (n,)."""
        return self.moments[:, VARIANCE]

    @property
    def std(self) -> Numbers:
        """Standard deviation (ddof 0) of each task, (n,)."""
        return np.sqrt(self.variance)

    @property
    def minimum(self) -> Numbers:
        """Lowest observed value of each task, (n,)."""
        return self.moments[:, MINIMUM]

    @property
    def peak(self) -> Numbers:
        """Highest observed value of each task, (n,)."""
        return self.moments[:, MAXIMUM]

    @cached_property
    def sorted_values(self) -> Values:
        """`values` with each row in ascending order."""
        return np.sort(self.values, axis=1)

    def percentile(self, level: float) -> Numbers:
        """Return a percentile of each task with linear interpolation (NumPy's default), (n,)."""
        # From rows sorted once: the paper takes six percentiles of the same tasks; np.percentile would sort each time.
        last = self.values.shape[1] - 1
        position = last * level / 100
        below = int(position)
        above = min(below + 1, last)
        low = self.sorted_values[:, below].astype(np.float64)
        high = self.sorted_values[:, above]
        return low + (high - low) * (position - below)

    def histograms(self, capacity: float) -> Numbers:
        """Return the histogram of each task on a grid of `CELLS` steps up to `capacity`; see the kernel."""
        if capacity not in self._histograms:
            # Cells 0 … CELLS, and before them the first and the last occupied one.
            out = np.empty((len(self.values), CELL_ZERO + CELLS + 1))
            histograms(
                np.ascontiguousarray(self.values),
                capacity / CELLS,
                out,
            )
            self._histograms[capacity] = out
        return self._histograms[capacity]

    def cumulant_functions(self, capacity: float) -> Numbers:
        """Return K(θ), K′(θ), K″(θ) of each task at every θ of the grid, from its histogram: (n, 3·`N_ANGLES`)."""
        if capacity not in self._functions:
            out = np.empty((len(self.values), 3 * N_ANGLES))
            step = capacity / CELLS
            cumulant_functions(
                self.histograms(capacity),
                step,
                angles(capacity),
                out,
            )
            self._functions[capacity] = out
        return self._functions[capacity]
