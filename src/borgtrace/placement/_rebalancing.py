"""Rebalancing: fill the last bin from the first tasks of the others, round robin (Janus & Rzadca, Algorithm 1)."""

import numpy as np
from numba import types

from borgtrace.placement.fit_tests import ADD, INDEX, ROW, ROWS, SLACK, join, packing_kernel, room_for


@packing_kernel(types.int64(SLACK, SLACK, INDEX, ADD, ADD, ROWS, ROW, ROW, ROW, INDEX, INDEX, types.int64, types.int64))
def fill_last_bin(  # type: ignore[no-untyped-def]
    slack, other, cuts, add, other_add, items, empty, capacity, parameters, groups, bins, m, max_failures
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
    n, target = items.shape[0], m - 1
    state = empty.copy()
    # Groups are dense from 0; the largest is −1 where no task has one, and an empty array has no largest.
    is_barred = np.zeros(groups.max() + 2 if n else 1, np.bool_)
    first, following = np.full(m, -1, np.int64), np.full(n, -1, np.int64)
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
    moved, failures, b, idle = 0, 0, 0, 0
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
