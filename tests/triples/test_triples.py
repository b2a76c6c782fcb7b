"""Trace → query → expected: every text file of this folder is a test; `triple.py` says how one is written."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

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


def cases() -> list[Any]:
    """Return a parameter set for each question of each triple."""
    parameters = []
    for triple in triples():
        name = triple.path.relative_to(FOLDER).with_suffix("")
        for number, place in enumerate(triple.questions, 1):
            parameters.append(pytest.param(triple, place, id=f"{name}-{number}"))
    return parameters


@dataclass
class SharedStores:
    """Stores and tables that questions of one triple share, made on first use."""

    folder: Path
    store_of_steps: dict[tuple[Section, ...], Path] = field(default_factory=dict)
    tables_of_path: dict[Path, Tables] = field(default_factory=dict)

    def store(self, steps: tuple[Section, ...]) -> Path:
        """Return the store that the sections above a question make."""
        if steps not in self.store_of_steps:
            home = self.folder / str(len(self.store_of_steps))
            self.store_of_steps[steps] = make_store(home, steps)
        return self.store_of_steps[steps]

    def tables(self, triple: Triple, steps: tuple[Section, ...]) -> Tables:
        """Return the tables a question reads: of the store, or of the rows typed under canonical names."""
        path = self.store(steps) if steps else triple.path
        if path not in self.tables_of_path:
            if steps:
                self.tables_of_path[path] = EngineTables.of(path)
            else:
                self.tables_of_path[path] = tiny(triple.dialect, **triple.rows())
        return self.tables_of_path[path]


def make_store(home: Path, steps: tuple[Section, ...]) -> Path:
    """Ingest the files of a triple, run its commands, and return the last store."""
    store = home / "store"
    options = ingest_options([step for step in steps if step.word == "options"])
    for word in ("file", "again"):
        files = [step for step in steps if step.word == word]
        for file in files:
            write(file, home / word)
        if files:
            ingest([home / word], store, options)
    commands = [step for step in steps if step.word == "run"]
    for number, command in enumerate(commands):
        out = home / f"out{number}"
        text = command.arguments.replace("STORE", str(store)).replace("OUT", str(out))
        run_command(shlex.split(text))
        if out.exists():
            store = out
    return store


def ingest_options(sections: list[Section]) -> IngestOptions:
    options: dict[str, Any] = {"jobs": 1}
    for section in sections:
        for name, text in key_values(section.arguments.split()).items():
            options[name] = text if name == "cell" else value(text)
    return IngestOptions(**options)


def key_values(parts: list[str]) -> dict[str, str]:
    """Return the values of parts such as ``name=value``."""
    return dict(part.split("=", 1) for part in parts)


class CommandRefused(Exception):  # noqa: N818 - what a triple asks for, not a failure
    """A command ended with this exit code."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


def run_command(arguments: list[str]) -> None:
    """Run a command in this process."""
    with pytest.raises(SystemExit) as end:
        main(arguments)
    if end.value.code:
        raise CommandRefused(int(end.value.code))


@pytest.fixture(scope="module")
def stores_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Triple], SharedStores]:
    stores: dict[Path, SharedStores] = {}

    def of_triple(triple: Triple) -> SharedStores:
        if triple.path not in stores:
            stores[triple.path] = SharedStores(tmp_path_factory.mktemp(triple.path.stem))
        return stores[triple.path]

    return of_triple


class Asked(NamedTuple):
    """A question of a triple, and what it is asked of."""

    stores: SharedStores
    triple: Triple
    steps: tuple[Section, ...]
    arguments: str

    @property
    def store(self) -> Path:
        return self.stores.store(self.steps)

    @property
    def tables(self) -> Tables:
        return self.stores.tables(self.triple, self.steps)


@pytest.mark.parametrize(("triple", "place"), cases())
def test_triple(triple: Triple, place: int, stores_of: Callable[[Triple], SharedStores]) -> None:
    section = triple.sections[place]
    kind, _, arguments = section.arguments.partition(" ")
    asked = Asked(stores_of(triple), triple, triple.upto(place), arguments.strip())
    table = expected(section)
    rows = ANSWERS[kind](asked)
    if kind == "table":
        rows.sort(key=lambda row: [(row[name] is not None, row[name]) for name in table.names])
    answer = [tuple(row[name] for name in table.names) for row in rows]
    wanted = []
    for number, cells in enumerate(table.rows):
        row = rows[number] if number < len(rows) else {}
        named_cells = zip(table.names, cells, strict=True)
        wanted.append(tuple(like(cell, row.get(name)) for name, cell in named_cells))
    assert answer == wanted


