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
    "fetch prometheus",
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
"""Commands in the order a user meets them, one or two words each; :func:`command_function` finds their functions."""


class LazyGroup(TyperGroup):
    """Commands are modules; only those that are asked for are imported."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        # Typer lists these names and suggests one near a wrong one; the commands come from get_command.
        self.commands = dict.fromkeys(COMMANDS)  # type: ignore[assignment]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import one command; None for an unknown name."""
        return load_command(cmd_name) if cmd_name in COMMANDS else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that the first words name: two of them may be one."""
        two_words = " ".join(args[:2])
        if len(args) > 1 and two_words in COMMANDS:
            return two_words, self.get_command(ctx, two_words), args[2:]
        return super().resolve_command(ctx, args)


def command_function(name: str) -> Any:
    """Return the function of a command: that of its name, in the module of its name in `borgtrace.cli.commands`."""
    identifier = name.replace(" ", "_")
    return getattr(import_module(f"borgtrace.cli.commands.{identifier}"), identifier)


def load_command(name: str) -> Any:
    """Import the module of a command, and return the command as Typer makes it."""
    # Inside: `--version` needs none of what declares bounds.
    from borgtrace.cli.checked_command import CheckedCommand, document_bounds

    # No tracebacks, and no marked-up help: errors are one line.
    single = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    function = command_function(name)
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
