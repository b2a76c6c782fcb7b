"""The list of estimators: the named classes of all modules of this package."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from borgtrace.errors import UsageError
from borgtrace.placement.estimators.estimator import KINDS, Estimator


def estimators() -> dict[str, type[Estimator]]:
    """All estimator classes by name, sorted by name.

    Examples
    --------
    >>> estimators()["gpa"].symbol
    'ρ'
    """
    # By folder, not by a list: a new estimator is one new file, whose class lists itself.
    for module in iter_modules([str(Path(__file__).parent)]):
        import_module(f"{__package__}.{module.name}")
    return dict(sorted(KINDS.items()))


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
    # Without a colon the number is empty, and refused below like any other text.
    name, _, number = text.partition(":")
    kinds = estimators()
    if name not in kinds:
        expected = f"one of {', '.join(kinds)}"
        way_out = "write name:parameter, such as gpa:0.001"
        raise UsageError(
            "estimator", "unknown name", expected=expected, got=name or "nothing", way_out=way_out
        )
    try:
        parameter = float(number)
    except ValueError:
        where = f"estimator {name}"
        expected = f"{name}:{kinds[name].symbol}"
        raise UsageError(where, "parameter is not a number", expected=expected, got=text) from None
    return kinds[name](parameter)
