"""Bin packing with any fit test: place items in their order, then rebalance the last bin.

After Janus & Rzadca (SoCC'17), Algorithm 1 and §5.1.  A *machine* is a line of the inventory (a capacity);
a *bin* is a machine in use; bins are numbered in the order they were opened.
"""

from __future__ import annotations

from typing import Any, cast

import numba
import numpy as np
from numba import types
from numpy.typing import NDArray

from borgtrace.kernels.packing_types import ADD_TYPE, SCORE_TYPE, SLACK_TYPE, Add, Row, Score, Slack

Rows = NDArray[np.float64]
Index = NDArray[np.int64]

_SLACK, _ADD, _SCORE = (types.FunctionType(kind) for kind in (SLACK_TYPE, ADD_TYPE, SCORE_TYPE))
_ROWS, _ROW, _INDEX = types.float64[:, ::1], types.float64[::1], types.int64[::1]


def _kernel(signature: Any) -> Any:
    return numba.njit(signature, cache=True, nogil=True, error_model="numpy")


@_kernel(types.void(types.int64, _INDEX, _INDEX, _INDEX, _INDEX, _INDEX))
def _bar(i, groups, last_of_group, previous, bins, barred):  # type: ignore[no-untyped-def]
    """Bar the bins that hold a task of item i's group, for item i (no group: −1)."""
    if groups[i] < 0:
        return
    j = last_of_group[groups[i]]
    previous[i] = j
    last_of_group[groups[i]] = i
    while j >= 0:
        if bins[j] >= 0:
            barred[bins[j]] = i
        j = previous[j]


@_kernel(types.int64(_SLACK, types.int64, _ROW, _ROW, _ROWS, _ROW, types.boolean[::1]))
def _opened(slack, used, item, empty, capacities, parameters, is_open):  # type: ignore[no-untyped-def]
    """First machine not in use where `item` fits alone, or −1."""
    too_small = -1
    for machine in range(used, capacities.shape[0]):
        if is_open[machine]:
            continue
        if too_small >= 0 and (capacities[machine] == capacities[too_small]).all():
            continue
        if slack(empty, item, capacities[machine], parameters) >= 0:
            return machine
        too_small = machine
    return -1


@_kernel(
    types.int64(_SLACK, _SCORE, types.boolean, _ROWS, types.int64, _ROW, _ROWS, _ROW, _INDEX, types.int64)
)
def _chosen(slack, score, stops, states, m, item, capacities, parameters, barred, mark):  # type: ignore[no-untyped-def]
    """The bin an item goes to among the first m (those barred under `mark` excepted), or −1."""
    best, best_score = -1, -np.inf
    for b in range(m):
        if barred[b] == mark:
            continue
        room = slack(states[b], item, capacities[b], parameters)
        if room >= 0:
            if stops:
                return b
            preference = score(states[b], item, capacities[b], room)
            if best < 0 or preference > best_score:
                best, best_score = b, preference
    return best


@_kernel(types.int64(_SLACK, _ADD, _SCORE, types.boolean, _ROWS, _ROW, _ROWS, _ROW, _INDEX, _INDEX, _INDEX))
def _place(slack, add, score, stops, items, empty, capacities, parameters, groups, bins, machines):  # type: ignore[no-untyped-def]
    n = items.shape[0]
    states = np.empty((machines.size, items.shape[1]))
    opened = np.empty((machines.size, capacities.shape[1]))
    is_open = np.zeros(capacities.shape[0], np.bool_)
    previous, barred = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    last_of_group = np.full(groups.max() + 2 if n else 1, -1, np.int64)
    m, used = 0, 0
    for i in range(n):
        _bar(i, groups, last_of_group, previous, bins, barred)
        best = _chosen(slack, score, stops, states, m, items[i], opened, parameters, barred, i)
        if best < 0:
            machine = _opened(slack, used, items[i], empty, capacities, parameters, is_open)
            if machine < 0:
                continue
            best = m
            machines[m] = machine
            states[m], opened[m] = empty, capacities[machine]
            is_open[machine] = True
            m += 1
            while used < capacities.shape[0] and is_open[used]:
                used += 1
        add(states[best], items[i])
        bins[i] = best
    return m


