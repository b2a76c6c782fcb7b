"""Which questions there are: what the folders list is what their modules declare."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import pytest

from borgtrace.catalog import experiments, find, folders, headings, names, questions
from borgtrace.errors import UsageError


def test_folders_list_their_modules_and_no_others() -> None:
    for folder in folders():
        declared = {
            module.name
            for module in pkgutil.iter_modules(folder.__path__)
            if hasattr(importlib.import_module(f"{folder.__name__}.{module.name}"), "QUESTION")
        }
        assert declared == set(folder.QUESTIONS), folder.__name__
        assert len(folder.QUESTIONS) == len(declared), folder.__name__


def test_a_question_has_the_name_of_its_module() -> None:
    assert {name: question.name for name, question in questions().items()} == {
        name: name for name in names()
    }


def test_headings_are_those_of_the_folders_in_order() -> None:
    assert list(dict.fromkeys(headings().values())) == [folder.HEADING for folder in folders()]
    assert headings()["queue_length"] == "The queue and the running tasks"


def test_every_experiment_is_a_question() -> None:
    assert set(experiments()) < set(names())
    assert find("packing_base") is experiments()["packing_base"]


def test_a_question_that_its_author_forgot_to_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folders()[0]
    (tmp_path / "new_question.py").write_text("QUESTION = None\n")
    (tmp_path / "new_helper.py").write_text("")
    monkeypatch.setattr(folder, "__path__", [*folder.__path__, str(tmp_path)])
    with pytest.raises(UsageError) as caught:
        find("new_question")
    assert str(caught.value) == (
        f"NAME: the question is not listed: got new_question; add it to QUESTIONS in {folder.__file__}"
    )
    with pytest.raises(UsageError, match=r"^NAME: no such question: got new_helper"):
        find("new_helper")
