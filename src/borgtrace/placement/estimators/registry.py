"""The list of estimators: each module of this package registers its own."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TypeVar

from borgtrace.errors import UsageError
from borgtrace.placement.estimators.estimator import Estimator

Kind = TypeVar("Kind", bound=type[Estimator])
_KINDS: dict[str, type[Estimator]] = {}


def register(kind: Kind) -> Kind:
    """Add an estimator class to the list, under its name (a decorator)."""
    if kind.name in _KINDS:
        raise ValueError(f"two estimators are called {kind.name}")
    _KINDS[kind.name] = kind
    return kind


def estimators() -> dict[str, type[Estimator]]:
    """All estimator classes by name, sorted by name.

    Examples
    --------
    >>> estimators()["gpa"].symbol
    'ρ'
    """
    _find()
    return dict(sorted(_KINDS.items()))


@cache
def _find() -> None:
    """Import the modules of this package, once: each registers its own."""
    for module in iter_modules([str(Path(__file__).parent)]):
        import_module(f"{__package__}.{module.name}")


def parse_estimator(text: str) -> Estimator:
    """Make an estimator from ``name:parameter``, as users write it.

    Examples
    --------
    >>> parse_estimator("gpa:0.01").label
    'gpa 0.01'

    Raises
    ------
    UsageError
        The name is unknown, or the parameter is not a number it accepts.
    """
    name, _, number = text.partition(":")
    kinds = estimators()
    if name not in kinds:
        raise UsageError(
            "estimator",
            "unknown name",
            expected=f"one of {', '.join(kinds)}",
            got=name or "nothing",
            way_out="write name:parameter, such as gpa:0.001",
        )
    try:
        parameter = float(number)
    except ValueError:
        raise UsageError(
            f"estimator {name}", "parameter is not a number", expected=f"{name}:{kinds[name].symbol}", got=text
        ) from None
    return kinds[name](parameter)
