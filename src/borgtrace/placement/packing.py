"""Packing tasks onto machines: estimator × packer × rebalancing (Janus & Rzadca, SoCC'17, §4 and §5).

A machine takes 1 + 2⁻²³ of its capacity: usages are float32, and six tenths plus four tenths must fit into one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import types

from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.normal import normal_score
from borgtrace.placement.estimators.estimator import Estimator
from borgtrace.placement.estimators.gpa import Gpa
from borgtrace.placement.estimators.observation import Observation
from borgtrace.placement.estimators.sizes import size_slack
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
from borgtrace.placement.gaussian_best_fit import gaussian_best_fit
from borgtrace.placement.gaussian_first_fit import gaussian_first_fit
from borgtrace.placement.machines import groups_or_none, place, sum_up
from borgtrace.placement.packers import BEST_FIT, Packer
from borgtrace.placement.size_fit import fit_sizes
from borgtrace.placement.types import add_sums

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
        # Not the number of rows: rebalancing may have emptied a bin.  Counting takes a fifth of sorting's time.
        return int(np.count_nonzero(np.bincount(self.bins[self.bins >= 0])))

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
    estimator = fitted.estimator
    # The common cases, and the one of a million tasks; these kernels give the packing of the general loop.
    if inventory is None and groups is None and (packer.stops or packer is BEST_FIT):
        # Subclasses too: the calibrated GPA differs in the target that it passes, not in the test.
        if isinstance(estimator, Gpa):
            return _pack_gaussian(fitted, gaussian_first_fit if packer.stops else gaussian_best_fit)
        if _adds_sizes(fitted):
            return _pack_sizes(fitted, stops=packer.stops)
    if inventory is None:
        # At most one machine per task is ever opened.
        rows = np.tile(estimator.row(fitted.capacity), (len(fitted.items), 1))
    else:
        rows = np.asarray(inventory, np.float64).reshape(len(inventory), -1)
    # For the test alone: the packing below keeps the true capacities, by which it is judged.
    bins, machines = place(
        fitted,
        packer,
        rows * CAPACITY_RTOL,
        groups,
    )
    return Packing(bins, rows[machines], machines)


def _pack_gaussian(fitted: Fitted, place_all: Callable[..., int]) -> Packing:
    """Pack by First or Best Fit with a kernel of the Gaussian test: the same packing, many times faster."""
    mean, variance = np.ascontiguousarray(fitted.items.T)
    bins = np.empty(len(mean), np.int64)
    capacity = fitted.capacity * CAPACITY_RTOL
    target = float(fitted.parameters[0])
    z = -float(normal_score(target))
    n_bins = place_all(
        mean,
        variance,
        capacity,
        target,
        z,
        bins,
    )
    return Packing(
        bins,
        np.full((n_bins, 1), fitted.capacity),
        np.arange(n_bins),
    )


def _adds_sizes(fitted: Fitted) -> bool:
    """Whether a machine is nothing but the sum of its tasks' sizes, whatever else the estimator's class may change."""
    estimator = fitted.estimator
    test = estimator.test
    is_plain_sum = test.slack is size_slack and test.add is add_sums and not test.cuts.size
    is_plain_machine = (
        not fitted.empty.any() and estimator.row(fitted.capacity)[0] == fitted.capacity
    )
    return is_plain_sum and bool(is_plain_machine)


def _pack_sizes(fitted: Fitted, *, stops: bool) -> Packing:
    """Pack by First or Best Fit with a kernel of sizes: the same packing, many times faster."""
    sizes = np.ascontiguousarray(fitted.items[:, 0])
    bins = np.empty(len(sizes), np.int64)
    n_bins = fit_sizes(sizes, fitted.capacity * CAPACITY_RTOL, stops, bins)
    return Packing(bins, np.full((n_bins, 1), fitted.capacity), np.arange(n_bins))


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
        What the packing was computed from.
    groups
        As for :func:`pack`.
    max_failures
        Failed moves after which it stops.
    """
    if len(packing.rows) < 2:
        return packing
    # A copy: a packing is shared between runs with and without rebalancing.
    bins = packing.bins.copy()
    test = fitted.estimator.test
    slack, other, cuts = test.slacks
    add, other_add = test.adds
    moved = fill_last_bin(
        slack,
        other,
        cuts,
        add,
        other_add,
        fitted.items,
        fitted.empty,
        packing.rows[-1] * CAPACITY_RTOL,
        fitted.parameters,
        groups_or_none(groups, len(bins)),
        bins,
        len(packing.rows),
        max_failures,
    )
    return Packing(
        bins,
        packing.rows,
        packing.machines,
        moved,
    )


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
        cpu = np.asarray(inventory).reshape(len(inventory), -1)[:, 0]
        capacity = float(np.max(cpu, initial=0))
    fitted = fit(estimator, observed, capacity)
    packing = pack_fitted(
        fitted,
        packer=packer,
        inventory=inventory,
        groups=groups,
    )
    if not rebalancing:
        return packing
    return rebalanced(packing, fitted, groups=groups)


def predicted_overflow(packing: Packing, fitted: Fitted) -> Numbers:
    """Return the probability of overflow that the estimator itself predicts for each bin, float64 (m,).

    The sum over the finished bins ÷ m is the q that the estimator promises.

    Parameters
    ----------
    packing
        A finished packing.
    fitted
        What it was computed from.

    Raises
    ------
    UsageError
        The estimator does not predict a probability.
    """
    estimator = fitted.estimator
    if not estimator.predicts:
        problem = "predicts no probability of overflow"
        hint = "use an estimator that does, such as convolution"
        raise UsageError(f"estimator {estimator.label}", problem, way_out=hint)
    test = estimator.test
    parameters = fitted.parameters
    rooms = np.empty(len(packing.rows))
    find_rooms(
        *test.slacks,
        _states_of_bins(packing, fitted),
        # The room for a task that uses nothing is what the machine as it stands has left.
        _idle_task(fitted),
        packing.rows * CAPACITY_RTOL,
        parameters,
        rooms,
    )
    # A slack is the target less the probability; subtracting it may round past 0 or 1.
    return np.clip(parameters[0] - rooms, 0.0, 1.0)


