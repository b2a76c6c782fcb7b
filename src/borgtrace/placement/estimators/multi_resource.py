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

    @classmethod
    def of(
        cls,
        cpu: Estimator,
        memory: Estimator,
        memory_capacity: float = 1.0,
    ) -> MultiResource:
        """Combine two tests.

        Parameters
        ----------
        cpu, memory
            The two tests.
        memory_capacity
            Of every machine, where no inventory says otherwise.
        """
        return cls(
            cpu.parameter,
            cpu,
            memory,
            memory_capacity,
        )

    @property
    def test(self) -> FitTest:
        """Both tests, each on its part of a row, which begins with the loads."""
        n_cpu_parameters = len(self.cpu.parameters(1.0))
        return FitTest(
            slack=self.cpu.slack,
            add=self.cpu.add,
            other_slack=self.memory.slack,
            other_add=self.memory.add,
            cuts=np.array([LOADS, self._end, n_cpu_parameters]),
        )

    @property
    def _end(self) -> int:
        """Where the CPU's part of a row ends."""
        # Only the test knows the width of its rows: describe a made-up task.
        idle_task = Observation(np.zeros((1, 1), np.float32))
        return LOADS + self.cpu.items(idle_task, 1.0).shape[1]

    def items(self, observed: Observation, capacity: float) -> Numbers:
        """Return both loads, then each test's description of the task.

        Raises
        ------
        UsageError
            No memory was observed.
        """
        memory = observed.memory
        if memory is None:
            hint = "build the pool from a store that has memory"
            raise UsageError("estimator multi-resource", "no memory was observed", way_out=hint)
        cpu_items = self.cpu.items(observed, capacity)
        memory_items = self.memory.items(memory, self.memory_capacity)
        return np.column_stack(
            [
                observed.mean,
                memory.mean,
                cpu_items,
                memory_items,
            ]
        )

    def parameters(self, capacity: float) -> Numbers:
        """Return the parameters of both tests."""
        cpu_parameters = self.cpu.parameters(capacity)
        memory_parameters = self.memory.parameters(self.memory_capacity)
        return np.concatenate([cpu_parameters, memory_parameters]).astype(np.float64)

    def row(self, capacity: float) -> Numbers:
        """Return CPU and memory capacity."""
        return np.array([capacity, self.memory_capacity])

    def empty(self, items: Numbers) -> Numbers:
        """Return the state of a machine without tasks, for both tests."""
        end = self._end
        loads = np.zeros(LOADS)
        cpu_state = self.cpu.empty(items[:, LOADS:end])
        memory_state = self.memory.empty(items[:, end:])
        return np.concatenate([loads, cpu_state, memory_state])

    @property
    def label(self) -> str:
        """Both labels."""
        return f"{self.cpu.label} + memory {self.memory.label}"
