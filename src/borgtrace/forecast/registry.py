"""The forecasters that users can name: ours, those of installed packages, and those of files that they name."""

from __future__ import annotations

import copy
import inspect
from typing import Any

from borgtrace.errors import UsageError
from borgtrace.extensions import Registry
from borgtrace.forecast.adaptive_anchors import AdaptiveAnchors
from borgtrace.forecast.anchors import Anchors
from borgtrace.forecast.forecaster import Forecaster
from borgtrace.forecast.forecasters import FORECASTERS, OwnForecaster
from borgtrace.forecast.mixture import MixtureForecaster

ForecasterKind = type[Forecaster] | Forecaster
"""A class, or an object with parameters of its own."""


def is_forecaster(value: Any) -> bool:
    """Whether an object is a class of forecasters, or one of them."""
    return isinstance(value, Forecaster) or (
        isinstance(value, type) and issubclass(value, Forecaster)
    )


SAVABLE: dict[str, type[OwnForecaster]] = {
    **FORECASTERS,
    MixtureForecaster.name: MixtureForecaster,
    Anchors.name: Anchors,
}
"""Those of borgtrace that a file can hold, by name."""
OURS: dict[str, ForecasterKind] = {**SAVABLE, AdaptiveAnchors.name: AdaptiveAnchors}
"""All of borgtrace, by name."""
FORECASTER_KINDS = Registry[ForecasterKind](
    "forecaster",
    "borgtrace.forecasters",
    OURS,
    is_forecaster,
    "a class derived from borgtrace.Forecaster",
)
"""Forecasters by name, those of others included."""


def untrained(kind: ForecasterKind) -> Forecaster:
    """Return a new forecaster that has learned nothing: of a class its object, of an object a copy.

    Parameters
    ----------
    kind
        What a name stands for, or what stood in the place of a name.

    Raises
    ------
    UsageError
        It is a class that needs arguments.
    """
    if not isinstance(kind, type):
        return copy.deepcopy(kind)
    check_needs_no_arguments(kind)
    return kind()


def check_needs_no_arguments(kind: type[Forecaster]) -> None:
    """Refuse a class that cannot make an object without arguments.

    Parameters
    ----------
    kind
        A class.

    Raises
    ------
    UsageError
        It has parameters without defaults.
    """
    try:
        inspect.signature(kind).bind()
    except TypeError as error:
        raise UsageError(
            f"forecaster {kind.name}",
            f"the class {kind.__name__} needs arguments",
            got=str(error),
            way_out=f"give them defaults, or pass an object: {kind.__name__}(…)",
        ) from None
