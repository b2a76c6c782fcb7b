"""What options and arguments stand as on the command line and what they say: declared once, in ``options.toml``."""

import inspect
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

Command = Callable[..., None]
_SAID = tomllib.loads(Path(__file__).with_name("options.toml").read_text("utf-8"))


def said_of(name: str) -> dict[str, Any]:
    """Return what the file says of a command."""
    return {**_SAID["every"], **_SAID.get(name, {})}


def declared(name: str, command: Command) -> Command:
    """Give each parameter of a command what the file says of it.

    Parameters
    ----------
    name
        The command's name.
    command
        Its parameters have types, and defaults where they can be left out.
    """
    said = said_of(name)
    own = inspect.signature(command, eval_str=True).parameters.values()
    return signed(
        command, (p.replace(annotation=Annotated[p.annotation, _info(*said[p.name])]) for p in own)
    )


def signed(command: Command, parameters: Iterable[inspect.Parameter]) -> Command:
    """Give a command a signature of these parameters."""
    signature = inspect.Signature(list(parameters))
    # Typer reads the signature and, for the types, the annotations.
    command.__signature__ = signature  # type: ignore[attr-defined]
    command.__annotations__ = {name: each.annotation for name, each in signature.parameters.items()}
    return command


def _info(shown: str, help: str, limits: dict[str, Any] | None = None) -> Any:
    if not shown.startswith("--"):
        return Argument(metavar=shown or None, help=help)
    name, _, metavar = shown.partition(" ")
    # With its name given, a flag has no second one that denies it.
    return Option(name, metavar=metavar or None, help=help, **(limits or {}))


def seconds_of(timeout: str) -> float | None:
    """Return a time limit in seconds, None where there is none."""
    from borgtrace.schema.time import SECOND, parse_time

    return parse_time(timeout, "--timeout") / SECOND if timeout else None
