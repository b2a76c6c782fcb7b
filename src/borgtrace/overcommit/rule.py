"""What policies and recommenders have in common: they have parameters, and users name them as text."""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, TypeVar

from borgtrace.errors import UsageError, check_names
from borgtrace.extensions import YOUR_OWN
from borgtrace.schema.bounds import (
    POSITIVE_SHARE,
    PROBABILITY,
    SHARE,
    UNIT_SIZE,
    Bounds,
    Declaration,
    declarations_of,
    describe_allowed,
    is_allowed,
)
from borgtrace.schema.time import DAY, WINDOW, ClockUnit, parse_time, write_time

Amount = Annotated[float, Bounds(0, 1000)]
"""Deviations, samples, margins: what is multiplied."""
Cost = Annotated[float, Bounds(0, 1_000_000)]
Percentile = Annotated[float, Bounds(0, 100)]
UnitSize = Annotated[float, Bounds(0, UNIT_SIZE.most, excludes_least=True)]
"""Cores or GiB of the largest machine."""
Share = Annotated[float, SHARE]
PositiveShare = Annotated[float, POSITIVE_SHARE]
Probability = Annotated[float, PROBABILITY]
Slots = Annotated[int, ClockUnit(WINDOW), Bounds(1, 366 * DAY // WINDOW)]
"""Spans in slots of 300 s, which users write as times."""


@dataclass(frozen=True)
class NamedRule(ABC):
    """Base of policies and recommenders: a dataclass of parameters, which class attributes describe.

    Attributes
    ----------
    name, about
        What users call it, and what it does, in a sentence.
    option
        The option of the command line that names it, for messages.

    Notes
    -----
    A parameter says in its annotation what it may be, such as ``Annotated[float, Bounds(0, 100)]``; its default needs
    not be one of these values, where it stands for "not known".
    """

    name: ClassVar[str]
    about: ClassVar[str]
    option: ClassVar[str]

    def __post_init__(self) -> None:
        """Refuse values that their annotations do not allow."""
        declared = declarations_of(type(self))
        for parameter in fields(self):
            value = getattr(self, parameter.name)
            allowed = declared[parameter.name]
            if value is not parameter.default and not is_allowed(value, allowed):
                raise UsageError(
                    self.option,
                    f"{parameter.name} out of range",
                    expected=describe_allowed(allowed),
                    got=_write_value(value, allowed),
                )

    @property
    def label(self) -> str:
        """Name and parameters, as tables show them and users write them: ``nsigma:n=5,history=2h``."""
        values = []
        declared = declarations_of(type(self))
        for parameter in fields(self):
            value = getattr(self, parameter.name)
            values.append(f"{parameter.name}={_write_value(value, declared[parameter.name])}")
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
        YOUR_OWN,
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
            raise _unknown_parameter(option, name, known, text)
        value_text = value_text.strip()
        default = getattr(kind, parameter, None)
        if isinstance(default, str):
            values[parameter] = value_text
        else:
            declared = declarations_of(kind)[parameter]
            values[parameter] = _read_number(
                option,
                parameter,
                value_text,
                text,
                declared,
                is_whole=isinstance(default, int),
            )
    return kind(**values)


def _unknown_parameter(option: str, name: str, known: Sequence[str], text: str) -> UsageError:
    return UsageError(
        option,
        f"{name} has no such parameter",
        expected="one of " + ", ".join(known) if known else "none",
        got=text,
    )


def _read_number(
    option: str,
    name: str,
    value: str,
    text: str,
    declared: Declaration,
    *,
    is_whole: bool,
) -> float:
    """Return the value of a parameter: a number, or a time in its unit."""
    if declared.time_unit is not None:
        time = parse_time(value, f"{option} {text}")
        if time < declared.time_unit:
            problem = f"{name} is shorter than a slot"
            expected = describe_allowed(declared)
            raise UsageError(option, problem, expected=expected, got=text)
        return time // declared.time_unit
    try:
        return int(value) if is_whole else float(value)
    except ValueError:
        problem = f"{name} is not a {'whole number' if is_whole else 'number'}"
        expected = describe_allowed(declared) if declared.bounds else "a number"
        raise UsageError(option, problem, expected=expected, got=text) from None


def _write_value(value: Any, declared: Declaration) -> str:
    if isinstance(value, str):
        return value
    if declared.time_unit is not None and math.isfinite(value):
        return write_time(int(value) * declared.time_unit)
    return f"{value:g}"
