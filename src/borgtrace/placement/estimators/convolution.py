"""Tail of the sum by exact convolution of the tasks' histograms: the reference under independence."""

from __future__ import annotations

import numpy as np

from borgtrace.kernels.arrays import Numbers
from borgtrace.kernels.convolution import convolved
from borgtrace.placement.estimators.estimator import TargetEstimator
from borgtrace.placement.estimators.observation import CELLS, Observation
from borgtrace.placement.types import Row, add_kernel, slack_kernel

# A row is the mean, the first and the last occupied cell, then a number per cell: its probability in an item, the
# cumulative one in a state.
_MEAN, _FIRST_CELL, _LAST_CELL, _CELL_ZERO = range(4)
_TARGET, _STEP = range(2)
_ROUNDING = 1e-12
"""Of cumulative probabilities: a machine filled to exactly ρ is not refused outright."""


@slack_kernel
def convolution_slack(
    state: Row,
    item: Row,
    capacity: Row,
    parameters: Row,
) -> float:
    """Return ρ less P(S + X > c) = 1 − Σ P(X = x) P(S ≤ c − x); `parameters` holds ρ and the grid's step."""
    target = parameters[_TARGET]
    mass = item[_CELL_ZERO:]
    cumulative = state[_CELL_ZERO:]
    # Capacity ÷ step is whole up to rounding, and int() would make 1,999 of 1999.9999.  A machine smaller than the
    # largest one ends within the grid.
    limit = min(int(capacity[0] / parameters[_STEP] + 1e-3), cumulative.size - 1)
    low = int(item[_FIRST_CELL])
    high = min(int(item[_LAST_CELL]), limit)
    # The machine would overflow even if the item took its least usage.
    if low > limit or cumulative[limit - low] < 1 - target - _ROUNDING:
        return target - 1
    # Four sums: each addition would wait for the one before, and without fastmath the compiler may not split it.
    below = 0.0
    below2 = 0.0
    below3 = 0.0
    below4 = 0.0
    x = low
    while x + 3 <= high:
        rest = limit - x
        below += mass[x] * cumulative[rest]
        below2 += mass[x + 1] * cumulative[rest - 1]
        below3 += mass[x + 2] * cumulative[rest - 2]
        below4 += mass[x + 3] * cumulative[rest - 3]
        x += 4
    while x <= high:
        below += mass[x] * cumulative[limit - x]
        x += 1
    # What lies beyond the grid is in no cell, so it stays on the side of the overflow.
    return target - (1 - (below + below2 + below3 + below4))


@add_kernel
def convolve(state: Row, item: Row) -> None:
    """Let the item join: F(s) becomes Σ P(X = x) F(s − x)."""
    cumulative = state[_CELL_ZERO:]
    mass = item[_CELL_ZERO:]
    low = int(item[_FIRST_CELL])
    high = int(item[_LAST_CELL])
    joined = convolved(
        cumulative,
        cumulative.size,
        mass,
        low,
        high,
    )
    state[_MEAN] += item[_MEAN]
    # First and last cell mean nothing for a cumulative distribution and stay 0.
    # Cell by cell: to assign a slice compiles a message about shapes, too, which takes two seconds.
    for cell in range(joined.size):
        cumulative[cell] = joined[cell]


class Convolution(TargetEstimator):
    """Probability of overflow by exact convolution, from the tasks' whole distributions.

    The distribution of the sum on a machine is kept on a grid of `CELLS` steps up to the capacity (all above is
    overflow), so a fit test is one dot product and joining is one convolution.  Exact for independent tasks up to the
    grid: usages are shared between neighboring cells.  Costs 16 kB per machine in use.

    Where it is wrong
    -----------------
    Tasks that all peak at the same moments overflow in 19 % of the draws at ρ = .001. On its grid three constant tasks
    of a third of a machine do not fit together.
    """

    name = "convolution"
    about = "exact distribution of the sum of independent tasks"
    predicts = True
    slack = staticmethod(convolution_slack)
    add = staticmethod(convolve)

    def items(self, observed: Observation, capacity: float) -> Numbers:
        """Return mean, first cell, last cell and histogram of each task."""
        return observed.distributions(capacity)

    def parameters(self, capacity: float) -> Numbers:
        """Return ρ and the step of the grid."""
        return np.array([self.parameter, capacity / CELLS])

    def empty(self, items: Numbers) -> Numbers:
        """Return the state of a machine without tasks: the sum is surely 0, so P(0 ≤ s) = 1 in every cell."""
        state = np.ones(items.shape[1])
        state[:_CELL_ZERO] = 0
        return state
