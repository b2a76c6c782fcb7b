"""Every place that a command takes, found from the commands themselves, and a command line that gets as far as it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

from borgtrace.cli.app import COMMANDS, command_function, load_command

MIXED = {"dialect": "NAME|FILE.toml|FILE.py"}
"""Parameters that are a place or a name."""
ARGUMENTS = {
    "store": "{store}",
    "stores": "{store}",
    "sources": "{raw}",
    "out": "{out}",
    "dest": "{out}",
    "folder": "{out}",
    "file": "{usage}",
    "files": "{usage}",
    "generation": "2019",
    "name": "10",
    "paper": "zhu2015",
    "machine_name": "5",
    "action": "sniff",
    "dataset": "project.dataset",
    "url": "{server}",
    "plan": "{experiment}",
}
"""Arguments that a command needs beside the place that is looked at."""
WORDS = {
    "analyze": ["job_durations"],
    "report": ["job_durations"],
    "reproduce": ["--only", "method-3"],
    "sql": ["select 1 as one"],
    "compact": ["--at", "1h"],
    "compare": ["{other}"],
    "merge": ["{other}", "{out}"],
    "demo": ["--machines", "10", "--hours", "1"],
    "synth": ["--machines", "10", "--hours", "1"],
    "fetch": ["--cell", "a", "--tables", "instance_usage", "--base-url", "{server}"],
    "subset": ["--fraction", "1"],
    "dataset": ["--format", "npz", "--min-length", "1"],
    "explore": ["--no-browser"],
    "mcp": ["--config"],
}
"""What makes a command short, or is needed beside its arguments."""
NEEDED = {
    ("colocate", "out"): ["--synthetic", "20", "--experiment", "packing_base", "--instances", "1"],
    ("colocate place", "placement"): ["--moments", "{moments}"],
    ("colocate place", "dialect"): ["--usage", "{usage}"],
    ("colocate pool", "out"): ["--synthetic", "20"],
    ("colocate pool", "dialect"): ["--usage", "{usage}"],
    ("colocate", "dialect"): ["--usage", "{usage}"],
    ("forecast", "save"): ["--forecaster", "persistence"],
    ("simulate", "event_log"): ["--policy", "recorded"],
    ("overcommit", "model"): ["--policy", "forecast"],
    ("overcommit target", "model"): ["--policy", "forecast"],
    ("overcommit explain", "model"): ["--policy", "forecast"],
    ("merge", "out"): ["{store}", "{other}"],
    ("experiment", "plan"): ["--out", "{out}"],
}
"""What one parameter needs."""


class PlaceOfCommand(NamedTuple):
    """A parameter of a command that names a file or folder."""

    command: str
    parameter: str
    option: str
    """The option; empty for an argument."""

    def __str__(self) -> str:
        return f"{self.command}-{self.parameter}"


def places_of_commands() -> Iterator[PlaceOfCommand]:
    """Yield every parameter of a command that is a path."""
    for name in COMMANDS:
        annotations = get_type_hints(function_of(name))
        for parameter in load_command(name).params:
            is_path = Path in types_in(annotations.get(parameter.name))
            is_mixed = "FILE" in str(parameter.metavar) and parameter.name in MIXED
            if is_path or is_mixed:
                is_option = parameter.opts[0].startswith("-")
                yield PlaceOfCommand(name, parameter.name, parameter.opts[0] if is_option else "")


def function_of(name: str) -> Any:
    """Return the function behind a command."""
    return command_function(name)


def types_in(annotation: Any) -> list[Any]:
    """Return a type and all that it is made of: of `list[Path] | None` also `Path`."""
    types = [annotation]
    for part in get_args(annotation):
        types += types_in(part)
    return types


def command_line(place: PlaceOfCommand, path: str, things: Mapping[str, object]) -> list[str]:
    """Return the words of a command that has `path` in a place, and what it needs elsewhere."""
    arguments = []
    for parameter in load_command(place.command).params:
        if not parameter.opts[0].startswith("-"):
            if parameter.name == place.parameter:
                arguments.append("{path}")
            # `colocate` has one source of tasks.
            elif parameter.name in ARGUMENTS and place.command.split()[0] != "colocate":
                arguments.append(ARGUMENTS[parameter.name])
    if place.command == "merge":
        arguments = ["{store}", "{other}", "{path}"]
        if place.parameter == "stores":
            arguments = ["{path}", "{other}", "{out}"]
    else:
        arguments += WORDS.get(place.command, [])
        arguments += NEEDED.get((place.command, place.parameter), [])
    if place.option:
        arguments += [place.option, "{path}"]
    if place.command == "ingest" and place.parameter != "store":
        arguments += ["--store", "{out}"]
    words = place.command.split()
    for argument in arguments:
        words.append(path if argument == "{path}" else argument.format(**things))
    return words
