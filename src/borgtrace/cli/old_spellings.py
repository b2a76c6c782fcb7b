"""Old spellings of command lines: they work for one release, with a notice on stderr.

What were modes of one command, whose options excluded each other, are commands of two words.
"""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OldMode:
    """An option that chose a mode of a command.

    Attributes
    ----------
    option
        The option.
    command
        The command that the mode is now.
    becomes
        What stands for the option there: another one, itself, or nothing. Its value stays.
    is_argument
        Whether its value is the last argument there.
    """

    option: str
    command: str
    becomes: str = ""
    is_argument: bool = False


OLD_MODES: dict[str, tuple[OldMode, ...]] = {
    "overcommit": (
        OldMode("--recommend", "overcommit recommend"),
        OldMode("--reclaim", "overcommit reclaim"),
        OldMode("--explain", "overcommit explain", is_argument=True),
        OldMode("--target", "overcommit target", "--target"),
    ),
    "colocate": (
        OldMode("--export-pool", "colocate pool", "--out"),
        OldMode("--placement", "colocate place", "--placement"),
        OldMode("--moments", "colocate place", "--moments"),
    ),
}
"""Modes of commands as they were, those first that went before the others."""


def in_new_spelling(words: Sequence[str]) -> list[str]:
    """Return a command line as it is spelled today, and say so on stderr where it was an old one.

    Parameters
    ----------
    words
        Those after ``borgtrace``, the command first.

    Examples
    --------
    >>> in_new_spelling(["info", "store"])
    ['info', 'store']
    """
    if not words:
        return []
    command, *rest = words
    modes = OLD_MODES.get(command, ())
    is_new = bool(rest) and any(f"{command} {rest[0]}" == mode.command for mode in modes)
    if is_new:
        return list(words)
    for mode in modes:
        for position, word in enumerate(rest):
            name, equals, value = word.partition("=")
            if name == mode.option:
                inline = [value] if equals else []
                new_words = with_mode(mode, rest, position, inline)
                line = shlex.join(["borgtrace", *new_words])
                print(
                    f"borgtrace: {command} {mode.option} is now a command of its own, and goes with the next release: "
                    f"{line}",
                    file=sys.stderr,
                )
                return new_words
    return list(words)


def with_mode(
    mode: OldMode,
    rest: Sequence[str],
    position: int,
    inline: Sequence[str],
) -> list[str]:
    """Return the words of the command that a mode is now.

    Parameters
    ----------
    mode
        The mode.
    rest
        Words after the command.
    position
        Where its option stands among them.
    inline
        Its value, where it was written with an equals sign.
    """
    before = list(rest[:position])
    after = list(rest[position + 1 :])
    if mode.is_argument:
        argument = list(inline) or after[:1]
        others = after if inline else after[1:]
        return [*mode.command.split(), *before, *others, *argument]
    kept_option = [mode.becomes] if mode.becomes else []
    return [*mode.command.split(), *before, *kept_option, *inline, *after]
