"""The list of estimators that users can name, and how a name with its parameter is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from borgtrace.errors import UsageError
from borgtrace.extensions import YOUR_OWN, Registry
from borgtrace.placement.estimators.bounds import Bernstein, Chernoff, Hoeffding
from borgtrace.placement.estimators.calibrated import CalibratedGpa
from borgtrace.placement.estimators.convolution import Convolution
from borgtrace.placement.estimators.cornish_fisher import CornishFisher
from borgtrace.placement.estimators.covariance import CovarianceGpa
from borgtrace.placement.estimators.estimator import Estimator
from borgtrace.placement.estimators.gpa import Gpa
from borgtrace.placement.estimators.saddlepoint import Saddlepoint
from borgtrace.placement.estimators.sizes import Average, Cantelli, Percentile, Request

OURS: list[type[Estimator]] = [
    Average,
    Bernstein,
    CalibratedGpa,
    Cantelli,
    Chernoff,
    Convolution,
    CornishFisher,
    CovarianceGpa,
    Gpa,
    Hoeffding,
    Percentile,
    Request,
    Saddlepoint,
]
"""Estimators of one parameter; those that are made of other estimators, or of moments, are not listed."""


def is_estimator(value: Any) -> bool:
    """Whether an object is a class of estimators."""
    return isinstance(value, type) and issubclass(value, Estimator)


ESTIMATOR_KINDS = Registry[type[Estimator]](
    "estimator",
    "borgtrace.estimators",
    {kind.name: kind for kind in sorted(OURS, key=lambda kind: kind.name)},
    is_estimator,
    "a class derived from borgtrace.Estimator",
)
"""Classes of estimators by name, those of others included."""


def estimators() -> Mapping[str, type[Estimator]]:
    """Return the estimator classes by name: ours sorted by name, then those of others.

    Examples
    --------
    >>> estimators()["gpa"].symbol
    'ρ'
    """
    return ESTIMATOR_KINDS


def parse_estimator(text: str, option: str = "") -> Estimator:
    """Return the estimator that a user writes as ``name:parameter``.

    Parameters
    ----------
    text
        What the user wrote.
    option
        Where the user wrote it, for the error.

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
        raise UsageError(
            option or "estimator",
            "unknown name",
            expected=f"one of {', '.join(kinds)}",
            got=name or "nothing",
            way_out=f"write name:parameter, such as gpa:0.001; {YOUR_OWN}",
        )
    kind = kinds[name]
    try:
        parameter = float(number)
    except ValueError:
        problem = "parameter is not a number"
        expected = f"{name}:{kind.symbol}"
        raise UsageError(
            f"{option or 'estimator'} {name}",
            problem,
            expected=expected,
            got=text,
        ) from None
    try:
        return kind(parameter)
    except UsageError as error:
        where = f"{option} {error.where}".strip()
        raise UsageError(where, error.what, expected=error.expected, got=error.got) from None
