"""The input of estimators: observed values of some tasks, and what is derived from them once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import partial
from threading import RLock
from typing import Any, TypeVar

import numpy as np

from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Index, Numbers, Values
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

Derived = TypeVar("Derived")

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
    _derived: dict[Hashable, Any] = field(init=False, default_factory=dict, repr=False)
    _deriving: Any = field(init=False, default_factory=RLock, repr=False)

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

    @property
    def moments(self) -> Numbers:
        """float64 (n, 6): mean, central moments 2–4 (ddof 0), minimum, maximum."""
        return self._once("moments", self._moments)

    def _moments(self) -> Numbers:
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

    @property
    def sorted_values(self) -> Values:
        """`values` with each row in ascending order."""
        return self._once("sorted values", self._sorted_values)

    def _sorted_values(self) -> Values:
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
        return self._once(("histograms", capacity), partial(self._histograms, capacity))

    def _histograms(self, capacity: float) -> Numbers:
        # Cells 0 … CELLS, and before them the first and the last occupied one.
        out = np.empty((len(self.values), CELL_ZERO + CELLS + 1))
        histograms(np.ascontiguousarray(self.values), capacity / CELLS, out)
        return out

    def distributions(self, capacity: float) -> Numbers:
        """Return the mean of each task and its histogram: (n, 1 + columns of :meth:`histograms`)."""

        def stack() -> Numbers:
            return np.column_stack([self.mean, self.histograms(capacity)])

        # Kept: 16 kB a task, for each target that packs them.
        return self._once(("distributions", capacity), stack)

    def cumulant_functions(self, capacity: float) -> Numbers:
        """Return K(θ), K′(θ), K″(θ) of each task at every θ of the grid, from its histogram: (n, 3·`N_ANGLES`)."""
        return self._once(("functions", capacity), partial(self._cumulant_functions, capacity))

    def _cumulant_functions(self, capacity: float) -> Numbers:
        out = np.empty((len(self.values), 3 * N_ANGLES))
        step = capacity / CELLS
        cumulant_functions(self.histograms(capacity), step, angles(capacity), out)
        return out

    def _once(self, name: Hashable, derive: Callable[[], Derived]) -> Derived:
        """Return what was derived under a name, deriving it at the first call."""
        # A lock of its own: that of `functools.cached_property` makes threads wait that have other observations.
        with self._deriving:
            if name not in self._derived:
                self._derived[name] = derive()
            known: Derived = self._derived[name]
        return known


class PartOfObservation(Observation):
    """Some tasks of an observation, in an order of their own: numbers of a task are derived once for all parts.

    Its values are copied only where somebody asks for them.

    Attributes
    ----------
    whole
        All tasks.
    rows
        int64 (n,): which of them are here.

    Examples
    --------
    >>> seen = Observation(np.float32([[0.25, 0.75], [1, 1]]))
    >>> PartOfObservation(seen, np.array([1])).mean
    array([1.])
    """

    whole: Observation
    rows: Index

    def __init__(
        self,
        whole: Observation,
        rows: Index,
        request: Numbers | None = None,
        memory: Observation | None = None,
        series: Values | None = None,
    ) -> None:
        # As in any frozen class; the values of the whole were checked.
        vars(self).update(whole=whole, rows=rows, request=request, memory=memory, series=series)
        vars(self).update(_derived={}, _deriving=RLock())

    def __getattr__(self, name: str) -> Values:
        """Return the values, which are no attribute before they are asked for."""
        if name != "values":
            raise AttributeError(name)
        values = self.whole.values[self.rows]
        vars(self)["values"] = values
        return values

    def __len__(self) -> int:
        return len(self.rows)

    def with_more(self, **known: Any) -> Observation:
        """Return the same values with `memory`, `series` or `request`; what was derived from the values is shared."""
        more = PartOfObservation(self.whole, self.rows)
        vars(more).update(vars(self) | known)
        return more

    def percentile(self, level: float) -> Numbers:
        """Return a percentile of each task with linear interpolation (NumPy's default), (n,)."""
        return self.whole.percentile(level)[self.rows]

    def _moments(self) -> Numbers:
        return self.whole.moments[self.rows]

    def _sorted_values(self) -> Values:
        return self.whole.sorted_values[self.rows]

    def _histograms(self, capacity: float) -> Numbers:
        return self.whole.histograms(capacity)[self.rows]

    def _cumulant_functions(self, capacity: float) -> Numbers:
        return self.whole.cumulant_functions(capacity)[self.rows]
