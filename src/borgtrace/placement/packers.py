"""Packers: they choose among the machines on which a task fits.

To add one, write its score and a line of `PACKERS`.
"""

from __future__ import annotations

from dataclasses import dataclass

from borgtrace.errors import UsageError
from borgtrace.placement.types import Row, Score, score_kernel


@score_kernel
def no_preference(
    state: Row,
    item: Row,
    capacity: Row,
    slack: float,
) -> float:
    """Score all machines alike: First Fit stops before it scores, but a kernel always takes a function."""
    return 0.0


@score_kernel
def least_room(
    state: Row,
    item: Row,
    capacity: Row,
    slack: float,
) -> float:
    """Prefer the smallest non-negative slack (for GPA: the smallest positive FitBin)."""
    return -slack


@score_kernel
def most_room(
    state: Row,
    item: Row,
    capacity: Row,
    slack: float,
) -> float:
    """Prefer the largest slack."""
    return slack


@score_kernel
def aligned_room(
    state: Row,
    item: Row,
    capacity: Row,
    slack: float,
) -> float:
    """Return Σ over resources of (mean load of the task) × (capacity less mean load), in shares of the capacity.

    After Panigrahy et al., "Heuristics for Vector Bin Packing" (2011).  Needs rows that start with the mean load
    of each resource; with one resource it is Worst Fit by mean load.
    """
    total = 0.0
    for resource in range(capacity.size):
        # In shares of the capacity: CPU and memory have different units, and their products are added.
        load = state[resource] + item[resource]
        room = 1 - load / capacity[resource]
        total += item[resource] / capacity[resource] * room
    return total


@dataclass(frozen=True)
class Packer:
    """How to choose among the machines where a task fits.

    Attributes
    ----------
    name, about
        How users call it, and what it does.
    score
        Compiled; higher is better, and ties go to the machine opened first.
    stops
        Whether to take the first machine that fits, without scoring.
    """

    name: str
    about: str
    score: Score = no_preference
    stops: bool = False


BEST_FIT = Packer("best-fit", "the machine left with the least room", least_room)
FIRST_FIT = Packer("first-fit", "the first machine where the task fits", stops=True)
PACKERS = [
    BEST_FIT,
    FIRST_FIT,
    Packer("worst-fit", "the machine left with the most room", most_room),
    Packer("dot-product", "the machine whose free resources match the task's needs", aligned_room),
]
"""All packers."""


def packers() -> dict[str, Packer]:
    """Return all packers by name, sorted.

    Examples
    --------
    >>> packers()["first-fit"].stops
    True
    """
    by_name = {packer.name: packer for packer in PACKERS}
    return dict(sorted(by_name.items()))


def parse_packer(name: str) -> Packer:
    """Return the packer called `name`.

    Raises
    ------
    UsageError
        No packer has that name.
    """
    known = packers()
    if name not in known:
        expected = f"one of {', '.join(known)}"
        raise UsageError("packer", "unknown name", expected=expected, got=name)
    return known[name]
