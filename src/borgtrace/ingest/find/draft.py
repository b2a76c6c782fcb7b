"""A declaration in the making: what was guessed about a file, what is left open, and what is left out."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from borgtrace.errors import harmless


class OpenQuestion(NamedTuple):
    """What could be read in two ways: what is asked, and the line of a declaration that settles it."""

    about: str
    asked: str
    line: str


class DraftedColumn(NamedTuple):
    """One column of a file, what it was taken for, and some of its texts with what they become.

    Parameters
    ----------
    name
        Its name in the file.
    role
        Its entry in the declaration, such as ``cpu``; what it seems to be in brackets, where it is not read.
    unit, kind
        As declared; empty where there is none.
    samples
        Texts of the column, each with the value that is stored; empty where nothing is.
    section
        The section of the declaration that its file is described in.
    """

    name: str
    role: str
    unit: str = ""
    kind: str = ""
    samples: tuple[tuple[str, str], ...] = ()
    section: str = "usage"


@dataclass
class Draft:
    """A declaration in the making, with what was guessed and what was left open.

    Parameters
    ----------
    declaration
        The declaration so far.
    remarks
        A sentence about each guess or open question, by the entry that it is about (``usage.cpu``), or by a section and
        what is said of it (``usage limits``).
    questions
        What is left open: a declaration with any of these is no format yet.
    columns
        All columns of the file.
    """

    declaration: dict[str, Any] = field(default_factory=dict)
    remarks: dict[str, str] = field(default_factory=dict)
    questions: list[OpenQuestion] = field(default_factory=list)
    columns: list[DraftedColumn] = field(default_factory=list)

    @property
    def guesses(self) -> tuple[str, ...]:
        """What was guessed, in sentences."""
        return tuple(self.remarks.values())

    def ask(self, entry: str, about: str, asked: str, line: str) -> None:
        """Leave something open.

        Parameters
        ----------
        entry
            The entry of the declaration that it is about.
        about
            The column.
        asked
            What could be read in two ways.
        line
            What settles it.
        """
        self.questions.append(OpenQuestion(about, asked, line))
        self.remarks[entry] = f"column {about}: {asked}; add {line}"

    def text(self) -> str:
        """Return the draft as a file for ``--dialect``."""
        lines = [
            "# A first draft: each guess is stated beside it. Correct what is wrong, and fill in what is left open."
        ]
        for name, value in self.declaration.items():
            if not isinstance(value, Mapping):
                lines.append(f"{name} = {_toml(value)}{self._comment(name)}")
        for section, entries in self.declaration.items():
            if isinstance(entries, Mapping):
                lines.append(f"\n[{section}]")
                for name, value in entries.items():
                    lines.append(f"{name} = {_toml(value)}{self._comment(f'{section}.{name}')}")
                lines += self._remarks_without_entry(section)
        return "\n".join(lines) + "\n"

    def _remarks_without_entry(self, section: str) -> list[str]:
        """Return what is said of a section and none of its entries, as lines of comment."""
        return [
            self._comment(name).strip() for name in self.remarks if name.startswith(f"{section} ")
        ]

    def _comment(self, name: str) -> str:
        if name not in self.remarks:
            return ""
        # A line break in the name of a column would end the comment.
        printable = (mark if mark.isprintable() else " " for mark in self.remarks[name])
        return f"  # {''.join(printable)}"


def _toml(value: Any) -> str:
    if not isinstance(value, Mapping):
        # TOML knows the escapes of JSON, except for halves of a character; and it forbids U+007F as it is.
        return harmless(json.dumps(value, ensure_ascii=False))
    entries = []
    for name, entry in value.items():
        entries.append(f"{name} = {_toml(entry)}")
    return f"{{ {', '.join(entries)} }}"
