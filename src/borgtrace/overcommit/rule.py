"""What policies and recommenders are: rules with parameters, which users name as text."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from borgtrace.errors import UsageError, check_names
from borgtrace.schema.time import WINDOW, parse_time, write_time

TIMES = ("history", "warmup", "half_life")
"""Parameters that are spans, in slots of 300 s; written as times."""


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
    """

    name: ClassVar[str]
    about: ClassVar[str]
    option: ClassVar[str]
    kinds: ClassVar[dict[str, Any]]

    def __init_subclass__(cls) -> None:
        """List every class with a name of its own."""
        if "name" in cls.__dict__:
            cls.kinds[cls.name] = cls

    @property
    def label(self) -> str:
        """Name and parameters, as tables show them and users write them: ``nsigma:n=5,history=2h``."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return (
            self.name + ":" * bool(values) + ",".join(f"{name}={_text(name, value)}" for name, value in values.items())
        )

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
        values = {unit: value for unit, value in (units or {}).items() if unit in known and value > 0}
        for part in filter(None, rest.split(",")):
            parameter, _, value = (word.strip() for word in part.partition("="))
            if parameter not in known:
                expected = "one of " + ", ".join(item.name for item in fields(kind)) if known else "none"
                raise UsageError(cls.option, f"{name} has no such parameter", expected=expected, got=text)
            values[parameter] = cls._value(parameter, value, text)
        return kind(**values)

    @classmethod
    def _value(cls, name: str, text: str, given: str) -> float:
        if name in TIMES:
            slots = parse_time(text, f"{cls.option} {given}") // WINDOW
            if slots < 1:
                raise UsageError(cls.option, f"{name} is shorter than a slot", expected="5m or more", got=given)
            return slots
        try:
            return float(text)
        except ValueError:
            raise UsageError(cls.option, f"{name} is not a number", got=given) from None


def _text(name: str, value: float) -> str:
    return write_time(int(value) * WINDOW) if name in TIMES else f"{value:g}"
