"""Answers that a store has given before."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from borgtrace import report
from borgtrace.catalog import QUESTION_KINDS, find
from borgtrace.question import EngineTables, Question, Result, kept_answers
from borgtrace.question.kept_answers import KeptAnswers
from borgtrace.store import Store
from borgtrace.store import open as open_store

ASKED = ("machine_shapes", "queue_length", "sampling_period", "transitions", "usage_shapes")
"""With claims, parameters, amounts in own units, lists among the defaults; one of a study."""


@pytest.fixture
def store(cells: dict[str, Path], tmp_path: Path) -> Store:
    """A cell of this test alone."""
    shutil.copytree(cells["2011"] / "store", tmp_path / "store", symlinks=True)
    shutil.rmtree(tmp_path / "store" / "cache", ignore_errors=True)
    return open_store(tmp_path / "store")


def answers_of(store: Store) -> KeptAnswers:
    return KeptAnswers(store.keeper, EngineTables.of(store), QUESTION_KINDS.own)


def shown(result: Result) -> tuple[str, str, str, object]:
    """What people see of a result."""
    chart = result.plot()
    drawing = None if chart is None else json.dumps(chart.to_dict(), sort_keys=True, default=str)
    return repr(result), result.sentence, str(result.first_rows(20)), drawing


@pytest.mark.parametrize("name", ASKED)
def test_what_is_kept_is_what_was_answered(store: Store, name: str) -> None:
    kept = answers_of(store)
    assert kept.find(find(name)) is None
    given = find(name).run(kept.tables)
    kept.keep(given)
    found = answers_of(open_store(store.path)).find(find(name))
    assert found is not None
    assert found.table.equals(given.table, check_metadata=True)
    assert found.findings == given.findings
    assert found.provenance.seconds == given.provenance.seconds
    assert shown(found) == shown(given)


@pytest.mark.wide
def test_a_page_that_is_written_again_computes_nothing(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = report.write(store, tmp_path / "first.html", ASKED)

    def compute_again(*_: object, **__: object) -> None:
        raise AssertionError("computed again")

    monkeypatch.setattr(Question, "run", compute_again)
    second = report.write(open_store(store.path), tmp_path / "second.html", ASKED)
    assert (first.n_kept, second.n_kept) == (0, 5)
    assert first.path.read_bytes() == second.path.read_bytes()


@pytest.mark.wide
def test_what_is_not_kept_is_computed_beside_what_is(store: Store, tmp_path: Path) -> None:
    report.write(store, tmp_path / "some.html", ["queue_length", "usage_shapes"])
    partly = report.write(store, tmp_path / "partly.html", ASKED)
    shutil.rmtree(store.path / "cache")
    anew = report.write(open_store(store.path), tmp_path / "anew.html", ASKED)
    assert partly.path.read_bytes() == anew.path.read_bytes()


def test_other_code_answers_anew(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = answers_of(store)
    kept.keep(find("queue_length").run(kept.tables))
    assert kept.find(find("queue_length")) is not None
    monkeypatch.setattr(kept_answers, "code_and_libraries", lambda: "0ther-1.0")
    assert kept.find(find("queue_length")) is None


def test_rows_that_somebody_changed_are_not_believed(store: Store) -> None:
    kept = answers_of(store)
    kept.keep(find("queue_length").run(kept.tables))
    (rows,) = (store.path / "cache").glob("answer_queue_length-*/rows.arrow")
    damaged = bytearray(rows.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    rows.write_bytes(damaged)
    assert kept.find(find("queue_length")) is None


def test_an_answer_of_other_code_is_not_kept(store: Store) -> None:
    kept = answers_of(store)
    foreign = replace(find("queue_length"), name="queue_of_a_user")
    kept.keep(foreign.run(kept.tables))
    assert kept.find(foreign) is None
    assert not list((store.path / "cache").glob("answer_*"))


def test_a_store_that_was_renamed_is_called_by_its_new_name(store: Store) -> None:
    kept = answers_of(store)
    kept.keep(find("queue_length").run(kept.tables))
    moved = store.path.with_name("moved")
    store.path.rename(moved)
    found = answers_of(open_store(moved)).find(find("queue_length"))
    assert found is not None
    assert found.provenance.store == str(moved)
