"""The help of every command on a terminal of 80 columns: nothing is wider, and nothing is of Python or of Typer."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

from borgtrace.cli.app import COMMANDS, app


def help_of(name: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    result = CliRunner().invoke(app, [*name.split(), "--help"])
    assert result.exit_code == 0
    return result.output


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_no_line_is_wider_than_the_terminal(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for line in help_of(name, monkeypatch).splitlines():
        assert len(line) <= 80, line


@pytest.mark.parametrize("name", COMMANDS)
def test_arguments_and_defaults_are_written_for_people(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = help_of(name, monkeypatch)
    usage, *_ = text.partition("\n\n")
    # Brackets say that an argument may be left out, and stand once; dots that there may be several.
    for written_by_typer in ("[[", "{", "...", "<"):
        assert written_by_typer not in usage
    assert not re.search(r"<(list|path|str|int|float|Path)\b", text)
    assert not re.search(r"\[default: \d{4,}\]", text)


def test_a_default_has_commas_between_thousands(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "[default: 100,000]" in help_of("colocate place", monkeypatch)
