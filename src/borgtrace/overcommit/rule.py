"""What policies and recommenders are: rules with parameters, which users name as text."""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from borgtrace.errors import UsageError, check_names
from borgtrace.schema.time import WINDOW, parse_time, write_time

Range = tuple[Callable[[Any], bool], str]
TIMES = ("history", "warmup", "half_life")
"""Parameters that are spans, in slots of 300 s; written as times."""
_ANY: Range = (lambda x: True, "")
_AMOUNT: Range = (lambda x: 0 <= x < math.inf, "0 or more")
_SHARE: Range = (lambda x: 0 < x <= 1, "above 0 and at most 1")
RANGES: dict[str, Range] = {
    **dict.fromkeys(
        ("n", "prior", "margin", "large_margin", "overrun", "underrun", "change", "model"), _AMOUNT
    ),
    **dict.fromkeys(("phi", "target", "large"), _SHARE),
    "rho": (lambda x: 0 < x < 1, "above 0 and below 1"),
    "growth": (lambda x: 1 < x < math.inf, "above 1"),
    "calculate": (
        lambda x: x in ("usage", "request", "maxUsageRequest"),
        "usage, request or maxUsageRequest",
    ),
    "q": (lambda x: 0 <= x <= 100, "0 to 100"),
}
"""What parameters may be, and how that reads, by their names."""


@dataclass(frozen=True)
class Rule(ABC):
    """A dataclass of its parameters, which says in class attributes what it is.

    Attributes
    ----------
    name, about
        What users call it, and what it does, in a sentence.
    option
        Where users name it, for messages.
    kinds
        All rules of the kind by name, as far as their modules have been imported.
    ranges
        What its parameters may be.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    option: ClassVar[str]
    kinds: ClassVar[dict[str, Any]]
    ranges: ClassVar[dict[str, Range]] = RANGES

    def __init_subclass__(cls) -> None:
        """List every class with a name of its own."""
        if "name" in cls.__dict__:
            cls.kinds[cls.name] = cls

    def __post_init__(self) -> None:
        """Refuse values that are out of range."""
        for item in fields(self):
            holds, expected = self.ranges.get(item.name, _ANY)
            value = getattr(self, item.name)
            if not holds(value):
                what = f"{item.name} out of range"
                got = _text(item.name, value)
                raise UsageError(self.option, what, expected=expected, got=got)

    @property
    def label(self) -> str:
        """Name and parameters, as tables show them and users write them: ``nsigma:n=5,history=2h``."""
        values = ",".join(
            f"{item.name}={_text(item.name, getattr(self, item.name))}" for item in fields(self)
        )
        return self.name + ":" * bool(values) + values

    @classmethod
    def parsed(cls, text: str, units: Mapping[str, float] | None = None) -> Any:
        """Return the rule of the kind that a text such as ``nsigma:n=3,history=10h`` names.

        Parameters
        ----------
        text
            What the user wrote.
        units
            Parameters for the rules that have them and do not name them.

        Raises
        ------
        UsageError
            For an unknown rule or parameter, or a value out of range.
        """
        name, _, rest = text.strip().partition(":")
        check_names(cls.option, [name], sorted(cls.kinds), f"no such {cls.option.lstrip('-')}")
        kind = cls.kinds[name]
        known = {item.name for item in fields(kind)}
        values: dict[str, Any] = {
            unit: value for unit, value in (units or {}).items() if unit in known and value > 0
        }
        for part in filter(None, rest.split(",")):
            parameter, _, value = (word.strip() for word in part.partition("="))
            if parameter not in known:
                expected = (
                    "one of " + ", ".join(item.name for item in fields(kind)) if known else "none"
                )
                raise UsageError(
                    cls.option, f"{name} has no such parameter", expected=expected, got=text
                )
            is_text = isinstance(getattr(kind, parameter), str)
            values[parameter] = value if is_text else cls._value(parameter, value, text)
        return kind(**values)

    @classmethod
    def _value(cls, name: str, text: str, given: str) -> float:
        if name in TIMES:
            slots = parse_time(text, f"{cls.option} {given}") // WINDOW
            if slots < 1:
                raise UsageError(
                    cls.option, f"{name} is shorter than a slot", expected="5m or more", got=given
                )
            return slots
        try:
            return float(text)
        except ValueError:
            raise UsageError(cls.option, f"{name} is not a number", got=given) from None


def _text(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    return write_time(int(value) * WINDOW) if name in TIMES else f"{value:g}"
