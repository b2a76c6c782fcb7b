"""Dot product: the machine whose free resources point in the same direction as the task's needs."""

from __future__ import annotations

from borgtrace.placement.packers.packer import Packer, register_packer
from borgtrace.placement.types import Row, score_kernel


@score_kernel
def aligned_room(state: Row, item: Row, capacity: Row, slack: float) -> float:
    """Σ over resources of (mean load of the task) × (capacity less mean load), in shares of the capacity.

    After Panigrahy et al., "Heuristics for Vector Bin Packing" (2011).  Needs rows that start with the mean load
    of each resource; with one resource it is Worst Fit by mean load.
    """
    total = 0.0
    for resource in range(capacity.size):
        room = 1 - (state[resource] + item[resource]) / capacity[resource]
        total += item[resource] / capacity[resource] * room
    return total


DOT_PRODUCT = register_packer(
    Packer("dot-product", "the machine whose free resources match the task's needs", aligned_room)
)
