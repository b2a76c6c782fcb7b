"""What is declared of the answers: their tables, and what papers and documents claim about them.

A claim of ``claims.toml`` stands under its question, whose source, kind, scope and reason it shares where it names none
of its own.  Its criterion and its measure are functions of `borgtrace.recipe` and of `_measures`, by name; a measure
that is no plain number of the answer is a function of the question's module.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from borgtrace.analyses._measures import Measure, count, largest, part, ratio, value
from borgtrace.analyses._trend import interval_above, interval_includes
from borgtrace.recipe import Claim, Criterion, Scope, above, at_least, at_most, below, between, equals, near
from borgtrace.schema.tables import read_declarations
from borgtrace.schema.time import parse_time

RESULTS = read_declarations(Path(__file__).with_name("results.columns"))
"""The declared answers."""
_SAID = tomllib.loads(Path(__file__).with_name("claims.toml").read_text("utf-8"))
_CRITERIA = {
    made.__name__: made
    for made in (near, between, above, below, at_least, at_most, equals, interval_above, interval_includes)
}
_MEASURES: Mapping[str, Callable[..., Measure]] = {made.__name__: made for made in (value, count, largest, ratio, part)}
Said = Mapping[str, Any]
"""What the list says of a claim, or of a part of one."""


def claims_of(question: str, functions: Sequence[Callable[..., Any]] = ()) -> tuple[Claim, ...]:
    """Return the claims about the answer of a question.

    Parameters
    ----------
    question
        Its name.
    functions
        Measures of its own, from the answer and what the claim names to a number.
    """
    said = _SAID.get(question, {})
    common = {name: fact for name, fact in said.items() if not isinstance(fact, dict)}
    known = {function.__name__: function for function in functions}
    return tuple(_claim(id_, common | own, known) for id_, own in said.items() if isinstance(own, dict))


def _claim(id_: str, said: Said, functions: Mapping[str, Callable[..., Any]]) -> Claim:
    own = {name: said[name] for name in ("source", "kind", "format") if name in said}
    measure = _measure(said["measure"], said.get("why", ""), functions)
    return Claim(id_, said["statement"], _criterion(said["criterion"]), measure, scope=_SCOPES[said["scope"]], **own)


def _criterion(said: Said) -> Criterion:
    """Make the criterion that is named first, of its bounds and what else is said."""
    (name, bounds), *others = said.items()
    return _CRITERIA[name](*(bounds if isinstance(bounds, list) else [bounds]), **dict(others))


def _measure(said: Said, why: str, functions: Mapping[str, Callable[..., Any]]) -> Callable[[Any], Any]:
    (name, what), *others = said.items()
    more = dict(others)
    if name == "function":
        return partial(functions[what], **more)
    columns, why = what if isinstance(what, list) else [what], more.get("why", why)
    among = [_wanted(more["among"])] if "among" in more else []
    return _MEASURES[name](*columns, why, *among, **_wanted(more.get("where", {})))


def _wanted(said: Said) -> dict[str, Any]:
    """Return columns and what they must be; a table of TOML is a criterion."""
    return {column: _criterion(wanted) if isinstance(wanted, dict) else wanted for column, wanted in said.items()}


def _scope(said: Said) -> Scope:
    facts: dict[str, Any] = {name: tuple(fact) if isinstance(fact, list) else fact for name, fact in said.items()}
    if "span" in said:
        facts["span"] = parse_time(said["span"])
    return Scope(**facts)


_SCOPES = {name: _scope(said) for name, said in _SAID["scopes"].items()}
