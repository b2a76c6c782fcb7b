"""Options without an effect beside others are errors, on every command; a list of names needs no store."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from typer.testing import CliRunner

from borgtrace.cli.app import COMMANDS, app, load_command
from borgtrace.cli.option_effects import NoEffectWith, NoEffectWithout

RUNNER = CliRunner()


def _words(parameter: Any) -> list[str]:
    """Return the words that give a parameter a value."""
    if parameter.param_type_name == "argument":
        return ["somewhere"]
    option = max(parameter.opts, key=len)
    if parameter.is_flag:
        return [option]
    # A number is a text, too; only the format of `sql` is one of a few words.
    return [option, "csv" if parameter.name == "format" else "5"]


def _lines() -> Iterator[tuple[list[str], str, str]]:
    """Yield command lines that hold an option without effect, that option, and what the error says of it."""
    for name in COMMANDS:
        command = load_command(name)
        parameters = {item.name: item for item in command.params}
        arguments: list[str] = []
        for item in command.params:
            if item.required:
                arguments += _words(item)
        for rule in command.effects:
            for option in rule.options:
                # A wrong name of a parameter is a KeyError here.
                words = _words(parameters[option])
                line = [*name.split(), *arguments, *words]
                if isinstance(rule, NoEffectWith):
                    line += _words(parameters[rule.other])
                    reason = "no effect with"
                elif rule.values:
                    if parameters[rule.needed[0]].default in rule.values:
                        line += [max(parameters[rule.needed[0]].opts, key=len), _other(rule)]
                    reason = "no effect with"
                else:
                    reason = "no effect without"
                yield line, words[0], reason


def _other(rule: NoEffectWithout) -> str:
    return next(word for word in ("csv", "raw", "json") if word not in rule.values)


def test_options_without_an_effect_are_errors() -> None:
    lines = list(_lines())
    # Among them what was ignored without a word.
    assert any(line[0] == "forecast" and "--model" in line for line, _, _ in lines)
    assert len(lines) > 100
    for line, option, reason in lines:
        result = RUNNER.invoke(app, line)
        assert result.exit_code == 2, line
        # Where several rules meet, the first of them answers.
        assert "no effect" in result.stderr, (line, option, reason, result.stderr)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "forecast somewhere --model F --forecaster boosting",
            "Invalid value for '--forecaster': no effect with --model; leave it out",
        ),
        (
            "export somewhere out --layout raw --key task",
            "Invalid value for '--key': no effect with --layout raw, but with jobs; leave it out",
        ),
    ],
)
def test_the_error_names_both_options(line: str, message: str) -> None:
    result = RUNNER.invoke(app, line.split())
    assert result.exit_code == 2
    assert message in result.stderr


def test_options_that_have_an_effect_are_taken() -> None:
    # The folder is missing, which only the command itself finds out.
    for line in (
        "export somewhere out --key task",
        "forecast somewhere --model F --pack",
    ):
        result = RUNNER.invoke(app, line.split())
        assert "no effect" not in result.stderr
        assert result.exit_code != 0


def test_a_list_of_names_needs_no_store() -> None:
    n_lists = 0
    for name in COMMANDS:
        options = {option for item in load_command(name).params for option in item.opts}
        if "--list" in options:
            n_lists += 1
            result = RUNNER.invoke(app, [*name.split(), "--list"])
            assert result.exit_code == 0, (name, result.output)
            assert result.stdout
    assert n_lists >= 6


def test_without_a_list_the_store_is_needed() -> None:
    result = RUNNER.invoke(app, ["simulate"])
    assert result.exit_code == 2
    assert result.stderr == ("borgtrace: STORE: no store named; name one; only --list needs none\n")
