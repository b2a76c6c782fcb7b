"""Check options before a command runs: none may be empty, and numbers and amounts have bounds."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_type_hints

import typer
from typer.core import TyperCommand
from typer.models import ArgumentInfo, OptionInfo

from borgtrace.cli.option_effects import EffectRule, check_effects, rules_of
from borgtrace.schema.bounds import check_value, declarations_of

DEFAULT_NUMBER = re.compile(r"(?<=\[default: )\d{4,}(?=\])")
"""A whole number of thousands that is the default of an option."""
DOZEN = 12
"""Options that are read at a glance."""


@dataclass(frozen=True, slots=True)
class CheckedText:
    """Marks an option whose text is read before the command does anything.

    Attributes
    ----------
    read
        Reads the text of an option; raises UsageError for what it cannot read.
    """

    read: Callable[[str, str], object]


class CheckedCommand(TyperCommand):
    """A command whose options and arguments are never empty: an unset variable of a shell is no value.

    Attributes
    ----------
    bounds
        What numbers may be, in words, by the name of the parameter.
    effects
        Which options have no effect beside others, or without them.
    modes
        Commands that begin with its name, and what they do.
    """

    bounds: Mapping[str, str]
    effects: Sequence[EffectRule]
    modes: Sequence[tuple[str, str]] = ()

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options; those of a command with more than a dozen in panels."""
        arguments = []
        options_by_panel: dict[str, list[tuple[str, str]]] = {}
        parameters = self.get_params(ctx)
        n_options = sum(item.param_type_name == "option" for item in parameters)
        for parameter in parameters:
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            name, help_text = record
            # Typer writes it without commas, as Python does.
            help_text = DEFAULT_NUMBER.sub(lambda match: f"{int(match[0]):,}", help_text)
            if parameter.param_type_name == "argument":
                # Typer writes the type of Python beside its name.
                arguments.append((usage_of_argument(parameter), help_text))
                continue
            panel = getattr(parameter, "rich_help_panel", None) if n_options > DOZEN else None
            options_by_panel.setdefault(panel or "Options", []).append((name, help_text))
        if self.modes:
            with formatter.section("Modes, each with options of its own"):
                formatter.write_dl(self.modes)
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl(arguments)
        for panel, records in options_by_panel.items():
            with formatter.section(panel):
                formatter.write_dl(records)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return what follows the name of the command in its line of usage: arguments as their help calls them."""
        pieces = [self.options_metavar] if self.options_metavar else []
        for parameter in self.get_params(ctx):
            if parameter.param_type_name == "argument":
                pieces.append(usage_of_argument(parameter))
        return pieces

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words after the name of the command.

        Raises
        ------
        typer.BadParameter
            One of them is empty, or no number where one is expected.
        """
        refuse_empty_words(ctx, args)
        try:
            rest = super().parse_args(ctx, args)
        except typer.BadParameter as error:
            # Typer's own message says neither the bounds nor the value.
            reasons = getattr(error.__cause__, "errors", None)
            if reasons is None:
                raise
            parameter: Any = error.param
            message = error.message.removeprefix("Value error, ").rstrip(".")
            if parameter.name in self.bounds:
                value = reasons()[0]["input"]
                message = f"expected a number, {self.bounds[parameter.name]}, got {value}"
            raise typer.BadParameter(message, ctx=ctx, param=parameter) from error
        check_effects(ctx, self.effects)
        return rest


def usage_of_argument(parameter: Any) -> str:
    """Return what an argument is called, in brackets where it may be left out."""
    name = parameter.metavar or parameter.name.upper()
    is_bracketed = name.startswith("[")
    return name if parameter.required or is_bracketed else f"[{name}]"


def refuse_empty_words(ctx: Any, words: Sequence[str]) -> None:
    """Refuse an empty value: for a path it would be the current folder, for a criterion everything.

    Parameters
    ----------
    ctx
        The context of the command, for the message.
    words
        The words after its name.

    Raises
    ------
    typer.BadParameter
        It names the option where the value is that of one.
    """
    for position, word in enumerate(words):
        option, equals, value = word.partition("=")
        is_empty_option = word.startswith("--") and equals and not value
        if word and not is_empty_option:
            continue
        before = words[position - 1] if position else ""
        name = option if is_empty_option else before
        where = f"'{name}'" if name.startswith("-") and name != "--" else "an argument"
        problem = "expected a value, got an empty text; leave it out for the default"
        raise typer.BadParameter(problem, ctx=ctx, param_hint=where)


def check_options(function: Callable[..., None], values: Mapping[str, Any]) -> None:
    """Refuse numbers outside the bounds that a command declares, and amounts that cannot be read.

    Parameters
    ----------
    function
        The function of the command.
    values
        Its options and arguments.

    Raises
    ------
    UsageError
        It names the option and what is allowed.
    """
    declared = declarations_of(function)
    hints = get_type_hints(function, include_extras=True)
    for name, value in values.items():
        # None is an option that was left out.
        if value is None or name not in hints:
            continue
        metadata = getattr(hints[name], "__metadata__", ())
        where = shown_name(name, metadata)
        if declared[name].bounds is not None:
            check_value(where, value, declared[name])
        for item in metadata:
            if isinstance(item, CheckedText):
                item.read(value, where)


def shown_name(name: str, metadata: Sequence[object]) -> str:
    """Return what a user calls a parameter: its option, or the metavar of the argument.

    Parameters
    ----------
    name
        Of the parameter.
    metadata
        Of its annotation.
    """
    for item in metadata:
        if isinstance(item, OptionInfo):
            # Where the default stands beside the annotation, Typer has the first of the options in its place.
            options = [option for option in (item.default, *(item.param_decls or ())) if option]
            return str(options[-1]).partition("/")[0] if options else f"--{name}"
        if isinstance(item, ArgumentInfo):
            return item.metavar or name.upper()
    return name


def document_bounds(command: Any, function: Callable[..., None]) -> None:
    """Add the bounds of numbers to the help of their options, and the rules of their effects to the command.

    Parameters
    ----------
    command
        The command as Typer made it; changed in place.
    function
        Its function.
    """
    declared = declarations_of(function)
    command.effects = rules_of(command, getattr(function, "effects", ()))
    command.bounds = {}
    for parameter in command.params:
        declaration = declared.get(parameter.name)
        if declaration is not None and declaration.bounds is not None:
            bounds = declaration.bounds.describe()
            command.bounds[parameter.name] = bounds
            parameter.help = f"{parameter.help} [{bounds}]"
