"""The base class of estimators: a fit test for tasks that share a machine, in one small class."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from borgtrace.errors import UsageError
from borgtrace.extensions import line_of_function
from borgtrace.kernels.arrays import Numbers
from borgtrace.placement.estimators.observation import Observation
from borgtrace.placement.fit_tests import FitTest
from borgtrace.placement.types import Add, Slack, add_sums, as_add_kernel, as_slack_kernel

Qualities = Callable[[Sequence["Estimator"]], list[float]]
"""Measures the overflow that each of some estimators causes on held-out tasks."""


@dataclass(frozen=True)
class Estimator(ABC):
    """Decides whether a task fits onto a machine, from what was observed of the tasks alone.

    A subclass says in its class attributes what its one parameter means, turns observed tasks into *items*
    (rows of numbers) and names the compiled fit test over them.  By convention the first number of an item
    is its expected load, in capacity units.  Users can name it once its file follows ``--from``, its package has an
    entry point of the group ``borgtrace.estimators``, or, one of ours,
    :mod:`borgtrace.placement.estimators.registry` lists it.

    Attributes
    ----------
    parameter
        The one number that sets how careful the estimator is.
    name, symbol, about
        How users call the estimator, its parameter, and what it does, in a sentence.
    low, high, includes_high
        The parameter lies strictly between them, or equals `high` where that is included.
    paper
        Parameters of the experiments of Janus & Rzadca, if it is one of theirs.
    targets
        Whether the parameter is the tolerated probability of overflow.
    predicts
        Whether ``slack`` is the target less the predicted probability of overflow.
    needs_more
        Whether it is useful only with more than observed values: requests, series, classes.
    slack, add
        See :mod:`borgtrace.placement.types`.
    """

    parameter: float

    name: ClassVar[str]
    symbol: ClassVar[str]
    about: ClassVar[str]
    low: ClassVar[float] = 0.0
    high: ClassVar[float] = np.inf
    includes_high: ClassVar[bool] = False
    paper: ClassVar[tuple[float, ...]] = ()
    targets: ClassVar[bool] = False
    predicts: ClassVar[bool] = False
    needs_more: ClassVar[bool] = False
    slack: ClassVar[Slack]
    # staticmethod, because Numba's functions bind to an instance as methods do.
    add: ClassVar[Add] = staticmethod(add_sums)

    def __post_init__(self) -> None:
        is_highest = self.includes_high and self.parameter == self.high
        # Negated, so that NaN, for which no comparison holds, is refused.
        if not (self.low < self.parameter < self.high or is_highest):
            allowed = f"a number above {self.low:g}"
            if np.isfinite(self.high):
                bound = "at most" if self.includes_high else "below"
                allowed += f" and {bound} {self.high:g}"
            raise UsageError(
                f"{self.name}: {self.symbol}",
                "out of range",
                expected=allowed,
                got=f"{self.parameter:g}",
            )

    @abstractmethod
    def items(self, observed: Observation, capacity: float) -> Numbers:
        """Describe each observed task, float64 (n, w); `capacity` is that of the largest machine.

        Parameters
        ----------
        observed
            What is known of n tasks.
        capacity
            Of the largest machine.

        Returns
        -------
        float64 (n, w)
            One row per task; the first number is its expected load.
        """

    def parameters(self, capacity: float) -> Numbers:
        """Return the numbers passed to `slack` at every call; `capacity` as in :meth:`items`."""
        return np.array([self.parameter])

    @property
    def test(self) -> FitTest:
        """The fit test, as the packing kernels take it; functions of plain Python are compiled.

        Raises
        ------
        UsageError
            One is a method, which would get the estimator as its first argument.
        """
        for role in ("slack", "add"):
            function = getattr(self, role)
            if inspect.ismethod(function):
                raise UsageError(
                    line_of_function(function.__func__),
                    f"`{role}` of {self.name} is a method, which Numba does not compile",
                    expected=f"{role} = staticmethod({getattr(function, '__name__', 'function')})",
                )
        slack: Any = self.slack
        add: Any = self.add
        return FitTest(as_slack_kernel(slack), as_add_kernel(add))

    def row(self, capacity: float) -> Numbers:
        """Return the capacities of a machine by resource: here the CPU alone."""
        return np.array([capacity])

    def empty(self, items: Numbers) -> Numbers:
        """Return the state of a machine without tasks, float64 (w,)."""
        return np.zeros(items.shape[1])

    def prepared(self, qualities: Qualities) -> Estimator:
        """Return the estimator after learning from held-out tasks; by default it learns nothing."""
        return self

    @property
    def used(self) -> float:
        """The parameter that its test runs with, which an estimator that learns may change."""
        return self.parameter

    @property
    def label(self) -> str:
        """Name and parameter, as charts show them: ``gpa 0.001``."""
        label = f"{self.name} {self.parameter:g}"
        if self.used == self.parameter:
            return label
        return f"{label} (told {self.used:.3g})"

    @classmethod
    def family(cls) -> list[Self]:
        """Return the estimator at each parameter of the paper's experiments."""
        return [cls(parameter) for parameter in cls.paper]


class TargetEstimator(Estimator):
    """Base of the estimators whose parameter is ρ, the tolerated probability of overflow."""

    symbol = "ρ"
    high = 1.0
    targets = True
