"""A heap in arrays, smallest on top.

Not ``heapq``: its lists make Numba count references to every array that a kernel is handed, at every call, which took a
third of the time of a replay.
"""

from typing import NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled


class Heap(NamedTuple):
    """Entries: a key, two whole numbers that decide among equal keys, and how many entries there are."""

    keys: Numbers
    values: Index
    size: Index


def make_heap(most: int) -> Heap:
    """Return a heap for so many entries."""
    return Heap(np.empty(most), np.empty((most, 2), np.int64), np.zeros(1, np.int64))


@compiled(inline=True, makes_arrays=False)
def _is_less(
    heap: Heap,
    at: int,
    key: float,
    one: int,
    other: int,
) -> bool:
    if heap.keys[at] != key:
        return heap.keys[at] < key
    first = heap.values[at, 0]
    return first < one or (first == one and heap.values[at, 1] < other)


@compiled(inline=True, makes_arrays=False)
def _put(
    heap: Heap,
    at: int,
    key: float,
    one: int,
    other: int,
) -> None:
    heap.keys[at] = key
    heap.values[at, 0] = one
    heap.values[at, 1] = other


@compiled(makes_arrays=False)
def push(
    heap: Heap,
    key: float,
    one: int,
    other: int,
) -> None:
    """Add an entry, for which there is room."""
    at = heap.size[0]
    heap.size[0] += 1
    while at > 0 and not _is_less(heap, (at - 1) // 2, key, one, other):
        above = (at - 1) // 2
        _put(
            heap,
            at,
            heap.keys[above],
            heap.values[above, 0],
            heap.values[above, 1],
        )
        at = above
    _put(heap, at, key, one, other)


@compiled(makes_arrays=False)
def replace_top(
    heap: Heap,
    key: float,
    one: int,
    other: int,
) -> None:
    """Put an entry in the place of the smallest."""
    at = 0
    size = heap.size[0]
    while 2 * at + 1 < size:
        below = 2 * at + 1
        right = below + 1
        if right < size and _is_less(
            heap,
            right,
            heap.keys[below],
            heap.values[below, 0],
            heap.values[below, 1],
        ):
            below = right
        if not _is_less(heap, below, key, one, other):
            break
        _put(
            heap,
            at,
            heap.keys[below],
            heap.values[below, 0],
            heap.values[below, 1],
        )
        at = below
    _put(heap, at, key, one, other)


@compiled(makes_arrays=False)
def pop(heap: Heap) -> None:
    """Drop the smallest entry."""
    heap.size[0] -= 1
    last = heap.size[0]
    replace_top(heap, heap.keys[last], heap.values[last, 0], heap.values[last, 1])
