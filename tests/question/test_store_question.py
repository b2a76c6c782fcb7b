"""Questions to a store itself: of a cell of one machine, which is added once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from borgtrace.errors import UsageError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.question import EngineTables
from borgtrace.question.store_question import StoreQuestion
from borgtrace.schema import Column, Table
from borgtrace.store import Store
from borgtrace.store import open as open_store

RESULT = Table(
    "held", "store", ("at_least",), (Column("at_least", "int64", "count", "Rows.", nullable=False),)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Held(StoreQuestion):
    """How many events of machines a store holds, at least."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {"least": 1}

    def asked(self, parameters: Mapping[str, Any]) -> int:
        if parameters["least"] < 0:
            raise UsageError("--least", "negative")
        return int(parameters["least"])

    def answer(self, store: Store, tables: EngineTables, asked: int) -> pa.Table:
        return pa.table({"at_least": [max(asked, store.manifest.tables["machine_events"])]})


HELD = Held(result=RESULT, compute=lambda: None, plot=lambda result: None)


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
