"""Bin packing with any fit test: items are placed in their order.

After Janus & Rzadca (SoCC'17), Algorithm 1 and §5.1.  A *machine* is a line of the inventory (a capacity);
a *bin* is a machine in use; bins are numbered in the order they were opened.
"""

import numpy as np
from numba import types

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.placement.fit_tests import (
    ADD,
    INDEX,
    ROW,
    ROWS,
    SLACK,
    FitTest,
    join,
    packing_kernel,
    room_for,
)
from borgtrace.placement.fitting import Fitted
from borgtrace.placement.packers import Packer
from borgtrace.placement.types import SCORE_TYPE, Row, as_argument

_SCORE = types.FunctionType(SCORE_TYPE)


@packing_kernel(
    types.void(
        types.int64,
        INDEX,
        INDEX,
        INDEX,
        INDEX,
        INDEX,
    )
)
def _bar_bins_of_group(i, groups, last_of_group, previous, bins, barred):  # type: ignore[no-untyped-def]
    """Bar the bins that hold a task of item i's group, for item i (no group: −1)."""
    group = groups[i]
    if group < 0:
        return
    # A list per group through `previous`, the latest item first; items without a bin stay in it.
    j = last_of_group[group]
    previous[i] = j
    last_of_group[group] = i
    while j >= 0:
        if bins[j] >= 0:
            barred[bins[j]] = i
        j = previous[j]


_NEXT_MACHINE = types.int64(
    SLACK,
    SLACK,
    INDEX,
    types.int64,
    ROW,
    ROW,
    ROWS,
    ROW,
    types.boolean[::1],
)


@packing_kernel(_NEXT_MACHINE)
def _find_next_machine(  # type: ignore[no-untyped-def]
    slack,
    other,
    cuts,
    n_open,
    item,
    empty,
    capacities,
    parameters,
    is_open,
):
    """Return the first machine not in use where `item` fits alone, or −1; those before `n_open` are all open."""
    too_small = -1
    for machine in range(n_open, capacities.shape[0]):
        if is_open[machine]:
            continue
        # Inventories hold long runs of equal machines: one answer serves them all.
        if too_small >= 0 and (capacities[machine] == capacities[too_small]).all():
            continue
        capacity = capacities[machine]
        room = room_for(
            slack,
            other,
            cuts,
            empty,
            item,
            capacity,
            parameters,
        )
        if room >= 0:
            return machine
        too_small = machine
    return -1


_CHOOSE = types.int64(
    SLACK,
    SLACK,
    INDEX,
    _SCORE,
    types.boolean,
    ROWS,
    types.int64,
    ROW,
    ROWS,
    ROW,
    INDEX,
    types.int64,
)


@packing_kernel(_CHOOSE)
def _choose_bin(  # type: ignore[no-untyped-def]
    slack,
    other,
    cuts,
    score,
    stops,
    states,
    n_bins,
    item,
    capacities,
    parameters,
    barred,
    mark,
):
    """Return the bin an item goes to among the first `n_bins` (except those barred under `mark`), or −1."""
    best = -1
    best_score = -np.inf
    for b in range(n_bins):
        # Barred by the number of the item: nothing needs to be cleared before the next one.
        if barred[b] == mark:
            continue
        room = room_for(
            slack,
            other,
            cuts,
            states[b],
            item,
            capacities[b],
            parameters,
        )
        if room >= 0:
            if stops:
                return b
            preference = score(states[b], item, capacities[b], room)
            # `best < 0` first: a bin that fits is taken even if its score is NaN.  Ties stay with the bin opened first.
            if best < 0 or preference > best_score:
                best = b
                best_score = preference
    return best


_PLACE = types.int64(
    SLACK,
    SLACK,
    INDEX,
    ADD,
    ADD,
    _SCORE,
    types.boolean,
    ROWS,
    ROW,
    ROWS,
    ROW,
    INDEX,
    INDEX,
    INDEX,
)


