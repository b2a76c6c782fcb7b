"""Options that would have no effect: a command refuses them instead of ignoring them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import typer

LISTINGS = ("list_names", "list_estimators")
"""Parameters of options that print a list and stop: no other option has an effect beside them."""


@dataclass(frozen=True, slots=True)
class NoEffectWith:
    """Options that have no effect where another one is given, by the names of their parameters.

    Attributes
    ----------
    other
        The other one.
    options
        Those that it leaves without an effect.
    """

    other: str
    options: Collection[str]


@dataclass(frozen=True, slots=True)
class NoEffectWithout:
    """Options that have no effect unless one of others is given, by the names of their parameters.

    Attributes
    ----------
    needed
        The others.
    options
        Those that need one of them.
    values
        Values that the other one must have; any where empty.
    """

    needed: Sequence[str]
    options: Collection[str]
    values: Sequence[str] = ()


EffectRule = NoEffectWith | NoEffectWithout


def rules_of(command: Any, rules: Collection[EffectRule]) -> list[EffectRule]:
    """Return the rules of a command, those of options that print a list and stop among them.

    Parameters
    ----------
    command
        As Typer made it.
    rules
        Those that it declares.
    """
    options = [item.name for item in command.params if item.param_type_name == "option"]
    listings = [name for name in LISTINGS if name in options]
    stopping = []
    for listing in listings:
        # Of code of the user's own, the list has the names.
        others = [name for name in options if name not in (listing, "sources", "help")]
        stopping.append(NoEffectWith(listing, others))
    return [*stopping, *rules]


def check_effects(context: Any, rules: Collection[EffectRule]) -> None:
    """Refuse options that have no effect beside the others of a command line.

    Parameters
    ----------
    context
        Of the command, whose words are parsed.
    rules
        What :func:`rules_of` returned.

    Raises
    ------
    typer.BadParameter
        It names the option, and the one beside or without which it has no effect.
    """
    parameters = {item.name: item for item in context.command.params}
    given = []
    for name in parameters:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            given.append(name)
    for rule in rules:
        for option in given:
            if option in rule.options:
                problem = _problem(rule, given, parameters, context.params)
                if problem:
                    raise typer.BadParameter(
                        f"no effect {problem}; leave it out",
                        ctx=context,
                        param_hint=f"'{_title(parameters[option])}'",
                    )


def _problem(rule: EffectRule, given: Collection[str], parameters: Any, values: Any) -> str:
    """Say beside or without which option others have no effect; empty where they have one."""
    if isinstance(rule, NoEffectWith):
        return f"with {_title(parameters[rule.other])}" if rule.other in given else ""
    titles = [_title(parameters[name]) for name in rule.needed]
    if rule.values:
        value = values[rule.needed[0]]
        if value in rule.values:
            return ""
        return f"with {titles[0]} {value}, but with {' or '.join(rule.values)}"
    if any(name in given for name in rule.needed):
        return ""
    return f"without {' or '.join(titles)}"


def _title(parameter: Any) -> str:
    """Return what a user calls a parameter: its longest option, or the metavar of the argument."""
    if parameter.param_type_name == "option":
        return str(max(parameter.opts, key=len))
    return str(parameter.metavar or parameter.name.upper())
