"""Kinds of input: which are read, and what is said of the others."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path

from generate.text import table

# The samples are those of the tests.
sys.path.append(str(Path(__file__).resolve().parents[2]))

from tests.ingest.kinds import KINDS, InputKind
from tests.ingest.kinds.series import FILES, LABELS_OF_SERIES

INTRO = """# Kinds of input

This page says what borgtrace makes of each kind of file. It recognizes a published format by the names of its
columns, or by its rows. It guesses what your own data hold. Where a file could be read in two ways, it asks you, and
shows the line of a declaration that settles it. Each row of these tables is a test, so this page always agrees with
the program. [Say what the columns are](../jobs/declare-columns.md) shows how to write a declaration. [Other
formats](../jobs/public-traces.md) says where to get each published format and what becomes of its columns.
"""
ROWS_OF_TABLE = {
    "machine_events": "machines",
    "collection_events": "jobs",
    "tasks": "tasks",
    "instance_usage": "usage",
    "power_measurements": "measurements of power",
    "machine_power_domains": "machines of each unit of power",
}
"""What rows of a table of the store are about."""


def outcome(kind: InputKind, *, is_one_table: bool = False) -> str:
    """Return what becomes of an input of a kind.

    Parameters
    ----------
    kind
        The kind.
    is_one_table
        Whether all samples beside it hold one table, so that what its columns are taken for says nothing.
    """
    if kind.refusal:
        return f"refused: *{kind.refusal}*"
    if kind.format:
        contents = [ROWS_OF_TABLE[name] for name in kind.stored]
        return f"read as `{kind.format}`: {', '.join(contents)}"
    if is_one_table:
        return "read"
    entries = [f"`{name} = {_toml(value)}`" for name, value in kind.reads.items()]
    return f"read: {', '.join(entries)}"


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_toml(entry)}" for name, entry in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return f'"{value}"'.replace("\u202f", "\\u202f")


def _section(title: str, kind: str, outcomes: Mapping[str, str]) -> str:
    rows = [[name, outcome] for name, outcome in outcomes.items()]
    return f"\n## {title}\n\n" + table([kind, "what becomes of it"], rows)


def page() -> str:
    """Return the page."""
    parts = [INTRO]
    for group, kinds in groupby(KINDS, key=lambda kind: kind.group):
        kinds_of_group = list(kinds)
        guesses = [kind.reads for kind in kinds_of_group if kind.reads]
        is_one_table = len(guesses) > 1 and all(guess == guesses[0] for guess in guesses)
        outcomes = {kind.title: outcome(kind, is_one_table=is_one_table) for kind in kinds_of_group}
        parts.append(_section(group, "input", outcomes))
    parts.append(_section("Prometheus: files", "file", FILES))
    parts.append(_section("Prometheus: series", "labels of a series", LABELS_OF_SERIES))
    return "".join(parts)
