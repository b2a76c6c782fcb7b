"""Packing tasks onto machines: estimator × packer × rebalancing (Janus & Rzadca, SoCC'17, §4 and §5).

A machine takes 1 + 2⁻²³ of its capacity, because usages are float32, and six tenths plus four tenths must fit into
one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import types
from scipy.special import ndtri

from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.placement._gaussian import gaussian_best_fit
from borgtrace.placement._tree import gaussian_first_fit
from borgtrace.placement.estimators.estimator import Estimator
from borgtrace.placement.estimators.gpa import Gpa
from borgtrace.placement.estimators.observation import Observation
from borgtrace.placement.fit_tests import (
    ADD,
    INDEX,
    ROW,
    ROWS,
    SLACK,
    join,
    packing_kernel,
    room_for,
)
from borgtrace.placement.fitting import Fitted, fit
from borgtrace.placement.machines import place, sum_up
from borgtrace.placement.packers import BEST_FIT, Packer

MAX_FAILURES = 5
"""Failed moves after which rebalancing stops (the paper's max_failures)."""
CAPACITY_RTOL = 1 + 2**-23
"""Factor on capacities in fit tests: the relative resolution of float32."""


@dataclass(frozen=True, eq=False)
class Packing:
    """Which machine every task went to.

    Attributes
    ----------
    bins
        int64 (n,): bin of each task, −1 where no machine takes it; bins are numbered in the order of opening.
    rows
        float64 (m, resources): capacities of the machine behind each bin, CPU first.
    machines
        int64 (m,): its line in the inventory.
    moved
        Tasks moved by rebalancing.

    Examples
    --------
    >>> from borgtrace.placement.estimators.sizes import Average
    >>> seen = Observation(np.float32([[0.5], [0.25], [2.0], [0.5]]))
    >>> packing = pack(Average(1), seen, rebalancing=False)
    >>> packing.bins.tolist(), packing.n_bins, packing.unplaceable.tolist()
    ([0, 0, -1, 1], 2, [2])
    """

    bins: Index
    rows: Numbers
    machines: Index
    moved: int = 0

    @property
    def capacities(self) -> Numbers:
        """CPU capacity of the machine behind each bin, float64 (m,)."""
        return self.rows[:, 0]

    @property
    def n_bins(self) -> int:
        """Machines in use: bins with at least one task."""
        # Not the number of rows: rebalancing may have emptied a bin.
        return len(np.unique(self.bins[self.bins >= 0]))

    @property
    def unplaceable(self) -> Index:
        """Indices of the tasks that fit no machine, even alone."""
        return np.flatnonzero(self.bins < 0)


def pack_fitted(
    fitted: Fitted,
    *,
    packer: Packer = BEST_FIT,
    inventory: Numbers | None = None,
    groups: Index | None = None,
) -> Packing:
    """Pack without rebalancing; see :func:`pack`.

    Parameters
    ----------
    fitted
        From :func:`fit`.
    packer, inventory, groups
        As for :func:`pack`.
    """
    n = len(fitted.items)
    estimator = fitted.estimator
    # The common case, and the one of a million tasks; both kernels give the packing of the general loop.
    # Subclasses too: the calibrated GPA differs in the target it hands over, not in the test.
    if isinstance(estimator, Gpa) and inventory is None and groups is None:
        if packer.stops:
            return _gaussian(fitted, gaussian_first_fit)
        if packer is BEST_FIT:
            return _gaussian(fitted, gaussian_best_fit)
    if inventory is None:
        # At most one machine per task is ever opened.
        rows = np.tile(estimator.row(fitted.capacity), (n, 1))
    else:
        rows = np.asarray(inventory, np.float64).reshape(len(inventory), -1)
    # For the test alone: the packing below keeps the true capacities, by which it is judged.
    bins, machines = place(fitted, packer, rows * CAPACITY_RTOL, groups)
    return Packing(bins, rows[machines], machines)


def _gaussian(fitted: Fitted, place_all: Callable[..., int]) -> Packing:
    """First or Best Fit by the Gaussian test in a kernel of its own: the same packing, many times faster."""
    mean, variance = np.ascontiguousarray(fitted.items.T)
    bins = np.empty(len(mean), np.int64)
    target = float(fitted.parameters[0])
    m = place_all(
        mean, variance, fitted.capacity * CAPACITY_RTOL, target, -float(ndtri(target)), bins
    )
    return Packing(bins, np.full((m, 1), fitted.capacity), np.arange(m))


def rebalanced(
    packing: Packing,
    fitted: Fitted,
    *,
    groups: Index | None = None,
    max_failures: int = MAX_FAILURES,
) -> Packing:
    """Fill the last bin from the first tasks of the others, round robin (the paper's Algorithm 1).

    Stops after `max_failures` attempts that failed, counted over the whole run (the paper leaves open whether in a
    row), or when no other bin has a task left.  Bins emptied on the way are skipped, and are then not in use.

    Parameters
    ----------
    packing
        Left as it is.
    fitted
        What the packing was made from.
    groups
        As for :func:`pack`.
    max_failures
        Failed moves after which it stops.
    """
    if len(packing.rows) < 2:
        return packing
    # A copy, because the grid shares one placement between a rebalanced and a plain cell.
    bins = packing.bins.copy()
    test = fitted.estimator.test
    moved = fill_last_bin(
        *(
            *test.slacks,
            *test.adds,
            fitted.items,
            fitted.empty,
            packing.rows[-1] * CAPACITY_RTOL,
            fitted.parameters,
        ),
        *(
            np.full(len(bins), -1) if groups is None else groups,
            bins,
            len(packing.rows),
            max_failures,
        ),
    )
    return Packing(bins, packing.rows, packing.machines, moved)


def pack(
    estimator: Estimator,
    observed: Observation,
    *,
    capacity: float = 1.0,
    inventory: Numbers | None = None,
    packer: Packer = BEST_FIT,
    rebalancing: bool = True,
    groups: Index | None = None,
) -> Packing:
    """Place tasks, in their order, onto machines where the estimator says they fit.

    Parameters
    ----------
    estimator
        The fit test.
    observed
        What is known of the n tasks.
    capacity
        Of each machine, of which there are enough; ignored with an `inventory`.
    inventory
        float64 (M,) or (M, resources): capacities of the machines there are, opened from the front; a
        machine too small for a task is left for a later one.
    packer
        Which of the machines where a task fits it goes to.
    rebalancing
        Whether to fill up the last machine afterward.
    groups
        int64 (n,), dense from 0, −1 for none: tasks of one group never share a machine.

    Raises
    ------
    UsageError
        A capacity is not positive, or a task's numbers are not finite.
    """
    if inventory is not None:
        # Items are described on the scale of the largest machine, where the grids of histograms end.
        capacity = float(np.max(np.asarray(inventory).reshape(len(inventory), -1)[:, 0], initial=0))
    fitted = fit(estimator, observed, capacity)
    packing = pack_fitted(fitted, packer=packer, inventory=inventory, groups=groups)
    if not rebalancing:
        return packing
    return rebalanced(packing, fitted, groups=groups)


def predicted_overflow(packing: Packing, fitted: Fitted) -> Numbers:
    """Probability of overflow the estimator itself predicts for each bin, float64 (m,).

    The sum over the finished bins ÷ m is the q that the estimator promises.

    Parameters
    ----------
    packing
        A finished packing.
    fitted
        What it was made from.

    Raises
    ------
    UsageError
        The estimator does not predict a probability.
    """
    estimator = fitted.estimator
    if not estimator.predicts:
        way_out = "use an estimator that does, such as convolution"
        raise UsageError(
            f"estimator {estimator.label}", "predicts no probability of overflow", way_out=way_out
        )
    test = estimator.test
    parameters = fitted.parameters
    # The room for a task that uses nothing is what the machine as it stands has left.
    idle = Observation(np.zeros((1, 1), np.float32))
    described = estimator.items(idle, fitted.capacity)[0]
    # The tasks may come with more than was made up here, such as series: of those an idle task has zeros.
    nothing = np.zeros(fitted.items.shape[1])
    nothing[: len(described)] = described
    # In the order of arrival, as when they were placed, so the states are those of the packing bit for bit.
    members = np.argsort(packing.bins, kind="stable")
    m = len(packing.rows)
    offsets = np.searchsorted(packing.bins[members], np.arange(m + 1))
    states = np.empty((m, len(nothing)))
    sum_up(
        *test.adds, test.cuts, fitted.items, members, offsets, np.arange(m), fitted.empty, states
    )
    capacities = packing.rows * CAPACITY_RTOL
    rooms = np.array([test.room(states[b], nothing, capacities[b], parameters) for b in range(m)])
    # A slack is the target less the probability; taking it back may round past 0 or 1.
    return np.clip(parameters[0] - rooms, 0.0, 1.0)


@packing_kernel(
    types.int64(
        SLACK, SLACK, INDEX, ADD, ADD, ROWS, ROW, ROW, ROW, INDEX, INDEX, types.int64, types.int64
    )
)
def fill_last_bin(  # type: ignore[no-untyped-def]
    slack,
    other,
    cuts,
    add,
    other_add,
    items,
    empty,
    capacity,
    parameters,
    groups,
    bins,
    m,
    max_failures,
):
    """Move first tasks of the other bins, round robin, into the last bin, in place; return how many moved.

    Parameters
    ----------
    slack, other, cuts, add, other_add
        From a :class:`~borgtrace.placement.fit_tests.FitTest`.
    items, empty, parameters
        float64 (n, w), in the order of arrival; state of an empty machine; handed to the test.
    capacity
        float64 (resources,): of the last bin.
    groups
        int64 (n,): as for :func:`borgtrace.placement.machines.place`.
    bins
        int64 (n,): from :func:`borgtrace.placement.machines.place`; changed in place.
    m
        The number of bins opened, at least two.
    max_failures
        Failed moves after which it stops.
    """
    # Only the last bin is ever tested, so this one state is all that is kept.
    n = items.shape[0]
    target = m - 1
    state = empty.copy()
    # Groups are dense from 0; the largest is −1 where no task has one, and an empty array has no largest.
    is_barred = np.zeros(groups.max() + 2 if n else 1, np.bool_)
    first = np.full(m, -1, np.int64)
    following = np.full(n, -1, np.int64)
    # Linked lists from the back, so that each bin's list runs in the order of arrival.
    for i in range(n - 1, -1, -1):
        if bins[i] >= 0:
            following[i] = first[bins[i]]
            first[bins[i]] = i
    i = first[target]
    while i >= 0:
        join(add, other_add, cuts, state, items[i])
        if groups[i] >= 0:
            is_barred[groups[i]] = True
        i = following[i]
    # `idle` counts emptied bins met in a row: after a whole round of them nothing is left to move.
    moved = 0
    failures = 0
    b = 0
    idle = 0
    while failures < max_failures and idle < target:
        i = first[b]
        if i < 0:
            idle += 1
        else:
            idle = 0
            # A task whose group is already there counts as a failed move, like one that does not fit.
            is_free = groups[i] < 0 or not is_barred[groups[i]]
            if is_free and room_for(slack, other, cuts, state, items[i], capacity, parameters) >= 0:
                join(add, other_add, cuts, state, items[i])
                if groups[i] >= 0:
                    is_barred[groups[i]] = True
                bins[i] = target
                # Only after a move: the paper tries a bin's *first* task, so one that failed is tried again next round.
                first[b] = following[i]
                moved += 1
            else:
                failures += 1
        b = b + 1 if b + 1 < target else 0
    return moved
