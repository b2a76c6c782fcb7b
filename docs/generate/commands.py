"""Commands: each with its own words for help."""

from __future__ import annotations

from typing import Any

import typer
from typer.testing import CliRunner

from generate.text import plain

INTRO = """# Commands

Data goes to stdout, messages go to stderr. Every command has `--help`. An error exits with the code of its
[class](errors.md). [Ranges of numbers and times](../ranges.md) are written the same way in every option.
"""


def commands() -> dict[str, Any]:
    """Return all commands by name, in the order of ``--help``."""
    from borgtrace.cli.app import app

    group = typer.main.get_command(app)
    context = group.make_context("borgtrace", [], resilient_parsing=True)
    context.resilient_parsing = False
    return {name: group.get_command(context, name) for name in group.list_commands(context)}


def page() -> str:
    """Return the page."""
    blocks = [INTRO.strip()]
    for name, command in commands().items():
        blocks.append(f"## {name}\n\n{_sentence(command)}\n\n```text\n{help_of(name)}\n```")
    return "\n\n".join(blocks) + "\n"


def _sentence(command: Any) -> str:
    return plain((command.help or "").strip().partition("\n\n")[0].replace("\n", " "))


def help_of(name: str) -> str:
    """Return what ``borgtrace NAME --help`` prints, 100 columns wide and without colours."""
    from borgtrace.cli.app import app

    environment = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "TERMINAL_WIDTH": "100"}
    result = CliRunner().invoke(
        app, [*name.split(), "--help"], prog_name="borgtrace", env=environment
    )
    assert result.exit_code == 0, (name, result.output)
    return "\n".join(line.rstrip() for line in result.stdout.strip("\n").splitlines())