def place(
    slack: Slack,
    add: Add,
    score: Score,
    stops: bool,
    items: Rows,
    empty: Row,
    capacities: Rows,
    parameters: Row,
    groups: Index,
) -> tuple[Index, Index]:
    """Place items one by one, each into a bin where it fits, else into a newly opened machine.

    Parameters
    ----------
    slack, add, score
        See :mod:`borgtrace.kernels.packing_types`.
    stops
        Take the first bin that fits (First Fit) instead of the one with the highest score; among equal
        scores the bin opened first wins.
    items
        float64 (n, w), in the order of arrival.
    empty
        float64 (w,): state of an empty machine.
    capacities
        float64 (M, resources): the inventory, opened from the front; one too small for the item is kept.
    parameters
        Handed to `slack`.
    groups
        int64 (n,): items of one group (≥ 0) never share a bin; −1: no group.

    Returns
    -------
    bins
        int64 (n,): the bin of each item; −1 where no machine of the inventory takes it.
    machines
        int64 (m,): the machine behind each bin.
    """
    bins = np.full(len(items), -1, np.int64)
    machines = np.full(min(len(items), len(capacities)), -1, np.int64)
    m = _place(slack, add, score, stops, items, empty, capacities, parameters, groups, bins, machines)
    return bins, machines[:m]


@_kernel(types.int64(_SLACK, _ADD, _ROWS, _ROW, _ROW, _ROW, _INDEX, _INDEX, types.int64, types.int64))
def _rebalance(slack, add, items, empty, capacity, parameters, groups, bins, m, max_failures):  # type: ignore[no-untyped-def]
    n, target = items.shape[0], m - 1
    state = empty.copy()
    is_barred = np.zeros(groups.max() + 2 if n else 1, np.bool_)
    first, following = np.full(m, -1, np.int64), np.full(n, -1, np.int64)
    for i in range(n - 1, -1, -1):
        if bins[i] >= 0:
            following[i] = first[bins[i]]
            first[bins[i]] = i
    i = first[target]
    while i >= 0:
        add(state, items[i])
        if groups[i] >= 0:
            is_barred[groups[i]] = True
        i = following[i]
    moved, failures, b, idle = 0, 0, 0, 0
    while failures < max_failures and idle < target:
        i = first[b]
        if i < 0:
            idle += 1
        else:
            idle = 0
            is_free = groups[i] < 0 or not is_barred[groups[i]]
            if is_free and slack(state, items[i], capacity, parameters) >= 0:
                add(state, items[i])
                if groups[i] >= 0:
                    is_barred[groups[i]] = True
                bins[i] = target
                first[b] = following[i]
                moved += 1
            else:
                failures += 1
        b = b + 1 if b + 1 < target else 0
    return moved


def rebalance(
    slack: Slack,
    add: Add,
    items: Rows,
    empty: Row,
    capacity: Row,
    parameters: Row,
    groups: Index,
    bins: Index,
    n_bins: int,
    max_failures: int = 5,
) -> int:
    """Move first tasks of the other bins, round robin, into the last bin, in place.

    Stops after `max_failures` attempts that failed, counted over the whole run (the paper leaves open
    whether in a row), or when no other bin has a task left.  An emptied bin is skipped.  Only the last bin
    is ever tested, so no state needs a removal.

    Parameters
    ----------
    capacity
        Of the last bin.
    bins
        int64 (n,): from :func:`place`; changed in place.
    n_bins
        m, the number of bins opened.

    Returns
    -------
    int
        How many tasks moved.
    """
    if n_bins < 2:
        return 0
    return cast(
        int,
        _rebalance(slack, add, items, empty, capacity, parameters, groups, bins, n_bins, max_failures),
    )


@_kernel(types.void(_ADD, _ROWS, _INDEX, _ROW, _ROW))
def _sum_up(add, items, members, empty, state):  # type: ignore[no-untyped-def]
    state[:] = empty
    for i in members:
        add(state, items[i])


def sum_up(add: Add, items: Rows, members: Index, empty: Row, state: Row) -> None:
    """Write the state of a machine that holds `members`, in their order, into `state`."""
    _sum_up(add, items, members, empty, state)


def choose(
    slack: Slack,
    score: Score,
    stops: bool,
    states: Rows,
    item: Row,
    capacities: Rows,
    parameters: Row,
    barred: Index,
) -> int:
    """The machine one item goes to, as in :func:`place`, or −1; `barred` holds 1 for machines left out."""
    return cast(
        int,
        _chosen(slack, score, stops, states, len(states), item, capacities, parameters, barred, 1),
    )
