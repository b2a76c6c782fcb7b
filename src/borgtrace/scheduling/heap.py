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
    return Heap(
        keys=np.empty(most),
        values=np.empty((most, 2), np.int64),
        size=np.zeros(1, np.int64),
    )


@compiled(inline=True, makes_arrays=False)
def is_less(
    heap: Heap,
    place: int,
    key: float,
    first: int,
    second: int,
) -> bool:
    """Whether the entry at a place is smaller than another."""
    if heap.keys[place] != key:
        return heap.keys[place] < key
    value = heap.values[place, 0]
    return value < first or (value == first and heap.values[place, 1] < second)


@compiled(inline=True, makes_arrays=False)
def put(
    heap: Heap,
    place: int,
    key: float,
    first: int,
    second: int,
) -> None:
    """Write an entry to a place."""
    heap.keys[place] = key
    heap.values[place, 0] = first
    heap.values[place, 1] = second


@compiled(inline=True, makes_arrays=False)
def move_entry(heap: Heap, source: int, place: int) -> None:
    """Copy an entry to another place."""
    heap.keys[place] = heap.keys[source]
    heap.values[place, 0] = heap.values[source, 0]
    heap.values[place, 1] = heap.values[source, 1]


@compiled(makes_arrays=False)
def push(
    heap: Heap,
    key: float,
    first: int,
    second: int,
) -> None:
    """Add an entry, for which there is room."""
    place = heap.size[0]
    heap.size[0] += 1
    while place > 0 and not is_less(heap, (place - 1) // 2, key, first, second):
        above = (place - 1) // 2
        move_entry(heap, above, place)
        place = above
    put(heap, place, key, first, second)


@compiled(makes_arrays=False)
def replace_top(
    heap: Heap,
    key: float,
    first: int,
    second: int,
) -> None:
    """Put an entry in the place of the smallest."""
    place = 0
    size = heap.size[0]
    while 2 * place + 1 < size:
        below = 2 * place + 1
        right = below + 1
        if right < size:
            left_key = heap.keys[below]
            if is_less(heap, right, left_key, heap.values[below, 0], heap.values[below, 1]):
                below = right
        if not is_less(heap, below, key, first, second):
            break
        move_entry(heap, below, place)
        place = below
    put(heap, place, key, first, second)


@compiled(makes_arrays=False)
def pop(heap: Heap) -> None:
    """Drop the smallest entry."""
    heap.size[0] -= 1
    last = heap.size[0]
    replace_top(heap, heap.keys[last], heap.values[last, 0], heap.values[last, 1])
