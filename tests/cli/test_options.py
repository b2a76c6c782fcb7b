"""What the file of options says is about options that there are."""

from __future__ import annotations

import inspect
from importlib import import_module

from borgtrace.cli._options import _SAID
from borgtrace.cli.app import COMMANDS


def _parameters(command: str) -> set[str]:
    return set(
        inspect.signature(getattr(import_module(f"borgtrace.cli.{command}"), command)).parameters
    )


def test_every_line_is_about_a_parameter_of_its_command() -> None:
    said = {
        name: lines.keys() - {"Ctrl-C", "reads", "writes"}
        for name, lines in _SAID.items()
        if name != "every"
    }
    own = {name: lines - _parameters(name) for name, lines in said.items()}
    assert own == {name: set() for name in own}


def test_what_is_said_for_every_command_serves_several() -> None:
    # Else it belongs to the one command that has it.
    users = {
        name: [c for c in COMMANDS if name in _parameters(c) and name not in _SAID.get(c, {})]
        for name in _SAID["every"].keys() - {"Ctrl-C", "reads", "writes"}
    }
    assert [name for name, commands in users.items() if len(commands) < 2] == []
