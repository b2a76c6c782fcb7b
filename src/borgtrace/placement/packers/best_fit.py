"""Best Fit: the machine with the least room left once the task has joined."""

from __future__ import annotations

from borgtrace.placement.packers.packer import Packer, register_packer
from borgtrace.placement.types import Row, score_kernel


@score_kernel
def least_room(state: Row, item: Row, capacity: Row, slack: float) -> float:
    """The smallest non-negative slack (for GPA: the smallest positive FitBin)."""
    return -slack


BEST_FIT = register_packer(Packer("best-fit", "the machine left with the least room", least_room))