def _idle_task(fitted: Fitted) -> Numbers:
    """Return the row of a task that uses nothing."""
    observed = Observation(np.zeros((1, 1), np.float32))
    described = fitted.estimator.items(observed, fitted.capacity)[0]
    # The tasks may come with more than is made up here, such as series: of those an idle task has zeros.
    row = np.zeros(fitted.items.shape[1])
    row[: len(described)] = described
    return row


def _states_of_bins(packing: Packing, fitted: Fitted) -> Numbers:
    """Return the state of each finished bin, float64 (m, w)."""
    # In the order of arrival, as when they were placed, so the states are those of the packing bit for bit.
    members = np.argsort(packing.bins, kind="stable")
    n_bins = len(packing.rows)
    offsets = np.searchsorted(packing.bins[members], np.arange(n_bins + 1))
    states = np.empty((n_bins, fitted.items.shape[1]))
    test = fitted.estimator.test
    add, other_add = test.adds
    sum_up(
        add,
        other_add,
        test.cuts,
        fitted.items,
        members,
        offsets,
        np.arange(n_bins),
        fitted.empty,
        states,
    )
    return states


@packing_kernel(types.void(SLACK, SLACK, INDEX, ROWS, ROW, ROWS, ROW, ROW))
def find_rooms(slack, other, cuts, states, item, capacities, parameters, rooms):  # type: ignore[no-untyped-def]
    """Write the room that each machine would have left if an item joined it.

    Parameters
    ----------
    slack, other, cuts
        From :attr:`~borgtrace.placement.fit_tests.FitTest.slacks`.
    states, capacities
        float64 (m, w) and (m, resources): the machines.
    item, parameters
        float64 (w,): the item; passed to the test.
    rooms
        float64 (m,): overwritten.
    """
    for b in range(rooms.size):
        rooms[b] = room_for(slack, other, cuts, states[b], item, capacities[b], parameters)


@compiled()
def _lists_of_bins(bins: Index, n_bins: int) -> tuple[Index, Index]:
    """Return the first task of each bin, and the task after each in its bin, in the order of arrival; −1: none."""
    first = np.full(n_bins, -1, np.int64)
    following = np.full(bins.size, -1, np.int64)
    # From the back, so that each bin's list runs in the order of arrival.
    for i in range(bins.size - 1, -1, -1):
        if bins[i] >= 0:
            following[i] = first[bins[i]]
            first[bins[i]] = i
    return first, following


_FILL_LAST_BIN = types.int64(
    SLACK,
    SLACK,
    INDEX,
    ADD,
    ADD,
    ROWS,
    ROW,
    ROW,
    ROW,
    INDEX,
    INDEX,
    types.int64,
    types.int64,
)


@packing_kernel(_FILL_LAST_BIN)
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
    n_bins,
    max_failures,
):
    """Move first tasks of the other bins, round robin, into the last bin, in place; return how many moved.

    Parameters
    ----------
    slack, other, cuts, add, other_add
        From a :class:`~borgtrace.placement.fit_tests.FitTest`.
    items, empty, parameters
        float64 (n, w), in the order of arrival; state of an empty machine; passed to the test.
    capacity
        float64 (resources,): of the last bin.
    groups
        int64 (n,): as for :func:`borgtrace.placement.machines.place`.
    bins
        int64 (n,): from :func:`borgtrace.placement.machines.place`; changed in place.
    n_bins
        The number of bins opened, at least two.
    max_failures
        Failed moves after which it stops.
    """
    # Only the last bin is ever tested, so only its state is kept.
    n = items.shape[0]
    last = n_bins - 1
    state = empty.copy()
    # Groups are dense from 0; the largest is −1 where no task has one, and an empty array has no largest.
    is_barred = np.zeros(groups.max() + 2 if n else 1, np.bool_)
    first, following = _lists_of_bins(bins, n_bins)
    i = first[last]
    while i >= 0:
        join(
            add,
            other_add,
            cuts,
            state,
            items[i],
        )
        if groups[i] >= 0:
            is_barred[groups[i]] = True
        i = following[i]
    n_moved = 0
    n_failures = 0
    b = 0
    # Empty bins met in a row: after a whole round of them nothing is left to move.
    n_empty = 0
    while n_failures < max_failures and n_empty < last:
        i = first[b]
        if i < 0:
            n_empty += 1
        else:
            n_empty = 0
            # A task whose group is already there counts as a failed move, like one that does not fit.
            fits = groups[i] < 0 or not is_barred[groups[i]]
            if fits:
                fits = (
                    room_for(
                        slack,
                        other,
                        cuts,
                        state,
                        items[i],
                        capacity,
                        parameters,
                    )
                    >= 0
                )
            if fits:
                join(
                    add,
                    other_add,
                    cuts,
                    state,
                    items[i],
                )
                if groups[i] >= 0:
                    is_barred[groups[i]] = True
                bins[i] = last
                # Only after a move: the paper tries a bin's *first* task, so one that failed is tried again next round.
                first[b] = following[i]
                n_moved += 1
            else:
                n_failures += 1
        b = b + 1 if b + 1 < last else 0
    return n_moved
