"""Every number that a user may set has bounds, declared once: its ends are taken, and what lies just beyond is refused.

Options of commands, fields of option classes, and parameters of questions, policies and recommenders are found, not
listed: the next one without bounds fails here.
"""

from __future__ import annotations

import dataclasses
import importlib
import math
from collections.abc import Callable, Iterator
from functools import partial
from numbers import Real
from pathlib import Path
from typing import Any

import pytest

import borgtrace
from borgtrace.catalog import experiments, questions
from borgtrace.cli.app import COMMANDS, command_function, load_command
from borgtrace.cli.checked_command import check_options
from borgtrace.errors import UsageError
from borgtrace.overcommit.policies.registry import policies
from borgtrace.overcommit.recommenders.registry import recommenders
from borgtrace.question import Question
from borgtrace.schema.bounds import Bounds, Declaration, declaration_of, declarations_of
from tests.cli.odd_values import reads_number

SMALL = {"realizations": 100, "size": 1}
"""Both at their largest would be too many draws."""
FREE_TEXTS = {"by"}
"""Names of things that are looked up where they are used."""


@dataclasses.dataclass(frozen=True)
class Setting:
    """A number that a user may set."""

    name: str
    declared: Declaration
    make: Callable[[Any], object]


def settings_of_commands() -> Iterator[Setting]:
    for name in COMMANDS:
        function = command_function(name)
        for parameter in load_command(name).params:
            if parameter.name != "help" and reads_number(parameter):
                declared = declarations_of(function)[parameter.name]
                make = partial(with_option, function, parameter.name)
                yield Setting(f"{name} {parameter.name}", declared, make)


def with_option(function: Callable[..., None], name: str, value: Any) -> None:
    check_options(function, {name: value})


def option_classes() -> Iterator[type[Any]]:
    """Yield the dataclasses of modules that check their fields."""
    root = Path(borgtrace.__file__).parent
    for path in sorted(root.rglob("*.py")):
        if "check_fields(self" in path.read_text():
            parts = path.relative_to(root.parent).with_suffix("").parts
            module = importlib.import_module(".".join(parts))
            for value in vars(module).values():
                is_own = getattr(value, "__module__", "") == module.__name__
                if (
                    is_own
                    and dataclasses.is_dataclass(value)
                    and "check_fields" in names_used(value)
                ):
                    yield value


def names_used(owner: Any) -> tuple[str, ...]:
    """Return the names that a dataclass uses when it is made."""
    made: Any = getattr(owner, "__post_init__", None)
    return made.__code__.co_names if made else ()


def settings_of_option_classes() -> Iterator[Setting]:
    for owner in option_classes():
        for field in dataclasses.fields(owner):
            declared = declarations_of(owner)[field.name]
            if is_number(field.default) or declared.bounds:
                make = partial(with_field, owner, field.name, isinstance(field.default, tuple))
                yield Setting(f"{owner.__name__} {field.name}", declared, make)


def with_field(owner: Any, name: str, is_list: bool, value: Any) -> object:
    others = {key: small for key, small in SMALL.items() if hasattr(owner, key)}
    return owner(**{**others, name: (value,) if is_list else value})


def settings_of_questions() -> Iterator[Setting]:
    known = experiments()
    for name, question in questions().items():
        for parameter, default in question.parameters.items():
            if name in known or isinstance(default, bool):
                continue
            make = partial(with_parameter, question, parameter, isinstance(default, tuple))
            yield Setting(f"{name} {parameter}", question.declarations[parameter], make)


def with_parameter(question: Question, parameter: str, is_list: bool, value: Any) -> object:
    return question.with_defaults({parameter: (value,) if is_list else value})


def settings_of_rules() -> Iterator[Setting]:
    for name, kind in {**policies(), **recommenders()}.items():
        for field in dataclasses.fields(kind):
            if field.name not in FREE_TEXTS:
                yield Setting(
                    f"{name} {field.name}",
                    declarations_of(kind)[field.name],
                    lambda value, kind=kind, field=field: kind(**{field.name: value}),
                )


