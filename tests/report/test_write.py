"""The report of a store, from its tables to the file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from borgtrace import report
from borgtrace.errors import EngineError, UsageError
from borgtrace.question import Question
from borgtrace.store import Store

from . import questions_of_tests as questions


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> dict[str, Question]:
    """The test questions instead of all real ones."""
    questions_by_name = {question.name: question for question in questions.QUESTIONS[1:3]}
    monkeypatch.setattr("borgtrace.catalog.questions", lambda: questions_by_name)
    return questions_by_name


def test_report_of_a_store(tiny_store: Store, tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    summary = report.write(
        tiny_store, tmp_path / "new" / "r.html", progress=lambda *step: seen.append(step)
    )
    assert (summary.n_questions, summary.n_charts, summary.refused) == (2, 2, {})
    assert seen == [("side_by_side", 0, 2), ("facets", 1, 2)]
    assert summary.size == summary.path.stat().st_size < 8_000_000
    assert tiny_store.digest[:16] in summary.path.read_text()
    assert [path.name for path in summary.path.parent.iterdir()] == ["r.html"]


def test_same_store_same_bytes(tiny_store: Store, tmp_path: Path) -> None:
    pages = [
        report.write(tiny_store, tmp_path / name).path.read_bytes() for name in ("a.html", "b.html")
    ]
    assert pages[0] == pages[1]


def test_unknown_question(tiny_store: Store, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^NAME: no such question: got nothing"):
        report.write(tiny_store, tmp_path / "r.html", ["nothing"])
    assert list(tmp_path.iterdir()) == []


def test_one_refusal_does_not_stop_the_others(
    tiny_store: Store, tmp_path: Path, registry: dict[str, Question]
) -> None:
    def refuse(tables: object) -> None:
        raise EngineError("query", "memory exhausted")

    registry["side_by_side"] = replace(registry["side_by_side"], compute=refuse)
    summary = report.write(tiny_store, tmp_path / "r.html")
    assert (summary.n_charts, list(summary.refused)) == (1, ["side_by_side"])
    assert "Not answered: query: memory exhausted" in summary.path.read_text()
