"""The budget that a store was opened with is that of all engines on it, whoever opens them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

import borgtrace
from borgtrace.catalog import find
from borgtrace.cli import main
from borgtrace.colocation.study import Study
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.question import EngineTables, Tables
from tests.ingest.raw import write_cell

BUDGET = "300MB"
Face = Callable[[Path], Tables]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("budget")
    ingest([write_cell(folder / "raw")], folder / "store", IngestOptions(jobs=1))
    return folder / "store"


def _tables_of_study(store: Path) -> Tables:
    source = Study.of_store(borgtrace.open(store, memory=BUDGET)).source
    assert isinstance(source, Tables)
    return source


FACES: dict[str, Face] = {
    "tables of an open store": lambda store: EngineTables.of(borgtrace.open(store, memory=BUDGET)),
    "tables of a path": lambda store: EngineTables.of(store, memory=BUDGET),
    "another budget than the store's": lambda store: EngineTables.of(
        borgtrace.open(store), memory=BUDGET
    ),
    "study": _tables_of_study,
}


@pytest.mark.parametrize("face", FACES.values(), ids=FACES)
def test_an_engine_has_the_budget_of_its_store(store: Path, face: Face) -> None:
    tables = face(store)
    assert isinstance(tables, EngineTables)
    connection = tables.canonical("tasks").get_backend().con
    ((limit,),) = connection.sql("select current_setting('memory_limit')").fetchall()
    assert (tables.memory, limit) == (300_000_000, "286.1 MiB")


def test_a_question_runs_within_the_budget_of_its_store(store: Path) -> None:
    # A megabyte is too little for any query.
    with pytest.raises(duckdb.OutOfMemoryException, match=r"976\.5 KiB used"):
        find("machine_shapes").run(borgtrace.open(store, memory="1MB"))


@pytest.mark.parametrize(
    "words",
    [
        ["export", "STORE", "OUT", "--layout", "opendc", "--capacity", "1cores,1GiB"],
        ["export", "STORE", "OUT", "--jobs", "1"],
        ["synth", "OUT", "--like", "STORE"],
    ],
    ids=" ".join,
)
def test_commands_hand_their_budget_to_the_engine(
    store: Path, tmp_path: Path, words: list[str]
) -> None:
    places = {"STORE": str(store), "OUT": str(tmp_path / "out")}
    with pytest.raises(SystemExit) as ended:
        main([places.get(word, word) for word in words] + ["--memory", "1MB"])
    assert ended.value.code == 7
