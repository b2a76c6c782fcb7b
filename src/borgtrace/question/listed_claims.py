"""Claims that a file lists: by question and id, each a statement, a criterion and a measure."""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from borgtrace.engine.embedded import ask
from borgtrace.question.claims import NOTHING, Claim
from borgtrace.question.criteria import (
    Criterion,
    above,
    at_least,
    at_most,
    below,
    between,
    equals,
    near,
)
from borgtrace.question.notapplicable import NotApplicable
from borgtrace.question.scope import Scope
from borgtrace.schema import Table
from borgtrace.schema.tables import read_declarations
from borgtrace.schema.time import parse_time

Said = Mapping[str, Any]
"""What the list says of a claim, or of a part of one."""
_CRITERIA = (near, between, above, below, at_least, at_most, equals)


class ListedClaims:
    """The claims of a file.

    A claim stands under its question, whose source, kind, scope and reason it shares where it names none of its own.
    Its criterion is named; its measure is a query over the answer, or a function.

    Parameters
    ----------
    path
        A TOML file.
    criteria
        Criteria beside those of `borgtrace.question`.
    """

    def __init__(self, path: Path, *, criteria: Iterable[Callable[..., Criterion]] = ()) -> None:
        self._said = tomllib.loads(path.read_text("utf-8"))
        self._criteria = _named((*_CRITERIA, *criteria))
        self._scopes = {name: _scope(said) for name, said in self._said["scopes"].items()}

    def of(self, question: str, functions: Sequence[Callable[..., Any]] = ()) -> tuple[Claim, ...]:
        """Return the claims about the answer of a question.

        Parameters
        ----------
        question
            Its name.
        functions
            Measures of its own, from the answer and what the claim names to a number.
        """
        said = self._said.get(question, {})
        common = {name: fact for name, fact in said.items() if not isinstance(fact, dict)}
        return tuple(
            self._claim(id_, common | own, _named(functions))
            for id_, own in said.items()
            if isinstance(own, dict)
        )

    def _claim(self, id_: str, said: Said, functions: Mapping[str, Callable[..., Any]]) -> Claim:
        own = {name: said[name] for name in ("source", "kind", "format") if name in said}
        criterion, scope = self._criterion(said["criterion"]), self._scopes[said["scope"]]
        measure = self._measure(said["measure"], said.get("why", NOTHING), functions)
        return Claim(id_, said["statement"], criterion, measure, scope=scope, **own)

    def _criterion(self, said: Said) -> Criterion:
        """Make the criterion that is named first, of its bounds and what else is said."""
        (name, bounds), *others = said.items()
        return self._criteria[name](
            *(bounds if isinstance(bounds, list) else [bounds]), **dict(others)
        )

    def _measure(
        self, said: Any, why: str, functions: Mapping[str, Callable[..., Any]]
    ) -> Callable[[Any], Any]:
        if isinstance(said, str):
            return partial(_found, query=said, why=why)
        return partial(
            functions[said["function"]],
            **{name: what for name, what in said.items() if name != "function"},
        )


def declared_beside(module: str) -> tuple[dict[str, Table], ListedClaims, Path]:
    """Return what is declared of answers in the folder of a module: their tables, claims about them, and charts.

    Parameters
    ----------
    module
        Its ``__file__``; beside it lie ``results.columns``, ``claims.toml`` and ``charts.toml``.
    """
    folder = Path(module).parent
    return (
        read_declarations(folder / "results.columns"),
        ListedClaims(folder / "claims.toml"),
        folder / "charts.toml",
    )


def _found(result: pa.Table, query: str, why: str) -> Any:
    """Return the number that a query finds in an answer; where there is none, its second column says why."""
    value, *reasons = next((row.values() for row in ask(result, query)), (None,))
    NotApplicable.unless(value is not None, (*reasons, why)[0])
    return value


def _named(functions: Iterable[Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    return {function.__name__: function for function in functions}


def _scope(said: Said) -> Scope:
    facts: dict[str, Any] = {
        name: tuple(fact) if isinstance(fact, list) else fact for name, fact in said.items()
    }
    if "span" in said:
        facts["span"] = parse_time(said["span"])
    return Scope(**facts)
