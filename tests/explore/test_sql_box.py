"""Answers in SQL: no more of them is computed than is shown, and none takes more than it may."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from starlette.testclient import TestClient

import borgtrace
from borgtrace.engine.first_rows import take_rows
from borgtrace.engine.query_process import prepare
from borgtrace.errors import EngineError
from borgtrace.explore import sql_box
from borgtrace.explore.sql_box import MOST_BYTES, SqlBox
from tests.cli.test_answer_types import cells_of
from tests.engine.test_query_process import SLOW
from tests.engine.test_stoppable import ENDLESS

SCHEMA = pa.schema({"n": pa.int64()})


@pytest.mark.parametrize(
    ("sizes", "rows", "is_cut", "n_read"),
    [
        ([3, 2], 5, False, 2),
        ([3, 2, 1, 1], 5, True, 3),
        ([3, 3, 1], 5, True, 2),
        ([], 0, False, 0),
    ],
)
def test_of_an_answer_so_much_is_computed_as_is_shown(
    sizes: list[int],
    rows: int,
    is_cut: bool,
    n_read: int,
) -> None:
    read: list[int] = []

    def batches() -> Iterator[pa.RecordBatch]:
        for size in sizes:
            read.append(size)
            yield pa.RecordBatch.from_pydict({"n": list(range(size))}, SCHEMA)

    first_rows = take_rows(pa.RecordBatchReader.from_batches(SCHEMA, batches()), 5, MOST_BYTES)
    assert first_rows.table.num_rows == rows
    assert first_rows.is_cut == is_cut
    assert len(read) == n_read


@pytest.fixture
def forked() -> None:
    """Let a fork answer: a new process takes half a second."""
    prepare()


@pytest.mark.usefixtures("forked")
@pytest.mark.parametrize("kind", ["rows", "a scalar function"])
def test_no_query_keeps_the_explorer_busy(
    cell: TestClient, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(sql_box, "TIMEOUT_SECONDS", 0.3)
    answer = cell.get("/data/sql.json", params={"q": SLOW[kind]})
    message = "query: stopped after 0.3 s; ask for less, or allow more with the command's --timeout"
    assert (answer.status_code, answer.json()) == (400, {"error": message})


@pytest.mark.wide
def test_queries_wait_for_one_another(cell_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_box, "PATIENCE_SECONDS", 0.1)
    box = SqlBox(borgtrace.open(cell_store))
    answers = [box.stream_csv("SELECT hash(i) FROM range(1000000000) AS t(i)") for _ in range(2)]
    with pytest.raises(EngineError) as caught:
        box.answer("SELECT 1", 5)
    assert str(caught.value) == (
        "query: other queries are still running: expected at most 2 at once; "
        "try again when one has ended"
    )
    # A browser that goes away before it has taken anything.
    del answers, caught
    gc.collect()
    assert box.answer("SELECT 1 AS a", 5).table.to_pylist() == [{"a": 1}]
    monkeypatch.setattr(sql_box, "TIMEOUT_SECONDS", 0.3)
    for _ in range(3):
        prepare()
        with pytest.raises(EngineError, match="stopped after"):
            box.answer(ENDLESS, 5)


@pytest.mark.parametrize(
    ("address", "query", "message"),
    [
        (
            "/data/sql.json",
            "SELECT * FROM range(10001)",
            "query: the answer is too long for JSON: expected at most 10,000 rows; "
            "add a LIMIT, or ask for CSV",
        ),
        (
            "/data/sql.json",
            "SELECT repeat('x', 20000000) FROM range(3)",
            "query: the answer is too large to show: expected at most 50 MB; "
            "ask for less, or for CSV",
        ),
    ],
)
def test_an_answer_that_is_too_large_is_refused(
    cell: TestClient, address: str, query: str, message: str
) -> None:
    answer = cell.get(address, params={"q": query})
    assert (answer.status_code, answer.json()) == (400, {"error": message})


def test_a_long_text_is_cut_on_a_page(cell: TestClient) -> None:
    page = cell.get("/sql", params={"q": "SELECT repeat('xyz', 5000) AS text"}).text
    # Behind the answer stand the tables of the store.
    text = cells_of(page)[0]
    assert (len(text), text[-4:]) == (10_001, "yzx…")
