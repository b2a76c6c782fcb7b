"""Every command that a hint or a message proposes works when it is pasted into a shell."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from borgtrace.cli.app import app
from borgtrace.cli.commands.demo import steps_of_demo
from tests.cli.screen_inputs import GUESSED
from tests.cli.terminal_screen import printed_on_terminal

RUNNER = CliRunner()
HINT = re.compile(r"(?:Next[^:\n]*|try next|list some): (borgtrace [^\n]+)")


def words_of(hint: str) -> list[str]:
    """Return the words of a hint after `borgtrace`, as a shell splits them, comments left out."""
    program, *words = shlex.split(hint, comments=True)
    assert program == "borgtrace"
    return words


def check_words(words: list[str]) -> None:
    """Parse a command line, without running it."""
    group = typer.main.get_command(app)
    context = group.make_context("borgtrace", list(words))
    name, command, rest = group.resolve_command(context, words)  # type: ignore[attr-defined]
    command.make_context(name, rest, parent=context)


def hints_in(text: str) -> Iterator[list[str]]:
    for hint in HINT.findall(text):
        yield words_of(hint)


def run(words: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a command in a folder and return what it says."""
    monkeypatch.chdir(folder)
    result = RUNNER.invoke(app, words)
    assert result.exit_code == 0, (words, result.output)
    return result.output


def test_each_hint_leads_to_the_next_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A folder with a blank, as people have them.
    words = ["synth", "my trace", "--machines", "3", "--hours", "1"]
    seen = []
    while words:
        seen.append(words[0])
        text = run(words, tmp_path, monkeypatch)
        words = next(hints_in(text), [])
    assert seen == ["synth", "ingest", "info"]


def test_what_a_draft_proposes_makes_a_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my usage.csv").write_text(GUESSED)
    with pytest.MonkeyPatch.context() as terminal:
        terminal.chdir(tmp_path)
        text = printed_on_terminal(["dialect", "sniff", "my usage.csv"], terminal)
    draft, ingest = (words_of(line) for line in re.findall(r"borgtrace [^\n]+", text))
    assert draft[-2:] == [">", "own.toml"]
    (tmp_path / "own.toml").write_text(
        RUNNER.invoke(app, [*draft[:-3], str(tmp_path / draft[-3])]).stdout
    )
    run(ingest, tmp_path, monkeypatch)
    assert (tmp_path / ingest[-1] / "manifest.json").is_file()


def test_the_way_out_of_an_unknown_machine_is_a_query_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(["synth", "raw", "--machines", "3", "--hours", "1"], tmp_path, monkeypatch)
    run(["ingest", "raw", "--store", "my store"], tmp_path, monkeypatch)
    refused = RUNNER.invoke(app, ["machine", "my store", "1"])
    assert refused.exit_code == 2
    (query,) = hints_in(refused.output)
    assert "machine_id" in run(query, tmp_path, monkeypatch)


def test_a_replay_proposes_the_choice_that_is_judged_on_later_slots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(["synth", "raw", "--machines", "3", "--hours", "1"], tmp_path, monkeypatch)
    run(["ingest", "raw", "--store", "my store"], tmp_path, monkeypatch)
    policies = ["--policy", "limit", "--policy", "borg"]
    text = run(["overcommit", "my store", *policies], tmp_path, monkeypatch)
    (words,) = hints_in(text)
    assert words == ["overcommit", "target", "my store"]
    assert "periods judged" in run([*words, *policies], tmp_path, monkeypatch)


def test_what_the_demo_proposes_is_a_command_with_options_that_exist(tmp_path: Path) -> None:
    steps = steps_of_demo(tmp_path / "a demo", 10, 1, 1)
    for step in steps:
        check_words(words_of(step.next))
        check_words(shlex.split(step.command))
    assert len(steps) >= 6
