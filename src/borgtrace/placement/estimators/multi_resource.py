"""Two resources at once: a task fits where its CPU fits and its memory fits, each by its own test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Numbers
from borgtrace.placement.estimators.estimator import Estimator
from borgtrace.placement.estimators.observation import Observation
from borgtrace.placement.fit_tests import FitTest

LOADS = 2
"""A row starts with the mean load of each resource, which packers compare."""


@dataclass(frozen=True)
class MultiResource(Estimator):
    """Fit tests for CPU and memory together, each with its own target.

    CPU above the capacity slows tasks down for a moment: a probability may be promised.  Memory above the capacity
    kills: its test usually is the maximum (``Percentile(100)``) or a far stricter target.

    Attributes
    ----------
    parameter
        That of the CPU's test.
    cpu, memory
        The two tests.
    memory_capacity
        Of every machine, where no inventory says otherwise.
    """

    cpu: Estimator
    memory: Estimator
    memory_capacity: float = 1.0

    name = "multi-resource"
    symbol = "ρ"
    about = "one test for CPU and one for memory"
    is_listed = False

    @classmethod
    def of(cls, cpu: Estimator, memory: Estimator, memory_capacity: float = 1.0) -> MultiResource:
        """Put two tests together.

        Parameters
        ----------
        cpu, memory
            The two tests.
        memory_capacity
            Of every machine, where no inventory says otherwise.
        """
        return cls(cpu.parameter, cpu, memory, memory_capacity)

    @property
    def test(self) -> FitTest:
        """Both tests, each on its part of a row; the loads lie before."""
        cuts = np.array([LOADS, self._end, len(self.cpu.parameters(1.0))])
        return FitTest(self.cpu.slack, self.cpu.add, self.memory.slack, self.memory.add, cuts)

    @property
    def _end(self) -> int:
        """Where the CPU's part of a row ends."""
        # The width of a row is known only to the test, so it is asked about a task made up.
        one = Observation(np.zeros((1, 1), np.float32))
        return LOADS + self.cpu.items(one, 1.0).shape[1]

    def items(self, observed: Observation, capacity: float) -> Numbers:
        """Both loads, then what each test says of the task.

        Raises
        ------
        UsageError
            No memory was observed.
        """
        if observed.memory is None:
            way_out = "build the pool from a store that has memory"
            raise UsageError("estimator multi-resource", "no memory was observed", way_out=way_out)
        loads = [observed.mean, observed.memory.mean]
        tests = [
            self.cpu.items(observed, capacity),
            self.memory.items(observed.memory, self.memory_capacity),
        ]
        return np.column_stack(loads + tests)

    def parameters(self, capacity: float) -> Numbers:
        """The parameters of both tests."""
        both = (self.cpu.parameters(capacity), self.memory.parameters(self.memory_capacity))
        return np.concatenate(both).astype(np.float64)

    def row(self, capacity: float) -> Numbers:
        """CPU and memory capacity."""
        return np.array([capacity, self.memory_capacity])

    def empty(self, items: Numbers) -> Numbers:
        """A machine without tasks, for both tests."""
        end = self._end
        parts = (
            np.zeros(LOADS),
            self.cpu.empty(items[:, LOADS:end]),
            self.memory.empty(items[:, end:]),
        )
        return np.concatenate(parts)

    @property
    def label(self) -> str:
        """Both labels."""
        return f"{self.cpu.label} + memory {self.memory.label}"
