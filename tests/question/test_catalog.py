"""Which questions there are: what the folders list is what their modules declare."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

from borgtrace.catalog import experiments, find, folders, headings, names, questions


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


@pytest.mark.parametrize("name", names())
def test_a_claim_binds_the_columns_of_its_answer(name: str) -> None:
    # DuckDB names a column that is not there; an unknown scope or criterion does not import.
    question = find(name)
    for claim in question.claims:
        finding = claim.judge(question.answer.empty())
        assert finding.statement == claim.statement
