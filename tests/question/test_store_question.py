"""Questions to a store itself: of a cell of one machine, which is added once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from borgtrace.errors import UsageError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.question import Answer, Column, EngineTables, Report, Row, StoreQuestion
from borgtrace.store import Store
from borgtrace.store import open as open_store


@dataclass(frozen=True)
class LeastOptions:
    """At least so many rows are said to be held."""

    least: int = 1

    def __post_init__(self) -> None:
        if self.least < 0:
            raise UsageError("--least", "negative")


def compute(store: Store, tables: EngineTables, options: LeastOptions, report: Report) -> list[Row]:
    n_rows = store.manifest.tables["machine_events"]
    report("counting", n_rows, n_rows)
    return [{"at_least": max(options.least, n_rows)}]


HELD = StoreQuestion(
    name="held",
    doc="How many events of machines does a store hold, at least?",
    answer=Answer(grain="store", key=[Column("at_least", "int64", "count", "Rows.")]),
    compute=compute,
    options=LeastOptions,
    chart=lambda answer: None,
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("one_machine")
    (folder / "machine_events").mkdir()
    (folder / "machine_events" / "part-00000-of-00001.csv").write_text(
        "0,5,0,HofLGzk1Or,0.5,0.25\n"
    )
    ingest([folder], folder / "store", IngestOptions(jobs=1))
    return folder / "store"


def test_a_store_answers_opened_or_by_its_path(path: Path) -> None:
    for store in (path, str(path), open_store(path)):
        result = HELD.run(store, least=3)
        assert result.table.to_pylist() == [{"at_least": 3}]
        assert result.provenance.parameters == {"least": 3}
    assert HELD.run(path).table.to_pylist() == [{"at_least": 1}]


def test_a_wrong_value_is_told_before_a_store_is_opened() -> None:
    with pytest.raises(UsageError, match="negative"):
        HELD.run("nowhere", least=-1)


def test_a_question_whose_table_has_no_rows_is_not_applicable(path: Path) -> None:
    asked = replace(HELD, reads=("machine_events", "instance_events")).run(path)
    assert asked.table.num_rows == 0
    assert "instance_events" in (asked.not_applicable or "")


def test_whoever_asks_is_told_how_far_the_answer_is(path: Path) -> None:
    steps: list[tuple[str, int, int]] = []
    replace(HELD, report=lambda *step: steps.append(step)).run(path)
    assert steps == [("counting", 1, 1)]


def test_parameters_are_the_options_with_their_defaults() -> None:
    assert HELD.parameters == {"least": 1}
    assert (HELD.time_units, HELD.stages()) == ({}, {})
