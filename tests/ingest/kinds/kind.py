"""What a kind of input is: a sample, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

MIDNIGHT = 1_793_491_200
"""Seconds since 1970; a multiple of 300 s, so that it is 600 s in a store."""
AMOUNTS = ("0.5", "1.5", "0.25")


@dataclass(frozen=True)
class InputKind:
    """A kind of input.

    Parameters
    ----------
    group
        The heading it stands below.
    title
        What it is.
    content
        A sample: a file, or several by their paths.
    reads
        Entries of the guessed declaration, by ``section.column`` or name; for files that are guessed.
    refusal
        What is said; for one that is refused or asked about.
    name
        What the sample is called, where it is one file.
    format
        The published format that the sample is of, where it is of one.
    stored
        How many rows the tables of its store have, those that are counted here; for a published format.
    capacity
        What the user says of the largest machine.
    needs
        A module that must be installed.
    """

    group: str
    title: str
    content: str | bytes | Mapping[str, str | bytes]
    reads: Mapping[str, Any] = field(default_factory=dict)
    refusal: str = ""
    name: str = "own.csv"
    format: str = ""
    stored: Mapping[str, int] = field(default_factory=dict)
    capacity: str = ""
    needs: str = ""

    def write(self, folder: Path) -> list[Path]:
        """Write the sample below a folder, and return the files and folders that a user names."""
        files = self.content
        if not isinstance(files, Mapping):
            files = {self.name: files}
        places = {}
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
            places[folder / Path(name).parts[0]] = None
        return list(places)


def rows(
    header: str = "pod,time,cpu",
    amounts: Sequence[str] = AMOUNTS,
    time: Callable[[int], object] = str,
    separator: str = ",",
    more: str = "",
) -> str:
    """Return delimited text whose amounts go round and round."""
    lines = [header]
    for slot in range(6):
        for pod in range(2):
            amount = amounts[(slot + pod) % len(amounts)]
            fields = [f"web-{pod}", time(MIDNIGHT + 300 * slot), amount]
            lines.append(separator.join(map(str, fields)) + more)
    return "\n".join(lines) + "\n"


def written(pattern: str, *, days_later: int = 0) -> Callable[[int], str]:
    """Return how a time is written by a pattern of strftime."""
    return lambda time: datetime.fromtimestamp(time + 86_400 * days_later, UTC).strftime(pattern)


def cpu_entry(column: str, unit: str, kind: str = "average") -> dict[str, Any]:
    """Return the entry of a declaration for CPU in use."""
    return {"usage.cpu": {"column": column, "unit": unit, "kind": kind}}
