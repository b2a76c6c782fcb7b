"""The command group: finds commands by name, and imports one when it is called."""

from importlib import import_module
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup

from borgtrace.cli.old_spellings import in_new_spelling
from borgtrace.version import __version__

PANELS = {
    "Get data": ("demo", "fetch", "fetch prometheus", "synth", "ingest", "dialect"),
    "Look": (
        "info",
        "sql",
        "trace",
        "machine",
        "explore",
        "mcp",
        "analyze",
        "compare",
        "reproduce",
        "report",
    ),
    "Learn": ("dataset", "forecast", "export"),
    "Decide": (
        "advise",
        "overcommit",
        "overcommit target",
        "overcommit reclaim",
        "overcommit recommend",
        "overcommit explain",
        "experiment",
        "colocate",
        "colocate place",
        "colocate pool",
    ),
    "Simulate": ("compact", "simulate", "simulate gpus"),
    "Maintain": ("subset", "merge", "verify", "views", "check", "doctor"),
}
"""Commands by what they are for, in the order a user meets them, one or two words each."""
COMMANDS = tuple(name for names in PANELS.values() for name in names)
""":func:`command_function` finds their functions."""


class LazyGroup(TyperGroup):
    """Commands are modules; only those that are asked for are imported."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        # Typer lists these names and suggests one near a wrong one; the commands come from get_command.
        self.commands = dict.fromkeys(COMMANDS)  # type: ignore[assignment]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import one command; None for an unknown name."""
        return load_command(cmd_name) if cmd_name in COMMANDS else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands of each panel with the first sentence of their help; modes are left to their command."""
        modes = {mode for name in COMMANDS for mode in modes_of(name)} - {"fetch prometheus"}
        width = max(len(name) for name in COMMANDS if name not in modes)
        for panel, names in PANELS.items():
            rows = []
            for name in names:
                if name not in modes:
                    sentence = first_sentence(self.get_command(ctx, name))
                    # The first column of all panels has one width.
                    rows.append((name.ljust(width), sentence))
            with formatter.section(panel):
                formatter.write_dl(rows)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Return what a word may become: commands of two words are no word."""
        return [item for item in super().shell_complete(ctx, incomplete) if " " not in item.value]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that the first words name: two of them may be one, and old spellings lead to new ones."""
        args = in_new_spelling(args)
        two_words = " ".join(args[:2])
        if len(args) > 1 and two_words in COMMANDS:
            return two_words, self.get_command(ctx, two_words), args[2:]
        return super().resolve_command(ctx, args)


def modes_of(name: str) -> list[str]:
    """Return the commands of two words that begin with a command.

    Examples
    --------
    >>> modes_of("fetch")
    ['fetch prometheus']
    """
    return [command for command in COMMANDS if command.startswith(f"{name} ")]


def first_sentence(command: Any) -> str:
    """Return the first sentence of the help of a command, without its full stop."""
    help_text = " ".join((command.help or "").partition("\n\n")[0].split())
    sentence, _, _ = help_text.partition(". ")
    return sentence.rstrip(".")


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
    # Typer makes it of the class above, and types it as its base.
    cast(CheckedCommand, command).modes = sentences_of_modes(name)
    return command


def sentences_of_modes(name: str) -> list[tuple[str, str]]:
    """Return the commands of two words that begin with a command, each with its first sentence."""
    return [(mode, first_sentence(load_command(mode))) for mode in modes_of(name)]


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
