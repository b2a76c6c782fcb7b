"""Questions for an assistant: what they take as JSON has it, and what their answers say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from borgtrace.assistants.answers import cut_notice, rows_that_fit
from borgtrace.errors import UsageError
from borgtrace.question import Question, Result
from borgtrace.question.facts import facts_of
from borgtrace.schema.bounds import describe_allowed

Plain = dict[str, Any]


def content_of(result: Result, limit: int) -> tuple[Plain, list[str]]:
    """Return an answer as it is shown, and what must be said of it."""
    rows = rows_that_fit(result.table, limit)
    claims = []
    for finding in result.findings:
        claims.append(
            {
                "id": finding.id,
                "statement": finding.statement,
                "kind": finding.kind,
                "published": finding.expected,
                "measured here": finding.measured,
                "verdict": finding.outcome,
                "source": finding.source,
            }
        )
    facts = facts_of(result)
    content = {name: facts[name] for name in ("question", "sentence", "not_applicable")}
    content |= {"n_rows": result.table.num_rows, "rows": rows, "claims": claims}
    notices = cut_notice("rows", len(rows), result.table.num_rows)
    if result.not_applicable is not None:
        notices.append(f"Not applicable: {result.not_applicable}. There is no answer.")
    n_open = sum(not finding.is_judged for finding in result.findings)
    if n_open:
        notices.append(
            f"{n_open:,} of {len(claims):,} claims are not judged on this store: neither confirmed nor refuted."
        )
    return content, notices


def parameters_of(question: Question) -> Plain:
    """Return the parameters of a question with their defaults and what they may be."""
    declared = question.declarations
    parameters = {}
    for name, default in question.parameters.items():
        parameters[name] = {"default": default, "allowed": describe_allowed(declared[name])}
    return parameters


def values_of(question: Question, parameters: Mapping[str, Any]) -> Plain:
    """Return parameters as Python has them: JSON knows no tuples, and writes 1 for 1.0.

    Raises
    ------
    UsageError
        For a parameter that the question does not have, or one that is out of its range.
    """
    values: Plain = {}
    checked: Plain = {}
    for name, value in parameters.items():
        values[name] = _in_python(value, question.parameters.get(name))
        # `Store.ask` reads times that are texts.
        is_text_of_time = name in question.time_units and isinstance(value, str)
        if not is_text_of_time:
            _check_kind(name, values[name], question.parameters.get(name))
            checked[name] = values[name]
    # Before they become arguments of `Store.ask`, which has some of its own, such as the engine.
    question.with_defaults(checked)
    return values


def _in_python(value: Any, default: Any) -> Any:
    """Return a value of JSON as the kind that its parameter has."""
    if isinstance(default, tuple) and isinstance(value, list):
        return tuple(value)
    if isinstance(default, float) and type(value) is int:
        return float(value)
    return value


def _check_kind(name: str, value: Any, default: Any) -> None:
    """Refuse a value of another kind than the default; where that is None, the bounds say what is right."""
    is_same = default is None or type(value) is type(default)
    if not is_same:
        raise UsageError(name, "wrong kind of value", expected=f"like {default!r}", got=repr(value))
