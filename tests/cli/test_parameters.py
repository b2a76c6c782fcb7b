"""Values of ``--set``: of the type of their default, with units of time."""

from __future__ import annotations

import pytest

from borgtrace.catalog import find
from borgtrace.cli.parameters import parse_settings, parse_value
from borgtrace.errors import UsageError
from borgtrace.schema.bounds import Declaration


@pytest.mark.parametrize(
    ("question", "setting", "parameters"),
    [
        ("queue_length", "step=1h", {"step": 3_600_000_000}),
        ("queue_length", "step=600000000", {"step": 600_000_000}),
        ("parents", "delay=2m", {"delay": 120}),
        ("reservation", "half_life=1h30m", {"half_life": 5400.0}),
        ("reservation", "half_life=90", {"half_life": 90.0}),
        ("sampling_period", "periods=1-3,6", {"periods": (1, 2, 3, 6)}),
        ("sampling_period", "periods=[2, 4]", {"periods": (2, 4)}),
        ("transitions", "of=collections", {"of": "collections"}),
    ],
)
def test_settings_follow_the_grammar_of_options(
    question: str, setting: str, parameters: dict[str, object]
) -> None:
    values = parse_settings([setting], [find(question)])
    assert values == parameters
    assert [type(value) for value in values.values()] == list(map(type, parameters.values()))


@pytest.mark.parametrize(
    ("text", "default", "unit", "value"),
    [
        ("1", "a", None, "1"),
        ("1", 0.5, None, 1.0),
        ("1h", 60, 1_000_000, 3_600),
        ("90", 60, 1_000_000, 90),
        ("true", False, None, True),
        ("1-3,7", (1,), None, (1, 2, 3, 7)),
    ],
)
def test_values_take_the_type_of_their_default(
    text: str,
    default: object,
    unit: int | None,
    value: object,
) -> None:
    parsed = parse_value("--set x", text, default, Declaration(time_unit=unit))
    assert (parsed, type(parsed)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "default"),
    [
        ("1.5", 1),
        ("true", 1),
        ("1", True),
        ("x", 1),
        ("null", 0.5),
        ("", 1),
    ],
)
def test_values_of_another_type_are_refused(text: str, default: object) -> None:
    with pytest.raises(UsageError, match="wrong kind of value: expected like"):
        parse_value("--set x", text, default, Declaration())
