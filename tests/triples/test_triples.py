"""Trace → query → expected: every text file of this folder is a test; `triple.py` says how one is written."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace.catalog import find
from borgtrace.cli import main
from borgtrace.errors import BorgtraceError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.question import EngineTables, Tables
from borgtrace.store.verify import verify
from tests.analyses.tiny import tiny
from tests.triples.triple import FOLDER, Section, Triple, expected, triples, value, write

Rows = list[dict[str, Any]]
_CASES = [
    pytest.param(triple, place, id=f"{triple.path.relative_to(FOLDER).with_suffix('')}-{number}")
    for triple in triples()
    for number, place in enumerate(triple.questions, 1)
]


class Made:
    """Stores and tables that questions of one triple share, made on first use."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stores: dict[tuple[Section, ...], Path] = {}
        self._tables: dict[Path, Tables] = {}

    def store(self, steps: tuple[Section, ...]) -> Path:
        """Return the store that the sections above a question make."""
        if steps not in self._stores:
            self._stores[steps] = self._make(steps)
        return self._stores[steps]

    def tables(self, triple: Triple, steps: tuple[Section, ...]) -> Tables:
        """Return the tables a question reads: of the store, or of the rows typed under canonical names."""
        path = self.store(steps) if steps else triple.path
        if path not in self._tables:
            self._tables[path] = (
                EngineTables.of(path) if steps else tiny(triple.dialect, **triple.rows())
            )
        return self._tables[path]

    def _make(self, steps: tuple[Section, ...]) -> Path:
        home = self._folder / str(len(self._stores))
        store = home / "store"
        batches: dict[str, list[Section]] = {"file": [], "again": []}
        for step in steps:
            if step.word in batches:
                batches[step.word].append(step)
        options = [step.arguments for step in steps if step.word == "options"]
        for word, files in batches.items():
            for file in files:
                write(file, home / word)
            if files:
                ingest([home / word], store, _options(options))
        for number, step in enumerate(step for step in steps if step.word == "run"):
            out = home / f"out{number}"
            arguments = step.arguments.replace("STORE", str(store)).replace("OUT", str(out))
            _run(shlex.split(arguments))
            store = out if out.exists() else store
        return store


def _options(lines: list[str]) -> IngestOptions:
    given = dict(part.split("=", 1) for line in lines for part in line.split())
    return IngestOptions(
        **{
            "jobs": 1,
            **{name: text if name == "cell" else value(text) for name, text in given.items()},
        }
    )


