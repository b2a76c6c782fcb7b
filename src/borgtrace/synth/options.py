"""What a synthetic trace can be asked for, checked before anything is written."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from borgtrace.errors import UsageError
from borgtrace.schema.dialects import GOOGLE_2011
from borgtrace.synth.hashing import key

CELLS: Final = "abcdefgh"
TABLES_2019: Final = ("collection_events", "instance_events", "instance_usage", "machine_attributes", "machine_events")
"""Marks a folder that a killed run left behind, so that the next run may clear it."""


@dataclass(frozen=True, slots=True)
class Options:
    """A request for a trace; see :func:`borgtrace.synth.generate` for what the fields mean."""

    generation: str = "2011"
    machines: int = 100
    hours: float = 24.0
    seed: int = 1
    cell: str = "a"
    tables: tuple[str, ...] = ()
    jobs: int = 2
    anomalies: bool = True
    file_format: str = "json"
    parts: int | None = None

    def __post_init__(self) -> None:
        _one_of("--generation", self.generation, ("2011", "2019"))
        _at_least("--machines", self.machines, 1)
        if not (math.isfinite(self.hours) and self.hours >= 1 / 12):
            raise UsageError("--hours", "too short", expected="at least one window (0.0834)", got=f"{self.hours:g}")
        _at_least("--seed", self.seed, 0)
        _at_least("--jobs", self.jobs, 1)
        if self.parts is not None:
            _at_least("--parts", self.parts, 1)
        _one_of("--cell", self.cell, tuple(CELLS))
        _one_of("--format", self.file_format, ("json", "parquet"))
        known = tuple(GOOGLE_2011.tables) if self.generation == "2011" else TABLES_2019
        for name in self.tables:
            _one_of("--tables", name, known)

    @property
    def chosen_tables(self) -> frozenset[str]:
        """The tables to write: all unless some were named."""
        known = tuple(GOOGLE_2011.tables) if self.generation == "2011" else TABLES_2019
        return frozenset(self.tables or known)

    @property
    def draw_seed(self) -> int:
        """The seed of all draws: another cell is another trace."""
        return self.seed if self.generation == "2011" else key(self.seed, "cell", self.cell)

    def parameters(self) -> dict[str, object]:
        """Return what identifies the trace: everything that changes its bytes."""
        fields: dict[str, object] = {
            "generation": self.generation,
            "machines": self.machines,
            "hours": self.hours,
            "anomalies": self.anomalies,
            "tables": sorted(self.chosen_tables),
            "parts": self.parts,
        }
        if self.generation == "2019":
            fields |= {"cell": self.cell, "format": self.file_format}
        return fields


def _one_of(where: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise UsageError(where, "unknown value", expected="one of " + ", ".join(allowed), got=repr(value))


def _at_least(where: str, value: int, least: int) -> None:
    if value < least:
        raise UsageError(where, "too small", expected=f"at least {least}", got=str(value))


def check_output(out: Path) -> None:
    """Raise UsageError unless `out` is a new or empty folder in one that exists."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(
            str(out),
            "not an empty folder",
            expected="a new or empty folder",
            way_out="choose another name or remove it",
        )
    if not out.absolute().parent.is_dir():
        raise UsageError(str(out), "its parent folder does not exist", way_out="create it first")