def like(cell: str, found: Any) -> Any:
    """Return what a cell must equal: text beside text, a number to seven digits."""
    if isinstance(found, str):
        return None if cell == "-" else cell
    meant = value(cell)
    if isinstance(meant, bool):
        return meant
    is_whole_for_float = isinstance(meant, int) and isinstance(found, float)
    if is_whole_for_float or isinstance(meant, float | list):
        return pytest.approx(meant, rel=1e-6, nan_ok=True)
    return meant


def recipe(asked: Asked) -> Rows:
    head, _, bracket = asked.arguments.rstrip("]").partition("[")
    name, *parts = shlex.split(head)
    parameters = {key: value(text) for key, text in key_values(parts).items()}
    result = find(name).run(asked.tables, **parameters)
    assert result.not_applicable is None, result.not_applicable
    wanted = key_values(shlex.split(bracket))
    rows = []
    for row in result.table.to_pylist():
        if all(is_same(row[key], text) for key, text in wanted.items()):
            rows.append(row)
    return rows


def is_same(found: Any, text: str) -> bool:
    return bool(found == (text if isinstance(found, str) else value(text)))


def claims(asked: Asked) -> Rows:
    rows = []
    for finding in find(asked.arguments).run(asked.tables).findings:
        rows.append(
            {
                "id": finding.id,
                "measured": finding.measured,
                "verdict": finding.verdict,
            }
        )
    return rows


def applies(asked: Asked) -> Rows:
    result = find(asked.arguments).run(asked.tables)
    return [{"applies": result.not_applicable is None}]


def canonical_table(asked: Asked) -> Rows:
    rows: Rows = asked.tables[asked.arguments].to_pyarrow().to_pylist()
    return rows


def sql(asked: Asked) -> Rows:
    rows: Rows = borgtrace.open(asked.store).sql(asked.arguments).to_pylist()
    return rows


def counters(asked: Asked) -> Rows:
    rows = []
    for table, numbers in borgtrace.open(asked.store).manifest.counters.items():
        for reason, n in numbers.items():
            rows.append(
                {
                    "table": table,
                    "reason": reason,
                    "n": n,
                }
            )
    return rows


def quarantine(asked: Asked) -> Rows:
    rows: Rows = []
    folder = asked.store / "quarantine" / asked.arguments
    for file in sorted(folder.rglob("*.parquet")):
        rows += pq.read_table(file).to_pylist()
    return rows


def ledger(asked: Asked) -> Rows:
    names = ("name", "raw_table", "part", "rows_in", "stored", "quarantined", "skipped", "merged")
    sources = borgtrace.open(asked.store).manifest.sources
    return [{name: getattr(source, name) for name in names} for source in sources]


def trace(asked: Asked) -> Rows:
    collection, instance = asked.arguments.split()
    arrays = borgtrace.open(asked.store).trace(int(collection), int(instance))
    names = ("start_time", "duration", "average_cpu", "sampled_cpu", "average_memory")
    rows: Rows = pa.table({name: np.asarray(arrays[name]) for name in names}).to_pylist()
    return rows


def failed_checks(asked: Asked) -> Rows:
    return [{"name": check.name} for check in verify(asked.store) if not check.holds]


def refusal(asked: Asked) -> Rows:
    with pytest.raises((BorgtraceError, CommandRefused)) as caught:
        asked.stores.store(asked.steps)
    return [{"error": type(caught.value).__name__, "exit": caught.value.exit_code}]


ANSWERS: dict[str, Callable[[Asked], Rows]] = {
    "recipe": recipe,
    "claims": claims,
    "applies": applies,
    "table": canonical_table,
    "sql": sql,
    "counters": counters,
    "quarantine": quarantine,
    "ledger": ledger,
    "trace": trace,
    "verify": failed_checks,
    "refuses": refusal,
}
