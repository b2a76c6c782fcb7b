"""What the contracts of policies and recommenders have in common: both are dataclasses that users name as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from borgtrace.errors import UsageError
from borgtrace.overcommit.rule import NamedRule, parse_rule
from borgtrace.testing.trial import Trials

Rule = TypeVar("Rule", bound=NamedRule)


def made(
    trials: Trials, rule: Rule | type[Rule], is_rule: Callable[[Any], bool], wanted: str
) -> Rule | None:
    """Return an object of a class with its defaults; None where there cannot be one.

    Parameters
    ----------
    trials
        Where failures go.
    rule
        The class; an object is returned as it is.
    is_rule, wanted
        Whether a class is of the kind, and what it has to be.
    """
    if not isinstance(rule, type):
        return rule
    if not is_rule(rule):
        trials.add(f"it is not {wanted}")
        return None
    for parameter in fields(rule):
        if parameter.default is MISSING:
            trials.add(f"its parameter {parameter.name} has no default")
    annotated = sorted(vars(rule).get("__annotations__", {}))
    # Without the decorator the fields are those of the base class.
    if annotated and "__dataclass_fields__" not in vars(rule):
        trials.add(
            f"{', '.join(annotated)} cannot be set: write @dataclass(frozen=True) above the class"
        )
    if trials.failures:
        return None
    instance: Rule | None = trials.call("made with its defaults", rule)
    return instance


def check_label(trials: Trials, rule: NamedRule) -> None:
    """Check that a user can write what tables show.

    Parameters
    ----------
    trials
        Where failures go.
    rule
        An object.
    """
    kinds: Mapping[str, type[NamedRule]] = {rule.name: type(rule)}
    try:
        again = parse_rule(rule.label, kinds, rule.option)
    except UsageError as error:
        trials.add(f"its label {rule.label!r} cannot be read again: {error}")
        return
    if again != rule:
        trials.add(f"its label {rule.label!r} stands for another one: {again!r}")
