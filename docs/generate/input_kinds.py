"""Kinds of files of own data: which are read, and what is said of the others."""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path

from borgtrace.schema import DIALECTS
from generate.text import table

# The samples are those of the tests.
sys.path.append(str(Path(__file__).resolve().parents[2]))

from tests.ingest.input_kinds import KINDS, InputKind

INTRO = """# Kinds of input

What becomes of a file. A published format is recognized by the names of its columns, or by what its rows hold. Own data
is guessed; what could be read in two ways is asked for, with the line of a declaration that settles it. Each row is a
test, so this page and the program cannot part. [Your own cluster](../jobs/own-data.md) shows how to declare what is
asked for.
"""
FORMATS = """
## Published formats

`borgtrace dialect list` shows their tables; [public traces](../jobs/public-traces.md) shows where to get them.
"""


def outcome(kind: InputKind) -> str:
    """Return what becomes of a file of a kind."""
    if kind.refusal:
        return f"refused: *{kind.refusal}*"
    entries = [f"`{name} = {_toml(value)}`" for name, value in kind.reads.items()]
    return f"read: {', '.join(entries)}"


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_toml(entry)}" for name, entry in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return f'"{value}"'.replace("\u202f", "\\u202f")


def page() -> str:
    """Return the page."""
    formats = [[f"`{dialect.name}`", dialect.title] for dialect in DIALECTS.values()]
    parts = [INTRO]
    for group, kinds in groupby(KINDS, key=lambda kind: kind.group):
        rows = [[kind.title.replace("|", "\\|"), outcome(kind)] for kind in kinds]
        parts.append(f"\n## {group}\n\n" + table(["a file with", "what becomes of it"], rows))
    parts.append(FORMATS + "\n" + table(["format", "what it is"], formats))
    return "".join(parts)
