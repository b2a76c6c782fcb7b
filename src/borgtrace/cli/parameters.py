"""Parameters of questions: read from ``--set NAME=VALUE``, and listed with their defaults."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from borgtrace.errors import UsageError
from borgtrace.question import Question
from borgtrace.schema.bounds import Declaration, check_value, describe_allowed
from borgtrace.schema.ranges import list_numbers
from borgtrace.schema.time import parse_time, write_time


def parse_settings(settings: Sequence[str], questions: Sequence[Question]) -> dict[str, Any]:
    """Turn NAME=VALUE into parameters, of the type of their default.

    Times may be amounts such as ``1h30m``, tuples lists of numbers and ranges.

    Raises
    ------
    UsageError
        For a name that none of the questions has, or a value of another type.
    """
    # One value serves all questions that have the parameter; each then picks what is its own.
    owners = {name: question for question in questions for name in question.parameters}
    values = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or name not in owners:
            raise UsageError(
                "--set",
                "no such parameter",
                expected=known_parameters(sorted(owners)),
                got=setting,
            )
        question = owners[name]
        default = question.parameters[name]
        declared = question.declarations[name]
        value = parse_value(f"--set {name}", text, default, declared)
        check_value(f"--set {name}", value, declared)
        values[name] = value
    return values


def known_parameters(names: Sequence[str]) -> str:
    """Say which parameters there are."""
    return f"one of {', '.join(names)}" if names else "none: no question here has one"


def parse_value(
    where: str,
    text: str,
    default: Any,
    declared: Declaration,
) -> Any:
    """Read a value of the type of a default.

    Parameters
    ----------
    where
        The option, for the error.
    text
        The value.
    default
        The parameter's default.
    declared
        What the parameter may be, and its unit where it is a time.

    Raises
    ------
    UsageError
        For a value of another type.
    """
    # Text first: "1" for a text is no number, and needs no quotes on a command line.
    if isinstance(default, str):
        return text
    if isinstance(default, tuple):
        return list_numbers(text.strip("[] "), where)
    # An amount ends in its unit; a plain number is already in the unit of the parameter.
    if declared.time_unit and text.strip()[-1:].isalpha():
        return as_amount(parse_time(text, where), where, default, declared)
    # Thousands of digits or brackets are no value of a parameter either.
    with suppress(ValueError, OverflowError, RecursionError):
        value = json.loads(text)
        # The only cast: 1 is meant as 1.0, but 1.5 is no count, and true (an int to Python) is no number.
        if isinstance(default, float) and type(value) is int:
            value = float(value)
        if type(value) is type(default):
            return value
    example = f"like {default}"
    if declared.bounds is not None:
        example = f"{declared.bounds.describe(declared.time_unit)}, {example}"
    raise UsageError(where, "wrong kind of value", expected=example, got=text)


def as_amount(time: int, where: str, default: Any, declared: Declaration) -> Any:
    """Return a time of µs in the unit of a parameter.

    Raises
    ------
    UsageError
        The parameter has whole units, and the time is not a whole number of them.
    """
    unit = declared.time_unit or 1
    if isinstance(default, float):
        return time / unit
    # 1.5 s are not 1 s: cut, the answer would be about another time than the one that was asked for.
    if time % unit:
        expected = f"whole multiples of {write_time(unit)}"
        raise UsageError(where, "finer than its unit", expected=expected, got=write_time(time))
    return time // unit


def own_parameters(question: Question, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the parameters that a question has."""
    return {name: value for name, value in parameters.items() if name in question.parameters}


def print_list(questions: Sequence[Question], *, has_set: bool) -> None:
    """Print names and questions, and where the command has ``--set`` the parameters with their defaults.

    Parameters
    ----------
    questions
        Those of others are followed by where they come from.
    has_set
        Whether the command has ``--set``.
    """
    from borgtrace.catalog import QUESTION_KINDS

    width = max(len(question.name) for question in questions)
    for question in questions:
        is_of_others = question.name in QUESTION_KINDS and question.name not in QUESTION_KINDS.own
        origin = f" (from {QUESTION_KINDS.origin(question.name)})" if is_of_others else ""
        print(f"{question.name:<{width}}  {question.title}{origin}")
        if has_set and question.parameters:
            settings = []
            for name, default in question.parameters.items():
                declared = question.declarations[name]
                value = write_value(default, declared.time_unit)
                allowed = describe_allowed(declared)
                settings.append(f"{name}={value} ({allowed})")
            print(f"{'':<{width}}  --set {', '.join(settings)}")


def write_value(value: Any, time_unit: int | None) -> str:
    """Write a default as ``--set`` reads it."""
    if isinstance(value, tuple):
        return ",".join(str(item) for item in value)
    return write_time(round(value * time_unit)) if time_unit else str(value)
