"""What a packer is, and the list of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

import borgtrace.placement.packers as package
from borgtrace.errors import UsageError
from borgtrace.placement.types import Row, Score, score_kernel


@score_kernel
def no_preference(state: Row, item: Row, capacity: Row, slack: float) -> float:
    """All machines alike."""
    return 0.0


@dataclass(frozen=True)
class Packer:
    """How to choose among the machines where a task fits.

    Attributes
    ----------
    name, about
        How users call it, and what it does.
    score
        Higher is better; ties go to the machine opened first.
    stops
        Take the first that fits, without scoring.
    """

    name: str
    about: str
    score: Score = no_preference
    stops: bool = False


_PACKERS: dict[str, Packer] = {}


def register_packer(packer: Packer) -> Packer:
    """Add a packer to the list under its name."""
    if packer.name in _PACKERS:
        raise ValueError(f"two packers are called {packer.name}")
    _PACKERS[packer.name] = packer
    return packer


def packers() -> dict[str, Packer]:
    """All packers by name, sorted.

    Examples
    --------
    >>> packers()["first-fit"].stops
    True
    """
    _find()
    return dict(sorted(_PACKERS.items()))


@cache
def _find() -> None:
    """Import the modules of this package, once: each registers its own."""
    for module in iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")


def parse_packer(name: str) -> Packer:
    """The packer called `name`.

    Raises
    ------
    UsageError
        There is none.
    """
    known = packers()
    if name not in known:
        raise UsageError("packer", "unknown name", expected=f"one of {', '.join(known)}", got=name)
    return known[name]
