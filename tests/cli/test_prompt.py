"""The prompt of ``borgtrace sql``: several lines, errors that end a query only, history."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from borgtrace.cli.prompt import completer, run_prompt
from borgtrace.errors import EngineError, UsageError

ENTER, END, INTERRUPT = "\r", "\x04", "\x03"


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PipeInput]:
    """What is typed; the prompt keeps its history in a folder of the test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with create_pipe_input() as typed, create_app_session(input=typed, output=DummyOutput()):
        yield typed


def asked(keys: PipeInput, text: str) -> list[str]:
    queries: list[str] = []
    keys.send_text(text)
    run_prompt(queries.append)
    return queries


def test_a_query_ends_with_a_semicolon(keys: PipeInput) -> None:
    typed = f"select 1{ENTER}from tasks;{ENTER}{ENTER}select 2 ;{ENTER}{END}"
    assert asked(keys, typed) == ["select 1\nfrom tasks", "select 2"]


def test_tables_are_listed(keys: PipeInput, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(keys, f".tables{ENTER}{END}") == []
    assert "instance_usage" in capsys.readouterr().out.splitlines()


def test_ctrl_c_and_errors_end_a_query_and_not_the_prompt(
    keys: PipeInput, capsys: pytest.CaptureFixture[str]
) -> None:
    queries = []

    def answer(query: str) -> None:
        queries.append(query)
        if query == "wrong":
            raise UsageError("query", "no table wrong")
        if query == "long":
            raise KeyboardInterrupt

    keys.send_text(f"half{INTERRUPT}wrong;{ENTER}long;{ENTER}right;{ENTER}{END}")
    run_prompt(answer)
    assert queries == ["wrong", "long", "right"]
    assert capsys.readouterr().err == "stopped\nborgtrace: query: no table wrong\nstopped\n"


def test_queries_are_kept_for_the_next_time(keys: PipeInput, tmp_path: Path) -> None:
    asked(keys, f"select 1;{ENTER}{END}")
    assert "+select 1;" in (tmp_path / "borgtrace" / "sql_history").read_text()


@pytest.mark.parametrize(
    ("typed", "completed"), [("from mattr", "machine_attributes"), ("select avgcpu", "average_cpu")]
)
def test_tables_and_columns_are_completed(typed: str, completed: str) -> None:
    completions = completer().get_completions(
        Document(typed), CompleteEvent(completion_requested=True)
    )
    assert completed in [each.text for each in completions]


def test_who_has_no_prompt_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "borgtrace.cli.prompt")
    monkeypatch.setitem(sys.modules, "prompt_toolkit", None)
    with pytest.raises(EngineError) as caught:
        import_module("borgtrace.cli.prompt")
    assert str(caught.value) == (
        'sql: its prompt needs prompt-toolkit; pip install "borgtrace[prompt]", '
        'or give a query: borgtrace sql STORE "select …"'
    )
