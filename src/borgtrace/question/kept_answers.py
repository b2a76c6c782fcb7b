"""Answers that a store has given before, kept beside it until the store or this package changes.

A page of all questions takes its time once: written again, or with another theme, it reads what is kept. What is kept
is believed only where this user has sealed it (:mod:`borgtrace.store.kept_folders`), and only for the same bytes of
the store, the same code of this package and the same libraries.
"""

import json
from collections.abc import Container, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa

from borgtrace.question.claims import Finding
from borgtrace.question.engine_tables import EngineTables
from borgtrace.question.provenance import Provenance
from borgtrace.question.question import Question, Result
from borgtrace.storage import read_text, write_file
from borgtrace.store.kept_folders import Keeper, code_digest

_ROWS = "rows.arrow"
_FACTS = "facts.json"
_COMPUTED_BY = ("duckdb", "ibis-framework", "numba", "numpy", "pyarrow")
"""Libraries on which the digits of an answer hang."""


@dataclass(frozen=True, slots=True)
class KeptAnswers:
    """The answers of a store to questions with default parameters.

    Parameters
    ----------
    keeper
        Where they are kept.
    tables
        Of the store: what its amounts and names are.
    own
        Names of the questions of this package: nobody knows when the code behind another one changes.
    """

    keeper: Keeper
    tables: EngineTables
    own: Container[str]

    def find(self, question: Question) -> Result | None:
        """Return what was answered before; None where nothing is kept."""
        if question.name not in self.own:
            return None
        folder = _folder_of(self.keeper, question)
        return None if folder is None else _read(folder, question, self.tables)

    def find_all(self, questions: Iterable[Question]) -> dict[str, Result]:
        """Return what was answered before, by the names of the questions."""
        known = {}
        for question in questions:
            result = self.find(question)
            if result is not None:
                known[question.name] = result
        return known

    def keep(self, result: Result) -> None:
        """Keep an answer to one of our own questions, where this user may write."""

        def build(folder: Path) -> None:
            _write(folder, result)

        if result.question.name in self.own:
            self.keeper.keep(_kind(result.question), code_and_libraries(), build)


def is_kept(keeper: Keeper, question: Question) -> bool:
    """Whether an answer to a question is kept.

    Parameters
    ----------
    keeper
        Where it would be.
    question
        The question.
    """
    return _folder_of(keeper, question) is not None


@cache
def code_and_libraries() -> str:
    """Return a digest of the modules of this package, with the versions of what computes."""
    package = Path(__file__).parents[1]
    folders = sorted({module.parent for module in package.rglob("*.py")})
    libraries = "-".join(version(name) for name in _COMPUTED_BY)
    return f"{code_digest(folders)}-{libraries}"


def _folder_of(keeper: Keeper, question: Question) -> Path | None:
    return keeper.find(_kind(question), code_and_libraries())


def _kind(question: Question) -> str:
    return f"answer_{question.name}"


def _write(folder: Path, result: Result) -> None:
    with pa.ipc.new_file(str(folder / _ROWS), result.table.schema) as writer:
        writer.write_table(result.table)
    provenance = asdict(result.provenance)
    facts = {
        "provenance": provenance | {"parameters": dict(result.provenance.parameters)},
        "findings": [asdict(finding) for finding in result.findings],
        "not_applicable": result.not_applicable,
        "is_in_own_units": result.names is not None,
    }
    write_file(folder / _FACTS, json.dumps(facts))


def _read(folder: Path, question: Question, tables: EngineTables) -> Result:
    with pa.OSFile(str(folder / _ROWS)) as file:
        rows = pa.ipc.open_file(file).read_all()
    facts: Mapping[str, Any] = json.loads(read_text(folder / _FACTS))
    provenance = Provenance(**facts["provenance"])
    # The folder of the store may have another name by now.
    provenance = replace(provenance, store=tables.origin.store)
    findings = tuple(Finding(**finding) for finding in facts["findings"])
    result = Result(question, rows, provenance, findings, facts["not_applicable"])
    if not facts["is_in_own_units"]:
        return result
    return replace(result, amounts=tables.amounts, names=tables.names)
