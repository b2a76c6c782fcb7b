"""Worst Fit: the machine with the most room left once the task has joined, to spread the load."""

from __future__ import annotations

from borgtrace.placement.packers.packer import Packer, register_packer
from borgtrace.placement.types import Row, score_kernel


@score_kernel
def most_room(state: Row, item: Row, capacity: Row, slack: float) -> float:
    """The largest slack."""
    return slack


WORST_FIT = register_packer(Packer("worst-fit", "the machine left with the most room", most_room))
