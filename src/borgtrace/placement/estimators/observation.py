"""What an estimator may look at: the observed values of some tasks, and what is derived from them once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Numbers, Values
from borgtrace.placement.estimators._features import (
    ANGLES,
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
    _histograms: dict[float, Numbers] = field(init=False, default_factory=dict, repr=False)
    _functions: dict[float, Numbers] = field(init=False, default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or self.values.shape[1] == 0:
            expected = "shape (tasks, observations)"
            got = str(self.values.shape)
            raise UsageError("observation", "no observed values", expected=expected, got=got)
        # `not … >= 0` refuses NaN, which `< 0` lets pass; `initial` lets no tasks at all pass.
        if not np.isfinite(self.values.max(initial=0)) or not self.values.min(initial=0) >= 0:
            what = "usage is negative or not a number"
            got = f"{self.values.min()} … {self.values.max()}"
            way_out = "drop tasks with missing samples first"
            raise UsageError("observation", what, expected="values ≥ 0", got=got, way_out=way_out)

    def __len__(self) -> int:
        return len(self.values)

    def with_more(self, **known: Any) -> Observation:
        """The same values with `memory`, `series` or `request`; what was derived is shared."""
        # `replace` starts anew; what was derived from the same values takes seconds and holds for both.
        more = replace(self, **known)
        vars(more).update(vars(self) | known)
        return more

    @cached_property
    def moments(self) -> Numbers:
        """float64 (n, 6): mean, central moments 2–4 (ddof 0), minimum, maximum."""
        out = np.empty((len(self.values), 6))
        # The first columns of all realizations are not contiguous, and a strided kernel would be compiled beside.
        moments(np.ascontiguousarray(self.values), out)
        return out

    @property
    def mean(self) -> Numbers:
        """Mean of each task, (n,)."""
        return self.moments[:, 0]

    @property
    def variance(self) -> Numbers:
        """Variance (ddof 0) of each task, (n,)."""
        return self.moments[:, 1]

    @property
    def std(self) -> Numbers:
        """Standard deviation (ddof 0) of each task, (n,)."""
        return np.sqrt(self.moments[:, 1])

    @cached_property
    def sorted_values(self) -> Values:
        """`values` with each row in ascending order."""
        return np.sort(self.values, axis=1)

    def percentile(self, level: float) -> Numbers:
        """Percentile of each task with linear interpolation (NumPy's default), (n,)."""
        # From rows sorted once: the paper takes six percentiles of the same tasks; np.percentile would sort each time.
        position = (self.values.shape[1] - 1) * level / 100
        below = int(position)
        above = min(below + 1, self.values.shape[1] - 1)
        low = self.sorted_values[:, below].astype(np.float64)
        return low + (self.sorted_values[:, above] - low) * (position - below)

    def histograms(self, capacity: float) -> Numbers:
        """Histogram of each task on a grid of `CELLS` steps up to `capacity`; see the kernel."""
        if capacity not in self._histograms:
            # Cells 0 … CELLS, and before them the first and the last occupied one.
            out = np.empty((len(self.values), CELLS + 3))
            histograms(np.ascontiguousarray(self.values), capacity / CELLS, out)
            self._histograms[capacity] = out
        return self._histograms[capacity]

    def cumulant_functions(self, capacity: float) -> Numbers:
        """K(θ), K′(θ), K″(θ) of each task at every θ of the grid, from its histogram: float64 (n, 3·`ANGLES`)."""
        if capacity not in self._functions:
            out = np.empty((len(self.values), 3 * ANGLES))
            cumulant_functions(self.histograms(capacity), capacity / CELLS, angles(capacity), out)
            self._functions[capacity] = out
        return self._functions[capacity]