@packing_kernel(_PLACE)
def _place(  # type: ignore[no-untyped-def]
    slack,
    other,
    cuts,
    add,
    other_add,
    score,
    stops,
    items,
    empty,
    capacities,
    parameters,
    groups,
    bins,
    machines,
):
    n = items.shape[0]
    # Row b of both belongs to bin b; rows from n_bins on are garbage.
    states = np.empty((machines.size, items.shape[1]))
    bin_capacities = np.empty((machines.size, capacities.shape[1]))
    is_open = np.zeros(capacities.shape[0], np.bool_)
    # `barred` holds, per bin, the last item that must not join it; n entries, because there is at most a bin per item.
    previous = np.full(n, -1, np.int64)
    barred = np.full(n, -1, np.int64)
    last_of_group = np.full(
        groups.max() + 2 if n else 1,
        -1,
        np.int64,
    )
    n_bins = 0
    n_open = 0
    for i in range(n):
        item = items[i]
        _bar_bins_of_group(
            i,
            groups,
            last_of_group,
            previous,
            bins,
            barred,
        )
        best = _choose_bin(
            slack,
            other,
            cuts,
            score,
            stops,
            states,
            n_bins,
            item,
            bin_capacities,
            parameters,
            barred,
            i,
        )
        if best < 0:
            machine = _find_next_machine(
                slack,
                other,
                cuts,
                n_open,
                item,
                empty,
                capacities,
                parameters,
                is_open,
            )
            if machine < 0:
                continue
            best = n_bins
            machines[best] = machine
            states[best] = empty
            bin_capacities[best] = capacities[machine]
            is_open[machine] = True
            n_bins += 1
            # Only moves forward: however often machines are opened, the inventory is walked once.
            while n_open < capacities.shape[0] and is_open[n_open]:
                n_open += 1
        join(
            add,
            other_add,
            cuts,
            states[best],
            item,
        )
        bins[i] = best
    return n_bins


def place(
    fitted: Fitted,
    packer: Packer,
    capacities: Numbers,
    groups: Index | None = None,
) -> tuple[Index, Index]:
    """Place items one by one, each into a bin where it fits, else into a newly opened machine.

    Parameters
    ----------
    fitted
        The items, in the order of arrival, and their fit test.
    packer
        Which bin; among equal scores the one opened first.
    capacities
        float64 (M, resources): the inventory, opened from the front; one too small for the item is kept.
    groups
        int64 (n,): items of one group (≥ 0) never share a bin; −1: no group.

    Returns
    -------
    bins
        int64 (n,): the bin of each item; −1 where no machine of the inventory takes it.
    machines
        int64 (m,): the machine behind each bin.
    """
    n = len(fitted.items)
    test = fitted.estimator.test
    slack, other, cuts = test.slacks
    add, other_add = test.adds
    bins = np.full(n, -1, np.int64)
    machines = np.full(
        min(n, len(capacities)),
        -1,
        np.int64,
    )
    n_bins = _place(
        slack,
        other,
        cuts,
        add,
        other_add,
        as_argument(packer.score, SCORE_TYPE),
        packer.stops,
        fitted.items,
        fitted.empty,
        capacities,
        fitted.parameters,
        groups_or_none(groups, n),
        bins,
        machines,
    )
    return bins, machines[:n_bins]


def groups_or_none(groups: Index | None, n: int) -> Index:
    """Return the group of each of n items, −1 for all where there are no groups."""
    return np.full(n, -1) if groups is None else groups


@packing_kernel(
    types.void(
        ADD,
        ADD,
        INDEX,
        ROWS,
        INDEX,
        INDEX,
        INDEX,
        ROW,
        ROWS,
    )
)
def sum_up(add, other_add, cuts, items, members, offsets, machines, empty, states):  # type: ignore[no-untyped-def]
    """Recompute the states of `machines`; machine k holds ``members[offsets[k]:offsets[k + 1]]``, in their order.

    Parameters
    ----------
    add, other_add, cuts
        From :attr:`~borgtrace.placement.fit_tests.FitTest.adds` and ``cuts``.
    items
        float64 (n, w).
    members, offsets
        int64: the items of all these machines (CSR).
    machines
        int64 (k,): which rows of `states` to write.
    empty
        float64 (w,): state of an empty machine.
    states
        float64 (m, w): changed in place.
    """
    for k in range(machines.size):
        state = states[machines[k]]
        # From nothing, in the order of arrival: maxima and convolutions cannot be undone, and sums with a task
        # subtracted would drift from those of a machine filled anew.
        state[:] = empty
        for i in members[offsets[k] : offsets[k + 1]]:
            join(
                add,
                other_add,
                cuts,
                state,
                items[i],
            )


def choose(
    test: FitTest,
    packer: Packer,
    states: Numbers,
    item: Row,
    capacities: Numbers,
    parameters: Row,
    barred: Index,
) -> int:
    """Return the machine that one item goes to, as in :func:`place`, or −1; `barred` holds 1 for machines left out.

    Parameters
    ----------
    test, packer
        Whether it fits, and where it goes.
    parameters
        Passed to the test.
    states, capacities
        float64 (m, w) and (m, resources): the machines.
    item
        float64 (w,): the item to place.
    barred
        int64 (m,).
    """
    slack, other, cuts = test.slacks
    chosen = _choose_bin(
        slack,
        other,
        cuts,
        as_argument(packer.score, SCORE_TYPE),
        packer.stops,
        states,
        len(states),
        item,
        capacities,
        parameters,
        barred,
        1,
    )
    return int(chosen)
