"""What policies and recommenders have in common: they have parameters, and users name them as text."""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple, TypeVar

from borgtrace.errors import UsageError, check_names
from borgtrace.schema.time import WINDOW, parse_time, write_time

TIMES = ("history", "warmup", "half_life")
"""Parameters that are spans, in slots of 300 s; written as times."""


class Range(NamedTuple):
    """What a parameter may be, and how that reads in a message."""

    contains: Callable[[Any], bool]
    text: str


_CALCULATIONS = ("usage", "request", "maxUsageRequest")
_ANYTHING = Range(lambda value: True, "")
_AMOUNT = Range(lambda value: 0 <= value < math.inf, "0 or more")
_SHARE = Range(lambda value: 0 < value <= 1, "above 0 and at most 1")
RANGES: dict[str, Range] = {
    "n": _AMOUNT,
    "prior": _AMOUNT,
    "margin": _AMOUNT,
    "large_margin": _AMOUNT,
    "overrun": _AMOUNT,
    "underrun": _AMOUNT,
    "change": _AMOUNT,
    "model": _AMOUNT,
    "phi": _SHARE,
    "target": _SHARE,
    "large": _SHARE,
    "rho": Range(lambda value: 0 < value < 1, "above 0 and below 1"),
    "growth": Range(lambda value: 1 < value < math.inf, "above 1"),
    "calculate": Range(lambda value: value in _CALCULATIONS, "usage, request or maxUsageRequest"),
    "q": Range(lambda value: 0 <= value <= 100, "0 to 100"),
}
"""Ranges of parameters by name; a class may have others."""


@dataclass(frozen=True)
class NamedRule(ABC):
    """Base of policies and recommenders: a dataclass of parameters, which class attributes describe.

    Attributes
    ----------
    name, about
        What users call it, and what it does, in a sentence.
    option
        The option of the command line that names it, for messages.
    ranges
        What its parameters may be.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    option: ClassVar[str]
    ranges: ClassVar[Mapping[str, Range]] = RANGES

    def __post_init__(self) -> None:
        """Refuse values that are out of range."""
        for parameter in fields(self):
            allowed = self.ranges.get(parameter.name, _ANYTHING)
            value = getattr(self, parameter.name)
            if not allowed.contains(value):
                raise UsageError(
                    self.option,
                    f"{parameter.name} out of range",
                    expected=allowed.text,
                    got=_write_value(parameter.name, value),
                )

    @property
    def label(self) -> str:
        """Name and parameters, as tables show them and users write them: ``nsigma:n=5,history=2h``."""
        values = []
        for parameter in fields(self):
            value = getattr(self, parameter.name)
            values.append(f"{parameter.name}={_write_value(parameter.name, value)}")
        if not values:
            return self.name
        return f"{self.name}:{','.join(values)}"


Kind = TypeVar("Kind", bound=NamedRule)


def parse_rule(
    text: str,
    kinds: Mapping[str, type[Kind]],
    option: str,
    units: Mapping[str, float] | None = None,
) -> Kind:
    """Return the policy or recommender that a text such as ``nsigma:n=3,history=10h`` names.

    Parameters
    ----------
    text
        What the user wrote.
    kinds
        The classes that may be named.
    option
        Where the user wrote it, for messages.
    units
        Parameters for the classes that have them, where the text does not name them; 0 counts as unknown.

    Raises
    ------
    UsageError
        For an unknown name or parameter, or a value out of range.
    """
    name, _, parameters = text.strip().partition(":")
    check_names(
        option,
        [name],
        sorted(kinds),
        f"no such {option.lstrip('-')}",
    )
    kind = kinds[name]
    known = [parameter.name for parameter in fields(kind)]
    values: dict[str, Any] = {}
    for unit, value in (units or {}).items():
        if unit in known and value > 0:
            values[unit] = value
    for part in parameters.split(","):
        if not part:
            continue
        parameter, _, value_text = part.partition("=")
        parameter = parameter.strip()
        if parameter not in known:
            expected = "one of " + ", ".join(known) if known else "none"
            raise UsageError(
                option,
                f"{name} has no such parameter",
                expected=expected,
                got=text,
            )
        is_text = isinstance(getattr(kind, parameter), str)
        value_text = value_text.strip()
        values[parameter] = (
            value_text if is_text else _read_value(option, parameter, value_text, text)
        )
    return kind(**values)


def _read_value(
    option: str,
    name: str,
    value: str,
    text: str,
) -> float:
    """Return the value of a parameter: slots of a time, or a number."""
    if name in TIMES:
        slots = parse_time(value, f"{option} {text}") // WINDOW
        if slots < 1:
            problem = f"{name} is shorter than a slot"
            raise UsageError(option, problem, expected="5m or more", got=text)
        return slots
    try:
        return float(value)
    except ValueError:
        raise UsageError(option, f"{name} is not a number", got=text) from None


def _write_value(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if name in TIMES:
        return write_time(int(value) * WINDOW)
    return f"{value:g}"