class Refused(Exception):  # noqa: N818 - what a triple asks for, not a failure
    """A command ended with this exit code."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


def _run(arguments: list[str]) -> None:
    """Run a command in this process."""
    with pytest.raises(SystemExit) as end:
        main(arguments)
    if end.value.code:
        raise Refused(int(end.value.code))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Triple], Made]:
    found: dict[Path, Made] = {}

    def of(triple: Triple) -> Made:
        if triple.path not in found:
            found[triple.path] = Made(tmp_path_factory.mktemp(triple.path.stem))
        return found[triple.path]

    return of


@pytest.mark.parametrize(("triple", "place"), _CASES)
def test_triple(triple: Triple, place: int, made: Callable[[Triple], Made]) -> None:
    section = triple.sections[place]
    kind, _, arguments = section.arguments.partition(" ")
    wanted = expected(section)
    found = _ASK[kind](made(triple), triple, triple.upto(place), arguments.strip())
    if kind == "table":
        found = sorted(
            found, key=lambda row: [(row[name] is not None, row[name]) for name in wanted.names]
        )
    assert [tuple(row[name] for name in wanted.names) for row in found] == [
        tuple(_like(cell, row, name) for name, cell in zip(wanted.names, cells, strict=True))
        for cells, row in zip(wanted.rows, [*found, *[{}] * len(wanted.rows)], strict=False)
    ]


def _like(cell: str, row: dict[str, Any], name: str) -> Any:
    """Return what a cell must equal: text beside text, a number to seven digits."""
    if isinstance(row.get(name), str):
        return None if cell == "-" else cell
    meant = value(cell)
    is_number = isinstance(meant, float | list) or (
        isinstance(row.get(name), float) and isinstance(meant, int)
    )
    return (
        pytest.approx(meant, rel=1e-6, nan_ok=True)
        if is_number and not isinstance(meant, bool)
        else meant
    )


def _recipe(made: Made, triple: Triple, steps: tuple[Section, ...], arguments: str) -> Rows:
    head, _, kept = arguments.rstrip("]").partition("[")
    name, *given = shlex.split(head)
    params = {key: value(text) for key, text in (part.split("=", 1) for part in given)}
    result = find(name).run(made.tables(triple, steps), **params)
    assert result.not_applicable is None, result.not_applicable
    keep = dict(part.split("=", 1) for part in shlex.split(kept))
    return [
        row
        for row in result.table.to_pylist()
        if all(_same(row[key], text) for key, text in keep.items())
    ]


def _same(found: Any, text: str) -> bool:
    return bool(found == (text if isinstance(found, str) else value(text)))


def _claims(made: Made, triple: Triple, steps: tuple[Section, ...], name: str) -> Rows:
    findings = find(name).run(made.tables(triple, steps)).findings
    return [{"id": f.id, "measured": f.measured, "verdict": f.verdict} for f in findings]


def _applies(made: Made, triple: Triple, steps: tuple[Section, ...], name: str) -> Rows:
    return [{"applies": find(name).run(made.tables(triple, steps)).not_applicable is None}]


def _table(made: Made, triple: Triple, steps: tuple[Section, ...], name: str) -> Rows:
    rows: Rows = made.tables(triple, steps)[name].to_pyarrow().to_pylist()
    return rows


def _sql(made: Made, triple: Triple, steps: tuple[Section, ...], query: str) -> Rows:
    rows: Rows = borgtrace.open(made.store(steps)).sql(query).to_pylist()
    return rows


def _counters(made: Made, triple: Triple, steps: tuple[Section, ...], _: str) -> Rows:
    counters = borgtrace.open(made.store(steps)).manifest.counters
    return [
        {"table": table, "reason": reason, "n": n}
        for table, found in counters.items()
        for reason, n in found.items()
    ]


def _quarantine(made: Made, triple: Triple, steps: tuple[Section, ...], table: str) -> Rows:
    files = sorted((made.store(steps) / "quarantine" / table).rglob("*.parquet"))
    return [row for file in files for row in pq.read_table(file).to_pylist()]


def _ledger(made: Made, triple: Triple, steps: tuple[Section, ...], _: str) -> Rows:
    sources = borgtrace.open(made.store(steps)).manifest.sources
    names = ("name", "raw_table", "part", "rows_in", "stored", "quarantined", "skipped", "merged")
    return [{name: getattr(source, name) for name in names} for source in sources]


def _trace(made: Made, triple: Triple, steps: tuple[Section, ...], key: str) -> Rows:
    collection, instance = map(int, key.split())
    arrays = borgtrace.open(made.store(steps)).trace(collection, instance)
    names = ("start_time", "duration", "average_cpu", "sampled_cpu", "average_memory")
    rows: Rows = pa.table({name: np.asarray(arrays[name]) for name in names}).to_pylist()
    return rows


def _verify(made: Made, triple: Triple, steps: tuple[Section, ...], _: str) -> Rows:
    return [{"name": check.name} for check in verify(made.store(steps)) if not check.holds]


def _refuses(made: Made, triple: Triple, steps: tuple[Section, ...], arguments: str) -> Rows:
    with pytest.raises((BorgtraceError, Refused)) as caught:
        made.store(steps)
    return [{"error": type(caught.value).__name__, "exit": caught.value.exit_code}]


_ASK: dict[str, Callable[[Made, Triple, tuple[Section, ...], str], Rows]] = {
    "recipe": _recipe,
    "claims": _claims,
    "applies": _applies,
    "table": _table,
    "sql": _sql,
    "counters": _counters,
    "quarantine": _quarantine,
    "ledger": _ledger,
    "trace": _trace,
    "verify": _verify,
    "refuses": _refuses,
}