def is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


SETTINGS = [
    *settings_of_commands(),
    *settings_of_option_classes(),
    *settings_of_questions(),
    *settings_of_rules(),
]
NUMBERS = [setting for setting in SETTINGS if setting.declared.bounds is not None]


def test_there_are_many() -> None:
    kinds = {setting.name.partition(" ")[0] for setting in NUMBERS}
    assert {"colocate", "ColocationOptions", "tails", "nsigma", "hpa"} <= kinds
    assert len(NUMBERS) > 150


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_it_says_what_it_may_be(setting: Setting) -> None:
    assert setting.declared.bounds or setting.declared.words


def test_ends_are_taken_and_what_lies_beyond_is_refused() -> None:
    for setting in NUMBERS:
        assert setting.declared.bounds
        for taken in taken_ends(setting.declared.bounds):
            assert "out of range" not in refusal(setting, taken), setting.name
        for refused in (*refused_ends(setting.declared.bounds), float("nan")):
            assert "out of range: expected" in refusal(setting, refused), setting.name


def refusal(setting: Setting, value: float) -> str:
    """Return the message that a value is refused with; nothing where it is taken."""
    try:
        setting.make(value)
    except UsageError as error:
        # A value within bounds may lack another one beside it: 0 cores are cores that are not known.
        return str(error)
    return ""


def taken_ends(bounds: Bounds) -> Iterator[float]:
    """Yield the smallest and the largest number within bounds."""
    if math.isfinite(bounds.least):
        yield math.nextafter(bounds.least, math.inf) if bounds.excludes_least else bounds.least
    if math.isfinite(bounds.most):
        yield math.nextafter(bounds.most, -math.inf) if bounds.excludes_most else bounds.most


def refused_ends(bounds: Bounds) -> Iterator[float]:
    """Yield the numbers next to bounds."""
    is_whole = isinstance(bounds.least, int) and isinstance(bounds.most, int)
    if math.isfinite(bounds.least):
        below = bounds.least - 1 if is_whole else math.nextafter(bounds.least, -math.inf)
        yield bounds.least if bounds.excludes_least else below
    if math.isfinite(bounds.most):
        above = bounds.most + 1 if is_whole else math.nextafter(bounds.most, math.inf)
        yield bounds.most if bounds.excludes_most else above


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        (Bounds(1, 1024), "1 to 1,024"),
        (Bounds(0, math.inf), "0 or more"),
        (Bounds(0, math.inf, excludes_least=True), "above 0"),
        (Bounds(0, 1, excludes_least=True), "above 0 and at most 1"),
        (Bounds(0, 1, excludes_most=True), "at least 0 and below 1"),
        (Bounds(0, 0.5, excludes_least=True, excludes_most=True), "above 0 and below 0.5"),
    ],
)
def test_bounds_in_words(bounds: Bounds, text: str) -> None:
    assert bounds.describe() == text


def test_times_have_units() -> None:
    assert Bounds(300_000_000, 3_600_000_000).describe(1) == "5m to 1h"
    assert Bounds(0, 90).describe(1_000_000) == "0us to 1m30s"


def test_what_is_no_number_is_none() -> None:
    step = questions()["queue_length"]
    for value in ("1h", None, True, [1]):
        with pytest.raises(UsageError):
            step.with_defaults({"step": value})
    with pytest.raises(UsageError) as caught:
        step.with_defaults({"step": "1h"})
    assert str(caught.value) == "step: not a number: expected 5m to 31d, got '1h'"


def test_a_list_has_a_length() -> None:
    question = questions()["sampling_period"]
    with pytest.raises(UsageError) as caught:
        question.with_defaults({"periods": ()})
    assert str(caught.value) == "periods: wrong number of values: expected 1 to 100 of them, got 0"
    assert declaration_of(tuple[int, ...]).items is None
