"""The command group: finds commands by name, and imports one when it is called."""

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from borgtrace.version import __version__

COMMANDS = (
    # Get data.
    "demo",
    "fetch",
    "synth",
    "ingest",
    "dialect",
    # Look at it.
    "info",
    "sql",
    "trace",
    "machine",
    "explore",
    # Ask questions.
    "analyze",
    "compare",
    "views",
    "dataset",
    "export",
    "colocate",
    "overcommit",
    "forecast",
    "compact",
    "simulate",
    # Keep results and stores.
    "report",
    "subset",
    "merge",
    "verify",
    "doctor",
)
"""Commands in the order a user meets them: each is a function in the module of its name in `borgtrace.cli.commands`."""


class LazyGroup(TyperGroup):
    """Commands are modules; only those that are asked for are imported."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        # Typer lists these names and suggests one near a wrong one; the commands come from get_command.
        self.commands = dict.fromkeys(COMMANDS)  # type: ignore[assignment]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import one command; None for an unknown name."""
        return load_command(cmd_name) if cmd_name in COMMANDS else None


def load_command(name: str) -> Any:
    """Import the module of a command, and return the command as Typer makes it."""
    # Inside: `--version` needs none of what declares bounds.
    from borgtrace.cli.checked_command import CheckedCommand, document_bounds

    module = import_module(f"borgtrace.cli.commands.{name}")
    # No tracebacks, and no marked-up help: errors are one line.
    single = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    function = getattr(module, name)
    single.command(name, cls=CheckedCommand)(function)
    command = typer.main.get_command(single)
    document_bounds(command, function)
    return command


app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def print_version(is_wanted: bool) -> None:
    """Print the version and end, where the option was given."""
    if is_wanted:
        typer.echo(f"borgtrace {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=print_version,
            is_eager=True,
            help="Print the version.",
        ),
    ] = False,
) -> None:
    """Cluster traces, from raw archives to answers.

    Start with: borgtrace demo DIR
    """
